"""Instances of functions: modules, custom operators, autograd functions, decorators; and layers, which modules hold."""

import re
from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import Program
from fuzzgraph.render import render, standalone
from fuzzgraph.render.instances import load_instances

HEAD = """fuzzgraph 1
input x: f32[4] values arange
const w: f32[4] grad values full(2.0)
const k: f32[4] values full(1.0)
"""
SCALED = """def scaled(x) capturing (w: f32[4] grad, k: f32[4], n: float) {
  a: f32[4] grad = mul(x, w)
  b: f32[4] &k = Tensor.add_(k, 1)
  c: f32[4] grad = mul(a, n)
  return c
}
"""
MODULE = HEAD + "option grad = True\n" + SCALED + """closure m = scaled(w = w, k = k, n = 0.5) as module("eval")
call m(x)
call m(x)
"""
PRODUCT = """def product(a: f32[4], b: f32[4]) {
  r: f32[4] = mul(a, b)
  return r
}
"""
WITH_GRAD = HEAD.replace("x: f32[4]", "x: f32[4] grad") + "option grad = True\n"
APPLIED = WITH_GRAD + PRODUCT + """def back(g: f32[4], b: f32[4]) {
  d: f32[4] = mul(g, b)
  return (d, None)
}
closure apply = product() as autograd_function(back)
def f(x) {
  y: f32[4] grad = call(apply, x, w)
  return y
}
call f(x)
"""
OPERATOR = HEAD + """def put(to: f32[4], n: int) {
  s: f32[4] &to = Tensor.add_(to, n)
  r: f32[4] = neg(to)
  return r
}
closure put_op = put() as custom_op("to")
def f(x) {
  y: f32[4] = call(put_op, x, 3)
  return y
}
call f(x)
"""
DECORATED = HEAD + PRODUCT + """closure region = product() as decorated("nested_compile_region")
def f(x) {
  y: f32[4] = call(region, x, x)
  z: f32[4] = call(product, y, x)
  return z
}
call f(x)
"""
LAYER = HEAD + """state layer: layer = ("Linear", (4, 3), {"bias": False})
option grad = True
def forward(x) capturing (l) {
  y: f32[3] grad = call(l, x)
  return y
}
closure m = forward(l = layer) as module
call m(x) with no_grad
call m(x)
"""
PASSED = """fuzzgraph 1
input x: f32[4] grad values arange
option grad = True
def prepare(x) {
  a: f32[4] grad = mul(x, 2.0)
  return a
}
def f(a: f32[4] grad) {
  b: f32[4] grad &a = Tensor.mul_(a, 3.0)
  return b
}
call a = prepare(x) plain
call f(a) fresh
"""
PROGRAMS = {
    "module": MODULE, "autograd_function": APPLIED, "custom_op": OPERATOR, "decorated": DECORATED, "layer": LAYER,
    "passed": PASSED,
}  # fmt: skip
# One word of each that makes another program of it.
OTHER = {
    "module": ('("eval")', ""), "autograd_function": ("(d, None)", "(None, d)"), "custom_op": ('("to")', ""),
    "decorated": ("nested_compile_region", "disable"), "layer": (" as module", ""), "passed": (" plain", ""),
}  # fmt: skip


def execute(program: Program) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """The module's namespace, its inputs, what it returned."""
    namespace: dict[str, Any] = {}
    exec(render(program).source, namespace)
    inputs = namespace["make_inputs"]()
    return namespace, inputs, namespace["run"](lambda f: f, inputs)


@pytest.mark.parametrize("name", sorted(load_instances()))
def test_bad_arguments_are_refused(name: str) -> None:
    program = text.parse(HEAD + PRODUCT + "call product(x, x)\n")
    functions = {f.name: f for f in program.functions}
    found = load_instances()[name]
    assert found.problem((1, "no such argument", 2), functions, functions["product"]) is not None
    assert isinstance(found.is_module, bool) and found.name == name


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_all_forms_agree(name: str) -> None:
    program = text.parse(PROGRAMS[name])
    assert text.parse(text.format(program)) == program
    assert wire.unpack(wire.pack(program)) == program
    other = text.parse(PROGRAMS[name].replace(*OTHER[name]))
    assert content_hash(other) != content_hash(program)
    compile(standalone(program), "standalone", "exec")


def test_names_do_not_count() -> None:
    for program, old, new in ((MODULE, "m", "n"), (PASSED, "a", "b0"), (APPLIED, "back", "behind")):
        renamed = text.parse(re.sub(rf"\b{old}\b", new, program))
        assert content_hash(renamed) == content_hash(text.parse(program))


def test_module() -> None:
    namespace, _, results = execute(text.parse(MODULE))
    m = namespace["m"]
    assert not m.training
    assert [n for n, _ in m.named_parameters()] == ["w"] and [n for n, _ in m.named_buffers()] == ["k"]
    assert torch.equal(results[1], torch.arange(4.0))
    assert torch.equal(namespace["get_states"]()["m"]["k"], torch.full((4,), 3.0))
    sum(results).sum().backward()
    found = namespace["get_gradients"]()
    assert found["w"] is None and torch.equal(found["m.w"], torch.arange(4.0))
    source = render(text.parse(MODULE)).source
    assert "        a = torch.mul(x, self.w)\n        self.k.add_(1)\n        c = torch.mul(a, self.n)\n" in source
    assert "m = Scaled(torch.nn.Parameter(w), torch.nn.Buffer(k), 0.5).eval()" in source


