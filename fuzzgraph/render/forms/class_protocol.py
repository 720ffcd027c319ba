"""The region as an inner function that an object's special method calls. The argument says which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class ClassProtocol(Choice):
    name = "class_protocol"
    weight = 2.0
    # The body of a class {k} at module level, and the expression that calls the function {f}.
    CHOICES = {
        "static": (("@staticmethod", "def run(f):", "    return f()"), "{k}.run({f})"),
        "static of instance": (("@staticmethod", "def run(f):", "    return f()"), "{k}().run({f})"),
        "class method": (("@classmethod", "def run(cls, f):", "    return cls and f()"), "{k}.run({f})"),
        "constructor": (
            ("@classmethod", "def of(cls, f):", "    made = cls()", "    made.f = f", "    return made"),
            "{k}.of({f}).f()",
        ),
        "property": (
            ("def __init__(self, f):", "    self.f = f", "", "@property", "def result(self):", "    return self.f()"),
            "{k}({f}).result",
        ),
        "property set": (
            (
                "@property", "def f(self):", "    return self._f", "",
                "@f.setter", "def f(self, value):", "    self._f = value", "",
                "def run(self, f):", "    self.f = f", "    return self.f()",
            ),
            "{k}().run({f})",
        ),
        "cached property": (
            (
                "from functools import cached_property", "", "def __init__(self, f):", "    self.f = f", "",
                "@cached_property", "def result(self):", "    return self.f()",
            ),
            "{k}({f}).result",
        ),
        "call": (("def __call__(self, f):", "    return f()"), "{k}()({f})"),
        "getitem": (("def __getitem__(self, f):", "    return f()"), "{k}()[{f}]"),
        "getattr": (
            ("def __getattr__(self, name):", "    return lambda f: f() if name == 'run' else None"), "{k}().run({f})",
        ),
        "getattribute": (
            (
                "def run(self, f):", "    return f()", "", "def __getattribute__(self, name):",
                "    return super().__getattribute__(name)",
            ),
            "{k}().run({f})",
        ),
        "slots": (
            ("__slots__ = ('f', 'n')", "", "def __init__(self, f):", "    self.f, self.n = f, 1"), "{k}({f}).f()",
        ),
        "super": (
            (
                "class Base:", "    def run(self, f):", "        return f()", "", "class Derived(Base):",
                "    def run(self, f):", "        return super().run(f)",
            ),
            "{k}.Derived().run({f})",
        ),
        "descriptor": (
            (
                "class Descriptor:", "    def __get__(self, this, owner):", "        return lambda f: f()", "",
                "run = Descriptor()",
            ),
            "{k}().run({f})",
        ),
        "new": (
            ("def __new__(cls, f):", "    made = super().__new__(cls)", "    made.f = f", "    return made"),
            "{k}({f}).f()",
        ),
        "iterator": (
            (
                "def __init__(self, f):", "    self.f, self.n = f, 0", "", "def __iter__(self):", "    return self", "",
                "def __next__(self):", "    self.n += 1", "    if self.n > 1:", "        raise StopIteration",
                "    return self.f()",
            ),
            "[*{k}({f})][0]",
        ),
        "iterable": (
            ("def __init__(self, f):", "    self.f = f", "", "def __iter__(self):", "    yield self.f()"),
            "[made for made in {k}({f})][0]",
        ),
        "contains": (("def __contains__(self, n):", "    return n == 3"), "3 in {k}() and 4 not in {k}() and {f}()"),
        "bool": (("def __bool__(self):", "    return False"), "({k}() or {f})()"),
        "len": (("def __len__(self):", "    return 0"), "{f}() if not {k}() else None"),
        "compare": (("def __lt__(self, other):", "    return True"), "{k}() < 3 and 3 > {k}() and {f}()"),
        "equal": (("def __eq__(self, other):", "    return other == 1"), "{k}() == 1 and not {k}() != 1 and {f}()"),
        "hash": (
            ("def __eq__(self, other):", "    return True", "", "def __hash__(self):", "    return 7"),
            "{{{k}(): {f}}}[{k}()]()",
        ),
        "add": (("def __add__(self, f):", "    return f()"), "{k}() + {f}"),
        "radd": (("def __radd__(self, f):", "    return f()"), "{f} + {k}()"),
        "list": (("pass",), "{k}([None, {f}])[-1]()", "list"),
        "dict": (("def __missing__(self, f):", "    return f()"), "{k}()[{f}]", "dict"),
        "tuple": (("pass",), "{k}((None, {f}))[1]()", "tuple"),
        "int": (("def run(self, f):", "    return f()"), "{k}(3) == 3 and {k}(3).run({f})", "int"),
        "str": (("pass",), "{k}('a').upper() == 'A' and {f}()", "str"),
        "metaclass": (
            ("class Meta(type):", "    def __call__(cls, f):", "        return super().__call__().run(f)", "",
             "class Made(metaclass=Meta):", "    def run(self, f):", "        return f()"),
            "{k}.Made({f})",
        ),
        "metaclass attribute": (
            ("class Meta(type):", "    @property", "    def run(cls):", "        return lambda f: f()", "",
             "class Made(metaclass=Meta):", "    pass"),
            "{k}.Made.run({f})",
        ),
        "subclass hook": (
            ("class Base:", "    def __init_subclass__(cls, n=0, **rest):", "        cls.n = n", "",
             "class Derived(Base, n=2):", "    pass"),
            "{k}.Derived.n == 2 and {f}()",
        ),
        "abstract": (
            (
                "from abc import ABC", "",
                "class Base(ABC):", "    from abc import abstractmethod", "",
                "    @abstractmethod", "    def run(self, f):", "        return None", "",
                "class Derived(Base):", "    def run(self, f):", "        return f()",
            ),
            "isinstance({k}.Derived(), {k}.Base) and {k}.Derived().run({f})",
        ),
        "enum": (
            ("from enum import Enum", "", "class Kind(Enum):", "    A = 1", "    B = 2"),
            "{k}.Kind.A is {k}.Kind(1) and {k}.Kind['B'].value == 2 and {f}()",
        ),
        "dataclass": (
            ("from dataclasses import dataclass", "", "@dataclass", "class Data:",
             "    from dataclasses import field", "", "    f: object",
             "    rest: list = field(default_factory=list)"),
            "{k}.Data({f}).f()",
        ),
        "typed tuple": (
            ("from typing import NamedTuple", "", "class Data(NamedTuple):", "    f: object", "    n: int = 1"),
            "{k}.Data({f})._replace(n=2).f()",
        ),
        "generic": (
            ("from typing import Generic, TypeVar", "", "T = TypeVar('T')", "", "class Data(Generic[T]):",
             "    def run(self, f):", "        return f()"),
            "{k}.Data[int]().run({f})",
        ),
        "attributes": (
            ("n = 1",), "hasattr({k}, 'n') and not hasattr({k}(), 'm') and getattr({k}(), 'm', 2) == 2 and {f}()",
        ),
        "vars": (
            ("def __init__(self, f):", "    self.__dict__.update(f=f)"), "vars({k}({f}))['f']()",
        ),
        "setattr": (
            ("def __setattr__(self, name, value):", "    super().__setattr__('_' + name, value)", "",
             "def run(self, f):", "    self.f = f", "    return self._f()"),
            "{k}().run({f})",
        ),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        kind, name = block.fresh("Kind"), block.fresh("inner")
        body, call, *base = self.CHOICES[block.args[0]]
        block.define([f"class {kind}({base[0]}):" if base else f"class {kind}:", *indented(body)])
        return [*block.inner(name), block.bind(call.format(k=kind, f=name))]
