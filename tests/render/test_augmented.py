"""Augmented assignments are statements, shifts included."""

import pytest

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.text import parse
from fuzzgraph.render import render


@pytest.mark.parametrize(("op", "sign"), [("Tensor.add_", "+="), ("Tensor.bitwise_left_shift_", "<<=")])
def test_written_as_a_statement(op, sign):
    text = f"""fuzzgraph 1
    input x: i64[3]
    input y: i64[3]
    def f(x, y) {{
      a: i64[3] &x = {op}(x, y) as augmented
      return a
    }}
    call f(x, y)"""
    source = render(parse(text), load_rules()).source
    assert f"    x {sign} y\n" in source
    compile(source, "program", "exec")
