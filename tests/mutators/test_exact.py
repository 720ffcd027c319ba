"""What single mutators make of tiny programs, over a tiny grammar: the set of all results within some seeds."""

from random import Random

from fuzzgraph.generate import Generator
from fuzzgraph.ir.program import Program, Ref
from fuzzgraph.ir.text import format
from fuzzgraph.mutators import Tools, load
from fuzzgraph.mutators.insert_chain import LENGTHS
from tests.generate.worlds import MetaInference, program, tiny_book

BOOK = tiny_book()
INFER = MetaInference(BOOK)
MUTATORS = {m.name: m for m in load()}
PLAIN = """input x: f32[4]
def f(x) {
  a = relu(x)
  b = add(a, x)
  return b
}
call f(x)"""


def results(name: str, text: str, seeds: int = 40, other: str = PLAIN) -> list[Program]:
    """All that a mutator makes of a program."""
    tools = Tools(BOOK, INFER, Generator(BOOK, INFER), lambda rng: program(other, BOOK))
    found = (MUTATORS[name].mutate(program(text, BOOK), Random(seed), tools) for seed in range(seeds))
    return [p for p in found if p is not None]


def bodies(name: str, text: str, **more) -> set[str]:
    """The functions of the results, on one line each; types and spellings left out."""
    found = set()
    for made in results(name, text, **more):
        f = made.functions[0]
        lines = [f"{n.name} = {n.meta['op']}{n.args}" for n in f.body]
        found.add("; ".join([*lines, f"return {f.result}"]))
    return found


def test_make_inplace():
    text = "input x: f32[4]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    assert bodies("make_inplace", text) == {
        "a = Tensor.relu_(x,); return a",
        "v0 = clone(x,); a = Tensor.relu_(v0,); return a",
    }


def test_make_inplace_not_on_a_leaf():
    text = "input x: f32[4] grad\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    assert bodies("make_inplace", text) == {"v0 = clone(x,); a = Tensor.relu_(v0,); return a"}


def test_make_inplace_not_where_elements_overlap():
    text = "input x: f32[4][0]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    assert bodies("make_inplace", text) == {"v0 = clone(x,); a = Tensor.relu_(v0,); return a"}


def test_delete_node():
    assert bodies("delete_node", PLAIN) == {"b = add(x, x); return b", "a = relu(x,); return a"}


def test_delete_node_leaves_one():
    assert bodies("delete_node", "input x: f32[4]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)") == set()


def test_replace_operator():
    text = "input x: f32[4]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    assert bodies("replace_operator", text) == {"a = neg(x,); return a", "a = clone(x,); return a"}


def test_swap_operands():
    text = "input x: f32[4]\ninput y: i8[4]\ndef f(x, y) {\n a = mul(x, y)\n return a\n}\ncall f(x, y)"
    found = bodies("swap_operands", text)
    assert found == {"a = mul(y, x); return a", "a = mul(x, x); return a", "a = mul(y, y); return a"}


def test_change_constant():
    text = "input x: f32[4]\ndef f(x) {\n a = mul(x, 1.0)\n return a\n}\ncall f(x)"
    found = bodies("change_constant", text, seeds=200)
    assert "a = mul(x, inf); return a" in found
    assert "a = mul(x, -0.0); return a" in found
    assert "a = mul(x, 1.0); return a" not in found


def test_change_attribute_within_its_domain():
    text = "input x: f32[4]\ndef f(x) {\n a = narrow(x, 0, 1, 2)\n return a\n}\ncall f(x)"
    for made in results("change_attribute", text):
        _, _, start, length = made.functions[0].body[0].args
        assert start + length <= 4


def test_change_shape_everywhere_keeps_operands_together():
    text = "input x: f32[4]\ninput y: f32[4]\ndef f(x, y) {\n a = add(x, y)\n return a\n}\ncall f(x, y)"
    both = [p for p in results("change_shape", text) if len({s.type.shape for s in p.inputs}) == 1]
    assert both
    assert all(p.size == 1 for p in both)


def test_change_shape_adapts_what_no_longer_fits():
    text = "input x: f32[4]\ninput y: f32[4]\ndef f(x, y) {\n a = add(x, y)\n return a\n}\ncall f(x, y)"
    adapted = [p for p in results("change_shape", text, seeds=200) if p.size > 1]
    assert adapted
    for made in adapted:
        assert made.functions[0].body[-1].meta["type"].shape == (4,)


