"""Rendered modules, word for word."""

from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text
from fuzzgraph.render import compile_kwargs, render


def source(program: str, book: Any = None) -> str:
    return render(text.parse("fuzzgraph 1\n" + program), book).source


def execute(program: str, wrap: Any = lambda f: f) -> tuple[list[Any], dict[str, Any]]:
    namespace: dict[str, Any] = {}
    exec(source(program), namespace)
    return namespace["run"](wrap, namespace["make_inputs"]()), namespace


def body_of(program: str, name: str = "f", book: Any = None) -> str:
    """The lines of one function of the module."""
    parts = source(program, book).split("\n\n\n")
    return next(p for p in parts if p.startswith(f"def {name}("))


def test_smallest() -> None:
    assert source("input x: i16[4] values full(3)\ndef f(x) {\n a: i16[4] = abs(x)\n return a\n}\ncall f(x)") == (
        '''import torch


def f(x):
    a = torch.abs(x)
    return a


def make_inputs():
    x = torch.full((4,), 3, dtype=torch.int16)
    return {"x": x}


def run(wrap, inputs):
    return [wrap(f)(inputs["x"])]
'''
    )


EVERYTHING = """
input x: f32[4, 2] values normal seed 1
input y: f32[4][2]+1 grad values data(1.5) storage 9 dynamic(0)
input z: f32[2] view of y
const w: f32[2] values arange
state log: list = []
state seen: object = {"n": 0}
def f(x, k) {
  a: f32[4, 2] = mul(x, w)
  s = state.append(log, a)
  b: f32[4, 2] = Tensor.add_(a, k)
  return (a, [b, {"k": None}])
}
def g(y, z) capturing (op) {
  r = call(op, y, y)
  return (r, z)
}
closure add = g(op = torch.Tensor.__add__)
closure own = g(op = add)
call f(x, 2) with no_grad, autocast(torch.bfloat16)
call add(y, z)
call f(x, 3) fresh
call own(y, z)
"""

MODULE = '''import torch


def f(x, k):
    a = torch.mul(x, w)
    log.append(a)
    b = a.add_(k)
    return a, [b, {"k": None}]


def make_g(op):
    def g(y, z):
        r = op(y, y)
        return r, z

    return g


add = make_g(torch.Tensor.__add__)


class Object:
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


def normal(shape, dtype, mean=0.0, std=1.0, seed=0):
    gen = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return (torch.randn(shape, dtype=wide, generator=gen) * std + mean).to(dtype)


def make_inputs():
    global w, log, seen, own
    x = normal((4, 2), torch.float32, seed=1)
    y_storage = torch.tensor([1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5], dtype=torch.float32)
    y = y_storage.as_strided((4,), (2,), 1).requires_grad_()
    torch._dynamo.maybe_mark_dynamic(y, 0)
    z = y_storage.as_strided((2,), (1,), 0)
    w = torch.arange(2, dtype=torch.float32)
    log = []
    seen = Object(n=0)
    own = make_g(add)
    return {"x": x, "y": y, "z": z}


def run(wrap, inputs):
    results = []
    wrapped_f = wrap(f)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        results.append(wrapped_f(inputs["x"], 2))
    wrapped_add = wrap(add)
    results.append(wrapped_add(inputs["y"], inputs["z"]))
    wrapped_f = wrap(f)
    results.append(wrapped_f(inputs["x"], 3))
    wrapped_own = wrap(own)
    results.append(wrapped_own(inputs["y"], inputs["z"]))
    return results


def get_states():
    return {"log": log, "seen": vars(seen)}
'''


def test_everything_at_once() -> None:
    assert source(EVERYTHING) == MODULE


def test_outputs_are_named() -> None:
    rendered = render(text.parse("fuzzgraph 1" + EVERYTHING))
    assert rendered.outputs == (("a", "b"), ("r", "z"), ("a", "b"), ("r", "z"))


