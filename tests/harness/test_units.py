"""Kernels of several programs in one library."""

import pytest
import torch

from fuzzgraph.harness import hooks
from fuzzgraph.harness.units import Unit, Units, _word

INCLUDE = "#include <torch/csrc/inductor/cpp_prefix.h>\n"
TYPES = ("const float*", "float*", "const int64_t", "const double", "const float")
# n elements of `in`, times a double, plus a float; throws for n > 4.
SCALE = INCLUDE + """extern "C"  void kernel(const float* in, float* out, const int64_t n, const double by,
                       const float more)
{
  if (n > 4) throw std::runtime_error("too many");
  for (int64_t i = 0; i < n; i++) out[i] = in[i] * by + more;
}
"""
NEGATE = INCLUDE + 'extern "C"  void kernel(const float* in, float* out)\n{ out[0] = -in[0]; }\n'


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Units:
    made = Units(hooks.probe(), tmp_path_factory.mktemp("units"))
    made.compiler.prepare()
    return made


@pytest.fixture(scope="module")
def unit(units: Units) -> Unit:
    built = units.build([(TYPES, SCALE), (TYPES[:2], NEGATE), (TYPES, SCALE)])
    assert built is not None
    return built


pytestmark = pytest.mark.compiles


def test_kernels_of_one_name_live_in_one_library(unit: Unit) -> None:
    x, out = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)
    scale, negate = unit.binding(TYPES, SCALE), unit.binding(TYPES[:2], NEGATE)
    assert scale is not None and negate is not None
    scale(x, out, 3, 2.0, 0.5)
    assert out.tolist() == [2.5, 4.5, 6.5]
    negate(x, out)
    assert out.tolist() == [-1.0, 4.5, 6.5]


def test_what_a_kernel_throws_is_the_error_that_torch_makes_of_it(unit: Unit) -> None:
    scale = unit.binding(TYPES, SCALE)
    assert scale is not None
    with pytest.raises(RuntimeError, match=r"^too many$"):
        scale(torch.zeros(9), torch.zeros(9), 9, 1.0, 0.0)


def test_other_kernels_are_not_in_it(unit: Unit) -> None:
    assert unit.binding(TYPES, SCALE.replace("by", "times")) is None
    assert unit.binding(TYPES[:2], SCALE) is None


def test_kernels_that_do_not_compile_make_no_unit(units: Units) -> None:
    assert units.build([(TYPES[:2], NEGATE), (TYPES[:2], NEGATE.replace("-in", "-nothing"))]) is None
    assert units.build([]) is None
    assert not list(units.compiler.folder.glob("*.cpp"))


def test_of_a_unit_that_does_not_load_torch_compiles_each_kernel(units: Units) -> None:
    missing = NEGATE.replace("extern", "float nowhere(float);\nextern").replace("-in[0]", "nowhere(in[0])")
    built = units.build([(TYPES[:2], NEGATE), (TYPES[:2], missing)])
    assert built is not None
    assert built.binding(TYPES[:2], missing) is None
    assert built.binding(TYPES[:2], NEGATE) is None


def test_torch_gets_the_kernels_of_a_unit_where_it_would_compile_them(unit: Unit) -> None:
    found = hooks.probe()
    cache = found.bindings_cache
    original = cache.load_pybinding
    with unit.serving(found):
        binding = cache.load_pybinding(list(TYPES[:2]), NEGATE, device_type="cpu")
    out = torch.zeros(1)
    binding(torch.ones(1), out)
    assert out.item() == -1.0 and cache.load_pybinding == original


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [("int64_t", -1, 2**64 - 1), ("double", 1.0, 0x3FF0000000000000), ("float", 1.0, 0x3F800000), ("bool", True, 1)],
)
def test_numbers_cross_as_eight_bytes(kind: str, value: float, word: int) -> None:
    assert _word(kind, value) == word
