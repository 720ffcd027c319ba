"""`fuzzgraph status DIR`: where a campaign stands, while it runs or afterwards."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HELP = "show where a campaign stands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import summary

    standing = summary.read(args.directory)
    if args.json:
        print(json.dumps(standing.to_json(), indent=2))
    else:
        print(f"{args.directory}:")
        print(summary.text(standing))
    return 0
