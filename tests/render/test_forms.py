"""Forms around regions. Every form in the folder passes the conformance tests."""

import sys
import types
from random import Random
from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.generate.regions import facts_of
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.program import Region
from fuzzgraph.render import load_forms, render
from fuzzgraph.render.forms import fits

FORMS = load_forms()
BOOK = load_rules()
# What these forms are for is that backward does not see the region.
SWITCHES = {"no_grad", "set_grad_enabled", "grad_mode_call"}
PLAIN = """fuzzgraph 1
input x: f32[3, 4] values normal
const w: f32[4] values normal seed 1
state log: list = []
state count: global = 0
def f(x) {
  a: f32[3, 4] = sin(x)
  b: f32[3, 4] = mul(a, w)
  s = state.append(log, b)
  t = state.assign(count, 3)
  c: f32[3, 4] = add(a, b)
  d: f32[3, 4] = Tensor.mul_(c, 2.0) as augmented
  return (b, c)
}
call f(x)
"""
NODES = ["a", "b", "s", "t", "c", "d"]
GRAD = """fuzzgraph 1
input x: f32[3, 4] grad values normal
input y: f32[3, 4] grad values normal seed 1
const w: f32[4] values normal seed 1
def f(x, y) {
  a: f32[3, 4] = sin(x)
  b: f32[3, 4] = mul(a, w)
  c: f32[3, 4] = add(b, y)
  d: f32[3, 4] = exp(c)
  return (b, d)
}
call f(x, y)
"""


class Spellings:
    """As much of a rule book as these programs need."""

    class Augmented:
        spellings = {"augmented": "{0} *= {1}"}

    rules = {"Tensor.mul_": Augmented()}


def with_regions(*regions: Region) -> Any:
    b = Builder(None, base=text.parse(PLAIN))
    b.functions["f"].regions.extend(regions)
    return b.build()


def execute(source: str) -> tuple[Any, Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["run"](lambda f: f, namespace["make_inputs"]()), namespace["get_states"]()


def source_of(*regions: Region) -> str:
    return render(with_regions(*regions), Spellings()).source  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(FORMS))
def test_arguments_are_sampled_and_checked(name: str) -> None:
    found = {FORMS[name].sample(Random(seed)) for seed in range(20)}
    assert all(FORMS[name].problem(args) is None for args in found)
    assert [FORMS[name].sample(Random(s)) for s in range(20)] == [FORMS[name].sample(Random(s)) for s in range(20)]
    assert FORMS[name].problem((1, "no such argument", 2)) is not None
    assert FORMS[name].weight > 0


def fit(name: str, first: str, last: str, plain: str = PLAIN) -> bool:
    """Whether the form fits around a region of the program."""
    b = Builder(None, base=text.parse(plain))
    f = b.functions["f"]
    names = [n.name for n in f.body]
    return fits(FORMS[name], facts_of(BOOK, b, f, f.body[names.index(first) : names.index(last) + 1]))


def with_gradients(source: str, wrap: Any = lambda f: f) -> Any:
    """Results, and the gradients of the inputs."""
    module = types.ModuleType("fuzzgraph_form_test")
    sys.modules[module.__name__] = module
    exec(source, module.__dict__)
    inputs = module.make_inputs()
    (results,) = module.run(wrap, inputs)
    made = [t for t in results if t.requires_grad]
    torch.autograd.backward(made, [torch.ones_like(t) for t in made])
    return results, {name: t.grad for name, t in inputs.items()}


def graded(name: str, first: str, last: str, args: tuple[Any, ...]) -> str:
    b = Builder(None, base=text.parse(GRAD))
    b.functions["f"].regions.append(Region(name, first, last, args))
    return render(b.build(), BOOK).source


@pytest.mark.parametrize("first", range(len(NODES)))
@pytest.mark.parametrize("name", sorted(FORMS))
def test_any_region_computes_the_same(name: str, first: int) -> None:
    args = FORMS[name].sample(Random(1))
    expected, states = execute(source_of())
    for last in range(first, len(NODES)):
        if fit(name, NODES[first], NODES[last]):
            results, after = execute(source_of(Region(name, NODES[first], NODES[last], args)))
            torch.testing.assert_close((results, after), (expected, states))


@pytest.mark.parametrize("name", sorted(FORMS.keys() - SWITCHES))
def test_all_arguments_keep_results_and_gradients(name: str) -> None:
    """Some are so special that they fit around no region of this program; they do around one of the other."""
    expected = with_gradients(render(text.parse(GRAD), BOOK).source)
    places = [(a, b) for a, b in (("a", "a"), ("b", "c")) if fit(name, a, b, GRAD)]
    assert places or any(fit(name, n, n) for n in NODES)
    for args in {FORMS[name].sample(Random(seed)) for seed in range(300)}:
        for first, last in places:
            found = with_gradients(graded(name, first, last, args))
            torch.testing.assert_close(found, expected, msg=lambda m, args=args: f"{args}: {m}")


@pytest.mark.compiles
@pytest.mark.parametrize("name", sorted(FORMS))
def test_compiled_regions_compute_the_same(name: str) -> None:
    """By way of functionalization and partitioning; what Inductor does to a graph does not depend on forms."""
    if not fit(name, "b", "c", GRAD):
        pytest.skip("does not fit around this region")
    source = graded(name, "b", "c", FORMS[name].sample(Random(0)))
    torch._dynamo.reset()
    found = with_gradients(source, lambda f: torch.compile(f, backend="aot_eager"))
    torch.testing.assert_close(found, with_gradients(source))


