"""The grammar's check is told which operands of a call share storage."""

from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.program import Call, InputSpec, Ref
from fuzzgraph.ir.types import tensor


class Recorder:
    """Inference that gives every call the type of its first operand, as a view of it."""

    def __init__(self):
        self.seen = []

    def infer(self, op, args, kwargs):
        self.seen.append([t.alias for t in args])
        return Inferred(args[0], None, (0,))


def test_roots_have_their_own_names():
    checked = []
    infer = Recorder()
    b = Builder(infer, lambda op, args, kwargs: checked.append([t.alias for t in args]))
    b.add_input(InputSpec("x", tensor("f32", (4,))))
    b.add_call(Call("main", (Ref("x"),)))
    f = b.function("main", [("x", tensor("f32", (4,)))])
    view = f.op("detach", (f.node("x"),))
    f.returns(f.op("Tensor.add_", (f.node("x"), view)))
    b.build()
    assert checked[:2] == [["x"], ["x", "x"]]
    # Names of values say nothing to inference, and would spoil its cache.
    assert infer.seen == [[None], [None, None]]
