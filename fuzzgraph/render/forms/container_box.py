"""Results go through a container and out again. The argument says which."""

from __future__ import annotations

import re

from fuzzgraph.render.forms import Block, Choice, form


@form
class ContainerBox(Choice):
    name = "container_box"
    weight = 2.0
    # How the container {b} is made of the results {items}, of which there are {n}, and what gives result {i}; the
    # results are taken in order.
    CHOICES = {
        "deque": ("collections.deque([{items}])", "{b}.popleft()"),
        "deque index": ("collections.deque([None, {items}], maxlen={n})", "{b}[{i}]"),
        "chain map": ("collections.ChainMap({{}}, dict(enumerate([{items}])))", "{b}[{i}]"),
        "dict pop": ("dict(enumerate([{items}]))", "{b}.pop({i})"),
        "dict union": ("{{-1: None}} | dict(enumerate([{items}]))", "{b}.get({i})"),
        "dict keys": ("dict.fromkeys(range({n}), None) | dict(enumerate([{items}]))", "[*{b}.values()][{i}]"),
        "user dict": ("collections.UserDict(enumerate([{items}]))", "{b}[{i}]"),
        "set keys": ("{{frozenset([k]): r for k, r in enumerate([{items}])}}", "{b}[frozenset([{i}])]"),
        "tuple keys": ("{{(k, 'a'): r for k, r in enumerate([{items}])}}", "{b}[{i}, 'a']"),
        "slice": ("[None, {items}][slice(1, None)]", "{b}[{i}]"),
        "slice step": ("[{items}][::-1]", "{b}[slice(None, None, -1)][{i}]"),
        "list pop": ("[{items}]", "{b}.pop(0)"),
        "list insert": ("sum([[r] for r in [{items}]], [])", "{b}[{i}]"),
        "list product": ("[{items}] * 2", "{b}[{n} + {i}]"),
        "nested": ("[([{items}], {{}})]", "{b}[0][0][{i}]"),
        "tuple": ("(*[{items}], None)", "{b}[:-1][{i}]"),
        "iterator": ("iter([{items}])", "next({b})"),
        "generator": ("(r for r in [{items}])", "next({b})"),
        "enumerate": ("enumerate([{items}])", "next({b})[1]"),
        "zip": ("zip([{items}], range({n}))", "next({b})[0]"),
        "map": ("map(lambda r: r, [{items}])", "next({b})"),
        "reversed": ("reversed([{items}][::-1])", "next({b})"),
        "filter": ("filter(lambda r: r is not None, [None, {items}])", "next({b})"),
        "chain": ("itertools.chain([], [{items}])", "next({b})"),
        "islice": ("[*itertools.islice([None, {items}, None], 1, {n} + 1)]", "{b}[{i}]"),
        "reduce": ("functools.reduce(lambda made, r: [*made, r], [{items}], [])", "{b}[{i}]"),
        "dict items": ("dict(enumerate([{items}])).items()", "[*{b}][{i}][1]"),
        "sorted": ("sorted(enumerate([{items}]), key=lambda pair: -pair[0])", "{b}[-1 - {i}][1]"),
        "list subclass": ("type('Mine', (list,), {{'last': lambda self: self[-1]}})([{items}])", "{b}[{i}]"),
        "dict subclass": (
            "type('Mine', (dict,), {{'__missing__': lambda self, k: self[k + 1]}})(enumerate([{items}], 1))",
            "{b}[{i} + 1]",
        ),
        "copy": ("copy.copy([{items}])", "{b}[{i}]"),
        "proxy": ("types.MappingProxyType(dict(enumerate([{items}])))", "{b}[{i}]"),
        "default": ("collections.defaultdict(list, {{0: [{items}]}})", "{b}[0][{i}]"),
        "tree": ("torch.utils._pytree.tree_map(lambda r: r, ([{items}],))", "{b}[0][{i}]"),
        "leaves": (
            "torch.utils._pytree.tree_leaves([[r] for r in [{items}]], is_leaf=lambda r: isinstance(r, tuple))",
            "{b}[{i}]",
        ),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        if not block.results:
            return list(block.lines)
        box, (make, take) = block.fresh("box"), self.CHOICES[block.args[0]]
        made = make.format(items=block.returned, n=len(block.results))
        modules = sorted(set(re.findall(r"\b(collections|copy|functools|itertools|types)\.", made)))
        lines = [*block.lines, *(f"import {m}" for m in modules), f"{box} = {made}"]
        taken = [f"{r} = {take.format(b=box, i=i, n=len(block.results))}" for i, r in enumerate(block.results)]
        return [*lines, *taken]
