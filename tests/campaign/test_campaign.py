"""The loop, against an executor that looks outcomes up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzzgraph.campaign import summary
from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.directory import prepare
from fuzzgraph.campaign.events import Checkpoint, Event
from fuzzgraph.campaign.session import Session, opened
from fuzzgraph.corpus.store import Store
from fuzzgraph.errors import StoreError, UsageError
from tests.campaign.fakes import FakeExecutor, behave, input_seed, parts


def run(directory: Path, resume: bool = False, executor: Any = None, **changes: Any) -> FakeExecutor:
    config = Config(**{"seed": 7, "programs": 200, **changes})
    executor = executor or FakeExecutor()
    prepare(directory, resume)
    with opened(directory, config, lambda *args: parts(*args, executor=executor), None) as session:
        session.campaign.run()
    return executor


def hashes(directory: Path) -> list[tuple[int, str, str]]:
    store = Store(directory, readonly=True)
    try:
        return [(p.number, p.hash, p.status) for p in store.programs()]
    finally:
        store.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("campaign") / "c"
    run(directory)
    return directory


def test_runs_exactly_as_many_programs_as_asked(finished: Path) -> None:
    standing = summary.read(finished)
    assert standing.programs == standing.valid + standing.invalid == 200
    assert standing.pending == 0
    assert standing.running is None


def test_programs_whose_kernels_are_known_are_judged_together(tmp_path: Path) -> None:
    """They are compiled together; what fails, or whose kernels nobody saw, goes alone."""

    class Recording(FakeExecutor):
        def submit(self, jobs: Any) -> None:
            super().submit(jobs)
            sizes.append([job.tier for job in jobs])

    def behaves(job: Any) -> Any:
        outcome = behave(job)
        known = job.tier == "cover" and input_seed(job.source) % 2
        return replace(outcome, kernels=((("float*",), "source"),)) if known else outcome

    for name, kernels in (("with", behaves), ("without", behave)):
        sizes: list[list[str]] = []
        run(tmp_path / name, executor=Recording(kernels), programs=120)
        assert all(len(set(tiers)) == 1 for tiers in sizes)
        assert (max(len(tiers) for tiers in sizes if tiers[0] == "compare") > 1) == (name == "with")


def test_status_agrees_with_the_store(finished: Path) -> None:
    standing = summary.read(finished)
    store = Store(finished, readonly=True)
    programs, entries, findings = list(store.programs()), list(store.entries()), list(store.findings())
    counters = store.counters()
    store.close()
    assert standing.programs == len(programs) == counters["programs"]
    assert standing.entries == len(entries) == counters["entries"]
    assert len(standing.findings) == len(findings) == counters["findings"]
    assert sum(f.count for f in findings) == counters["findings"] + counters.get("finding_duplicates", 0)
    assert sum(1 for p in programs if p.status == "invalid") == standing.invalid


def test_seeds_are_compared_first(finished: Path) -> None:
    store = Store(finished, readonly=True)
    first = list(store.programs())[:3]
    store.close()
    assert [(p.number, p.origin, p.tier) for p in first] == [(n, "seed", "compare") for n in range(3)]


def test_entries_own_a_feature_that_no_earlier_entry_had(finished: Path) -> None:
    store = Store(finished, readonly=True)
    owned: set[int] = set()
    for entry in store.entries():
        features = set(entry.features.tolist())
        assert len(features - owned) == entry.new > 0
        owned |= features
    store.close()


def test_a_finding_is_confirmed_deduplicated_and_written(finished: Path) -> None:
    standing = summary.read(finished)
    assert {f["signature"].rsplit(":", 1)[1] for f in standing.findings} <= {"make_0", "make_1"}
    for finding in standing.findings:
        folder = Path(finding["path"])
        names = {p.name for p in folder.iterdir()}
        assert names == {"program.fg", "repro.py", "finding.json", "log", "versions"}
        described = json.loads((folder / "finding.json").read_text())
        assert described["signature"] == finding["signature"]
        assert described["hash"] == finding["hashes"][0]


def test_entries_lie_in_the_tree_as_text(finished: Path) -> None:
    store = Store(finished, readonly=True)
    expected = {f"{entry.hash[:12]}.fg" for entry in store.entries()}
    store.close()
    assert {p.name for p in (finished / "corpus").iterdir()} == expected


def test_a_mutator_that_raises_costs_no_campaign_and_is_logged(finished: Path) -> None:
    assert "a bug of the mutator's" in (finished / "log").read_text()
    counters = Store(finished, readonly=True).counters()
    assert counters["mutator/breaks/declines"] == counters["mutator/breaks/attempts"] > 0


def test_stats_rows_have_one_schema(finished: Path) -> None:
    rows = [json.loads(line) for line in (finished / "stats.jsonl").read_text().splitlines()]
    assert rows[-1]["end"] == "programs"
    assert rows[-1]["programs"] == 200
    assert rows[-1]["mutators"]["set_seed"]["programs"] > 0
    assert rows[-1]["rules"]["minimum"]["programs"] == 200
    assert len({tuple(row) for row in rows}) == 1


def test_same_seed_same_programs(tmp_path: Path) -> None:
    run(tmp_path / "a", deterministic=True)
    run(tmp_path / "b", deterministic=True)
    run(tmp_path / "c", deterministic=True, seed=8)
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")
    assert hashes(tmp_path / "a") != hashes(tmp_path / "c")


def test_resume_goes_on_exactly(tmp_path: Path) -> None:
    run(tmp_path / "whole", deterministic=True)
    run(tmp_path / "parts", deterministic=True, programs=90)
    run(tmp_path / "parts", deterministic=True, resume=True)
    whole, parted = summary.read(tmp_path / "whole"), summary.read(tmp_path / "parts")
    assert parted.sessions == 2
    assert parted.programs == whole.programs
    # The first run ended on a short batch, so from there on the corpus may differ; up to it nothing does.
    assert hashes(tmp_path / "parts")[:85] == hashes(tmp_path / "whole")[:85]


class StopAt(FakeExecutor):
    """Asks the campaign to stop when so many jobs were submitted, as a signal would."""

    session: Session | None = None
    after = 60

    def poll(self, timeout: float | None = None) -> Any:
        if self.session is not None and len(self.log) >= self.after:
            self.session.campaign.stop("interrupted")
        return super().poll(timeout)


def test_an_interrupted_campaign_resumes_with_the_same_programs(tmp_path: Path) -> None:
    run(tmp_path / "whole", deterministic=True)
    directory = tmp_path / "parts"
    prepare(directory, resume=False)
    executor = StopAt()
    config = Config(seed=7, programs=200, deterministic=True)
    with opened(directory, config, lambda *args: parts(*args, executor=executor), None) as session:
        executor.session = session
        assert session.campaign.run() == "interrupted"
    assert summary.read(directory).programs < 100
    run(directory, resume=True, deterministic=True)
    assert hashes(directory) == hashes(tmp_path / "whole")


def test_killed_between_checkpoints_nothing_committed_is_lost(tmp_path: Path) -> None:
    """A subscriber that dies at the n-th checkpoint stands for kill -9: what the store holds then is all there is."""

    class Killed(BaseException):
        pass

    done = 0
    for round in range(6):
        prepare(tmp_path / "c", resume=round > 0)
        config = Config(seed=7, programs=200)
        with opened(tmp_path / "c", config, parts, None) as session:
            seen = 0

            def kill(event: Event, limit: int = 3 + round) -> None:
                nonlocal seen
                seen += isinstance(event, Checkpoint)
                if seen >= limit:
                    raise Killed

            # Ahead of the writer: this checkpoint is lost.
            session.campaign.bus._subscribers.insert(0, kill)
            with pytest.raises(Killed):
                session.campaign.run()
        standing = summary.read(tmp_path / "c")
        assert standing.programs >= done
        assert standing.programs == standing.valid + standing.invalid
        done = standing.programs
    run(tmp_path / "c", resume=True)
    standing = summary.read(tmp_path / "c")
    assert standing.programs == 200
    assert standing.sessions == 7
    assert len(list((tmp_path / "c" / "corpus").glob("*.fg"))) == standing.entries


def test_a_second_campaign_is_refused_with_the_pid(tmp_path: Path) -> None:
    prepare(tmp_path / "c", resume=False)
    with opened(tmp_path / "c", Config(), parts, None):
        with pytest.raises(StoreError, match=r"process \d+"):
            with opened(tmp_path / "c", Config(), parts, None):
                pass


def test_starting_again_without_resume_is_refused_with_a_hint(finished: Path) -> None:
    with pytest.raises(UsageError, match="--resume"):
        prepare(finished, resume=False)


def test_stop_on_ends_at_the_first_finding_that_matches(tmp_path: Path) -> None:
    run(tmp_path / "c", programs=0, stop_on="make_[01]")
    assert len(summary.read(tmp_path / "c").findings) == 1


def test_a_failure_that_does_not_come_again_is_no_finding(tmp_path: Path) -> None:
    class Flaky(FakeExecutor):
        def poll(self, timeout: float | None = None) -> Any:
            return [
                o if "confirm" not in o.id else o.__class__(o.id, "ok", cpu=0.1) for o in super().poll(timeout)
            ]

    run(tmp_path / "c", executor=Flaky())
    standing = summary.read(tmp_path / "c")
    assert standing.findings == []
    assert standing.unconfirmed > 0


def test_known_issues_are_counted_and_not_reported(tmp_path: Path) -> None:
    entries = '[issue.42]\nlink = "https://example.org/42"\nsignature = "make_0"\n'
    (tmp_path / "known.toml").write_text(entries)
    run(tmp_path / "c", known=(str(tmp_path / "known.toml"),))
    standing = summary.read(tmp_path / "c")
    assert {f["signature"].rsplit(":", 1)[1] for f in standing.findings} <= {"make_1"}
    assert standing.known["42"] > 0
    assert "known     42 x" in summary.text(standing)
