"""A preload: plants in torch.compile what a program asks for by an attribute of its function.

`f.fault = "segfault"` makes the compiled call die that way; eager runs know nothing of it.
"""

import ctypes
import os
import re
import signal
import sys
import time


def fill_memory():
    """By a shared mapping, which RLIMIT_DATA does not count: the watchdog has to see it."""
    import mmap

    held = []
    while True:
        held.append(mmap.mmap(-1, 1 << 26))
        held[-1].write(b"x" * (1 << 26))


def allocate():
    import torch

    torch.empty(100 << 30, dtype=torch.uint8)


def closes_files():
    os.closerange(3, 1024)


def forks():
    if os.fork() == 0:
        time.sleep(60)


def print_much():
    print("tick " * 10_000)
    os.write(1, b"\x04\x00\x00\x00junk" * 100)
    os.write(2, b"raw stderr\n")


FAULTS = {
    "segfault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "spin": lambda: any(False for _ in iter(int, 1)),
    "sleep": lambda: time.sleep(1000),
    "c_hang": lambda: ctypes.PyDLL(None).pause(),  # in C, holding the GIL: no Python signal handler runs
    "c_spin": lambda: re.match("(a+)+$", "a" * 60 + "b"),  # the same, and no signal interrupts it
    "allocate": allocate,
    "fill_memory": fill_memory,
    "os_exit": lambda: os._exit(7),
    "sys_exit": lambda: sys.exit(5),
    "print": print_much,
    "close": closes_files,
    "close_output": lambda: os.closerange(0, 1024),
    "fork": forks,
    "interrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
    "error": lambda: (_ for _ in ()).throw(ValueError("planted 12")),
    "base_exception": lambda: (_ for _ in ()).throw(GeneratorExit()),
}


class Late:
    """Ends the process when it is freed, as damaged memory does."""

    def __del__(self):
        os.abort()


def apply():
    import torch

    real = torch.compile

    def compile(function=None, **kwargs):
        fault = getattr(function, "fault", None)
        if fault is None:
            return real(function, **kwargs)
        if fault == "miscompile":
            return lambda *args: function(*args) + 1

        def call(*args):
            if fault == "damage":
                result = function(*args)
                result.late = Late()
                return result
            FAULTS[fault]()
            return function(*args)

        return call

    torch.compile = compile
