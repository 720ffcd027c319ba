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


def test_what_the_prompt_says_of_the_language_parses(gate) -> None:
    program = gate.parse(
        """
fuzzgraph 1
# a comment
input a: f32[4, 8]
input b: i16[3][2] values ints(-3, 3) seed 4
input c: f32[2, 3][0, 1] values normal(0.0, 1.0)
input d: f64[] values full(-0.0)
input e: f32[0, 4]
input g: f32[8]+1 grad values edge(0.5) storage 20 dynamic(0)
input v: f32[2][3] view of a
const w: f32[8] values uniform
option dynamic = True
option fullgraph = True
option grad = True
def f(a, b, c, d, e, g, v) {
  x = add(g, w, alpha = 2)
  y = Tensor.add_(v, inf)
  return (x, y, b)
}
call f(a, b, c, d, e, g, v) with no_grad
call f(a, b, c, d, e, g, v) with autocast("bf16")
"""
    )
    assert program.size == 2 and len(program.calls) == 2 and program.options.grad
