"""The check of rules: what it reports, on a scripted torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzzgraph.grammar import RuleBook
from fuzzgraph.grammar.check import check_report, check_rules, report_lines
from fuzzgraph.grammar.loader import load_text
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.types import SequenceType, UnsizedType
from fuzzgraph.ir.values import Values


class Scripted:
    """A torch whose unary operators keep their operand's type, but for the changes given for each mode."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def infer(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        mode: str = "fake",
        values: Mapping[int, Values] | None = None,
    ) -> Inferred:
        assert (values is not None) == (mode == "eager")
        change = self.changes.get(mode, {})
        if "error" in change:
            return Inferred(None, change["error"])
        operand = args[0]
        if "unsized" in change:
            return Inferred(UnsizedType(*change["unsized"]), None, (None,))
        return Inferred(operand.with_(**change), None, (None,))


def book(extra: str = "") -> RuleBook:
    text = f"op sin(input)\n  input : tensor float [N]\n  where N > 1\n  result promote(input) [N]\n{extra}"
    return RuleBook({r.op: r for r in load_text(text, Path("t.rules"))})


def aspects(changes: dict[str, Any], extra: str = "") -> list[str]:
    return sorted({d.aspect for d in check_rules(book(extra), Scripted(**changes), samples=5)})


def test_agreement_is_silent() -> None:
    report = check_report(book(), Scripted(), samples=5)
    assert (report.ok, report.rules, report.samples) == (True, 1, 5)
    assert report_lines(report) == [
        "1 rules, 5 samples, 0 draws declined, 0 disagreements, 0 explained, 0 skipped"
    ]  # fmt: skip


def test_each_aspect_is_reported() -> None:
    assert aspects({"eager": {"error": "ValueError: no"}}) == ["eager"]
    assert aspects({"fake": {"error": "ValueError: no"}}) == ["fake"]
    assert aspects({"fake": {"dtype": "i64"}}) == ["dtype"]
    assert aspects({"eager": {"shape": (0,)}}) == ["shape"]
    assert aspects({"fake": {"stride": (99,)}}) == ["stride"]
    assert aspects({}, "  alias input\n") == ["alias"]


def test_a_result_of_unknown_sizes_is_held_against_what_is_known_of_it() -> None:
    """Such results once counted as missing, so that each of their operators disagreed."""
    text = """op nonzero(input)
  input : tensor f32 [3]
"""
    rules = RuleBook({r.op: r for r in load_text(text, Path("t.rules"))})

    def found(dtype: str, *shape: int | None) -> list[str]:
        infer = Scripted(fake={"unsized": (dtype, shape)}, eager={"dtype": "i64", "shape": (7, 1), "stride": (1, 1)})
        return [d.aspect for d in check_rules(rules, infer, samples=1)]

    assert found("i64", None, 1) == []
    assert found("i64", None, 2) == ["shape"]
    assert found("i64", None) == ["shape"]
    assert found("i32", None, 1) == ["dtype"]


def test_what_the_rule_explains_is_no_disagreement() -> None:
    explained = '  upstream stride where N > 0 "strides of its own"\n'
    report = check_report(book(explained), Scripted(fake={"stride": (99,)}), samples=5)
    assert report.ok
    assert report.explained[0].upstream == "strides of its own"
    assert aspects({"fake": {"stride": (99,)}}, explained.replace("N > 0", "N < 0")) == ["stride"]
    assert aspects({"fake": {"dtype": "i64"}}, explained) == ["dtype"]


def test_equal_seeds_give_equal_reports() -> None:
    changes = {"eager": {"shape": (0,)}}
    first, second = (check_rules(book(), Scripted(**changes), samples=20, seed=3) for _ in range(2))
    assert first == second
    assert check_rules(book(), Scripted(**changes), samples=20, seed=4) != first


def test_an_operator_that_torch_lacks_is_skipped() -> None:
    text = "op no.such.operator(input)\n  input : tensor\n"
    report = check_report(RuleBook({r.op: r for r in load_text(text, Path("t.rules"))}), Scripted())
    assert report.skipped == {"no.such.operator": "this torch has no torch.no.such.operator"}


def test_a_rule_that_nothing_fits_is_reported() -> None:
    text = "op sin(input)\n  input : tensor [N]\n  where N < 0\n"
    found = check_rules(RuleBook({r.op: r for r in load_text(text, Path("t.rules"))}), Scripted(), samples=2)
    assert [d.aspect for d in found] == ["sample"]


def test_operands_are_described_in_the_report() -> None:
    (line, _) = report_lines(check_report(book(), Scripted(eager={"error": "E: no"}), samples=1))
    assert line.startswith("sin: eager: eager raises E: no [1x, sin(")


def test_results_share_storage_with_each_item_of_a_list() -> None:
    class Lists(Scripted):
        sharing: tuple[int | None, ...] = (0, 1)

        def infer(self, op: str, args: tuple[Any, ...], *rest: Any, **more: Any) -> Inferred:
            return Inferred(SequenceType("list", tuple(args[0])), None, self.sharing)

    text = "op _foreach_zero_(self)\n  self : tensors f32 [3] (2, 2) written\n  alias self\n"
    rules, infer = RuleBook({r.op: r for r in load_text(text, Path("t.rules"))}), Lists()
    assert list(check_rules(rules, infer, samples=3)) == []
    infer.sharing = (0, 0)
    assert {d.aspect for d in check_rules(rules, infer, samples=3)} == {"alias"}
