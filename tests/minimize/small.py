"""Minimizing over the tiny grammar, with a predicate on programs in place of an execution."""

from collections.abc import Callable, Sequence

from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.ir.program import Program, op_of
from fuzzgraph.minimize._reduction import make_tools
from fuzzgraph.minimize.minimizer import Minimized, minimize
from tests.generate.worlds import MetaInference, program, tiny_book

BOOK = tiny_book()
TOOLS = make_tools(BOOK, MetaInference(BOOK))
KEY = "it fails"

Predicate = Callable[[Program], bool]


def outcome(fails: bool, number: int = 0) -> Outcome:
    return Outcome(str(number), "failure" if fails else "ok")


def key_of(outcome: Outcome, program: Program) -> list[str]:
    return [KEY] if outcome.status == "failure" else []


class Runs:
    """Executes by a predicate, and remembers what it was given."""

    def __init__(self, fails: Predicate) -> None:
        self.fails = fails
        self.batches: list[list[Program]] = []

    def __call__(self, programs: Sequence[Program]) -> list[Outcome]:
        self.batches.append(list(programs))
        return [outcome(self.fails(p), i) for i, p in enumerate(programs)]

    @property
    def count(self) -> int:
        return sum(map(len, self.batches))


def small(text: str) -> Program:
    return program(text, BOOK)


def minimized(text: str, fails: Predicate, **more) -> Minimized:
    start = small(text)
    assert fails(start)
    return minimize(start, Runs(fails), TOOLS, KEY, key_of, **more)


def ops(program: Program) -> list[str]:
    return [op_of(n) for n in program.nodes()]


def feeds(program: Program, first: str, second: str) -> bool:
    """Whether some `first` is an operand of some `second`."""
    return any(op_of(n) == second and any(op_of(a) == first for a in n.all_input_nodes if a.op == "call_function")
               for n in program.nodes())  # fmt: skip
