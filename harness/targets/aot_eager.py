"""Dynamo and AOTAutograd, traced graphs run eagerly: tells their faults from Inductor's."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401
from ._compiled import compiled


def wrap(kwargs):
    return compiled("aot_eager", kwargs)
