"""Rule files: what they say becomes rules, and what is wrong with them is told with line and column."""

from pathlib import Path

import pytest

from fuzzgraph.errors import RuleError
from fuzzgraph.grammar import load_rules
from fuzzgraph.grammar.loader import load_text
from fuzzgraph.ir.types import tensor
from fuzzgraph.presence import plugged

FILE = Path("family.rules")

UNARY = """
op sin, cos(input)
  input : tensor real [*S]
  result floating(input) [*S]
  inplace
  spell method
  weight 2
  tags exact
"""


def error(text: str, path: Path = FILE) -> RuleError:
    with pytest.raises(RuleError) as caught:
        load_text(text, path)
    return caught.value


def test_one_block_gives_each_operator_and_its_inplace_variant() -> None:
    rules = load_text(UNARY, FILE)
    assert [r.op for r in rules] == ["sin", "Tensor.sin_", "cos", "Tensor.cos_"]
    sin, sin_ = rules[:2]
    assert (sin.family, sin.where, sin.weight, sin.tags) == ("family", "family.rules:2:4", 2.0, {"exact"})
    assert (sin.inplace_op, sin_.functional) == ("Tensor.sin_", "sin")
    assert sin_.tags == {"exact", "inplace"}
    assert list(sin.spellings) == ["function", "method", "keywords"]
    assert list(sin_.spellings) == ["method", "keywords"]


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"),
    [
        ("op sin(input\n", "family.rules:1:13", "unexpected end of line", "')'"),
        ("op sin(input)\n  input tensor any\n", "family.rules:2:9", "unexpected 'tensor'", "':'"),
        ("op sin(input)\n  input : tensor any [*S\n", "family.rules:2:25", "unexpected end of line", "']'"),
        ("op sin(input)\n  input : tensor foo [*S]\n", "family.rules:2:18", "unknown dtype class 'foo'", "foo:any"),
        ("op sin(input)\n  input : blob\n", "family.rules:2:11", "unknown attribute kind 'blob'", "tensor"),
        ("op sin(input)\n  other : tensor\n", "family.rules:2:3", "'other' is not a parameter", "input"),
        ("op sin(input, dim)\n  input : tensor\n", "family.rules:1:1", "parameter 'dim' is not described", "dim"),
        ("op sin(input)\n  input : tensor\n  where rank > 0\n", "family.rules:3:9", "unknown name 'rank'", "known"),
        ("op sin(input)\n  input : tensor\n  tags odd\n", "family.rules:3:8", "unknown tag 'odd'", "random"),
        ("op sin(input)\n  input : tensor\n  inplace\n", "family.rules:1:4", "need a result clause", ""),
        ("op sin(input)\n  input : tensor values odd\n", "family.rules:2:25", "unknown value domain", "index"),
        ("op sin(input)\n  input : tensor [*S, *U]\n", "family.rules:2:18", "one *variable only", ""),
        ("op sin(input)\n  input : tensor\n  spell operator\n", "family.rules:3:9", "needs a template", "{0} + {1}"),
        ("op sin(input)\n  input : tensor\n  sample no.py:sin\n", "family.rules:3:3", "there is no no.py", ""),
        ("op sin(input)\n  input : tensor\n  upstream odd \"x\"\n", "family.rules:3:12", "unknown aspect", "stride"),
        ("op sin(input)\n  input : tensor = None rare rare\n", "family.rules:2:30", "unexpected 'rare'", "end of line"),
        ("op sin(input)\n  input : tensor ?\n", "family.rules:2:18", "unexpected character '?'", ""),
    ],
)  # fmt: skip
def test_errors_name_line_and_column(text: str, where: str, message: str, hint: str) -> None:
    found = error(text)
    assert found.where == where
    assert message in found.message
    assert hint in found.hint


def test_a_plugin_adds_rules(tmp_path: Path) -> None:
    folder = tmp_path / "grammar" / "operators"
    folder.mkdir(parents=True)
    (folder / "mine.rules").write_text("op mine.sin(input)\n  input : tensor float [*S]\n  sample mine.py:sin\n")
    (folder / "mine.py").write_text("def check_sin(env):\n    return 'too long' if env['input'].rank > 1 else None\n")
    with plugged([tmp_path]):
        book = load_rules()
    assert book.rules["mine.sin"].family == "mine"
    assert book.check("mine.sin", (tensor("f32", (2,)),), {}) is None
    assert book.check("mine.sin", (tensor("f32", (2, 2)),), {}) == "too long"


def plugin(folder: Path, content: bytes) -> Path:
    (folder / "grammar" / "operators").mkdir(parents=True)
    (folder / "grammar" / "operators" / "mine.rules").write_bytes(content)
    return folder


def test_an_operator_has_one_rule(tmp_path: Path) -> None:
    with (
        plugged([plugin(tmp_path, b"op sin(input)\n  input : tensor float [*S]\n")]),
        pytest.raises(RuleError, match=r"already has a rule at unary\.rules"),
    ):
        load_rules()


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    with plugged([plugin(tmp_path, b"\xff")]), pytest.raises(RuleError, match=r"mine\.rules: this is no text"):
        load_rules()


def test_a_sampler_that_does_not_import_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import nothing_of_that_name\n")
    found = error("op mine.sin(input)\n  input : tensor\n  sample mine.py:sin\n", tmp_path / "mine.rules")
    assert found.where == "mine.py"
    assert "ModuleNotFoundError" in found.message
