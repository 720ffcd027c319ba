"""Targets, observers, the stand-in kernel, limits, what the watchdog reads from a stack."""

import os
import subprocess
import sys

import pytest
import torch

from fuzzgraph.errors import UsageError
from fuzzgraph.harness import hooks, limits, observers, targets
from fuzzgraph.harness.cover import stand_in
from fuzzgraph.harness.watch import stack_frames
from fuzzgraph.presence import module, modules


@pytest.mark.parametrize("name", targets.names())
def test_every_target_is_complete(name):
    target = targets.load(name)
    assert target.__doc__ and callable(target.wrap({}))
    assert isinstance(target.ENVIRONMENT, dict) and isinstance(target.SPAWN, bool)
    reason = target.available()
    assert reason is None or isinstance(reason, str)


@pytest.mark.parametrize("name", modules(observers.__name__, "observer"))
def test_every_observer_is_complete(name):
    observer = module(observers.__name__, "observer", name)
    assert observer.__doc__ and all(callable(getattr(observer, f)) for f in ("start", "freeze", "begin", "end"))


def test_a_target_that_there_is_not():
    with pytest.raises(UsageError, match="there is no target 'x'"):
        targets.load("x")


def test_a_stand_in_kernel_zeroes_what_it_would_write():
    read, written = torch.ones(3), torch.ones(3)
    stand_in(["const float*", "float*", "const int64_t"])(read, written, 3)
    assert read.tolist() == [1, 1, 1] and written.tolist() == [0, 0, 0]


def test_hooks_that_are_gone_are_switched_off_one_by_one():
    found = hooks.probe()
    assert found.notices == [] and found.bindings_cache is not None and len(found.builders) == 3
    gone = hooks.Hooks()
    assert gone.find("torch._inductor.codecache", "Nonesuch", "something is off") is None
    assert gone.find("torch.nonesuch", "a", "another is off") is None
    assert gone.notices == [
        "this torch has no torch._inductor.codecache.Nonesuch: something is off",
        "this torch has no torch.nonesuch.a: another is off",
    ]


def test_frames_of_a_fault_handlers_stack():
    stack = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "/a/torch/b/site-packages/torch/_inductor/graph.py", line 10 in run\n'
        '  File "/a/lib/site-packages/other.py", line 1 in x\n'
        '  File "/srv/pytorch/torch/_dynamo/convert_frame.py", line 5 in _compile\n'
    )
    assert stack_frames(stack) == ("_dynamo/convert_frame.py:_compile", "_inductor/graph.py:run")


def test_the_cpu_of_processes():
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    try:
        while limits.cpu_seconds(spinning.pid) < 0.1:
            pass
        assert limits.group_cpu_seconds(spinning.pid) >= 0.1
        assert limits.rss_bytes(spinning.pid) > 1 << 20 and limits.data_bytes(spinning.pid) > 1 << 16
    finally:
        limits.kill_group(spinning.pid)
        assert spinning.wait() == -9
    assert limits.cpu_seconds(spinning.pid) == 0.0 and limits.rss_bytes(spinning.pid) == 0


def test_processes_that_only_watch_import_no_torch():
    code = (
        "import sys, fuzzgraph.execution.executor, fuzzgraph.harness.zygote, fuzzgraph.harness.prepare\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.getcwd()}).returncode == 0
