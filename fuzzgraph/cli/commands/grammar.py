"""`fuzzgraph grammar list | show | check | gaps`: what the rules say, whether torch agrees, what they do not say."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.grammar import RuleBook

HELP = "list, show and check the operator rules, and say what they lack"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    listing = actions.add_parser("list", help="list all operators that have a rule")
    listing.add_argument("--count", action="store_true", help="print the number of distinct operators only")
    showing = actions.add_parser("show", help="show the rules of some operators as the rule files have them")
    showing.add_argument("operators", nargs="+", metavar="OPERATOR")
    checking = actions.add_parser(
        "check", help="sample every rule and hold it against FakeTensor and eager",
        epilog="exit status 1 when a rule disagrees and no comment beside it explains that as upstream's",
    )  # fmt: skip
    checking.add_argument("--rule", action="append", metavar="OPERATOR", help="check this rule only (repeatable)")
    checking.add_argument("--samples", type=int, default=50, metavar="N", help="samples of each rule (default: 50)")
    checking.add_argument("--seed", type=int, default=0, help="of the samples (default: 0)")
    lacking = actions.add_parser(
        "gaps", help="list the operators that the compiler or torch's own tests know and no rule reaches",
        epilog="exit status 1 when there are some that grammar/unreached.toml does not explain",
    )  # fmt: skip
    for each in (listing, showing, checking, lacking):
        add_plugin(each)
        each.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.grammar import load_rules

    book = load_rules()
    action = {"list": _list, "show": _show, "check": _check, "gaps": _gaps}[args.action]
    return action(book, args)


def _list(book: RuleBook, args: argparse.Namespace) -> int:
    if args.count:
        from fuzzgraph.execution.infer import InferClient
        from fuzzgraph.grammar.census import distinct

        with InferClient() as infer:
            count = len(distinct(book, dict(infer.catalog()["sampled"])))
        print(json.dumps({"operators": count, "rules": len(book.rules)}) if args.json else count)
        return 0
    if args.json:
        rows = [
            {"op": r.op, "family": r.family, "tags": sorted(r.tags), "weight": r.weight, "spellings": list(r.spellings)}
            for r in book.rules.values()
        ]
        print(json.dumps(rows, indent=2))
        return 0
    families: dict[str, list[str]] = {}
    for rule in book.rules.values():
        families.setdefault(rule.family, []).append(rule.op)
    for family, names in sorted(families.items()):
        print(f"{family} ({len(names)}): {' '.join(sorted(names))}")
    print(f"{len(book.rules)} operators in {len(families)} families")
    return 0


def _show(book: RuleBook, args: argparse.Namespace) -> int:
    for op in args.operators:
        rule = book.rules[_known(book, op)]
        source = _source(rule.where)
        if args.json:
            print(json.dumps({"op": rule.op, "family": rule.family, "where": rule.where, "source": source}))
        else:
            print(f"# {rule.where}\n{source}")
    return 0


def _source(where: str) -> str:
    """The block of the rule file that `where` (file:line:column) lies in."""
    from fuzzgraph.presence import files
    from fuzzgraph.resources import data_dir

    name, line, _ = where.split(":")
    path = next(path for path in files(data_dir("grammar") / "operators", "rules") if path.name == name)
    lines = path.read_text(encoding="utf-8").splitlines()
    # A block is what is indented below its head; the head may go on over several lines.
    start = int(line) - 1
    end = start + 1
    while end < len(lines) and (lines[end].startswith((" ", "\t")) or not lines[end].strip()):
        end += 1
    return "\n".join(lines[start:end]).rstrip()


def _check(book: RuleBook, args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from fuzzgraph.cli._options import check_numbers
    from fuzzgraph.execution.infer import InferClient
    from fuzzgraph.grammar.check import check_report, report_lines

    check_numbers(args, samples="count")
    names = None if args.rule is None else [_known(book, op) for op in args.rule]
    with InferClient() as infer:
        report = check_report(book, infer, names, args.samples, args.seed)
    if args.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        print("\n".join(report_lines(report)))
    return 0 if report.ok else 1


def _gaps(book: RuleBook, args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from fuzzgraph.execution.infer import InferClient
    from fuzzgraph.grammar.census import gap_lines, gaps, read_unreached

    unreached = read_unreached()
    with InferClient() as infer:
        found = gaps(book, infer, infer.catalog(), unreached)
    print(json.dumps(asdict(found), indent=2) if args.json else "\n".join(gap_lines(found)))
    return 1 if found.compiled or found.sampled else 0


def _known(book: RuleBook, op: str) -> str:
    """The operator's name as the rules have it (`torch.add` is `add`). Raises UsageError."""
    import difflib

    from fuzzgraph.errors import UsageError

    name = op.removeprefix("torch.")
    if name not in book.rules:
        near = difflib.get_close_matches(name, book.rules, 3)
        hint = f"did you mean {', '.join(near)}?" if near else "fuzzgraph grammar list names all"
        raise UsageError("no rule for this operator", where=op, hint=hint)
    return name
