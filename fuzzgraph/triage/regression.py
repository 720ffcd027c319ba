"""Regression programs: kept programs with the verdict that each torch is expected to give.

`NAME.fg` has a `NAME.toml` beside it:

    title = "closures that capture different Tensor methods share one graph"
    issue = "https://github.com/pytorch/pytorch/issues/197811"   # optional
    limit = 20                  # optional: seconds that it may take, instead of what the command says
    [[expect]]
    torch = ">=2.13,<2.17"      # a version specifier; every torch where it is left out
    target = "inductor"         # inductor where it is left out
    verdict = "value value"     # "ok", or an oracle, or an oracle and the kind of its failure, or "unstable": compiled
                                # values differ where eager's own move by more than the tolerance when an ulp does
    match = "regex"             # optional: in a failure's message or detail

Expectations are strict: a program that is expected to fail and does not, fails the run. Where several expectations hold
for a torch and a target, the first one counts; without one the program is skipped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from fuzzgraph import oracles
from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.toml import read_toml

KEYS = {"title", "issue", "limit", "expect"}
# What an outcome may be called without a failure.
JUDGED = ("ok", "unstable")
EXPECT_KEYS = {"torch", "target", "verdict", "match"}


@dataclass(frozen=True)
class Expectation:
    verdict: str
    torch: str = ""
    target: str = "inductor"
    match: str = ""

    def holds_for(self, version: str, target: str) -> bool:
        """Whether it speaks of this torch (its release: builds and nightlies count as the release they lead to)."""
        try:
            release = Version(Version(version).base_version)
        except InvalidVersion:
            return False
        return target == self.target and release in SpecifierSet(self.torch)


@dataclass(frozen=True)
class Regression:
    """A kept program, and what is expected of it."""

    name: str
    path: Path
    title: str
    issue: str
    expectations: tuple[Expectation, ...]
    limit: float = 0.0  # none of its own

    def expected(self, version: str, target: str) -> Expectation | None:
        return next((e for e in self.expectations if e.holds_for(version, target)), None)

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(e.target for e in self.expectations))


@dataclass(frozen=True)
class Result:
    """`problem` is empty where the program does what is expected of it; `skipped` says why it was not run."""

    regression: Regression
    target: str
    problem: str = ""
    skipped: str = ""
    seconds: float = 0.0
    output: str = ""


def load(folder: Path) -> list[Regression]:
    """All regressions of a folder, by name. Raises UsageError for a folder without any and for a bad description."""
    if not folder.is_dir():
        raise UsageError("no such directory", where=str(folder), hint="a folder of .fg files, each with a .toml")
    found = [_read(path) for path in sorted(folder.glob("**/*.fg"))]
    if not found:
        raise UsageError("no .fg program in this directory", where=str(folder))
    return found


def _read(program: Path) -> Regression:
    path = program.with_suffix(".toml")
    data = read_toml(path, hint="beside each program stands what is expected of it")
    expectations = data.get("expect", [])
    _known(data, KEYS, path)
    if not isinstance(expectations, list) or not expectations:
        raise UsageError("no [[expect]]", where=str(path), hint='such as [[expect]] verdict = "ok"')
    read = tuple(_expectation(entry, path) for entry in expectations)
    limit = data.get("limit", 0.0)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < float("inf"):
        raise UsageError(f"limit is not a number of seconds: {limit!r}", where=str(path))
    return Regression(program.stem, program, str(data.get("title", "")), str(data.get("issue", "")), read, float(limit))


def _expectation(entry: Any, path: Path) -> Expectation:
    if not isinstance(entry, dict) or not isinstance(entry.get("verdict"), str):
        raise UsageError("an [[expect]] without a verdict", where=str(path), hint='"ok" or an oracle, such as "value"')
    _known(entry, EXPECT_KEYS, path)
    for key, value in entry.items():
        if not isinstance(value, str):
            raise UsageError(f"{key} is not text", where=str(path))
    found = Expectation(**entry)
    if found.verdict not in JUDGED and found.verdict.partition(" ")[0] not in oracles.names():
        hint = f'"ok", "unstable", or one of {", ".join(oracles.names())} and a kind after it'
        raise UsageError(f"no verdict: {found.verdict!r}", where=str(path), hint=hint)
    try:
        SpecifierSet(found.torch)
        re.compile(found.match)
    except InvalidSpecifier:
        hint = 'such as ">=2.13,<2.16"'
        raise UsageError(f"no version specifier: {found.torch!r}", where=str(path), hint=hint) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"no regular expression: {found.match!r}: {error}", where=str(path)) from None
    return found


def _known(table: dict[str, Any], keys: set[str], path: Path) -> None:
    unknown = sorted(table.keys() - keys)
    if unknown:
        raise UsageError(f"unknown key {unknown[0]!r}", where=str(path), hint=f"known: {', '.join(sorted(keys))}")


def problem(expected: Expectation, outcome: Outcome) -> str:
    """Why an outcome is not the expected one; empty if it is."""
    seen = verdict(outcome)
    if expected.verdict in JUDGED:
        return "" if seen == expected.verdict else f"expected {expected.verdict}, got {seen}"
    matching = [f for f in outcome.failures if expected.verdict in (f.oracle, label(f))]
    if not matching:
        return f"expected {expected.verdict}, got {seen}" + (": is it fixed?" if seen == "ok" else "")
    if not any(re.search(expected.match, f"{f.exc_type}: {f.message}\n{f.detail}") for f in matching):
        return f"expected {expected.verdict} with {expected.match!r}, got {matching[0].message}"
    return ""


def verdict(outcome: Outcome) -> str:
    """What an outcome says, in one word or a few: ok, invalid, unstable, or the failures. That a program which expects
    an error raises on both sides is ok."""
    if outcome.failures:
        return ", ".join(dict.fromkeys(label(f) for f in outcome.failures))
    return "ok" if outcome.missed else outcome.status


def label(failure: Failure) -> str:
    return f"{failure.oracle} {failure.kind}"


def shard(items: Sequence[Regression], part: int, parts: int) -> list[Regression]:
    """The programs of one of `parts` machines (`part` counts from 1), each program on exactly one."""
    return list(items[part - 1 :: parts])


def junit(results: Sequence[Result], torch: str) -> str:
    """The results in the XML that continuous integration reads: one test case a program and target."""
    failed = sum(bool(r.problem) for r in results)
    skipped = sum(bool(r.skipped) for r in results)
    suite = ET.Element(
        "testsuite", name="fuzzgraph", tests=str(len(results)), failures=str(failed), errors="0", skipped=str(skipped),
        time=f"{sum(r.seconds for r in results):.3f}",
    )  # fmt: skip
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="torch", value=torch)
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname=f"fuzzgraph.{result.target}", name=result.regression.name,
            time=f"{result.seconds:.3f}",
        )  # fmt: skip
        if result.skipped:
            ET.SubElement(case, "skipped", message=result.skipped)
        elif result.problem:
            failure = ET.SubElement(case, "failure", message=result.problem)
            failure.text = _printable("\n".join(t for t in (result.regression.issue, result.output) if t))
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Without the control characters that XML forbids."""
    return re.sub(r"[^\t\n\r\x20-\uFFFD\U00010000-\U0010FFFF]", "?", text)
