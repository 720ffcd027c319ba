"""The region in a branch on a Python expression, which the compiler evaluates while it traces. The argument is the
expression, one of those that are known to be true."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form, indented

TRUE = (
    "-7 // 2 == -4 and -7 % 3 == 2", "divmod(-7, 2) == (-4, 1)", "7.5 // 2 == 3.0", "round(2.5) == 2", "2**-1 == 0.5",
    "-1 >> 1 == -1", "(5).bit_length() == 3", "int(-1.5) == -1", "0.1 + 0.2 != 0.3", "float('-inf') < 0",
    "True + True == 2", "1 < 2 < 3", "(not []) and bool([0])", "(0 or None) is None", "all([]) and not any([])",
    "sum([1, 2], 3) == 6", "max(3, -4, key=abs) == -4", "min([2, 1]) == 1", "[1, 2, 3][::-1] == [3, 2, 1]",
    "list(range(5))[-3:-1] == [2, 3]", "range(10)[-3:-1] == range(7, 9)", "range(3, 0, -1)[0] == 3", "(1, 2) < (1, 3)",
    "[*range(3), 7][-1] == 7", "'abc'[-2:] == 'bc'", "'a-b'.split('-') == ['a', 'b']", "'x'.join('ab') == 'axb'",
    "'%d%%' % 3 == '3%'", "'abc'.find('d') == -1", "{1, 2} & {2, 3} == {2}", "{1, 2} - {2} == {1}",
    "list({'b': 1, 'a': 2}) == ['b', 'a']", "{**{'a': 1}, 'a': 2} == {'a': 2}", "{'a': 1}.get('b', 3) == 3",
    "({'a': 1} | {'b': 2})['b'] == 2", "sorted([3, 1, 2], reverse=True) == [3, 2, 1]",
    "sorted('bA', key=str.lower) == ['A', 'b']", "list(zip([1, 2], [3])) == [(1, 3)]",
    "list(map(lambda n: n * 2, [1, 2])) == [2, 4]", "list(filter(None, [0, 1])) == [1]",
    "list(enumerate('ab', 1))[1] == (2, 'b')", "isinstance(True, int) and not isinstance(1, bool)",
    "type(1.0) is float", "hasattr([], 'append')", "getattr(1, 'nothing', 5) == 5", "callable(len)",
    "[y for x in [[1], [2]] for y in x] == [1, 2]", "{k: v for k, v in [('a', 1)]} == {'a': 1}",
    "(lambda *a, k=2: (a, k))(1) == ((1,), 2)", "slice(1, 5, 2).indices(4) == (1, 4, 2)",
    "torch.Size([2, 3]).numel() == 6", "torch.Size([2]) + (3,) == (2, 3)", "torch.float16.itemsize == 2",
    "torch.promote_types(torch.int8, torch.uint8) == torch.int16", "torch.finfo(torch.float32).eps < 1e-6",
    "torch.iinfo(torch.int8).min == -128", "[f() for f in [lambda: i for i in range(3)]] == [2, 2, 2]",
    "[f() for f in [lambda i=i: i for i in range(3)]] == [0, 1, 2]", "f'{3:>4}|{2.5:.2f}' == '   3|2.50'",
    "[*map(str.upper, 'ab')] == ['A', 'B']", "frozenset([1]) | {2} == {1, 2}", "{1} < {1, 2} and not {3} <= {1}",
    "torch.Size([2, 3])[1:] == (3,)", "tuple(torch.Size([2, 3]) * 2) == (2, 3, 2, 3)", "'%s-%d' % ('a', 3) == 'a-3'",
    "'{0}{1!r}'.format(1, 'a') == \"1'a'\"", "bytes([97]).decode() == 'a'", "complex(1, 2).conjugate().imag == -2",
    "[1, 2, 3][slice(None, None, 2)] == [1, 3]", "(lambda k: (k := k + 1))(2) == 3",
    "pow(3, -1, 7) == 5", "abs(-2.5) == 2.5", "isinstance(3, int | str)", "issubclass(bool, int)",
    "sum(map(len, ['ab', 'c'])) == 3",
    "hash((1, 2)) == hash((1, 2))",
)  # fmt: skip


@form
class PythonCondition:
    name = "python_condition"
    conditional = True
    weight = 1.5

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return None if len(args) == 1 and args[0] in TRUE else "takes one expression that is known to be true"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.choice(TRUE),)

    def write(self, block: Block) -> list[str]:
        return [f"if {block.args[0]}:", *indented(block.lines)]
