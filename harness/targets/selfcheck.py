"""A target with planted faults, for the start-up checks: it does to a function what its `fault` attribute names."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401


def _crash(function, *args):
    import ctypes

    ctypes.string_at(0)


def _hang(function, *args):
    while True:
        pass


def _miscompile(function, *args):
    return function(*args) + 1


FAULTS = {"crash": _crash, "hang": _hang, "miscompile": _miscompile}


def wrap(kwargs):
    def plant(function, **_):
        fault = FAULTS.get(getattr(function, "fault", None))
        return function if fault is None else lambda *args: fault(function, *args)

    return plant
