"""The value oracle: what it finds, and above all what it lets pass."""

import math

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import _numeric as numeric
from fuzzgraph.oracles import value


def verdict(expected, actual, plan=None, **tools):
    reference = expected if hasattr(expected, "results") else run(expected)
    subject = actual if hasattr(actual, "results") else run(actual)
    fake = FakeTools(reference, **tools)
    return value.judge(plan or {}, reference, subject, fake), fake


def kinds(expected, actual, **more):
    return [f.kind for f in verdict(expected, actual, **more)[0]]


X = torch.tensor([1.0, 2.0, 3.0])


def test_equal_runs_say_nothing():
    mixed = [X, (torch.tensor([True]), {"a": torch.tensor(3)}), 4, 2.5, None, "s"]
    assert kinds(mixed, [X.clone(), (torch.tensor([True]), {"a": torch.tensor(3)}), 4, 2.5, None, "s"]) == []


def test_a_wrong_value_is_found_with_its_place():
    found, _ = verdict([X, X], [X, X + torch.tensor([0.0, 0.5, 0.0])])
    assert [(f.oracle, f.kind, f.stage) for f in found] == [("value", "value", "run")]
    assert "output of call 0[1]" in found[0].detail and "[1]: 2.0 in eager, 2.5 compiled" in found[0].detail


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bool])
def test_integers_are_exact(dtype):
    a = torch.ones(3, dtype=dtype)
    b = a.clone()
    b[1] = 0
    assert kinds(a, b) == ["value"]


def test_differences_within_the_default_tolerance_pass():
    assert kinds(X, X * (1 + 1e-6)) == []
    assert kinds(X.half(), (X * (1 + 9e-4)).half()) == []


def test_nan_and_infinity():
    odd = torch.tensor([math.nan, math.inf, -math.inf, 1.0])
    assert kinds(odd, odd.clone()) == []
    found, _ = verdict(odd, torch.tensor([1.0, math.inf, -math.inf, 1.0]))
    assert [f.message for f in found] == ["no NaN where eager has one (float32)"]
    found, _ = verdict(odd, torch.tensor([math.nan, math.inf, -math.inf, math.nan]))
    assert [f.message for f in found] == ["NaN where eager has none (float32)"]
    assert kinds(odd, torch.tensor([math.nan, -math.inf, -math.inf, 1.0])) == ["value"]


def test_an_infinity_elsewhere_hides_no_mismatch():
    """torch's `same` alone passes this: its mean square is NaN on both sides."""
    a = torch.tensor([math.inf, 1.0])
    assert kinds(a, torch.tensor([math.inf, 2.0]), float64=run(a.double())) == ["value"]


def test_lost_nan_is_found_where_float64_has_it_too():
    """torch's `same` alone passes this as well."""
    a, b = torch.tensor([math.nan, 1.0]), torch.tensor([0.0, 1.0])
    assert kinds(a, b, float64=run(a.double())) == ["value"]
    assert kinds(a, b, float64=run(b.double())) == []  # here eager is the odd one out
    assert kinds(b, a, float64=run(b.double())) == ["value"]


def test_float64_as_judge_accepts_the_better_result():
    eager, better, compiled = torch.tensor([1.001]), torch.tensor([1.0], dtype=torch.float64), torch.tensor([1.0])
    assert kinds(eager, compiled, float64=run(better)) == []


def test_a_mismatch_that_an_ulp_explains_is_unstable():
    found, tools = verdict(X, X + 1, perturbed=run(X + 0.5))
    assert found == [] and "an ulp moves eager" in tools.reasons[0]


def test_what_the_inputs_decide_to_the_last_bit_is_never_unstable():
    """The floor division of floats (pytorch 197895) once was: an ulp of an input makes another whole number."""
    for exact, found in (([[0, 0]], ["value"]), ([[0, 1]], [])):
        assert kinds([X], [X + 1], plan={"exact": exact}, perturbed=run([X + 1])) == found


def test_a_mismatch_far_beyond_what_an_ulp_does_is_found():
    assert kinds(X, X + 1, perturbed=run(X + 1e-3)) == ["value"]


def test_an_infinity_is_explained_by_lost_digits_only():
    """A sum of numbers next to the largest overflows in some orders; what is left of it in others is no judge."""
    infinite = torch.full_like(X, math.inf)
    assert kinds(X, infinite, perturbed=run(X * 2)) == []
    assert kinds(X, infinite, float64=run(X.double() * 2)) == []
    assert kinds(X, infinite, perturbed=run(X + 1e-3)) == ["value"]


def test_a_mismatch_of_one_element_is_found_beside_unstable_ones():
    moved = X + torch.tensor([1.0, 0.0, 0.0])
    assert kinds(X, X + 1, perturbed=run(moved)) == ["value"]


