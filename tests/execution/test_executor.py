"""The pool: targets, tiers, coverage, options, restarts, accounts."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from programs import job, source

from fuzzgraph.errors import EnvironmentProblem
from fuzzgraph.execution.executor import Executor
from fuzzgraph.execution.startup import startup_checks

pytestmark = pytest.mark.compiles

GRAD = source(
    "y = (x.sin() * w).relu()\nreturn y.sum(0), torch.softmax(y, 1)",
    '"x": torch.linspace(-2, 2, 12).reshape(3, 4).requires_grad_(), "w": torch.linspace(0, 1, 12).reshape(3, 4)',
)


def test_startup_checks_catch_what_is_planted(executor):
    assert startup_checks(executor).startswith("start-up checks: planted crash, hang, miscompile caught")


@pytest.mark.parametrize("tier", ["cover", "compare"])
def test_a_correct_program_is_ok_in_both_tiers(executor, tier):
    outcome = executor.run([job(GRAD, tier=tier, options={"grad": True}, coverage="novel")])[0]
    assert (outcome.status, outcome.stage) == ("ok", "done")
    assert outcome.versions["torch"] == executor.versions["torch"] and outcome.cpu > 0


def test_the_cover_tier_starts_no_compiler_and_reaches_backward(executor):
    cover, compare = executor.run(
        [job(GRAD, tier=tier, options={"grad": True}, coverage="novel") for tier in ("cover", "compare")]
    )
    assert cover.cpu < compare.cpu / 2
    assert "_functorch/_aot_autograd/runtime_wrappers.py" in cover.lines
    codegen = set(cover.lines["_inductor/codegen/cpp.py"])
    assert codegen and len(codegen ^ set(compare.lines["_inductor/codegen/cpp.py"])) < 0.02 * len(codegen)


def test_coverage_is_of_this_program_alone(executor):
    bodies = ("return x + 1", "return x.sort()", "return x + 1")
    first, other, again = executor.run([job(source(body), tier="cover", coverage="novel") for body in bodies])
    assert first.lines == again.lines and first.lines != other.lines
    assert all(not line.startswith("/") for line in first.lines)
    counters = other.features["counter"]
    assert "stats:unique_graphs" in counters and counters == sorted(counters)


def test_full_coverage_holds_the_baseline_too(executor):
    novel, full = executor.run([job(source(), tier="cover", coverage=c) for c in ("novel", "full")])
    baseline = executor.baseline()["line"]
    shared = [(f, line) for f, lines in full.lines.items() for line in lines if line in set(baseline.get(f, ()))]
    assert len(shared) > 5000
    assert not [f for f, lines in novel.lines.items() if set(lines) & set(baseline.get(f, ()))]
    assert sum(map(len, baseline.values())) > 20_000


def test_no_coverage_where_none_is_asked_for(executor):
    assert executor.run([job(source(), tier="cover")])[0].features == {}


@pytest.mark.parametrize("target", ["identity", "eager", "aot-eager"])
def test_other_targets_share_the_worker(executor, target):
    before = len(executor._workers)
    assert executor.run([job(GRAD, target=target, options={"grad": True})])[0].status == "ok"
    assert len(executor._workers) == before


def test_an_unknown_target_says_what_there_is(executor):
    outcome = executor.run([job(source(), target="nonesuch")])[0]
    assert (outcome.status, outcome.error.type) == ("lost", "TargetUnavailable")
    assert "there is no target 'nonesuch'" in executor.unavailable("nonesuch") and "inductor" in outcome.error.message
    with pytest.raises(EnvironmentProblem, match="target nonesuch cannot run here"):
        executor.start("nonesuch")


def test_options_reach_the_compiler(executor):
    breaks = source("torch._dynamo.graph_break()\nreturn x + 1")
    refused, dynamic, patched, unknown = executor.run(
        [
            job(breaks, options={"fullgraph": True}),
            job(source("return x * x.shape[0]"), options={"dynamic": True}, coverage="novel", tier="cover"),
            job(source(), options={"config": {"inductor.max_fusion_size": 1, "dynamo.specialize_float": True}}),
            job(source(), options={"config": {"inductor.no_such_setting": 1}}),
        ]
    )
    assert refused.status == "ok" and refused.error.type == "Unsupported"  # a refusal that the option asks for
    assert dynamic.status == "ok" and "fx/experimental/symbolic_shapes.py" in dynamic.lines
    assert patched.status == "ok"
    assert (unknown.status, unknown.error.message) == ("invalid", "this torch has no setting inductor.no_such_setting")


def test_a_second_gradient_that_torch_says_it_cannot_take_is_no_failure(executor):
    """torch 2.13 leaves autograd.grad to eager, which compiled backward cannot be differentiated in."""
    body = "y = torch.tanh(x)\ng, = torch.autograd.grad(y.sum(), x, create_graph=True)\nreturn g"
    text = source(body, '"x": torch.linspace(-1, 1, 3).requires_grad_()')
    (outcome,) = executor.run([job(text, options={"grad": True})])
    assert (outcome.status, outcome.failures) == ("ok", ())
    assert outcome.error is None or "does not currently support double backward" in outcome.error.message


def test_autocast_and_inference_hold_on_both_sides(executor):
    mm = source("return x @ x, x.requires_grad", '"x": torch.linspace(-1, 1, 9).reshape(3, 3)')
    outcomes = executor.run([job(mm, options=o) for o in ({"autocast": "bf16"}, {"inference": True})])
    assert [o.status for o in outcomes] == ["ok", "ok"]


def test_states_and_mutations_are_compared(executor):
    text = source(
        "log.append(x.sum())\nx.add_(1)\nreturn x * 2", top="log = []", before="log.clear()"
    ) + "\n\ndef get_states():\n    return {'log': log}\n"
    assert executor.run([job(text)])[0].status == "ok"


def test_a_real_compiler_bug_is_a_failure_of_the_compiler(executor):
    text = source("return torch.minimum(torch.abs(x), x)", '"x": torch.arange(-5, 5, dtype=torch.int16)')
    outcome = executor.run([job(text)])[0]
    assert (outcome.status, outcome.stage) == ("failure", "cpp")
    assert "min_propagate_nan" in outcome.failures[0].message
    cover = executor.run([job(text, tier="cover")])[0]
    assert (cover.status, cover.stage, cover.kernels) == ("failure", "cpp", ())
    assert "min_propagate_nan" in cover.failures[0].message


def test_kernels_of_a_batch_are_compiled_together(tmp_path):
    """Torch's own compiler is broken here, so that only what came from the unit can run."""
    texts = [source(f"return torch.sin(x) * {i}", '"x": torch.linspace(-1, 1, 40)') for i in (2, 3)]
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from torch._inductor import cpp_builder\n\n\n"
        "def apply():\n    import os\n\n    kept = cpp_builder.CppBuilder.build\n\n"
        "    def build(self):\n        if os.path.exists(" + repr(str(tmp_path / "on")) + "):\n"
        "            raise RuntimeError('no compiler')\n        return kept(self)\n\n"
        "    cpp_builder.CppBuilder.build = build\n"
    )
    with Executor(batch=2, preload=[broken]) as together:
        covered = together.run([job(text, tier="cover") for text in texts])
        assert [len(o.kernels) for o in covered] == [1, 1]
        (tmp_path / "on").touch()
        jobs = [replace(job(text), kernels=o.kernels) for text, o in zip(texts, covered, strict=True)]
        served = together.run(jobs)
        assert [(o.status, o.position) for o in served] == [("ok", 0), ("ok", 0)]
        assert served[0].cpu_below == pytest.approx(served[1].cpu_below) and served[0].cpu_below > 0
        assert not list(together.scratch.rglob("units/*.so"))
        alone = together.run([job(texts[0])])[0]
        assert alone.status == "failure" and "no compiler" in alone.failures[0].message


