"""`fuzzgraph fuzz -o DIR`: run a campaign."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.campaign.config import Config

HELP = "run a campaign: make programs, execute them, keep what is new, report what fails"
EPILOG = (
    "Ctrl-C ends the campaign with a summary, a second Ctrl-C at once. An LLM is asked for variants where "
    "FUZZGRAPH_LLM_MODEL or --llm-model names one; server, key and limits come from FUZZGRAPH_LLM_* variables."
)


def configure(parser: argparse.ArgumentParser) -> None:
    # Options left out are not set at all, so that a file or the campaign's own options can give them.
    add = parser.add_argument
    parser.argument_default = argparse.SUPPRESS
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the campaign's directory")
    add("--resume", action="store_true", default=False, help="go on with the campaign in DIR")
    add("--config", type=Path, default=None, metavar="FILE", help="a fuzzgraph.toml; options given here go before it")
    add("--fail-on-new", action="store_true", default=False, help="exit with 1 if there is a finding that is not known")
    limits = parser.add_argument_group("limits (over all sessions of the campaign; without one it runs until stopped)")
    limits.add_argument("--time", type=str, metavar="TIME", help="wall time, such as 8h, 30m or 90s")
    limits.add_argument("--programs", type=int, metavar="N", help="executed programs")
    limits.add_argument("--cpu-seconds", type=float, metavar="S", help="CPU seconds of the engine and all it starts")
    limits.add_argument("--stop-on", metavar="REGEX", help="end at the first finding whose signature matches")
    what = parser.add_argument_group("what is run")
    what.add_argument("--jobs", type=int, metavar="N", help="programs executed side by side (default: the cores)")
    what.add_argument("--seed", type=int, metavar="S", help="seed of all randomness (default: drawn, and shown)")
    what.add_argument("--seeds", nargs="+", metavar="PATH", help=".fg files and folders (default: those shipped)")
    what.add_argument("--no-seeds", action="store_true", help="start from generated programs only")
    what.add_argument("--deterministic", action="store_true", help="let the seed fix the sequence of programs")
    what.add_argument("--target", metavar="NAME", help="compiler configuration under test (default: inductor)")
    what.add_argument("--preload", action="append", metavar="FILE", help="Python file that each worker runs first")
    add_plugin(what)
    what.add_argument("--known", action="append", metavar="FILE", help="a known-issues.toml beside the one shipped")
    what.add_argument("--timeout", type=float, metavar="S", help="seconds for one program (default: 30)")
    what.add_argument("--generate-share", type=float, metavar="P", help="share of programs made afresh (default: 0.7)")
    what.add_argument("--compare-share", type=float, metavar="P", help="share of CPU for judging (default: 0.75)")
    what.add_argument(
        "--oracles", metavar="NAMES",
        help="oracles to ask, as value,metadata,crash (default: all; guard and equivalence of a share of the programs)",
    )  # fmt: skip
    what.add_argument(
        "--expensive-share", type=float, metavar="P",
        help="share of the compared programs that guard and equivalence judge (default: 0.1)",
    )  # fmt: skip
    what.add_argument("--batch", type=int, metavar="K", help="programs that share a process for coverage (default: 8)")
    what.add_argument("--features-off", action="append", metavar="SPACE", help="feature space that feedback ignores")
    what.add_argument("--no-triage", action="store_true", help="triage no finding beside the campaign, on spare time")
    what.add_argument("--llm-model", metavar="NAME", help="ask this model for variants of entries")
    what.add_argument("--no-llm", action="store_true", help="ask none, whatever the environment says")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import directory, environment, summary

    config = options(args)
    environment.check(args.output)
    directory.prepare(args.output, args.resume)
    # Imports torch: what is refused is refused before.
    from fuzzgraph.campaign import session

    reason = session.conduct(args.output, config)
    standing = summary.read(args.output)
    print(f"\nCampaign ended: {reason}. Seed {standing.seed}.")
    print(summary.text(standing))
    print(summary.advice(standing))
    return 1 if args.fail_on_new and standing.findings else 0


def options(args: argparse.Namespace) -> Config:
    """Defaults, then the resumed campaign's options, then --config, then the command line. Raises UsageError."""
    import random

    from fuzzgraph.campaign import config, directory
    from fuzzgraph.presence import plug_in, plugins

    values: dict[str, Any] = {"jobs": config.cores(), "seed": random.SystemRandom().randrange(2**32)}
    if args.resume:
        values.update(directory.stored_options(args.output))
    if args.config is not None:
        values.update(config.read_toml(args.config))
    for field in fields(config.Config):
        value = getattr(args, field.name, None)
        if value is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
    plug_in(values.get("plugin", ()))
    values["plugin"] = tuple(map(str, plugins()))
    if isinstance(values.get("oracles"), str):
        values["oracles"] = config.split_oracles(values["oracles"])
    if isinstance(values.get("time"), str):
        values["time"] = config.parse_duration(values["time"])
    if values.get("deterministic") and "jobs" not in vars(args):
        values["jobs"] = 1
    # A campaign may be resumed from another folder.
    for name in ("seeds", "preload", "known"):
        values[name] = tuple(os.path.realpath(path) for path in values.get(name, ()))
    return config.checked(config.Config(**values))