def test_a_reference_that_does_not_repeat_is_unstable():
    found, tools = verdict(X, X + 1, rerun=run(X + 1))
    assert found == [] and "two eager runs differ" in tools.reasons[0]


def test_float64_on_another_branch_is_unstable():
    found, tools = verdict(torch.tensor([2.0]), torch.tensor([3.0]), float64=run(torch.tensor([3.0]).double()))
    assert found == [] and "float64" in tools.reasons[0]
    found, tools = verdict(torch.tensor([2]), torch.tensor([3]), float64=run(torch.tensor([3])))
    assert found == [] and "float64" in tools.reasons[0]


def test_low_precision_mismatch_that_emulated_casts_clear_passes():
    a, b = torch.ones(4, dtype=torch.float16), torch.full((4,), 1.5, dtype=torch.float16)
    assert kinds(a, b) == ["value"]
    assert kinds(a, b, low_precision=True, emulated=run(a.clone())) == []
    assert kinds(a, b, low_precision=True, emulated=run(b)) == ["value"]


def test_states_are_compared_and_inputs_and_gradients_are_not():
    a = run(X, inputs={"x": X}, gradients={"x": X}, states={"s": [X]})
    b = run(X, inputs={"x": X + 1}, gradients={"x": X + 1}, states={"s": [X + 1]})
    assert kinds(a, b) == ["state"]


def test_the_plan_says_what_is_not_compared():
    a = run([X, X], inputs={"x": X}, gradients={"x": X}, states={"s": 1})
    b = run([X, X + 1], inputs={"x": X + 1}, gradients={"x": X + 1}, states={"s": 2})
    plan = {"outputs": [[0, 1]], "inputs": ["x"], "states": ["s"], "gradients": False}
    assert kinds(a, b, plan=plan) == []
    assert kinds(a, b, plan={**plan, "outputs": [[0, 0]]}) == ["value"]
    assert kinds(a, b, plan={**plan, "outputs": [[0]]}) == []


def test_sign_of_zero_is_reported_apart():
    a, b = torch.tensor([-0.0, 1.0]), torch.tensor([0.0, 1.0])
    assert kinds(a, b) == []  # no float64 run that confirms eager's sign
    assert kinds(a, b, float64=run(a.double())) == ["zero_sign"]
    assert kinds(a, b, plan={"zero_signs": False}, float64=run(a.double())) == []
    assert kinds(a, b, float64=run(b.double())) == []
    assert kinds(a, torch.tensor([0.0, 2.0]), float64=run(a.double())) == ["value"]


def test_which_of_two_zeros_a_maximum_or_a_sum_is_is_nobodys_promise():
    text = "fuzzgraph 1\ninput x: f32[3] values edge\ninput y: f32[3] values edge seed 1\n\ndef f(x, y) {\n"
    calls = ("a: f32[3] = maximum(x, y)", "a: f32[3] = mul(x, y)", "a: f32[] = dot(x, y)", "a: f32[] = sum(x)")
    made = [value.plan(parse(text + f"  {call}\n  return a\n}}\ncall f(x, y)\n"), load_rules()) for call in calls]
    assert [plan["zero_signs"] for plan in made] == [False, True, False, False]


def test_complex_numbers():
    a = torch.tensor([1 + 2j, complex(math.nan, 0)])
    assert kinds(a, a.clone()) == []
    assert kinds(a.conj(), a.conj().resolve_conj()) == []
    assert kinds(a, torch.tensor([1 - 2j, complex(math.nan, 0)])) == ["value"]
    zero = torch.tensor([complex(0.0, 1.0)])
    assert kinds(zero, torch.tensor([complex(-0.0, 1.0)]), float64=run(zero.to(torch.complex128))) == []


def test_python_numbers():
    assert kinds(2.0, 2.0 + 1e-7) == []
    assert kinds(2.0, 2.1) == ["value"]
    assert kinds(7, 8) == ["value"]
    assert kinds(math.nan, math.nan) == []


def test_what_differs_in_kind_is_left_to_the_metadata_oracle():
    assert kinds(X, X.double()) == []
    assert kinds(X, X[:2]) == []
    assert kinds(X, 3) == []
    assert kinds([X, X], [X]) == []


def test_no_verdict_on_a_run_that_raised():
    assert kinds(run(X), run(X + 1, error=RuntimeError("x"))) == []


def test_complex_numbers_that_are_not_finite():
    """Eager and compiled code multiply infinities by other formulas."""
    nan, inf = float("nan"), float("inf")
    a = torch.tensor([complex(nan, nan), complex(inf, 1), complex(1, 1)])
    b = torch.tensor([complex(-inf, -inf), complex(nan, inf), complex(nan, 1)])
    assert numeric.differs(a, b).tolist() == [False, False, True]