def test_classes_stand_at_module_level() -> None:
    parts = source_of(Region("local_module", "c", "c")).split("\n\n\n")
    assert parts[1] == (
        """class Region(torch.nn.Module):
    def forward(self, a, b):
        c = torch.add(a, b)
        return c"""
    )
    assert "    c = Region()(a, b)\n    c *= 2.0\n" in parts[2]


def test_in_place_writes_reach_a_function_elsewhere() -> None:
    parts = source_of(Region("local_module", "t", "d")).split("\n\n\n")
    assert "        global count\n        count = 3\n" in parts[1]
    assert "    c = Region()(a, b)\n    return b, c" in parts[2]


def test_a_region_that_binds_a_captured_name_cannot_move() -> None:
    captured = text.parse("""fuzzgraph 1
input x: f32[2] values normal
def g(x) capturing (n) {
  t = state.assign(n, 3)
  a: f32[2] = sin(x)
  return a
}
closure f = g(n=1)
call f(x)
""")
    b = Builder(None, base=captured)
    b.functions["g"].regions.append(Region("local_module", "t", "a"))
    with pytest.raises(ProgramError, match="n is bound anew in a form that puts the region elsewhere"):
        render(b.build())


def test_nested() -> None:
    inner = [Region("inner_function", "a", "b"), Region("inner_function", "b", "b")]
    source = source_of(*inner, Region("no_grad", "a", "t"))
    assert source.split("\n\n\n")[1] == (
        """def f(x):
    global count
    with torch.no_grad():
        def inner1():
            a = torch.sin(x)
            def inner():
                b = torch.mul(a, w)
                return b
            b = inner()
            return a, b
        a, b = inner1()
        log.append(b)
        count = 3
    c = torch.add(a, b)
    c *= 2.0
    return b, c"""
    )


def test_inner_functions_bind_what_they_assign() -> None:
    source = source_of(Region("inner_function", "t", "t"), Region("inner_function", "d", "d"))
    assert "    def inner():\n        global count\n        count = 3\n    inner()\n" in source
    assert "    def inner1():\n        nonlocal c\n        c *= 2.0\n    inner1()\n" in source


def test_autocast_changes_types() -> None:
    source = render(text.parse("""fuzzgraph 1
input x: f32[3, 3] values normal
def f(x) {
  form autocast(torch.bfloat16) {
    a: bf16[3, 3] = mm(x, x)
  }
  return a
}
call f(x)""")).source  # fmt: skip
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    assert namespace["run"](lambda f: f, namespace["make_inputs"]())[0].dtype == torch.bfloat16


def test_conditions_on_python_values_are_true() -> None:
    from fuzzgraph.render.forms import python_condition

    assert [text for text in python_condition.TRUE if not eval(text, {"torch": torch})] == []


def test_loops_run_the_region_once_at_the_last_number() -> None:
    source = source_of(Region("for_range", "d", "d", (0, 5, 1, -3, -1, None)))
    assert "for i in range(0, 5, 1)[-3:-1:]:" in source and "if seen == [2, 3]:" in source
    with pytest.raises(ProgramError, match="no number is left"):
        source_of(Region("for_range", "d", "d", (5, 0, 1, None, None, None)))


def test_branches_ask_a_tensor_that_the_region_reads() -> None:
    source = source_of(Region("branch_on_tensor", "b", "b", ("size", 1)))
    assert "    if w.shape[0] > 2:\n        b = torch.mul(a, w)\n    else:\n        b = torch.mul(a, w)\n" in source


def test_unknown_forms_and_arguments_are_refused() -> None:
    with pytest.raises(ProgramError, match="unknown form 'loop'"):
        source_of(Region("loop", "a", "b"))
    with pytest.raises(ProgramError, match="form no_grad: takes no arguments"):
        source_of(Region("no_grad", "a", "b", (1,)))


def test_results_of_a_region_that_does_not_run_are_a_lone_zero() -> None:
    """Left unbound they would raise while they are traced, and None might leave nothing to compile: Dynamo would run
    the program in eager."""
    from fuzzgraph.render.forms.python_condition import TRUE

    assert "    b = torch.zeros(())\n    if " in source_of(Region("python_condition", "b", "b", (TRUE[0],)))
    assert "b = torch.zeros(())" not in source_of(Region("try_finally", "b", "b"))


@pytest.mark.compiles
def test_a_condition_that_is_compiled_wrongly_shows() -> None:
    """Even where the region is all there is."""
    b = Builder(None, base=text.parse(GRAD.replace("(b, d)", "d")))
    b.functions["f"].regions.append(Region("python_condition", "a", "d", ("callable(len)",)))
    source = render(b.build(), BOOK).source.replace("if callable(len)", "if not torch.compiler.is_compiling()")
    torch._dynamo.reset()
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    inputs = namespace["make_inputs"]()
    assert namespace["run"](lambda f: f, inputs)[0].shape == (3, 4)
    assert namespace["run"](lambda f: torch.compile(f, backend="eager"), inputs)[0].shape == ()
