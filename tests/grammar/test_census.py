"""How much of the compiler's language the rules speak."""

from __future__ import annotations

import pytest

from fuzzgraph.errors import RuleError
from fuzzgraph.execution.infer import InferClient
from fuzzgraph.grammar import load_rules
from fuzzgraph.grammar.census import Unreached, canonical, dispatched, distinct, gap_lines, gaps, read_unreached


class NothingDispatched:
    def dispatched(self, *call, **more):
        return frozenset()


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("add", "add"), ("Tensor.add_", "add"), ("nn.functional.relu", "relu"), ("special.i0e", "i0e"),
        ("linalg.vector_norm", "linalg.vector_norm"), ("Tensor.__getitem__", "__getitem__"), ("Tensor.float", "float"),
    ],
)  # fmt: skip
def test_one_name_for_an_operator_and_its_variants(op, name):
    assert canonical(op) == name


def test_aliases_and_inplace_variants_count_once():
    book = load_rules()
    assert {"swapaxes", "transpose", "add", "maximum"} <= distinct(book, {})
    sampled = {"transpose": ["swapaxes", "swapdims"], "max": ["maximum"], "maximum": []}
    found = distinct(book, sampled)
    assert "swapaxes" not in found and {"transpose", "maximum", "max"} <= found
    assert len(found) == len(distinct(book, {})) - 1


def test_gaps_are_named_explained_or_stale():
    catalog = {
        "lowered": ["aten.add", "aten.new_one", "prims.hidden"], "fallback": ["aten.odd"], "decomposed": ["aten.relu_"],
        "sampled": [("add", []), ("unheard_of", []), ("nn.functional.relu", [])],
    }  # fmt: skip
    unreached = (Unreached("inside", ("prims.*",)), Unreached("odd", ("aten.odd", "aten.gone")))
    found = gaps(load_rules(), NothingDispatched(), catalog, unreached)
    assert (found.compiled, found.sampled) == (("aten.new_one",), ("unheard_of",))
    assert (found.explained, found.stale, found.reached) == ({"inside": 1, "odd": 1}, ("aten.gone",), 2)
    assert gap_lines(found)[:2] == ["compiled, no rule: aten.new_one", "op_db, no rule: unheard_of"]


def test_what_is_dispatched_includes_backward():
    rule = load_rules().rules["nn.functional.gelu"]
    with InferClient() as infer:
        assert {"aten.gelu", "aten.gelu_backward"} <= set(dispatched(rule, infer))
        catalog = infer.catalog()
    assert {"aten.add", "aten.mm"} <= set(catalog["lowered"]) | set(catalog["fallback"])
    assert "nn.functional.gelu" in dict(catalog["sampled"])


def test_a_bad_file_of_reasons_is_one_clear_line(tmp_path):
    (tmp_path / "u.toml").write_text('[[unreached]]\nreason = "x"\n')
    with pytest.raises(RuleError, match="a reason and a list of operators"):
        read_unreached(tmp_path / "u.toml")
    assert isinstance(read_unreached(), tuple)
