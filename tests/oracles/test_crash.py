"""The crash oracle, and how exceptions become signatures."""

import pytest
from fakes import FakeTools, run

from fuzzgraph.oracles import crash
from fuzzgraph.oracles._exceptions import cause_chain, describe, is_out_of_memory, normalise, stage_of_stack


def test_nothing_where_nothing_is_raised():
    assert crash.judge({}, run(1), run(1), FakeTools(run(1))) == []


def test_an_exception_is_a_failure():
    (failure,) = crash.judge({}, run(1), run(error=ValueError("bad size 17")), FakeTools(run(1)))
    assert (failure.oracle, failure.kind, failure.stage) == ("crash", "exception", "run")
    assert (failure.exc_type, failure.message, failure.causes) == ("ValueError", "bad size #", ("ValueError",))


def raised(code: str, files: dict[str, str]):
    """The exception of `code`, with functions that seem to lie in torch's files."""
    space: dict = {}
    for file, text in files.items():
        exec(compile(text, f"/env/site-packages/torch/{file}", "exec"), space)
    try:
        exec(code, space)
    except Exception as e:
        return e
    raise AssertionError("nothing was raised")


LOWERING = {
    "_dynamo/convert_frame.py": "def _compile(f): return f()",
    "_inductor/graph.py": "def run(): return lower()",
    "_inductor/lowering.py": "def lower(): raise KeyError('buf12')",
    "_functorch/aot_autograd.py": "def trace(): return fake()",
    "_subclasses/fake_tensor.py": "def fake(): raise TypeError('no')",
    "_inductor/output_code.py": "def call(): raise ValueError('size')",
}


@pytest.mark.parametrize(
    ("code", "stage", "innermost"),
    [
        ("_compile(run)", "inductor", "_inductor/lowering.py:lower"),
        ("_compile(trace)", "aot", "_subclasses/fake_tensor.py:fake"),
        ("_compile(fake)", "dynamo", "_subclasses/fake_tensor.py:fake"),
        ("call()", "run", "_inductor/output_code.py:call"),
    ],
)
def test_the_stage_is_that_of_the_innermost_telling_frame(code, stage, innermost):
    described = describe(raised(code, LOWERING))
    assert (described.stage, described.frames[-1]) == (stage, innermost)
    assert described.compiling == (stage != "run")


def test_wrapped_exceptions_are_read_from_the_inside():
    class BackendCompilerFailed(RuntimeError):
        def __init__(self, inner):
            super().__init__(f"backend failed: {inner}")
            self.inner_exception = inner

    inner = raised("_compile(run)", LOWERING)
    described = describe(BackendCompilerFailed(inner))
    assert described.causes == ("BackendCompilerFailed", "KeyError")
    assert described.exc_type == "KeyError" and described.stage == "inductor"


def test_a_cpp_error_is_its_first_error_line():
    class CppCompileError(RuntimeError):
        pass

    text = (
        "C++ compile error\n\nCommand:\ng++ /tmp/x.cpp\n\nOutput:\n/tmp/x.cpp:1:2: warning: overflow\n"
        "/tmp/abc/x.cpp:17:30: error: no matching function for call to 'f(int&, short int&)'\n  17 | f(a, b)\n"
        "     | ^\n"
        "/tmp/abc/x.cpp:18:30: error: second\n"
    )
    error = CppCompileError(text)
    error.__cause__ = OSError("exit status 1")
    described = describe(error)
    assert described.stage == "cpp" and described.exc_type == "CppCompileError"
    assert described.message == "no matching function for call to 'f(int&, short int&)'"
    assert "warning" not in described.text and "17 | f(a, b)" in described.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("buf12 has shape [3, 4] not [5]", "buf# has shape [#] not [#]"),
        ("expected 1.5e-3 at 0x7f00aa", "expected # at #"),
        ("no file /tmp/abc/def.py here", "no file <path> here"),
        ("bad\n\nSet TORCHDYNAMO_VERBOSE=1 for", "bad"),
        ("IndexError: x\n  target: aten.add.Tensor\n  args[0]: TensorBox(1)", "IndexError: x target: aten.add.Tensor"),
    ],
)
def test_messages_lose_what_varies(text, expected):
    assert normalise(text) == expected


def test_cause_chains_end():
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    assert cause_chain(a) == [a, b]


def test_out_of_memory():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"))
    assert not is_out_of_memory(RuntimeError("no"))


def test_stages_of_stacks():
    assert stage_of_stack(["_dynamo/convert_frame.py:_compile", "_inductor/graph.py:run"]) == "inductor"
    assert stage_of_stack(["_inductor/output_code.py:call"]) == "run"
    assert stage_of_stack([]) == "subject"


def test_errors_on_fake_tensors_are_told_apart_by_what_the_operator_raised():
    text = (
        "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with fake tensors: "
        "call_function <built-in function rshift>(*(FakeTensor(..., size=(9,)), 8), **{}): "
        "got RuntimeError('rshift: Expected an integral dtype. Got torch.bool')\n  Hint: none"
    )
    found = describe(RuntimeError(text))
    assert found.message == "RuntimeError('rshift: Expected an integral dtype. Got torch.bool')"
    assert found.frames[-1] == found.message


def test_a_lowering_exception_goes_by_what_the_lowering_raised():
    class LoweringException(RuntimeError):
        pass

    found = describe(LoweringException("IndexError: list index out of range\n  target: aten.sum.default"))
    assert (found.exc_type, found.causes) == ("IndexError", ("LoweringException",))
