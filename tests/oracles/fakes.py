"""A stand-in for the harness's tools, and runs made by hand."""

from fuzzgraph.oracles._types import Run, Trial


class FakeTools:
    """Further runs are what the test says; by default the reference again, and no float64 run."""

    def __init__(
        self, reference, perturbed=None, float64=None, rerun=None, emulated=None, low_precision=False, cpu=None,
        fake=None, reconfigured=None, again=None, others=None, reseeded=None, own_random=None,
    ):  # fmt: skip
        self._reseeded, self._own_random = reseeded, own_random
        self.seeds = []  # that compiled code was run under
        self.reference = reference
        self._perturbed, self._float64, self._rerun, self._emulated = perturbed, float64, rerun, emulated
        self.low_precision, self._cpu = low_precision, cpu
        self._fake, self._reconfigured, self._again, self._others = fake, reconfigured, again, others or {}
        self.float64_problem = "" if float64 else "not in this test"
        self.reasons: list[str] = []
        self.notes: list[str] = []
        self.instability = None

    def rerun(self):
        return self._rerun or self.reference

    def perturbed(self, seed):
        return self._perturbed or self.reference

    def float64(self):
        return self._float64

    def emulated(self):
        return self._emulated

    def on_cpu(self):
        return self._cpu

    def fake(self):
        return self._fake

    def reconfigured(self, config):
        return self._reconfigured

    def reseeded(self, seed):
        return self._reseeded(seed) if self._reseeded else self.reference

    def own_random(self, seed):
        self.seeds.append(seed)
        return self._own_random(seed) if self._own_random else None

    def again(self):
        return self._again or self.reference

    def other(self, source):
        return self._others.get(source) or Trial(self.reference, self.reference, self)

    def harmless(self, run):
        return isinstance(run.error, MemoryError)

    def note(self, text):
        self.notes.append(text)

    def unstable(self, reason):
        self.reasons.append(reason)


def run(*results, inputs=None, gradients=None, states=None, error=None, drew=False):
    """One result per call."""
    return Run(list(results), inputs or {}, gradients or {}, states, error, drew=drew)