def test_everything_runs_and_starts_anew() -> None:
    results, namespace = execute(EVERYTHING)
    assert len(results) == 4
    assert len(namespace["get_states"]()["log"]) == 2
    again = namespace["run"](lambda f: f, namespace["make_inputs"]())
    assert len(namespace["get_states"]()["log"]) == 2
    torch.testing.assert_close(again[1], results[1])


def test_wraps_once_a_function_and_again_where_fresh() -> None:
    wrapped: list[str] = []

    def wrap(function: Any) -> Any:
        wrapped.append(function.__name__)
        return function

    _, namespace = execute(EVERYTHING, wrap)
    assert wrapped == ["f", "g", "f", "g"]
    assert namespace["add"].__code__ is namespace["own"].__code__


CALL = "input x: f32[4] values normal\ndef f(x) {{\n {}\n return x\n}}\ncall f(x)"


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ("a: f32[4] = add(x, x)", "a = torch.add(x, x)"),
        ("a: f32[4] = add(x, x, alpha = 2) as method", "a = x.add(x, alpha=2)"),
        ("a: f32[4] = add(1, x) as method", "a = torch.add(1, x)"),
        ("a: f32[4] = Tensor.add_(x, 1.0)", "x.add_(1.0)"),
        ("a: f32[4] = Tensor.add_(x, 1.0) as function", "torch.Tensor.add_(x, 1.0)"),
        ("a: f32[4] = nn.functional.gelu(x)", "a = torch.nn.functional.gelu(x)"),
        ("a: f32[4] = special.erfcx(x) as unheard_of", "a = torch.special.erfcx(x)"),
        ("a: f32[4] = full((4,), inf)", "a = torch.full((4,), torch.inf)"),
        ("a: f32[4] = mul(x, complex(1.0, nan))", "a = torch.mul(x, complex(1.0, torch.nan))"),
        ("a: f32[4] = Tensor.to(x, torch.float16)", "a = x.to(torch.float16)"),
        ('a: f32[4] = Tensor.to(x, device("cpu"))', 'a = x.to(torch.device("cpu"))'),
        ("a: f32[4] = Tensor.to(x, torch.channels_last)", "a = x.to(torch.channels_last)"),
        ("a: f32[2] = Tensor.__getitem__(x, slice(1, None, 2)) as subscript", "a = x[1::2]"),
        ("a: f32[2] = Tensor.__getitem__(x, (..., slice(None, 3, None))) as subscript", "a = x[..., :3]"),
        ("a: f32[2] = Tensor.__getitem__(x, (-1,)) as subscript", "a = x[-1,]"),
        ("a: none = Tensor.__setitem__(x, slice(1, 3, None), 0.5) as assign", "x[1:3] = 0.5"),
        ('a: f32[] = einsum("i->", [x])', 'a = torch.einsum("i->", [x])'),
        ("a = call(x, x, 1)", "x(x, 1)"),
        ("a = python(x) \"\"\"\n    if True:\n        a = x\n\"\"\"", "if True:\n        a = x"),
    ],
)  # fmt: skip
def test_nodes(node: str, line: str) -> None:
    assert body_of(CALL.format(node)).removeprefix("def f(x):\n    ").removesuffix("\n    return x") == line


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ("a: f32[4] = mul(x, x) as operator", "a = x * x"),
        ("a: f32[4] = pow(-1.0, x) as operator", "a = (-1.0) ** x"),
        ("a: f32[4] = sub(x, -2) as operator", "a = x - (-2)"),
        ("a: f32[4] = add(x, x) as keywords", "a = torch.add(x, other=x)"),
        ("a: f32[4] = add(x, x, alpha = 2) as operator", "a = torch.add(x, x, alpha=2)"),
        ("a: f32[4] = Tensor.mul_(x, 2.0) as augmented", "x *= 2.0"),
        ("a: f32[2] = Tensor.__getitem__(x, slice(0, 2, None)) as subscript", "a = x[0:2]"),
    ],
)
def test_spellings_of_the_rules(node: str, line: str) -> None:
    found = body_of(CALL.format(node), book=load_rules())
    assert found == f"def f(x):\n    {line}\n    return x"


