"""Every rule of the registry: samples, is deterministic, accepts its own samples, declines seldom."""

import math
import random
import zlib
from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.grammar import Draft, FreshSource, Rule, load_rules
from fuzzgraph.grammar.check import types_of
from fuzzgraph.grammar.spelling import STANDARD, by_keyword
from fuzzgraph.ir.builtins import resolve
from fuzzgraph.ir.types import DTYPES, TensorType

BOOK = load_rules()
OPS = sorted(BOOK.rules)
SAMPLES = 6


def draws(rule: Rule, samples: int = SAMPLES) -> list[Draft]:
    seed = zlib.crc32(rule.op.encode())
    found = [rule.sample(FreshSource(), random.Random(seed + i)) for i in range(samples)]
    return [d for d in found if d is not None]


@pytest.mark.parametrize("op", OPS)
def test_rule_samples_and_accepts_its_samples(op: str) -> None:
    rule = BOOK.rules[op]
    drafts = draws(rule)
    assert len(drafts) >= SAMPLES - 1
    for draft in drafts:
        args, kwargs, _ = types_of(draft)
        assert rule.check(args, kwargs) is None
        assert draft.spelling in rule.spellings_for(args, kwargs)


@pytest.mark.parametrize("op", OPS)
def test_equal_rng_states_give_equal_drafts(op: str) -> None:
    first, second = ([repr(d) for d in draws(BOOK.rules[op], 2)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("op", OPS)
def test_resampling_an_attribute_keeps_the_operands(op: str) -> None:
    rule = BOOK.rules[op]
    for i, draft in enumerate(draws(rule, 3)):
        args, kwargs, _ = types_of(draft)
        found = rule.resample_attribute(args, kwargs, random.Random(i))
        if found is not None:
            assert rule.check(*found) is None
            assert repr(found) != repr((args, kwargs))
            assert sorted(map(repr, tensors(found))) == sorted(map(repr, tensors((args, kwargs))))


def tensors(value: Any) -> list[TensorType]:
    if isinstance(value, TensorType):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for item in items for t in tensors(item)]


def real(value: Any) -> Any:
    """Tensors of zeros and ones in place of types: indices are in range, divisors are not needed."""
    if isinstance(value, TensorType):
        return torch.ones(max(value.extent, 1), dtype=value.torch_dtype).as_strided(
            value.shape, value.stride, value.offset
        )
    return type(value)(map(real, value)) if isinstance(value, (tuple, list)) else value


@pytest.mark.filterwarnings("ignore:.*degrees of freedom", "ignore:Casting complex values")
@pytest.mark.parametrize("op", [op for op in OPS if set(BOOK.rules[op].spellings) - {"function", "keywords"}])
def test_spellings_mean_the_same_call(op: str) -> None:
    """What a method or a template gives has the dtype and shape that the function gives."""
    rule = BOOK.rules[op]
    for draft in draws(rule):
        args, kwargs, _ = types_of(draft)
        if rule.domains(args, kwargs) or rule.tags & {"random", "uninitialized"}:
            continue
        want = outcome(lambda a=args, k=kwargs: resolve(op)(*real(a), **{n: real(v) for n, v in k.items()}))
        for name in rule.spellings_for(args, kwargs):
            got = outcome(lambda n=name, a=args, k=kwargs: call(rule, n, a, k))
            assert got == want, (name, args, kwargs)


def outcome(run: Any) -> Any:
    found = run()
    items = found if isinstance(found, (tuple, list)) else (found,)
    return [(i.dtype, i.shape) if isinstance(i, torch.Tensor) else i for i in items]


def call(rule: Rule, name: str, args: Any, kwargs: Any) -> Any:
    if name == "keywords":
        args, kwargs = by_keyword(rule, args, kwargs)
    template = rule.spellings[name]
    values = [real(a) for a in args]
    named = {k: real(v) for k, v in kwargs.items()}
    if name == "method":
        return getattr(values[0], rule.op.rpartition(".")[2])(*values[1:], **named)
    if not template:
        return resolve(rule.op)(*values, **named)
    scope = {f"place{i}": v for i, v in enumerate(values)}
    text = template.format(*scope)
    if name in ("assign", "augmented"):
        exec(text, scope)
        return None if name == "assign" else scope["place0"]
    return eval(text, scope)


def test_there_are_enough_operators() -> None:
    assert sum(rule.functional is None for rule in BOOK.rules.values()) >= 190


def test_narrow_integers_are_legal_where_torch_takes_them() -> None:
    i16 = TensorType("i16", (3,), (1,))
    for op in ("abs", "neg", "square", "sign", "minimum", "maximum", "amax", "sort", "cumsum", "add", "bitwise_and"):
        rule = BOOK.rules[op]
        need = [p for p in rule.params if not p.optional]
        args = tuple(i16 if p.tensor else 0 for p in need)
        assert rule.check(args, {}) is None, op


def test_operators_exist_in_this_torch() -> None:
    missing = []
    for op in OPS:
        try:
            resolve(op)
        except ProgramError:
            missing.append(op)
    assert missing == []


def test_weights_favour_no_single_rule() -> None:
    total = math.fsum(rule.weight for rule in BOOK.rules.values())
    assert max(rule.weight for rule in BOOK.rules.values()) < total / 50


def test_all_dtypes_are_drawn() -> None:
    seen = {t.dtype for op in OPS for d in draws(BOOK.rules[op], 2) for t in tensors(types_of(d)[:2])}
    assert seen == set(DTYPES)


def test_similar_operators_take_the_same_operands() -> None:
    assert "sub" in BOOK.similar("add")
    assert "add" not in BOOK.similar("add")
    assert all("inplace" in BOOK.rules[op].tags for op in BOOK.similar("Tensor.add_"))
    assert BOOK.similar("no such operator") == []


def test_standard_spellings_need_no_template() -> None:
    for rule in BOOK.rules.values():
        for name, template in rule.spellings.items():
            assert bool(template) != (name in STANDARD), (rule.op, name)
