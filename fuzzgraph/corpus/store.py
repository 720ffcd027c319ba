"""The campaign's database: everything that a resumed campaign needs, and everything that it learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack

from fuzzgraph.errors import StoreError
from fuzzgraph.feedback.encode import pack_ids, unpack_ids

from .records import EntryRecord, FindingRecord, PendingRecord, ProgramRecord
from .schema import DATABASE, damage_named, open_database

Number = int | float
_ENTRY = (
    "SELECT e.id, e.number, e.hash, p.origin, p.parent, p.mutators, e.seed, e.cost, p.nodes, e.new, p.status,"
    " e.versions, e.created, e.features, p.blob, e.picks FROM entries e JOIN programs p ON p.number = e.number"
)


class Store:
    """One campaign directory's database.

    Writes happen inside `transaction()`: all of one or none of it, and once it has returned a killed process
    loses nothing of it. Readers (`readonly=True`) may look on while a campaign runs.
    """

    def __init__(self, directory: Path, readonly: bool = False) -> None:
        self.directory = directory
        self.path = directory / DATABASE
        self._db = open_database(self.path, readonly)
        if not readonly:
            self._check_whole()

    def _check_whole(self) -> None:
        with damage_named(self.path):
            verdict = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise StoreError(
                f"the database is damaged: {verdict.splitlines()[-1]}",
                where=str(self.path),
                hint="start a campaign in a new directory",
            )

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with damage_named(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, query: str, args: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with damage_named(self.path):
            yield from self._db.execute(query, tuple(args))

    def _one(self, query: str, args: Iterable[Any] = ()) -> Any:
        return next(self._rows(query, args), (None,))[0]

    # Programs

    def put_program(self, record: ProgramRecord) -> None:
        """Add, or say anew what became of it; a blob once stored stays."""
        self._db.execute(
            "INSERT INTO programs VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT(number) DO UPDATE SET"
            " status=excluded.status, tier=excluded.tier, cpu=excluded.cpu, blob=coalesce(excluded.blob, blob)",
            (record.number, record.hash, record.origin, record.parent, json.dumps(record.mutators), record.status,
             record.tier, record.cpu, record.nodes, record.blob),
        )  # fmt: skip

    def programs(self, blobs: bool = False) -> Iterator[ProgramRecord]:
        """All programs in order; without `blobs`, their `blob` is None."""
        blob = "blob" if blobs else "NULL"
        query = f"SELECT number, hash, origin, parent, mutators, status, tier, cpu, nodes, {blob} FROM programs"
        for row in self._rows(query + " ORDER BY number"):
            number, digest, origin, parent, mutators, *rest = row
            chain = tuple(self._decoded(f"program {number}", json.loads, mutators))
            yield ProgramRecord(number, digest, origin, parent, chain, *rest)

    def hashes(self) -> Iterator[str]:
        for row in self._rows("SELECT hash FROM programs ORDER BY number"):
            yield row[0]

    def count(self, table: str) -> int:
        if table not in ("programs", "entries", "features", "findings", "pending"):
            raise ValueError(table)
        return int(self._one(f"SELECT count(*) FROM {table}"))

    # Entries and features

    def put_entry(self, entry: EntryRecord) -> None:
        """Its program must have been put, with its blob."""
        self._db.execute(
            "INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?,?)",
            (entry.id, entry.number, entry.hash, entry.seed, entry.cost, entry.new, json.dumps(entry.versions),
             entry.created, pack_ids(entry.features), entry.picks),
        )  # fmt: skip

    def put_picks(self, picks: Mapping[int, int]) -> None:
        self._db.executemany("UPDATE entries SET picks=? WHERE id=?", [(n, i) for i, n in picks.items()])

    def entries(self) -> Iterator[EntryRecord]:
        """All entries, oldest first."""
        for row in self._rows(_ENTRY + " ORDER BY e.id"):
            yield self._entry(row)

    def find_entries(self, prefix: str) -> list[EntryRecord]:
        """Those whose content hash starts with `prefix`, or whose id it is."""
        where = " WHERE e.hash LIKE ? || '%' OR CAST(e.id AS TEXT) = ? ORDER BY e.id"
        return [self._entry(row) for row in self._rows(_ENTRY + where, (prefix, prefix))]

    def program_blob(self, number: int) -> bytes | None:
        """The packed program of that number, None where it was not kept."""
        blob = self._one("SELECT blob FROM programs WHERE number=?", (number,))
        return None if blob is None else self._decoded(f"program {number}", _whole, blob)

    def _entry(self, row: tuple[Any, ...]) -> EntryRecord:
        id, number, digest, origin, parent, chain, seed, cost, nodes, new, status = row[:11]
        versions, created, packed, blob, picks = row[11:]
        what = f"entry {id}"
        if blob is None:
            raise StoreError(f"{what} is damaged: its program is missing", where=str(self.path))
        return EntryRecord(
            id, number, digest, origin, parent, tuple(self._decoded(what, json.loads, chain)), seed, cost, nodes, new,
            status, self._decoded(what, json.loads, versions), created, self._decoded(what, unpack_ids, packed),
            self._decoded(what, _whole, blob), picks,
        )  # fmt: skip

    def _decoded(self, what: str, decode: Callable[[Any], Any], value: Any) -> Any:
        """Raises StoreError for a value that is whole to SQLite and says nothing to us."""
        try:
            return decode(value)
        except Exception as error:  # msgpack and json raise many kinds on damage, all with the same meaning here
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise StoreError(f"{what} is damaged: {said}", where=str(self.path)) from error

    def put_features(self, fresh: Iterable[tuple[int, str, str]]) -> None:
        self._db.executemany("INSERT INTO features VALUES (?,?,?)", fresh)

    def features(self) -> Iterator[tuple[int, str, str]]:
        yield from self._rows("SELECT id, space, key FROM features ORDER BY id")  # type: ignore[misc]

    # Findings

    def put_finding(self, finding: FindingRecord) -> None:
        self._db.execute(
            "INSERT INTO findings VALUES (?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET"
            " count=excluded.count, hashes=excluded.hashes",
            (finding.id, finding.kind, finding.signature, finding.title, finding.count,
             json.dumps(finding.hashes), finding.created),
        )  # fmt: skip

    def findings(self) -> Iterator[FindingRecord]:
        query = "SELECT id, kind, signature, title, count, hashes, created FROM findings ORDER BY created, id"
        for row in self._rows(query):
            id, kind, signature, title, count, hashes, created = row
            seen = tuple(self._decoded(f"finding {id}", json.loads, hashes))
            yield FindingRecord(id, kind, signature, title, count, seen, created)

    # Counters, state, pending

    def put_counters(self, values: Mapping[str, Number]) -> None:
        self._db.executemany(
            "INSERT INTO counters VALUES (?,?) ON CONFLICT(name) DO UPDATE SET value=excluded.value",
            values.items(),
        )

    def counters(self) -> dict[str, Number]:
        return dict(self._rows("SELECT name, value FROM counters ORDER BY name"))  # type: ignore[arg-type]

    def put_state(self, name: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO state VALUES (?,?)", (name, msgpack.packb(value)))

    def state(self, name: str) -> Any:
        """What was put under `name`, None if nothing was."""
        blob = self._one("SELECT value FROM state WHERE name=?", (name,))
        return None if blob is None else self._decoded(f"state {name!r}", _unpacked, blob)

    def put_pending(self, record: PendingRecord) -> None:
        """Put it at the end of the queue, from wherever it was."""
        blob = msgpack.packb(record.payload)
        self._db.execute("INSERT OR REPLACE INTO pending(number, payload) VALUES (?,?)", (record.number, blob))

    def drop_pending(self, number: int) -> None:
        self._db.execute("DELETE FROM pending WHERE number=?", (number,))

    def pending(self) -> Iterator[PendingRecord]:
        for number, blob in self._rows("SELECT number, payload FROM pending ORDER BY place"):
            yield PendingRecord(number, self._decoded(f"pending program {number}", _unpacked, blob))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One moment's view for a reader of several tables."""
        with damage_named(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")


def _unpacked(blob: Any) -> Any:
    return msgpack.unpackb(blob, strict_map_key=False)


def _whole(blob: Any) -> bytes:
    if not isinstance(blob, bytes):
        raise ValueError("no bytes")
    return blob


def is_campaign(directory: Path) -> bool:
    return (directory / DATABASE).exists()
