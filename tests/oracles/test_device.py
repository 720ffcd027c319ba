"""The device oracle: eager on two devices."""

import torch
from fakes import FakeTools, run

from fuzzgraph.oracles import device

X = torch.tensor([1.0, 2.0])


def judge(reference, cpu, **more):
    tools = FakeTools(reference, cpu=cpu, **more)
    return device.judge({}, reference, reference, tools), tools


def test_nothing_to_say_on_the_cpu():
    assert judge(run(X), None)[0] == []


def test_devices_that_agree():
    assert judge(run(X), run(X * (1 + 1e-6)))[0] == []


def test_devices_that_differ():
    (failure,), _ = judge(run(X), run(X + 1))
    assert (failure.oracle, failure.kind) == ("device", "value")
    assert "1.0 on the device, 2.0 on the CPU" in failure.detail


def test_an_error_on_one_device():
    (failure,), _ = judge(run(X), run(error=NotImplementedError("half")))
    assert (failure.kind, failure.message) == ("error", "NotImplementedError on the CPU only")


def test_it_never_makes_a_program_unstable():
    found, tools = judge(run(X), run(X + 1), perturbed=run(X + 0.5))
    assert found == [] and tools.reasons == []
