"""What a wrong text is told: line, column, node, what was expected."""

import pytest

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir import text
from tests.ir.programs import FULL, ByName

HEAD = "fuzzgraph 1\ninput x: f32[2] values normal\n"
BODY = "def f(x) {\n  a: f32[2] = sin(x)\n  return a\n}\ncall f(x)\n"


def message(program: str, infer: ByName | None = None) -> str:
    with pytest.raises(ProgramError) as e:
        text.parse(program, infer, file="p.fg")
    return str(e.value)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("", "p.fg:1:1: found the end of the file, expected 'fuzzgraph 1'"),
        ("fuzzgraph 2\n" + BODY, "p.fg:1:11: format version 2, this fuzzgraph reads 1"),
        (HEAD, "p.fg: the program calls nothing"),
        (HEAD + "def f(x) {\n  a: f32[2] = sin(x $\n", "p.fg:4:21: found '$', expected ..."),
        (HEAD + "def f(x) {\n  a: f32[2] = sin(x\n",
         "p.fg:4:20: found the end of the file, expected '(', ')', ',', '='"),
        (HEAD + "input y: f32(2)\n" + BODY, "p.fg:3:10: input y: unknown type 'f32' (f32[4, 8], ..."),
        (HEAD + "input y: f33[2]\n" + BODY, "p.fg:3:10: input y: unknown dtype 'f33' (one of bool, u8, i8, i16, ...)"),
        (HEAD + "input y: int\n" + BODY, "p.fg:3:7: input y must be a tensor, such as f32[4, 8]"),
        (HEAD + "input y: f32[2, 2][1]\n" + BODY, "p.fg:3:10: input y: 2 sizes and 1 strides"),
        (HEAD + "input x: f32[2]\n" + BODY, "p.fg:3:7: input x: the name 'x' is used twice"),
        (HEAD + "input for: f32[2]\n" + BODY, "p.fg:3:7: input for: 'for' is not a usable name (...)"),
        (HEAD + "option speed = 1\n" + BODY, "p.fg:3:8: unknown option 'speed' (one of dynamic, ...)"),
        (HEAD + "option dynamic = maybe\n" + BODY, "p.fg:3:18: found the name 'maybe', expected a literal"),
        (HEAD + BODY.replace("sin(x)", "sin(y)"), "p.fg:4:19: node a: unknown value 'y' in f"),
        (HEAD + BODY.replace("f(x) {", "f() {").replace("f(x)", "f()"),
         "p.fg:4:19: node a: unknown value 'x' in f (an input must be a parameter of the function)"),
        (HEAD + BODY.replace("sin", "sine"),
         "p.fg:4:3: node a: unknown operator 'sine': this torch has no torch.sine (fuzzgraph grammar list ...)"),
        (HEAD + BODY.replace("sin", "gelu"), "p.fg:4:3: node a: unknown operator 'gelu': this torch has no torch.gelu "
         "(did you mean nn.functional.gelu?)"),
        (HEAD + BODY.replace("sin", "Tensor"),
         "p.fg:4:3: node a: unknown operator 'Tensor': this torch has no torch.Tensor (fuzzgraph grammar list ...)"),
        (HEAD + BODY.replace("a: f32[2] =", "a ="),
         "p.fg:4:3: node a: the type of sin is not given and there is no type inference"),
        (HEAD + BODY.replace("  a:", "  lambda:"), "p.fg:4:3: node lambda: 'lambda' is not a usable name (...)"),
        (HEAD + BODY.replace("a:", "torch:").replace("return a", "return torch"),
         "p.fg:4:3: node torch: the name 'torch' is reserved (choose another, such as torch0)"),
        (HEAD + BODY.replace("a:", "x:"), "p.fg:4:3: node x: the name 'x' is used twice in f"),
        (HEAD + BODY.replace("sin(x)", "sin(out = x, 1)"),
         "p.fg:4:28: node a: a positional argument after a keyword argument"),
        (HEAD + BODY.replace("sin(x)", "sin(torch.no_such)"),
         "p.fg:4:19: node a: 'torch.no_such' is not a name in torch (...)"),
        (HEAD + BODY.replace("sin(x)", "sin(what(1))"),
         "p.fg:4:19: node a: found what(...), expected complex(...), slice(...) or device(...)"),
        (HEAD + BODY.replace("sin(x)", 'sin(device("moon"))'), "p.fg:4:19: node a: device: Expected one of ..."),
        (HEAD + BODY.replace("sin(x)", r'sin("\q")'), "p.fg:4:19: node a: bad string: Invalid \\escape"),
        (HEAD + BODY.replace("a: f32[2]", "a: real"), "p.fg:4:6: node a: unknown type 'real' (...)"),
        (HEAD + BODY + "call f(x = x)", "p.fg:8:6: a call of the script takes positional arguments only"),
        (HEAD + BODY + "call g(x)", "p.fg:8:6: call of g: no such function"),
        (HEAD + BODY + "closure c = f(1)", "p.fg:8:9: closure c: a closure binds captures by name (...)"),
    ],
)  # fmt: skip
def test_messages(program: str, expected: str) -> None:
    found = message(program)
    head, _, tail = expected.partition("...")
    assert found.startswith(head) and found.endswith(tail), found
    assert "..." in expected or found == expected


