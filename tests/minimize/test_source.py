"""Reduction of Python source: what is left, what is never tried, when it stops."""

import ast

import pytest

from fuzzgraph.minimize.source import reduce_source

TEXT = '''
import os
import torch
x = 1
@deco
def f(a, b):
    # comment
    y = a + 1
    if y:
        z = y * 2
        w = bug(z + b, k=3)
    for i in range(3):
        q = i
    return w
print(f(1, 2))
try:
    a = 1
except ValueError:
    pass
'''


def test_what_the_test_asks_for_is_all_that_stays():
    reduced = reduce_source(TEXT, lambda text: "bug(" in text)
    assert reduced.text == "def f(a, b):\n    bug()\n" and reduced.complete


def test_an_argument_that_counts_stays():
    reduced = reduce_source(TEXT, lambda text: "bug(b" in text.replace("z + b", "b") and "import torch" in text)
    assert reduced.text == "import torch\n\ndef f(a, b):\n    bug(b)\n"


@pytest.mark.parametrize(
    ("text", "needed", "left"),
    [
        ("with a as b:\n    c()\n", "c()", "c()\n"),
        ("if a:\n    x()\nelse:\n    y()\n", "y()", "y()\n"),
        ("for i in r:\n    for j in s:\n        g(i)\n", "g(", "g()\n"),
        ("try:\n    a()\nfinally:\n    b()\n", "b()", "b()\n"),
        ("def f(x):\n    return g(x).h(1, k=2)\n", "g(", "def f(x):\n    return g()\n"),
        ("y = (1, [2, bad])\n", "bad", "bad\n"),
        ("class A:\n    x = 1\n    y = 2\n", "class A", "class A:\n    pass\n"),
        ("import a, b\nc = -a.d[3]\n", "a", "import a, b\n"),
    ],
)
def test_each_step(text, needed, left):
    assert reduce_source(text, lambda t: needed in t).text == left


def test_nothing_is_asked_twice_and_all_is_python():
    asked = [TEXT]

    def test(text):
        ast.parse(text)
        asked.append(text)
        return "bug(" in text and "return" in text

    reduced = reduce_source(TEXT, test)
    assert len(asked) == len(set(asked)) == reduced.trials + 1


def test_it_stops_when_the_budget_is_used_up():
    reduced = reduce_source(TEXT, lambda text: False, most=5)
    assert (reduced.text, reduced.trials, reduced.complete) == (TEXT, 5, False)
    assert not reduce_source(TEXT, lambda text: True, seconds=0).complete


def test_no_python():
    with pytest.raises(SyntaxError):
        reduce_source("def", lambda text: True)