def test_change_shape_keeps_indices_in_range():
    text = """input x: f32[6]
    input i: i64[3] values index(6)
    def f(x, i) {
      a = take(x, i)
      return a
    }
    call f(x, i)"""
    for made in results("change_shape", text, seeds=100):
        values, ops = made.input("i").values, [n.meta["op"] for n in made.nodes()]
        assert "remainder" in ops or values.params[0] <= made.input("x").type.numel


def test_change_dtype_keeps_indices_integers():
    text = """input x: f32[6]
    input i: i64[3] values index(6)
    def f(x, i) {
      a = take(x, i)
      return a
    }
    call f(x, i)"""
    assert {p.input("i").type.info.kind for p in results("change_dtype", text, seeds=100)} <= {"int", "bool"}


def test_change_layout_without_overlap_where_written():
    text = "input x: f32[4, 3]\ndef f(x) {\n a = Tensor.relu_(x)\n return a\n}\ncall f(x)"
    found = results("change_layout", text)
    assert found
    assert not any(p.input("x").type.has_overlap for p in found)


def test_change_layout_shares_storage():
    text = "input x: f32[4]\ninput y: f32[4]\ndef f(x, y) {\n a = add(x, y)\n return a\n}\ncall f(x, y)"
    assert any(p.input("y").view_of == "x" for p in results("change_layout", text))


def test_insert_cast():
    text = "input x: i8[4]\ndef f(x) {\n a = neg(x)\n return a\n}\ncall f(x)"
    assert "a = neg(x,); v0 = Tensor.to(a, torch.float32); return v0" in bodies("insert_cast", text, seeds=80)


def test_duplicate_output():
    text = "input x: f32[4]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    found = bodies("duplicate_output", text)
    assert "a = relu(x,); return (a, a)" in found
    assert "a = relu(x,); return (a, x)" in found


def test_splice_brings_the_other_program_in():
    other = "input z: f32[4]\ndef g(z) {\n m = neg(z)\n return m\n}\ncall g(z)"
    found = results("splice", PLAIN, other=other)
    assert found
    for made in found:
        assert "neg" in [n.meta["op"] for n in made.nodes()]


def test_change_calls_makes_inputs_of_another_size():
    found = results("change_calls", PLAIN)
    shapes = {made.input(made.calls[1].args[0].name).type.shape for made in found}
    assert (4,) in shapes
    assert len(shapes) > 2


def test_change_options_one_at_a_time():
    changed = {format(p).split("def")[0].count("option") for p in results("change_options", PLAIN)}
    assert changed == {1}


def test_insert_chain_hangs_together():
    made = results("insert_chain", PLAIN)
    assert made
    for f in (p.functions[0] for p in made):
        (last,) = (n for n in f.result if n.name not in ("a", "b"))
        chain, todo = {last}, [last]
        while todo:
            todo = [m for n in todo for m in n.all_input_nodes if m.op == "call_function" and m not in chain]
            chain |= set(todo)
        assert len([n for n in chain if n.name not in ("a", "b")]) >= min(LENGTHS)


def test_make_module():
    text = """input x: f32[4]
    const w: f32[4]
    const k: f32[4] grad
    def f(x) {
      a = mul(x, w)
      b = add(a, k)
      return b
    }
    call f(x)"""
    found = [p for p in results("change_surroundings", text, seeds=200) if p.closures]
    found = [p for p in found if len(p.functions) == 1 and not p.states]  # no helper, no layer
    captures = (("w", Ref("w")), ("k", Ref("k")))
    assert {(c.kind, c.args, c.bindings) for p in found for c in p.closures} == {
        ("module", (), captures), ("module", ("eval",), captures), ("closure", (), captures),
    }  # fmt: skip
    for made in found:
        assert made.calls[0].function == made.closures[0].name
        f = made.functions[0]
        assert f.captures == ("w", "k") and not any(n.op == "get_attr" for n in f.graph.nodes)


def test_make_module_without_constants():
    found = [p for p in results("change_surroundings", PLAIN, seeds=80) if len(p.functions) == 1]
    assert {c.kind for p in found for c in p.closures} == {"module"}


def test_make_module_not_of_what_others_call():
    text = PLAIN + "\ndef g(y: f32[4]) {\n b = call(f, y)\n return b\n}\ncall g(x)"
    found = [p for p in results("change_surroundings", text, seeds=200) if p.closures]
    assert found and {c.function for p in found for c in p.closures} == {"g"}