def test_autograd_function() -> None:
    namespace, inputs, results = execute(text.parse(APPLIED))
    assert torch.equal(results[0], inputs["x"] * 2)
    results[0].sum().backward()
    assert torch.equal(inputs["x"].grad, torch.full((4,), 2.0)) and namespace["w"].grad is None
    source = render(text.parse(APPLIED)).source
    assert "def forward(ctx, a, b):\n        ctx.save_for_backward(b)\n" in source
    assert "def backward(ctx, g):\n        b, = ctx.saved_tensors\n" in source
    assert "def product" not in source and "def back(" not in source and "apply = Product.apply\n" in source


@pytest.mark.parametrize("style", ["setup_context", "generate_vmap_rule"])
def test_an_autograd_function_that_transforms_of_torch_func_take(style: str) -> None:
    """Its backward says twice what is true, which shows that it is asked."""
    program = APPLIED.replace("as autograd_function(back)", f'as autograd_function(back, "{style}")')
    program = program.replace("d: f32[4] = mul(g, b)", "e: f32[4] = mul(g, b)\n  d: f32[4] = mul(e, 2)")
    namespace, inputs, _ = execute(text.parse(program))
    apply, x, w = namespace["apply"], inputs["x"].detach(), namespace["w"]
    assert torch.equal(torch.func.grad(lambda a: apply(a, w).sum())(x), 2 * w)
    source = render(text.parse(program)).source
    assert "def forward(a, b):\n" in source
    assert "        a, b = inputs\n        ctx.save_for_backward(b)\n" in source
    if style == "generate_vmap_rule":
        assert torch.equal(torch.vmap(lambda a: apply(a, w))(torch.stack([x, x])), torch.stack([x * w] * 2))
    with pytest.raises(ProgramError, match="takes setup_context or generate_vmap_rule behind its backward"):
        render(text.parse(program.replace(style, "other")))


def test_custom_operator() -> None:
    namespace, inputs, results = execute(text.parse(OPERATOR))
    assert torch.equal(inputs["x"], torch.arange(3.0, 7.0)) and torch.equal(results[0], -inputs["x"])
    assert namespace["put_op"]._qualname == "fuzzgraph::put_op"
    source = render(text.parse(OPERATOR)).source
    assert '@torch.library.custom_op("fuzzgraph::put_op", mutates_args=("to",))\n' in source
    assert "def put_op(to: torch.Tensor, n: int) -> torch.Tensor:\n" in source


def test_decorated_beside_the_function_itself() -> None:
    source = render(text.parse(DECORATED)).source
    assert "def product(a, b):" in source and "@torch.compiler.nested_compile_region\ndef region(a, b):" in source
    assert "region = " not in source


def test_layer() -> None:
    first, second = execute(text.parse(LAYER)), execute(text.parse(LAYER))
    assert torch.equal(first[2][1], second[2][1]), "its parameters are drawn alike each time"
    namespace, inputs, results = first
    assert [n for n, _ in namespace["m"].named_parameters()] == ["l.weight"]
    assert torch.equal(results[0], inputs["x"] @ namespace["layer"].weight.T)
    results[1].sum().backward()
    assert namespace["get_gradients"]()["layer.weight"] is not None
    assert set(namespace["get_states"]()) == {"layer", "m"}


def test_results_are_passed_on() -> None:
    compiled: list[Any] = []
    namespace, inputs, _ = execute(text.parse(PASSED))
    results = namespace["run"](lambda f: compiled.append(f.__name__) or f, inputs)
    assert compiled == ["f"]
    assert torch.equal(results[1], inputs["x"] * 6) and results[0] is results[1]
    results[1].sum().backward()
    assert torch.equal(inputs["x"].grad, torch.full((4,), 6.0))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (MODULE.replace("as module", "as no_such"), "unknown kind 'no_such'"),
        (MODULE.replace('"eval"', '"train"'), 'takes "eval" or nothing'),
        (APPLIED.replace("(back)", ""), "takes the name of one function"),
        (APPLIED.replace("g: f32[4], b: f32[4]", "b: f32[4], g: f32[4]"), "the gradients come first"),
        (OPERATOR.replace('("to")', '("n")'), "name parameters that are tensors: to"),
        (OPERATOR.replace("n: int", "n"), "the type of parameter n is not known"),
        (DECORATED.replace("nested_compile_region", "os.system"), "takes one of nested_compile_region"),
    ],
)
def test_what_cannot_be_written(program: str, said: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(said)):
        render(text.parse(program))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (LAYER.replace('"Linear"', '"functional"'), "a layer is a class of torch.nn"),
        (LAYER.replace('"Linear"', '"Parameter"'), "a layer is a class of torch.nn"),
        (PASSED.replace("call a =", "call x ="), "the name 'x' is used twice"),
        (PASSED.replace("call a = prepare(x) plain\ncall f(a) fresh", "call f(a)\ncall a = prepare(x)"), "no input a"),
        (APPLIED.replace("(back)", "(nowhere)"), "nothing is called nowhere"),
    ],
)
def test_what_is_no_program(program: str, said: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(said)):
        text.parse(program)
