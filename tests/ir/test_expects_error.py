"""Programs that violate a precondition on purpose: one refused call is part of them, in every form."""

import pytest

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.text import format, parse
from fuzzgraph.ir.types import tensor
from fuzzgraph.ir.verify import verify
from fuzzgraph.ir.wire import pack, unpack

TEXT = """fuzzgraph 1
input x: f32[4]
{option}
def f(x) {{
  a: f32[4] = sum(x, 9)
  b: f32[4] = {op}
  return b
}}
call f(x)
"""


class Same:
    """Each call gives what its first operand is."""

    def infer(self, op, args, kwargs):
        return Inferred(tensor("f32", (4,)), None, (None,))


def check(op, args, kwargs):
    return "no such dim" if 9 in args else None


def text(op="relu(a)", option="option expects_error = True"):
    return TEXT.format(op=op, option=option)


def test_one_call_may_be_refused():
    program = parse(text(), Same(), check)
    assert program.options.expects_error
    assert verify(program, check) == []
    assert verify(program.with_options(expects_error=False), check) == ["f: a: sum: no such dim"]


@pytest.mark.parametrize("wrong", [text("sum(a, 9)"), text(option="")])
def test_no_second_one_and_none_in_others(wrong):
    with pytest.raises(ProgramError, match="sum: no such dim"):
        parse(wrong, Same(), check)


def test_all_forms_hold_it():
    program = parse(text(), Same(), check)
    assert parse(format(program), Same(), check) == program == unpack(pack(program))
    assert "option expects_error = True\n" in format(program)
    assert content_hash(program) != content_hash(program.with_options(expects_error=False))


def test_other_programs_keep_their_hashes():
    """The option came later than the format: a program without it is packed as before."""
    program = parse("fuzzgraph 1\ninput x: f32[4]\ndef f(x) {\n  return x\n}\ncall f(x)")
    assert content_hash(program) == HASH


HASH = "5e331eaf7cc743224e7e3a60a9673321278bc816e03da2d42977e3f93fb785d0"


def test_types_are_inferred_around_it():
    b = Builder(Same(), check, base=parse(text(), Same(), check))
    retype(b)
    assert b.build() == parse(text(), Same(), check)
