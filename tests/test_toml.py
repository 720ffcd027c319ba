"""TOML files: whatever is wrong with one is said in one line that names it."""

from pathlib import Path

import pytest

from fuzzgraph.errors import UsageError
from fuzzgraph.toml import read_toml


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"x", "Expected '=' after a key in a key/value pair"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff"),
        (b"x = " + b"9" * 5000, "Exceeds the limit"),
        (b"x = " + b"[" * 3000 + b"]" * 3000, "nested too deeply"),
        (b"x = 1\nx = 2", "Cannot overwrite a value"),
    ],
)
def test_a_file_that_is_no_toml(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_toml(path)
    assert str(error.value).startswith(f"{path}: not a TOML file: {expected}")


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.toml: no such file \(write one\)$"):
        read_toml(tmp_path / "a.toml", hint="write one")
    with pytest.raises(UsageError, match=r"Is a directory$"):
        read_toml(tmp_path)
