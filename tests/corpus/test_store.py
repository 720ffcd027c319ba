from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzgraph.corpus.lock import DirectoryLock, holder
from fuzzgraph.corpus.records import EntryRecord, FindingRecord, PendingRecord, ProgramRecord
from fuzzgraph.corpus.schema import DATABASE
from fuzzgraph.corpus.store import Store
from fuzzgraph.errors import StoreError
from fuzzgraph.feedback.encode import as_ids

PROGRAM = ProgramRecord(3, "ab" * 32, "mutate", "cd" * 32, ("insert", "swap"), "ok", "compare", 0.5, 4, b"blob")
ENTRY = EntryRecord(
    1, 3, "ab" * 32, "mutate", "cd" * 32, ("insert", "swap"), 9, 0.5, 4, 2, "ok", {"torch": "2"}, 10.0, as_ids([1, 7]),
    b"blob", 5,
)  # fmt: skip
FINDING = FindingRecord("crash-1", "crash", "sig", "it broke", 2, ("ab" * 32,), 11.0)


def filled(directory: Path) -> Store:
    store = Store(directory)
    with store.transaction():
        store.put_features([(0, "line", "a.py:1"), (1, "counter", "x")])
        store.put_program(PROGRAM)
        store.put_entry(ENTRY)
        store.put_finding(FINDING)
        store.put_pending(PendingRecord(4, {"program": b"\x00\xff", "first": True}))
        store.put_counters({"programs": 3, "cpu": 1.5})
        store.put_state("bandit", {"a": [1.0, 2.0]})
    return store


def test_everything_comes_back(tmp_path: Path) -> None:
    filled(tmp_path).close()
    store = Store(tmp_path)
    assert list(store.programs(blobs=True)) == [PROGRAM]
    [entry] = store.entries()
    assert entry.features.tolist() == [1, 7]
    assert {**vars(entry), "features": None} == {**vars(ENTRY), "features": None}
    assert list(store.features()) == [(0, "line", "a.py:1"), (1, "counter", "x")]
    assert list(store.findings()) == [FINDING]
    assert list(store.pending()) == [PendingRecord(4, {"program": b"\x00\xff", "first": True})]
    assert store.counters() == {"programs": 3, "cpu": 1.5}
    assert store.state("bandit") == {"a": [1.0, 2.0]}
    assert store.state("absent") is None


def test_a_later_outcome_replaces_status_and_keeps_the_program(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with store.transaction():
        store.put_program(replace(PROGRAM, status="failure", tier="confirm", blob=None))
    [program] = store.programs(blobs=True)
    assert (program.status, program.tier, program.blob) == ("failure", "confirm", b"blob")


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with pytest.raises(RuntimeError), store.transaction():
        store.put_counters({"programs": 99})
        raise RuntimeError
    assert store.counters()["programs"] == 3


def test_pending_keeps_the_order_of_the_queue(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with store.transaction():
        store.put_pending(PendingRecord(2))
        store.put_pending(PendingRecord(4))
    assert [record.number for record in store.pending()] == [2, 4]


def test_entries_are_found_by_id_or_start_of_hash(tmp_path: Path) -> None:
    store = filled(tmp_path)
    assert [e.id for e in store.find_entries("abab")] == [1]
    assert [e.id for e in store.find_entries("1")] == [1]
    assert store.find_entries("ff") == []


def test_a_reader_looks_on_while_a_writer_writes(tmp_path: Path) -> None:
    writer = filled(tmp_path)
    reader = Store(tmp_path, readonly=True)
    with reader.snapshot():
        assert reader.counters()["programs"] == 3
        with writer.transaction():
            writer.put_counters({"programs": 4})
        assert reader.counters()["programs"] == 3
    assert reader.counters()["programs"] == 4
    with pytest.raises(StoreError), reader.transaction():
        reader.put_counters({"programs": 5})


def test_a_killed_process_loses_no_commit(tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from fuzzgraph.corpus.store import Store
store = Store(Path({str(tmp_path)!r}))
for n in range(10**6):
    with store.transaction():
        store.put_counters({{"n": n}})
    os.write(1, b"%d\\n" % n)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(50)][-1]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split(b"\n")
    process.wait()
    said = max([said, *(int(line) for line in rest[:-1])])
    assert Store(tmp_path).counters()["n"] >= said


def test_no_campaign_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no campaign here"):
        Store(tmp_path, readonly=True)


def test_another_format_version_is_one_clear_line(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match="format 99"):
        Store(tmp_path)


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / DATABASE) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(StoreError, match="no fuzzgraph campaign"):
        Store(tmp_path)


@pytest.mark.parametrize("damage", ["junk", "torn", "flipped"])
def test_a_damaged_database_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    store = filled(tmp_path)
    with store.transaction():
        for n in range(200):
            store.put_program(replace(PROGRAM, number=10 + n, hash=f"{n:064}", blob=os.urandom(500)))
    store.close()
    path = tmp_path / DATABASE
    data = bytearray(path.read_bytes())
    if damage == "junk":
        path.write_bytes(b"this is no database" * 1000)
    elif damage == "torn":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[4096 * 3 : 4096 * 5] = bytes(8192)
        path.write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged|malformed") as error:
        Store(tmp_path)
    assert "\n" not in str(error.value)


def test_lock_is_held_by_one_and_freed_by_death(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    script = f"""
import time
from pathlib import Path
from fuzzgraph.corpus.lock import DirectoryLock
DirectoryLock(Path({str(tmp_path)!r})).acquire()
print("held", flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    assert holder(tmp_path) == process.pid
    with pytest.raises(StoreError, match=f"process {process.pid}"):
        DirectoryLock(tmp_path).acquire()
    process.kill()
    process.wait()
    lock = DirectoryLock(tmp_path)
    lock.acquire()
    lock.release()
    assert holder(tmp_path) is None


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("UPDATE state SET value=x'c1'", "state 'bandit'"),
        ("UPDATE state SET value='text'", "state 'bandit'"),
        ("UPDATE pending SET payload=x'c1'", "pending program 4"),
        ("UPDATE programs SET mutators='['", "program 3"),
        ("UPDATE programs SET blob='text'", "program 3"),
        ("UPDATE programs SET blob=NULL", "entry 1"),
        ("UPDATE entries SET versions='{'", "entry 1"),
        ("UPDATE entries SET features='text'", "entry 1"),
        ("UPDATE findings SET hashes='['", "finding crash-1"),
    ],
)
def test_a_value_that_says_nothing_is_named(query: str, what: str, tmp_path: Path) -> None:
    filled(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(query)
    connection.commit()
    connection.close()
    store = Store(tmp_path)
    with pytest.raises(StoreError, match=f"^{tmp_path / DATABASE}: {what} is damaged: "):
        store.state("bandit")
        list(store.pending())
        list(store.findings())
        store.program_blob(3)
        list(store.programs())
        list(store.entries())
