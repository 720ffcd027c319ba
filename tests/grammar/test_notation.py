"""The notation: what each clause makes of arguments."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from fuzzgraph.grammar import FreshSource, Rule, ShapeWant
from fuzzgraph.grammar.check import types_of
from fuzzgraph.grammar.dtypes import BAREBONES, can_cast, fits, promote
from fuzzgraph.grammar.loader import load_text
from fuzzgraph.ir.types import DTYPES, ScalarType, SequenceType, TensorType, tensor


def rules(text: str) -> list[Rule]:
    return load_text(text, Path("t.rules"))


def rule(text: str) -> Rule:
    return rules(text)[0]


ADD = rules(
    """
op add(input, other, *, alpha)
  input : tensor any [*S] broadcast | number
  other : tensor any [*S] broadcast | number
  alpha : number {1, 2} = 1
  where is_tensor(input) or is_tensor(other) "two numbers"
  result promote(input, other) [*S]
  inplace "+="
  out
  spell method, operator "{0} + {1}"
"""
)
FLOATS, INTS = tensor("f32", (2, 3)), tensor("i16", (3,))


def test_broadcasting_and_promotion() -> None:
    assert ADD[0].check((FLOATS, INTS), {}) is None
    assert ADD[0].results((FLOATS, INTS), {}) == [("f32", (2, 3))]
    assert ADD[0].results((INTS, tensor("i8", (4, 1))), {}) == [("i16", (4, 3))]
    assert ADD[0].results((2.5, INTS), {}) == [("f32", (3,))]
    assert "broadcast" in str(ADD[0].check((FLOATS, tensor("f32", (4,))), {}))
    assert ADD[0].check((1, 2), {}) == "two numbers"


def test_binding_follows_python() -> None:
    assert ADD[0].check((FLOATS,), {"other": INTS}) is None
    assert ADD[0].check((FLOATS, INTS), {"other": INTS}) == "add got 'other' twice"
    assert ADD[0].check((FLOATS, INTS), {"beta": 1}) == "add has no parameter 'beta'"
    assert ADD[0].check((FLOATS,), {}) == "add needs 'other'"
    assert "positional" in str(ADD[0].check((FLOATS, INTS, 2), {}))


def test_inplace_admits_the_result_only() -> None:
    add_ = ADD[1]
    assert add_.op == "Tensor.add_"
    assert add_.check((FLOATS, INTS), {}) is None
    assert add_.check((INTS, 1), {}) is None
    assert "does not fit" in str(add_.check((INTS, 1.5), {}))
    assert "does not fit" in str(add_.check((INTS, tensor("i16", (2, 3))), {}))
    assert "overlapping" in str(add_.check((TensorType("f32", (3, 3), (0, 1)), 1), {}))
    assert add_.written((FLOATS, INTS), {}) == [0]


def test_writing_memory_that_is_read() -> None:
    add_ = ADD[1]
    whole = TensorType("f32", (4,), (1,), alias="x")
    left, right = TensorType("f32", (2,), (1,), alias="x"), TensorType("f32", (2,), (1,), 2, alias="x")
    shifted = TensorType("f32", (2,), (1,), 1, alias="x")
    assert add_.check((whole, whole), {}) is None
    assert add_.check((left, right), {}) is None
    assert "share memory" in str(add_.check((left, shifted), {}))


def test_out_fits_the_result() -> None:
    assert ADD[0].check((FLOATS, INTS), {"out": tensor("f64", (2, 3))}) is None
    assert "out=" in str(ADD[0].check((FLOATS, INTS), {"out": tensor("i64", (2, 3))}))
    assert "out=" in str(ADD[0].check((FLOATS, INTS), {"out": tensor("f32", (3,))}))
    assert ADD[0].written((FLOATS, INTS), {"out": FLOATS}) == ["out"]
    assert ADD[0].results((INTS, INTS), {"out": tensor("f64", (3,))}) == [("f64", (3,))]


def test_scalars_without_a_value_fit_numbers() -> None:
    assert ADD[0].check((FLOATS, ScalarType("int")), {}) is None
    assert ADD[0].results((INTS, ScalarType("float")), {}) == [("f32", (3,))]


def test_spellings_that_fit_a_call() -> None:
    assert ADD[0].spellings_for((FLOATS, INTS), {}) == ["function", "method", "operator", "keywords"]
    assert ADD[0].spellings_for((2, INTS), {}) == ["function", "operator", "keywords"]
    assert ADD[0].spellings_for((FLOATS, INTS), {"alpha": 2}) == ["function", "method", "keywords"]
    assert ADD[1].spellings_for((FLOATS, INTS), {}) == ["method", "augmented", "keywords"]


MM = rule(
    """
