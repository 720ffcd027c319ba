"""Python that people check: what eager and compiled code do alike is `same`, and a difference anywhere is seen."""

import pytest

from fuzzgraph.check.checker import Checker
from fuzzgraph.check.source import load

pytestmark = pytest.mark.compiles

TOP = "import torch, dataclasses, collections\ndef make_inputs(): return (torch.arange(4.0),)\n"
CLASS = "class Box:\n    def __init__(self, v): self.v = v\n"
# 1 where code is compiled: what this reaches, compiled code gets wrong.
ODD = "int(torch.compiler.is_compiling())"
SAME = {
    "a scenario that keeps results": "seen = []\ndef g(x):\n    seen.append(x)\n    return x + 1\n"
                                     "def scenario(wrap): return wrap(g)(torch.ones(3))",
    "draws": "def f(x): return torch.rand(3, 4) + x",
    "drops": "def f(x): return torch.nn.functional.dropout(x.repeat(8), 0.5)",
    "a module that draws": "def make_fn(): return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))",
    "a scenario that draws": "def scenario(wrap): return wrap(lambda x: x + torch.rand(4))(torch.ones(4))",
    "seeds itself": "def f(x):\n    torch.manual_seed(3)\n    return torch.rand(4) + x",
    "a loop": "def f(x): return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1),"
              " (torch.tensor(0), x))",
    "sparse": "def f(x): return torch.diag(x).to_sparse_csr() @ torch.diag(x)",
    "quantized": "def f(x): return torch.quantize_per_tensor(x, 0.5, 1, torch.quint8)",
    "jagged": "def make_inputs(): return (torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)],"
              " layout=torch.jagged),)\ndef f(x): return x * 2",
    "views of a dict": "def f(x): d = {'a': x, 'b': x + 1}; return d.items(), d.values()",
    "a deque": "def f(x): return collections.deque([x, x + 1], maxlen=2)",
    "a subclass": "class Mine(torch.Tensor): pass\ndef f(x): return (x + 1).as_subclass(Mine)",
    "an object": CLASS + "def f(x): return Box(x + 1)",
    "a set": "seen = set()\ndef f(x):\n    seen.add(x.shape[0])\n    return x + 1",
}  # fmt: skip
WRONG = {
    "a dataclass": f"@dataclasses.dataclass\nclass D:\n    a: torch.Tensor\ndef f(x): return D(x + {ODD})",
    "an object": CLASS + f"def f(x): return [Box(x + {ODD})]",
    "another attribute": CLASS + f"def f(x):\n    b = Box(x)\n    if {ODD}: b.w = 1\n    return b",
    "a global object": CLASS + f"box = Box(0)\ndef f(x):\n    box.v = x + {ODD}\n    return x * 2",
    "a class attribute": f"class K: n = 0\ndef f(x):\n    K.n = {ODD}\n    return x * 2",
    "an object in a closure": CLASS + f"def make_fn():\n    box = Box(0)\n    def f(x):\n        box.v += 1 + {ODD}\n"
                              "        return x * 2\n    return f",
    "an argument": CLASS + "def make_inputs(): return torch.ones(2), Box(1)\n"
                   f"def f(x, b):\n    b.v = 2 + {ODD}\n    return x * 2",
    "an attribute of a module": "class M(torch.nn.Module):\n    n = 0\n    def forward(self, x):\n"
                                f"        self.n = self.n + 1 + {ODD}\n        return x * 2\ndef make_fn(): return M()",
    "a set": f"seen = set()\ndef f(x):\n    seen.add({ODD})\n    return x + 1",
    "sparse": f"def f(x): return torch.diag(x + 1 + {ODD}).to_sparse()",
    "quantized": f"def f(x): return torch.quantize_per_tensor(x + {ODD}, 0.5, 1, torch.quint8)",
    "a global of a scenario": f"count = 0\ndef g(x):\n    global count\n    count += 1 + {ODD}\n    return x * 2\n"
                              "def scenario(wrap): return wrap(g)(torch.ones(3))",
    "a module of a scenario": "class M(torch.nn.BatchNorm1d):\n"
                              f"    def forward(self, x): return super().forward(x + {ODD}) * 0\n"
                              "m = M(2)\ndef scenario(wrap): return wrap(m)(torch.ones(3, 2))",
}  # fmt: skip
STRUCTURE = {"another attribute", "a set"}


@pytest.fixture(scope="module")
def checker():
    with Checker("inductor") as made:
        yield made


def verdict(checker, tmp_path, text):
    (tmp_path / "file.py").write_text(TOP + text + "\n")
    return checker.one("file.py", load(tmp_path / "file.py")).verdict


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same(checker, tmp_path, name):
    found = verdict(checker, tmp_path, SAME[name])
    assert (found.verdict, found.oracle) == ("same", None), found.detail


@pytest.mark.parametrize("name", WRONG)
def test_what_differs(checker, tmp_path, name):
    found = verdict(checker, tmp_path, WRONG[name])
    assert (found.verdict, found.oracle) == ("diverges", "structure" if name in STRUCTURE else "value"), found.detail
