"""The reference run again: every oracle must be silent. Tells a flaky program or harness from a compiler."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401


def wrap(kwargs):
    return lambda function, **_: function
