"""Why there is nothing to record. Apart, since `files` runs as `__main__` and would have a class of its own."""

from __future__ import annotations


class NothingThere(Exception):
    """The file is not what it should be; the text says why."""


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no message'}"
