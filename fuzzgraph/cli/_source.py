"""`fuzzgraph tmin FILE.py`: Python files and scripts are reduced as source."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path


def tmin(args: argparse.Namespace) -> int:
    """Reduce `args.program`, write what is left to `args.output` (default: FILE's .min.py), and say so. The exit status
    is 0; NothingToKeep, which ends with 1, where it fails no oracle."""
    from fuzzgraph.campaign import environment
    from fuzzgraph.check.checker import Checker
    from fuzzgraph.check.reduce import reduce_file
    from fuzzgraph.errors import UsageError

    if args.jobs > 1:
        raise UsageError("Python source is reduced one candidate at a time", where="--jobs")
    environment.check_torch()
    environment.check_compiler()
    target = args.output or Path(args.program).with_suffix(".min.py")

    def progress(text: str, trials: int) -> None:
        # Whoever stops the search has the best so far.
        target.write_text(text, encoding="utf-8")
        said = f"{trials} tried, {len(text.splitlines())} lines left"
        print(said, file=sys.stderr, flush=True)

    with Checker(args.target or "inductor", args.timeout, args.preload or ()) as checker:
        seconds = args.budget or math.inf
        shrunk = reduce_file(args.program, checker, keep=args.keep, seconds=seconds, progress=progress)
    target.write_text(shrunk.reduced.text, encoding="utf-8")
    if args.json:
        data = {"file": args.program, "output": str(target), "verdict": shrunk.verdict.to_data()}
        counts = {"before": shrunk.before, "after": shrunk.after, "trials": shrunk.reduced.trials}
        print(json.dumps({**data, **counts, "complete": shrunk.reduced.complete}))
    else:
        print(shrunk.verdict.line)
        print(f"{shrunk.before} lines became {shrunk.after} in {shrunk.reduced.trials} trials: {target}")
    return 0
