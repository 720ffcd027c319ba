"""Dynamo alone, captured graphs run eagerly."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401
from ._compiled import compiled


def wrap(kwargs):
    return compiled("eager", kwargs)