op mm(input, mat2)
  input : tensor T:any - bool [N, K]
  mat2  : tensor T [K, M]
  result T [N, M]
"""
)


def test_shape_and_dtype_variables() -> None:
    assert MM.results((tensor("f32", (2, 3)), tensor("f32", (3, 5))), {}) == [("f32", (2, 5))]
    assert "K is 4, not 3" in str(MM.check((tensor("f32", (2, 3)), tensor("f32", (4, 5))), {}))
    assert "dtype f64, not f32" in str(MM.check((tensor("f32", (2, 3)), tensor("f64", (3, 5))), {}))
    assert "not one of" in str(MM.check((tensor("bool", (2, 3)), tensor("bool", (3, 5))), {}))
    assert "rank 1" in str(MM.check((tensor("f32", (2,)), tensor("f32", (3, 5))), {}))


SELECT = rule(
    """
op index_select(input, dim, index)
  input : tensor any [*S:1..3]
  dim   : dim(input)
  index : tensor i64 [N] values index(size_at(input, dim))
  result promote(input.dtype) [*replaced(input, dim, N)]
"""
)


def test_value_domains_by_flat_operand() -> None:
    args = (tensor("f32", (4, 5)), -1, tensor("i64", (2,)))
    (domain,) = SELECT.domains(args, {}).values()
    assert list(SELECT.domains(args, {})) == [1]
    assert (domain.kind, domain.low) == ("index", 5)
    assert SELECT.results(args, {}) == [("f32", (4, 2))]
    assert "no dim" in str(SELECT.check((tensor("f32", (4,)), 1, tensor("i64", (2,))), {}))


def test_exact_shapes_defaults_and_attributes() -> None:
    text = """
op scatter(input, src, dim, mode)
  input : tensor T:any [*S:1..3]
  dim   : dim(input) = 0
  src   : tensor T [= without(input, dim)]
  mode  : choice {"a", "b"} = "a" rare
