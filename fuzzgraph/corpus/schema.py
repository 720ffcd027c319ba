"""The campaign database: its tables, its format version, and opening it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzzgraph.errors import StoreError

DATABASE = "campaign.db"
FORMAT = 1
# Tells our databases from others' (SQLite's application_id): "fzgr".
APPLICATION = 0x667A6772

TABLES = """
CREATE TABLE programs (
    number INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, parent TEXT,
    mutators TEXT NOT NULL, status TEXT NOT NULL, tier TEXT NOT NULL, cpu REAL NOT NULL, nodes INTEGER NOT NULL,
    blob BLOB);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES programs(number), hash TEXT NOT NULL UNIQUE,
    seed INTEGER NOT NULL, cost REAL NOT NULL, new INTEGER NOT NULL, versions TEXT NOT NULL, created REAL NOT NULL,
    features BLOB NOT NULL, picks INTEGER NOT NULL DEFAULT 0);
CREATE TABLE features (id INTEGER PRIMARY KEY, space TEXT NOT NULL, key TEXT NOT NULL);
CREATE TABLE findings (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, signature TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    count INTEGER NOT NULL, hashes TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE counters (name TEXT PRIMARY KEY, value NUMERIC NOT NULL) WITHOUT ROWID;
CREATE TABLE state (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE pending (place INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, payload BLOB NOT NULL);
"""


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one clear line."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot use the database: {error}", where=str(path)) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"the database is damaged: {error}", where=str(path), hint="start a campaign in a new directory"
        ) from error


def open_database(path: Path, readonly: bool = False) -> sqlite3.Connection:
    """Open `path`, and make it if it is missing and not `readonly`. Raises StoreError."""
    if readonly and not path.is_file():
        raise StoreError("no campaign here", where=str(path.parent), hint=f"expected {path.name} in it")
    with damage_named(path):
        # Opened for writing even to read: a reader of a WAL database may have to make its shared-memory file.
        connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        try:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0 and not readonly:
                _create(connection)
            _check(connection, path)
            if readonly:
                connection.execute("PRAGMA query_only=ON")
            # NORMAL: a killed process loses no commit; a power cut may lose the last ones, but never damages.
            connection.execute("PRAGMA synchronous=NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(
        f"BEGIN; {TABLES} PRAGMA application_id={APPLICATION}; PRAGMA user_version={FORMAT}; COMMIT;"
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise StoreError("this database is no fuzzgraph campaign", where=str(path))
    if version != FORMAT:
        raise StoreError(
            f"the campaign has format {version}, this fuzzgraph reads format {FORMAT}",
            where=str(path),
            hint="use the fuzzgraph that made it, or start a campaign in a new directory",
        )
