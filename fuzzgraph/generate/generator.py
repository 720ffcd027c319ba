"""Generator: random programs from the grammar."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch.fx as fx

from ..errors import FuzzgraphError
from ..grammar.rule import Rule, RuleBook, calls
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.infer import Inference
from ..ir.program import Program, RunOptions, type_of
from ..ir.retype import retype
from ..ir.types import DTYPES, SequenceType, TensorType
from ..render.forms import Form, load_forms
from .adapt import Adapters
from .closed import keeps
from .domains import Knowledge, written_nodes
from .hazards import IMPURE, hazard
from .numbers import Numbers
from .options import draw_options, number_options, set_needs
from .pool import ProgramSource
from .profile import Profile, pick
from .regions import draw_region, drop_misfits
from .script import draw_calls, draw_result, first_call
from .surroundings import surround

# Rules that are tried for one node before the program stays as long as it is.
RULE_TRIES = 12
PROGRAM_TRIES = 50
SURROUND_TRIES = 4
ITEMS = 4
_Families = list[tuple[list[tuple[Rule, float]], float]]
# Of the rules of a program with a theme.
THEMED_RULES = 0.9


class Generator:
    """Makes programs from rules alone.

    `program` is a pure function of the state of the rng that it is given: equal states give equal programs.
    """

    def __init__(
        self, book: RuleBook, infer: Inference, profile: Profile | None = None, forms: Mapping[str, Form] | None = None
    ) -> None:
        self.book, self.infer = book, infer
        self.profile = profile or Profile()
        self.adapters = Adapters(book)
        self.forms = load_forms() if forms is None else forms
        self._families = _families(book, self.profile)
        self._themed = {theme: _families(book, self.profile, theme) for theme, _ in self.profile.themes}
        self._fused: dict[str, _Families] = {}
        self._writers = [(r, r.weight) for r in book.rules.values() if "inplace" in r.tags]

    def program(self, rng: Random) -> Program:
        """A verified program. Raises FuzzgraphError if the rules and the inference accept none at all."""
        for _ in range(PROGRAM_TRIES if self._families else 0):
            found = self._attempt(rng)
            if found is not None:
                return found
        raise FuzzgraphError("no program can be generated", hint="fuzzgraph grammar check tells whether rules work")

    def _attempt(self, rng: Random) -> Program | None:
        b = Builder(self.infer, self.book.check)
        b.options = draw_options(rng, self.profile)
        f = b.function("f")
        source = ProgramSource(self.book, b, f, self.profile, self.adapters, grad=b.options.grad)
        source.grow = self.grow
        wanted = rng.random() < self.profile.numbers, rng.random() < self.profile.unsized
        source.fused = not any(wanted) and rng.random() < self.profile.fused
        if source.fused:
            source.theme = pick(self.profile.fused_themes, rng)
        elif rng.random() < self.profile.theme:
            source.theme = pick(self.profile.themes, rng)
        for _ in range(pick(self.profile.number_operators if any(wanted) else self._lengths(source), rng)):
            self.extend(b, f, source, rng)
        if self._last_view(f) is not None and rng.random() < self.profile.write_view:
            self.extend(b, f, source, rng)
        numbers = bool(f.body) and self._numbers(b, f, source, rng, *wanted)
        if not f.body:
            return None
        if not any(s.type.requires_grad for s in b.inputs):
            b.set_options(grad=False)
        f.returns(draw_result(f, self.profile, rng))
        b.add_call(first_call(f))
        share = self.profile.form
        while rng.random() < share and (region := draw_region(self.book, b, f, self.forms, rng)) is not None:
            f.regions.append(region)
            share = self.profile.more_forms
        # A second call meets what the first one wrote, so that what was in range may no longer be.
        if rng.random() < self._calls(f, numbers) and not self._doubts(b):
            draw_calls(b, f, first_call(f), self.fits, rng, sizes=numbers)
            drop_misfits(self.book, b, f, self.forms)  # inputs may share memory now
        if rng.random() < self.profile.surroundings:
            self._surround(b, f, rng)
        set_needs(self.book, b)
        try:
            program = b.build()
        except Rejected:
            return None
        return program if hazard(self.book, self.adapters, b) is None else None

    def _calls(self, f: FunctionBuilder, numbers: bool) -> float:
        """How often the function is called more than once."""
        if any(getattr(self.forms[region.form], "again", False) for region in f.regions):
            return self.profile.again_calls
        return self.profile.number_calls if numbers else self.profile.calls

    def _surround(self, b: Builder, f: FunctionBuilder, rng: Random) -> None:
        """Put Python around the operators, if one of a few changes that are tried finds a place."""
        for _ in range(SURROUND_TRIES):
            try:
                surround(Numbers(self.book, self.adapters, b, f), rng)
            except Rejected:
                continue
            return

    def _numbers(
        self, b: Builder, f: FunctionBuilder, source: ProgramSource, rng: Random, wanted: bool, unsized: bool
    ) -> bool:
        """Bring Python numbers and a size that depends on data in, as wanted; whether there are any now."""
        numbers, profile = Numbers(self.book, self.adapters, b, f), self.profile
        done = False
        if wanted:
            takers = [self.book.rules[op] for op in numbers.takers if op in self.book.rules]
            if takers and rng.random() < profile.number_taker:
                self.add(rng.choice(takers), b, f, source, rng)
            for _ in range(rng.choice((1, 1, 2, 3))):
                done = numbers.replace_literal(rng) or done
            if done and rng.random() < profile.number_assert:
                numbers.assert_something(rng)
        if unsized:
            done = numbers.unsized(rng) or done
        if done and b.options == RunOptions(grad=b.options.grad):
            b.options = number_options(b.options, rng)
        return done

    def _lengths(self, source: ProgramSource) -> tuple[tuple[int, float], ...]:
        if not source.fused or source.theme is None:
            return self.profile.operators
        whole = DTYPES[source.theme].kind in ("int", "bool")
        return self.profile.fused_operators if whole else self.profile.fused_floats

    def rule(self, rng: Random, theme: str | None = None, fused: bool = False) -> Rule:
        """A random rule: a family first, so that those with many rules do not crowd out the rest. With a theme, mostly
        one that takes that dtype; with `fused`, mostly a pointwise one."""
        families = None
        if theme is not None:
            families = self._for_fusing(theme) if fused else self._themed.get(theme)
        if not families or rng.random() >= THEMED_RULES:
            families = self._families
        return pick(pick(families, rng), rng)

    def _for_fusing(self, theme: str) -> _Families:
        """Made when it is first asked for: it takes a second of CPU time."""
        if theme not in self._fused:
            self._fused[theme] = _families(self.book, self.profile, theme, fused=True)
        return self._fused[theme]

    def extend(self, b: Builder, f: FunctionBuilder, source: ProgramSource, rng: Random) -> fx.Node | None:
        """Add one call of a random rule, with its operands; None where no rule that was tried applies."""
        view = self._last_view(f) if rng.random() < self.profile.write_view else None
        for _ in range(RULE_TRIES):
            if view is not None and self._writers:
                # Writes through views are what functionalization has to get right.
                source.prefer, source.prefer_written = view, True
                node = self.add(pick(self._writers, rng), b, f, source, rng)
                source.prefer, source.prefer_written = None, False
            else:
                node = self.add(self.rule(rng, source.theme, source.fused), b, f, source, rng)
            if node is not None:
                return node
        return None

    def grow(self, source: ProgramSource, rng: Random) -> fx.Node | None:
        """Add one call to a function that an operator is to call."""
        for _ in range(RULE_TRIES):
            rule = self.rule(rng, source.theme, source.fused)
            if not rule.tags & IMPURE and not any(map(calls, rule.params)):
                node = self.add(rule, source.b, source.f, source, rng)
                if node is not None and not written_nodes(self.book, node):
                    return node
        return None

    def _last_view(self, f: FunctionBuilder) -> fx.Node | None:
        """The last node, if it only makes another view of memory that may be written."""
        node = f.body[-1] if f.body else None
        kind = type_of(node) if node is not None else None
        if node is None or not isinstance(kind, TensorType) or kind.alias is None or kind.has_overlap:
            return None
        return None if written_nodes(self.book, node) else node

    def add(self, rule: Rule, b: Builder, f: FunctionBuilder, source: ProgramSource, rng: Random) -> fx.Node | None:
        """Add a call of this rule; None (and nothing added) where it does not apply."""
        source.begin()
        draft = rule.sample(source, rng)
        if draft is None:
            source.settle()
            return None
        try:
            node = f.op(
                draft.op, draft.args, dict(draft.kwargs), spelling=draft.spelling, before=source.before
            )
        except Rejected:
            source.settle()
            return None
        if hazard(self.book, self.adapters, b) is not None:
            source.settle()
            return None
        source.settle(node)
        self._unpack(f, node, source, rng)
        return node

    def _unpack(self, f: FunctionBuilder, node: fx.Node, source: ProgramSource, rng: Random) -> None:
        """Items of a tuple of tensors, so that they can be operands: one at least, at most a few."""
        kind = type_of(node)
        if not isinstance(kind, SequenceType) or not kind.items:
            return
        chosen = sorted(rng.sample(range(len(kind.items)), min(len(kind.items), rng.randint(1, ITEMS))))
        for item in chosen:
            f.op("getitem", (node, item), before=source.before)

    def fits(self, b: Builder) -> bool:
        """Retype a builder whose script changed; whether all calls are typed and all elements are in their domains."""
        try:
            retype(b)
        except Rejected:
            return False
        return not self._doubts(b)

    def _doubts(self, b: Builder) -> bool:
        """Whether an operand may be outside the domain that its operator needs."""
        return any(Knowledge(self.book, self.adapters, b, f).doubts() for f in b.functions.values())


def _families(
    book: RuleBook, profile: Profile, dtype: str | None = None, fused: bool = False
) -> _Families:
    """The rules of each family with their weights; a family weighs the root of what its rules weigh together, times
    its factor. With a dtype, only rules that take it; with `fused`, only those of the families that are fused,
    and mostly those that stay in the dtype."""
    factors = dict(profile.fused_families if fused else profile.families)
    found: dict[str, list[tuple[Rule, float]]] = {}
    for rule in book.rules.values():
        if (dtype is None or rule.takes(dtype)) and (not fused or rule.family in factors):
            weight = rule.weight * profile.tag_factor(rule.tags)
            if fused and dtype is not None and keeps(rule, dtype):
                weight *= profile.fused_closed
            found.setdefault(rule.family, []).append((rule, weight))
    return [(rules, factors.get(name, 1.0) * sum(w for _, w in rules) ** 0.5) for name, rules in found.items()]