"""
    found = rule(text)
    assert found.check((tensor("f32", (2, 3)), tensor("f32", (3,))), {}) is None
    assert found.check((tensor("f32", (2, 3)), tensor("f32", (2,))), {"dim": 1, "mode": "b"}) is None
    assert "not [2]" in str(found.check((tensor("f32", (2, 3)), tensor("f32", (3,))), {"dim": 1}))
    assert "'c' is not one of" in str(found.check((tensor("f32", (2, 3)), tensor("f32", (3,))), {"mode": "c"}))


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        ("int(0, 3)", 3, 4),
        ("int", -7, True),
        ("float(0, 1)", 0.5, 1.5),
        ("bool", True, 1),
        ("dims(input)", (0, -1), (0, 0)),
        ("permutation(input)", (1, 0), (0, 0)),
        ("dtype(float)", torch.float16, torch.int16),
        ("ints(0, 9, 1, 2)", (3, 4), (3, 4, 5)),
        ("none | int", None, "x"),
        ("format", torch.contiguous_format, 1),
    ],
)
def test_attribute_kinds(spec: str, good: Any, bad: Any) -> None:
    found = rule(f"op x(input, a)\n  input : tensor [N, M]\n  a : {spec}\n")
    assert found.check((FLOATS, good), {}) is None
    assert found.check((FLOATS, bad), {}) is not None


def test_lists_of_tensors() -> None:
    found = rule("op stack(tensors)\n  tensors : tensors T:any [*S] (1, 2)\n")
    assert found.check(([FLOATS, FLOATS],), {}) is None
    assert found.check((SequenceType("list", (FLOATS, FLOATS)),), {}) is None
    assert found.check(([FLOATS, INTS],), {}) is not None
    assert found.check(([FLOATS, FLOATS, FLOATS],), {}) is not None


def test_conditions_of_an_expression_that_does_not_apply_fail() -> None:
    found = rule("op x(input)\n  input : tensor [*S]\n  where S[0] > 1\n")
    assert found.check((tensor("f32", (2,)),), {}) is None
    assert found.check((tensor("f32", ()),), {}) is not None


def test_samples_cover_alternatives_and_omissions() -> None:
    drafts = [ADD[0].sample(FreshSource(), random.Random(i)) for i in range(300)]
    assert None not in drafts
    calls = [types_of(d)[:2] for d in drafts if d is not None]
    assert any(isinstance(a[0], TensorType) and not isinstance(a[1], TensorType) for a, _ in calls)
    assert any(not isinstance(a[0], TensorType) for a, _ in calls)
    assert {"alpha", "out"} <= {k for _, kw in calls for k in kw}
    assert any(k == {} for _, k in calls)


OPERANDS = [*(tensor(d, s) for d in DTYPES for s in ((), (2,))), 1, True, 2.5, 1j]


def test_promotion_agrees_with_torch() -> None:
    for first in OPERANDS:
        for second in OPERANDS:
            values = [
                torch.ones(o.shape, dtype=o.torch_dtype) if isinstance(o, TensorType) else o for o in (first, second)
            ]
            known = {d.torch_dtype: n for n, d in DTYPES.items()}
            try:
                want = known.get(torch.result_type(*values))
            except RuntimeError:  # of a barebones dtype and another
                want = None
            try:
                got = promote(first, second)
            except ValueError:
                # Half with complex: complex32, or what a torch makes of bf16. A barebones one with a complex number.
                odd = {"f16", "bf16", *BAREBONES}
                assert want is None or odd & {getattr(o, "dtype", "") for o in (first, second)}
                continue
            assert got == want, (first, second)


def test_casts_agree_with_torch() -> None:
    for first in DTYPES.values():
        for second in DTYPES.values():
            assert can_cast(first.name, second.name) == torch.can_cast(first.torch_dtype, second.torch_dtype)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("value", [0, 255, 256, -1, -128, -129, 40000, 1e30, -0.5, float("inf"), float("nan"), 1 + 2j])
def test_numbers_that_fit_agree_with_torch(dtype: str, value: Any) -> None:
    if isinstance(value, complex) and DTYPES[dtype].kind == "bool":
        pytest.skip("rules refuse complex numbers for bool where torch does")
    try:
        torch.full((2,), value, dtype=DTYPES[dtype].torch_dtype)
        holds = True
    except RuntimeError:
        holds = False
    # torch.full lets half overflow to inf, most operators do not.
    assert fits(value, dtype) == (holds and (dtype, value) != ("f16", 1e30))


def test_shape_wants_draw_what_fits() -> None:
    wants = [
        ShapeWant((2, None), (0, 2), (3,)),
        ShapeWant(ranks=(0, 4), broadcast=(2, 1, 3)),
        ShapeWant(ranks=(0, 4), broadcast=(2, 1, 3), into=True),
        ShapeWant((1, None)),
    ]
    for want in wants:
        for seed in range(100):
            assert want.fits(want.draw(random.Random(seed)))
    assert not wants[2].fits((2, 4, 3))
    assert wants[1].fits((2, 4, 3))


def test_a_list_that_is_written() -> None:
    """Its items may share memory with nothing but, in an operator without dims, the same elements of their partners."""
    add_ = rule(
        """
op _foreach_add_(self, other)
  self  : tensors T:any (1, 3) written
  other : tensors T (1, 3)
  alias self
  tags inplace
"""
    )
    a, b = tensor("f32", (4,)).with_(alias="a"), tensor("f32", (4,)).with_(alias="b")
    flipped = a.with_(stride=(2,), shape=(2,))
    assert add_.written(((a, b), (b, a)), {}) == [0]
    assert add_.check(((a,), (b,)), {}) is None
    assert add_.check(((a, b), (a, b)), {}) is None
    for first, second in (((a, b), (b, a)), ((a, a), (b, b)), ((a,), (flipped,))):
        assert "share memory" in str(add_.check((first, second), {}))