def test_inference_is_named() -> None:
    assert message(HEAD + BODY, ByName(refused=("sin",))) == "p.fg:4:3: node a: sin: RuntimeError: no sin today"


def test_a_wrong_type_is_an_error() -> None:
    wrong = HEAD + BODY.replace("a: f32[2]", "a: f32[3]")
    assert message(wrong, ByName()) == "p.fg:4:3: node a: a is f32[2], the text says f32[3]"
    strides = text.parse(HEAD + BODY.replace("a: f32[2]", "a: f32[2][7]"), ByName())
    assert text.format(strides) == text.format(text.parse(HEAD + BODY))


def test_the_grammar_is_asked() -> None:
    def check(op: str, args: object, kwargs: object) -> str | None:
        return "not on a Sunday"

    with pytest.raises(ProgramError, match=r"^p.fg:4:3: node a: sin: not on a Sunday$"):
        text.parse(HEAD + BODY, ByName(), check, file="p.fg")
    with pytest.raises(ProgramError, match=r"^p.fg: f: a: sin: not on a Sunday$"):
        text.parse(HEAD + BODY, check=check, file="p.fg")


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("9" * 5000, "a number of 5000 digits (torch takes 19)"),
        ("{[1]: 2}", "a key of a dict: "),
        ("{1: {{2: 3}: 4}}", "a key of a dict: "),
        ('complex("x")', "complex: "),
        ('device("cpu", 99999999999999999999)', "device: "),
    ],
)
def test_a_value_that_python_refuses_is_one_line_with_its_place(argument: str, expected: str) -> None:
    said = message(HEAD + BODY.replace("sin(x)", f"sin(x, {argument})"))
    assert said.startswith("p.fg:4:") and expected in said, said


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (f"f32[{'9' * 5000}]", "p.fg:3:14: input y: a number of 5000 digits (torch takes 19)"),
        (f"f32[2][{'9' * 5000}]", "p.fg:3:17: input y: a number of 5000 digits (torch takes 19)"),
        (f"f32[2]+{'9' * 5000}", "p.fg:3:17: input y: a number of 5000 digits (torch takes 19)"),
        (f"f32[2] seed {'9' * 5000}", "p.fg:3:22: input y: a number of 5000 digits (torch takes 19)"),
        ('f32[2] dynamic("a")', "p.fg:3:7: input y: dynamic dims ('a',) of a tensor of rank 1"),
    ],
)
def test_a_declaration_with_a_wrong_number_is_one_line(declared: str, expected: str) -> None:
    assert message(f"{HEAD}input y: {declared}\n{BODY}") == expected


@pytest.mark.parametrize("nested", [f"sin(x, {'[' * 5000}{']' * 5000})", f"sin(x, {'(' * 5000}x{',)' * 5000})"])
def test_what_is_nested_too_deeply_is_one_line(nested: str) -> None:
    assert message(HEAD + BODY.replace("sin(x)", nested)) == "p.fg: values or types are nested too deeply"


@pytest.mark.parametrize("step", [1, 7])
def test_every_cut_is_one_clear_line(step: int) -> None:
    """A text that ends anywhere, or lacks any piece, is refused with a place, or is a program."""
    for at in range(0, len(FULL), step * 5):
        for broken in (FULL[:at], FULL[:at] + FULL[at + step :]):
            try:
                text.parse(broken, file="p.fg")
            except ProgramError as e:
                assert str(e).startswith("p.fg")
                assert "\n" not in str(e).replace(broken, "")


@pytest.mark.parametrize(
    ("program", "place", "said"),
    [
        ("input x: f32[4]\ndef f(x) {\n return x\n}\ncall f(x, x)\n", "6:6", "call of f: 2 arguments, 1 parameters"),
        ("input x: f32[4]\ndef f(x) {\n return x\n}\ncall f(x)\ncall g(x)\n", "7:6", "call of g: no such function"),
        ("input y: f32[4]\ninput x: f32[4] values gauss\ndef f(x) {\n return x\n}\ncall f(x)\n", "3:7", "gauss"),
        ('option dynamic = 3\ninput x: f32[4]\ndef f(x) {\n return x\n}\ncall f(x)\n', "2:8", "option dynamic"),
    ],
)
def test_what_only_the_whole_program_shows_has_a_place(program, place, said):
    got = message("fuzzgraph 1\n" + program)
    assert got.startswith(f"p.fg:{place}: ")
    assert said in got
