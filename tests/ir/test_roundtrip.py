"""Text, program and msgpack say exactly the same."""

import math
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.format import format_type
from fuzzgraph.ir.program import Call, InputSpec, Program, Ref, State
from fuzzgraph.ir.types import Type, tensor
from fuzzgraph.ir.values import Values
from tests.ir.programs import FULL, LITERALS, TYPES


def bits(value: Any) -> bytes:
    """What the value is, exactly: 0.0 and -0.0, 1 and True differ, all nans are one."""
    packed: bytes = msgpack.packb(wire.pack_value(value))
    return packed


def holding(value: Any, declared: Type | None = None) -> Program:
    """A program with the literal in every place that takes one."""
    b = Builder(None)
    b.add_input(InputSpec("x", tensor("f32", (2,)), Values("normal")))
    b.add_state(State("s", "global", value))
    f = b.function("f", [("x", tensor("f32", (2,))), ("n", declared or tensor("f32", ()))])
    b.set_options(config=(("inductor.x", value),))
    node = f.op("add", (f.node("x"), value), {"alpha": [value]}, type=declared or tensor("f32", (2,)), name="a")
    f.returns((node, value))
    b.add_call(Call("f", (Ref("x"), value)))
    return b.build()


def test_everything_once() -> None:
    program = text.parse(FULL)
    assert text.format(program) == FULL
    assert text.parse(text.format(program)) == program
    unpacked = wire.unpack(wire.pack(program))
    assert unpacked == program
    assert text.format(unpacked) == FULL
    assert wire.pack(unpacked) == wire.pack(program)


def test_parts_of_everything() -> None:
    program = text.parse(FULL)
    f = program.function("f")
    assert [n.name for n in f.params] == ["x", "y", "n"]
    assert [(r.form, r.first, r.last) for r in f.regions] == [("inner_function", "b", "s"), ("autocast", "s", "s")]
    assert program.function("plus").captures == ("op", "k")
    assert [c.fresh for c in program.calls] == [False, False, True]
    assert bits(f.result[3]) == bits(complex(-0.0, math.nan))
    assert program.size == 11


@given(value=LITERALS)
def test_literals(value: Any) -> None:
    program = holding(value)
    for again in (text.parse(text.format(program)), wire.unpack(wire.pack(program))):
        f = again.function("f")
        node = f.body[0]
        found = [node.args[1], node.kwargs["alpha"][0], f.result[1]]  # type: ignore[index]
        found += [again.states[0].initial, again.options.config[0][1], again.calls[0].args[1]]
        assert [bits(v) for v in found] == [bits(value)] * 6
        assert again == program
        assert text.format(again) == text.format(program)


@given(declared=TYPES)
def test_types(declared: Type) -> None:
    program = holding(1, declared)
    for again in (text.parse(text.format(program)), wire.unpack(wire.pack(program))):
        assert again == program
        assert format_type(again.function("f").body[0].meta["type"]) == format_type(declared)


@given(source=st.text(alphabet=st.sampled_from('ab"\\\n {}#é'), max_size=20))
def test_verbatim_source(source: str) -> None:
    b = Builder(None)
    f = b.function("f")
    f.returns(f.op("python", (), name="a", source=source))
    b.add_call(Call("f"))
    program = b.build()
    again = text.parse(text.format(program))
    assert again.function("f").body[0].meta.get("source", "") == source
    assert wire.unpack(wire.pack(program)) == program


def test_comments_and_spaces_do_not_matter() -> None:
    loose = "# what\n\n" + FULL.replace("  a: i16[4, 8] = abs(x)", "a:i16[4,8]=abs(\n x ,) # why")
    assert text.parse(loose) == text.parse(FULL)


def test_the_order_of_items_does_not_matter() -> None:
    head, *items = FULL.split("\n")
    calls = [i for i in items if i.startswith("call ")]
    rest = [i for i in items if not i.startswith("call ")]
    assert text.parse("\n".join([head, *calls, *rest])) == text.parse(FULL)


@pytest.mark.parametrize("cut", range(0, 400, 23))
def test_damaged_data_is_refused(cut: int) -> None:
    data = wire.pack(text.parse(FULL))
    for damaged in (data[:cut], data[: cut + 1] + b"\xc1" + data[cut + 2 :]):
        try:
            assert isinstance(wire.unpack(damaged), Program)
        except ProgramError as e:
            assert "damaged" in e.message or e.message


@given(data=st.binary(max_size=60))
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(ProgramError):
        wire.unpack(data)


def test_other_versions_are_refused() -> None:
    data = wire.to_data(text.parse(FULL))
    with pytest.raises(ProgramError, match="program format 99, this fuzzgraph reads 1"):
        wire.unpack(msgpack.packb({**data, "version": 99}))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "p.fg"
    path.write_text(FULL, encoding="utf-8")
    assert text.parse_file(str(path)) == text.parse(FULL)
    with pytest.raises(ProgramError) as e:
        text.parse_file(str(tmp_path / "none.fg"))
    assert str(e.value) == f"{tmp_path / 'none.fg'}: cannot read: No such file or directory"
