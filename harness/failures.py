"""Exceptions as plain data."""

from __future__ import annotations

from ..execution.protocol import ErrorInfo
from ..oracles._exceptions import describe


def error_info(error: BaseException) -> ErrorInfo:
    """Type, message and torch frames of an exception."""
    d = describe(error)
    return ErrorInfo(d.exc_type, d.text, d.frames, d.causes, d.traceback)
