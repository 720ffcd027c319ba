"""The region as an inner function that a builtin, a function of the library or a container leads to. The argument says
what."""

from __future__ import annotations

import re

from fuzzgraph.render.forms import Block, Choice, form


@form
class CallThrough(Choice):
    name = "call_through"
    weight = 3.0
    # {f} is the function. All give what it returns, and call it once.
    CHOICES = {
        "map": "list(map(lambda g: g(), [{f}]))[0]",
        "map two": "next(map(lambda g, n: g(), [{f}], range(1, 3)))",
        "filter": "next(filter(None, [None, 0, {f}]))()",
        "filter lambda": "list(filter(lambda g: g is not None, (None, {f})))[-1]()",
        "reduce": "functools.reduce(lambda made, g: g(), [{f}], None)",
        "sorted": "sorted([(2, None), (1, {f})], key=lambda pair: pair[0])[0][1]()",
        "min": "min([None, {f}], key=lambda g: g is None)()",
        "max": "max({{'a': 1, 'b': 2}}.items(), key=lambda item: item[1])[0] == 'b' and {f}()",
        "zip": "[g() for g, _ in zip([{f}], 'ab')][0]",
        "zip star": "[*zip(*[({f}, 1), (None, 2)])][0][0]()",
        "reversed": "[*reversed([{f}, None])][-1]()",
        "iterator": "next(iter([{f}]))()",
        "next default": "next((g for g in [None] if g), {f})()",
        "get": "{{}}.get('a', {f})()",
        "dict": "dict(zip('ab', [None, {f}]))['b']()",
        "dict comprehension": "{{n: g for n, g in enumerate([None, {f}])}}[1]()",
        "set": "[*{{{f}, {f}}}][0]()",
        "frozenset": "({f} in frozenset([{f}])) and {f}()",
        "or": "(None or {f})()",
        "conditional": "({f} if all([1, 'a']) and any([0, 2]) else None)()",
        "star": "(lambda *gs: gs[-1])(*[None, {f}])()",
        "star keywords": "(lambda g, **rest: g)(**{{'g': {f}, 'n': 1}})()",
        "getattr": "getattr({f}, '__call__')()",
        "method": "{f}.__call__()",
        "chain": "[g() for g in itertools.chain([], [{f}])][0]",
        "chain nested": "[g() for g in itertools.chain.from_iterable([[], [{f}]])][0]",
        "product": "[g() for g, _ in itertools.product([{f}], [1])][0]",
        "islice": "next(itertools.islice([None, None, {f}], 2, None))()",
        "zip longest": "[*itertools.zip_longest([{f}], [1, 2])][0][0]()",
        "repeat": "next(itertools.repeat({f}, 2))()",
        "cycle": "next(itertools.cycle([{f}]))()",
        "accumulate": "[*itertools.accumulate([1, 2, 3])][-1] == 6 and {f}()",
        "combinations": "[*itertools.combinations([None, {f}], 2)][0][1]()",
        "pairwise": "[*itertools.pairwise([None, {f}])][0][1]()",
        "takewhile": "[*itertools.dropwhile(lambda g: g is None, [None, {f}])][0]()",
        "count": "next(n for n in itertools.count(3, 2) if n > 6) == 7 and {f}()",
        "starmap": "[*itertools.starmap(lambda g, n: g(), [({f}, 1)])][0]",
        "groupby": "[[*gs] for _, gs in itertools.groupby([{f}], key=id)][0][0]()",
        "itemgetter": "operator.itemgetter(1)([None, {f}])()",
        "attrgetter": "operator.attrgetter('__call__')({f})()",
        "methodcaller": "operator.methodcaller('__call__')({f})",
        "operator": "operator.add(1, 2) == 3 and {f}()",
        "partial": "functools.partial(lambda g, n: g(), n=1)({f})",
        "partial twice": "functools.partial(functools.partial(lambda n, g: g(), 1), {f})()",
        "deque": "collections.deque([None, {f}], maxlen=1)[0]()",
        "counter": "collections.Counter('aab')['a'] == 2 and {f}()",
        "defaultdict": "collections.defaultdict(lambda: {f})['a']()",
        "nested lambda": "(lambda g: lambda: g())({f})()",
        "default lambda": "(lambda g={f}: g())()",
        "tree": "torch.utils._pytree.tree_map(lambda g: g, [{f}])[0]()",
    }

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        call = self.CHOICES[block.args[0]].format(f=name)
        modules = sorted(set(re.findall(r"\b(functools|itertools|operator|collections)\.", call)))
        return [*block.inner(name), *(f"import {m}" for m in modules), block.bind(call)]