def test_the_value_of_a_statement_is_its_first_operand() -> None:
    node = "a: f32[4] = Tensor.mul_(x, 2.0) as augmented"
    program = CALL.replace("return x", "return a").format(node)
    assert body_of(program, book=load_rules()) == "def f(x):\n    x *= 2.0\n    a = x\n    return a"


def test_constants_that_a_statement_binds_are_global() -> None:
    node = "a: f32[4] = Tensor.mul_(w, 2.0) as augmented"
    program = f"const w: f32[4] values normal\ndef f() {{\n {node}\n return 1\n}}\ncall f()"
    assert body_of(program, book=load_rules()) == "def f():\n    global w\n    w *= 2.0\n    return 1"


STATES = """
state log: list = [1, 2]
state table: dict = {"k": 1}
state thing: object = {"n": 1}
state kind: class = {"n": 1, "rows": []}
state count: global = 7
def f() {
  n = state.len(log)
  p = state.pop(log, 0)
  s = state.setitem(table, "k", n)
  t = state.getitem(table, "k")
  u = state.setattr(thing, "n", t)
  v = state.getattr(thing, "n")
  y = state.getattr(kind, "n")
  z = state.setattr(kind, "n", n)
  r = state.getattr(kind, "rows")
  q = state.append(r, y)
  w = state.read(count)
  x = state.assign(count, v)
  return (p, s, v, w)
}
call f()
call f()
"""


def test_state() -> None:
    assert body_of(STATES).splitlines()[1:-1] == [
        "    global count", "    n = len(log)", "    p = log.pop(0)", '    table["k"] = n', "    s = None",
        '    t = table["k"]', "    thing.n = t", "    v = thing.n", "    y = kind.n", "    kind.n = n",
        "    r = kind.rows", "    r.append(y)", "    w = count", "    count = v",
    ]  # fmt: skip
    results, namespace = execute(STATES)
    assert results == [(1, None, 2, 7), (2, None, 1, 2)]
    assert namespace["get_states"]() == {
        "log": [], "table": {"k": 1}, "thing": {"n": 1}, "kind": {"n": 1, "rows": [1, 2]}, "count": 1,
    }  # fmt: skip
    assert namespace["make_inputs"]() == {} and namespace["get_states"]()["kind"] == {"n": 1, "rows": []}


def test_captures_that_are_assigned_are_nonlocal() -> None:
    program = "def f() capturing (n) {\n s = state.assign(n, 2)\n return n\n}\nclosure g = f(n = 1)\ncall g()"
    assert "        nonlocal n\n        n = 2\n        return n\n" in source(program)
    assert execute(program)[0] == [2]


def test_names_of_the_module_are_left_alone() -> None:
    program = (
        "input inputs: f32[2] values normal\nconst normal: f32[2] values normal\n"
        "def wrap(normal_) {\n a: f32[2] = add(normal_, normal)\n return a\n}\ncall wrap(inputs)"
    )
    results, namespace = execute(program)
    assert results[0].shape == (2,)
    assert set(namespace["make_inputs"]()) == {"inputs"}


def test_wrong_numbers_of_arguments_are_named() -> None:
    with pytest.raises(ProgramError, match=r"node a: state.len does not take 2 arguments"):
        source("state s: list = []\ndef f() {\n a = state.len(s, 1)\n return a\n}\ncall f()")


def test_compile_kwargs() -> None:
    options = 'option dynamic = False\noption mode = "default"'
    program = text.parse(f"fuzzgraph 1\n{options}\ndef f() {{ return 1 }}\ncall f()")
    assert compile_kwargs(program.options) == {"dynamic": False, "mode": "default"}
    assert compile_kwargs({"fullgraph": True, "dynamic": None, "config": {}}) == {"fullgraph": True}
