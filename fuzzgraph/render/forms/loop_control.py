"""The region in one pass of a loop that is left, cut short or ended. The argument says how."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, around, form


@form
class LoopControl(Choice):
    name = "loop_control"
    conditional = True
    weight = 1.5
    # The region stands at the line `...`; n, m and seen are names of its own.
    CHOICES = {
        "break": ("while True:", "    ...", "    break"),
        "for break": ("for n in range(5):", "    if n == 2:", "        ...", "        break"),
        "for else": ("for n in range(3):", "    if n > 5:", "        break", "else:", "    ..."),
        "while else": ("n = 0", "while n < 2:", "    n += 1", "else:", "    ..."),
        "continue": ("for n in range(3):", "    if n != 1:", "        continue", "    ..."),
        "nested": ("for n in range(2):", "    for m in range(n):", "        if m == 0:", "            ..."),
        "items": ("for n, m in {'a': 1, 'b': 2}.items():", "    if n == 'b':", "        ..."),
        "keys": ("for n in {'a': 1}.keys() | {'a': 2}.keys():", "    ..."),
        "string": ("for n in 'abc':", "    if n == 'c':", "        ..."),
        "pop": ("seen = [1, 2]", "while seen:", "    if seen.pop() == 1:", "        ..."),
        "walrus": ("seen = iter([3, 0])", "while (n := next(seen)) > 0:", "    ..."),
        "delete": ("n = 3", "del n", "n = 4", "if n == 4:", "    ..."),
        "swap": ("n, m = 1, 2", "n, m = m, n", "if (n, m) == (2, 1):", "    ..."),
        "chained": ("n = m = []", "m.append(1)", "if n is m and len(n) == 1:", "    ..."),
        "augmented": ("seen = {'a': 1}", "seen['a'] += 2", "seen |= {'b': 1}", "if sum(seen.values()) > 3:", "    ..."),
        "slices": ("seen = [1, 2, 3, 4]", "seen[1:3] = [9]", "del seen[slice(0, 1)]", "if seen == [9, 4]:", "    ..."),
        "set": ("seen = {1, 2}", "seen.discard(1)", "seen ^= {3}", "if seen == frozenset({2, 3}):", "    ..."),
        "assert": ("assert isinstance(3, int), 'no int'", "..."),
        "global builtin": ("if sum(map(int, '123')) == 6 and sorted({3, 1})[0] == 1:", "    ..."),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        names = {n: block.fresh(n) for n in ("n", "m", "seen")}
        return around(self.CHOICES[block.args[0]], block.lines, names)