def test_a_death_among_compared_programs_is_that_programs_alone(executor):
    texts = [source("return torch.cos(x)"), source("return torch.exp(x)")]
    kernels = [o.kernels for o in executor.run([job(t, tier="cover") for t in texts])]
    dying = texts[0].replace("return torch.cos(x)", "import os; os._exit(4)")
    jobs = [replace(job(t), kernels=k) for t, k in zip((dying, texts[1]), kernels, strict=True)]
    assert [o.status for o in executor.run(jobs)] == ["exit", "ok"]


def test_a_lowering_error_is_found_in_both_tiers(executor):
    text = source("return torch.pow(x, 3)", '"x": torch.arange(5)')
    outcomes = executor.run([job(text, options={"dynamic": True}, tier=tier) for tier in ("cover", "compare")])
    for outcome in outcomes:
        assert outcome.status in ("ok", "failure")
        assert all(f.stage == "inductor" for f in outcome.failures)


@pytest.mark.once
def test_a_killed_zygote_is_replaced_and_its_job_tried_again(executor):
    restarts = executor.restarts
    executor.submit([job(source("import time; time.sleep(1)\nreturn x + 1"))])
    time.sleep(0.3)
    os.kill(executor._workers[0].process.pid, signal.SIGKILL)
    outcomes = []
    while executor.pending:
        outcomes += executor.poll(1.0)
    assert [o.status for o in outcomes] == ["ok"] and executor.restarts == restarts + 1


