"""The prompt says the language as it is."""

from __future__ import annotations

from fuzzgraph.ir.values import VALUE_KINDS
from fuzzgraph.llm.prompt import EXAMPLE, messages
from fuzzgraph.llm.reply import extract


def test_example_is_a_program(gate) -> None:
    program = gate.parse(EXAMPLE)
    assert gate.verify(program) == [] and program.size == 4


def test_holds_entry_count_operators_and_value_kinds() -> None:
    system, user = messages("fuzzgraph 1\n\n", 5, ["add", "nn.functional.gelu"])
    assert user["content"].count("fuzzgraph 1") == 1 and "Write 5 variants" in user["content"]
    assert "Operators: add, nn.functional.gelu." in system["content"]
    assert all(kind in system["content"] for kind in VALUE_KINDS)


def test_a_program_with_braces_is_no_template() -> None:
    assert "{x}" in messages("def f(x) {x}", 1)[1]["content"]


def test_reply_that_only_repeats_the_prompt(gate) -> None:
    # Models do; it yields the example and the entry, which are duplicates or fine.
    text = "".join(m["content"] for m in messages(EXAMPLE, 2))
    programs = extract(text).texts
    assert programs and all(gate.parse(p).size == 4 for p in programs)
