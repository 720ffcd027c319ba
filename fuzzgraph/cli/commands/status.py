"""`fuzzgraph status DIR`: where a campaign stands, while it runs or afterwards."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from fuzzgraph.cli._options import add_plugin

HELP = "show where a campaign stands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    parser.add_argument(
        "--features", action="store_true",
        help="show which share of the programs that compiled has each dtype, layout, form, option and so on",
    )  # fmt: skip
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import summary, traits

    if args.features:  # imports torch
        from fuzzgraph.feedback.traits import names
        from fuzzgraph.render import load_forms

    standing = summary.read(args.directory)
    if args.features:
        standing = replace(standing, traits=standing.traits.completed(names(load_forms())))
    if args.json:
        print(json.dumps(standing.to_json(), indent=2))
    else:
        print(f"{args.directory}:")
        print(summary.text(standing))
        if args.features:
            print(traits.text(standing.traits))
    return 0