@pytest.mark.once
def test_a_program_that_kills_its_zygote_is_lost_alone(executor):
    text = source("import os, signal; os.kill(os.getppid(), signal.SIGKILL)\nimport time; time.sleep(5)")
    outcomes = executor.run([job(text), job(source())])
    assert [o.status for o in outcomes] == ["lost", "ok"]


def test_kernels_do_not_pile_up(executor):
    executor.run([job(source(f"return x + {i}")) for i in range(3)])
    left = [p for p in executor.scratch.rglob("*.so") if "warm" not in p.parts]
    executor.run([job(source(f"return x * {i} - 1")) for i in range(3)])
    assert [p for p in executor.scratch.rglob("*.so") if "warm" not in p.parts] == left


def test_cpu_accounts_grow_and_hold_the_compiler(executor):
    before = executor.cpu
    spent = executor.run([job(source("return x.cos()"))])[0].cpu
    assert spent > 0.3 and executor.cpu - before >= spent * 0.9


@pytest.mark.once
def test_two_workers_and_batches():
    with Executor(jobs=2, batch=3, observers=False) as two:
        outcomes = two.run([job(source(f"return x + {i}"), tier="cover") for i in range(12)])
        assert [o.status for o in outcomes] == ["ok"] * 12
        assert {o.position for o in outcomes} == {0, 1, 2} and len(two._workers) == 2
        scratch = two.scratch
    assert not scratch.exists()


def test_an_environment_that_cannot_start_says_why(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("def apply():\n    raise ValueError('no such function in this torch')\n")
    with Executor(preload=[bad]) as broken, pytest.raises(EnvironmentProblem, match="ValueError: no such function"):
        broken.start()


def test_a_spawned_target_has_a_process_per_batch():
    with Executor(batch=3) as fresh:
        texts = (GRAD, source("import os; os._exit(3)"))
        outcomes = fresh.run([job(t, target="inductor-fresh", options={"grad": t is GRAD}) for t in texts])
        assert [(o.status, o.stage) for o in outcomes] == [("ok", "done"), ("exit", "reference")]
        assert fresh.versions["torch"]


def test_a_target_without_its_device_says_so(executor):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert executor.unavailable("inductor-cuda") in ("torch sees no GPU", "this torch is built without CUDA")
    outcome = executor.run([job(source(), target="inductor-cuda")])[0]
    assert outcome.status == "lost" and outcome.error.type == "TargetUnavailable"


def test_nothing_is_left_when_the_engine_is_killed(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from fuzzgraph.execution.executor import Executor\n"
        "executor = Executor(scratch=sys.argv[1], observers=False)\n"
        "executor.start()\n"
        "print(executor._workers[0].process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    zygote = int(done.stdout)
    for _ in range(200):
        if not list(tmp_path.iterdir()) and not os.path.exists(f"/proc/{zygote}/cwd"):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == [] and done.returncode == -signal.SIGKILL
