"""Stores in SQLite and PostgreSQL, beyond the contract that every store keeps (`tests/testing/test_conformance.py`)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from sqlalchemy import event

from benchmarks import store_trials
from langchain_ctxguard.backends import sql_database
from langchain_ctxguard.backends.sql_rows import Place, row_findings
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.anchor import Anchor, Fault
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, LogTamperedError, StoreError
from langchain_ctxguard.records.constraints import ConstraintRegistry

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
A = Stream(kind="consents", key="user-1")
B = Stream(kind="audit", key="线程")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ctxguard.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, file: Path) -> str:
    """The URL of an empty database that has the schema, on each server."""
    if request.param == "sqlite":
        return f"sqlite:///{file}"
    made: str = request.getfixturevalue("postgres_url")
    migrate_store(made)
    return made


@pytest.fixture
def store(url: str) -> Iterator[GuardStore]:
    """A store on each server."""
    with GuardStore.open(url, clock=lambda: NOW) as opened:
        yield opened


def run(url: str, *statements: str, is_guarded: bool = False) -> None:
    """Run SQL as somebody who owns the database, with or without the triggers of the log."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            if not is_guarded:
                for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                    connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement.replace("'\\x", "x'"))
        connection.close()
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as server:
        if not is_guarded:
            for table in ("streams", "entries", "refs", "blobs"):
                server.execute(f"ALTER TABLE ctxguard_{table} DISABLE TRIGGER USER")
        for statement in statements:
            server.execute(statement.encode())


def filled(store: GuardStore) -> None:
    store.log.append(A, [b'{"n":1}', b'{"n":2}', b'{"n":3}', b'{"n":4}'], refs=["user:1", "retention"])
    store.log.append(B, [b'{"n":1}'], refs=["user:1"])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ctxguard_entries SET body = '\\x7b7d' WHERE seq = 1",
        "UPDATE ctxguard_entries SET seq = 99 WHERE seq = 4",
        "DELETE FROM ctxguard_entries WHERE seq = 4",
        "DELETE FROM ctxguard_entries",
        "UPDATE ctxguard_streams SET key = 'user-2'",
        "DELETE FROM ctxguard_refs",
        "UPDATE ctxguard_refs SET seq = 2 WHERE seq = 1",
        "UPDATE ctxguard_blobs SET content = '\\x00'",
        (
            "INSERT INTO ctxguard_entries (stream, seq, at, body, refs, before, hash) SELECT stream, seq + 1, at, body, refs, before, hash "
            "FROM ctxguard_entries WHERE stream = 1 AND seq = 4"
        ),
        (
            "INSERT INTO ctxguard_entries (stream, seq, at, body, refs, before, hash) SELECT stream, 9, at, body, refs, hash, hash "
            "FROM ctxguard_entries WHERE stream = 1 AND seq = 4"
        ),
    ],
)
def test_the_database_refuses_to_change_what_is_on_record(store: GuardStore, url: str, statement: str) -> None:
    """By UPDATE, DELETE, or an entry that does not follow the last one: whoever asks, an error, and everything as it was."""
    filled(store)
    store.blobs.put("t", [b"x"])
    before = store.log.read(A)
    with pytest.raises(Exception, match=r"ctxguard: (the log is append-only|an entry follows the last one)"):
        run(url, statement, is_guarded=True)
    assert (before, [], 1) == (store.log.read(A), store.verify(store.anchor()), len(store.blobs.get("t", store.blobs.put("t", [b"x"]))))


@pytest.mark.parametrize("table", ["entries", "refs", "streams"])
def test_postgresql_refuses_to_empty_the_log(postgres_url: str, table: str) -> None:
    """TRUNCATE, also with CASCADE, and also from a session that calls itself a replica."""
    migrate_store(postgres_url)
    with GuardStore.open(postgres_url) as store:
        filled(store)
        for before in ("SELECT 1", "SET session_replication_role = replica"):
            with pytest.raises(Exception, match="append-only"):
                run(postgres_url, before, f"TRUNCATE ctxguard_{table} CASCADE", is_guarded=True)
        assert [4, 1] == store.log.heads([A, B])


@pytest.mark.parametrize(
    "statement",
    [
        (
            "INSERT OR REPLACE INTO ctxguard_entries (stream, seq, at, body, refs, before, hash) SELECT stream, seq, at, x'7b7d', refs, before, hash "
            "FROM ctxguard_entries WHERE stream = 1 AND seq = 2"
        ),
        (
            "INSERT OR REPLACE INTO ctxguard_entries (id, stream, seq, at, body, refs, before, hash) SELECT id, stream, 5, at, x'7b7d', refs, "
            "(SELECT hash FROM ctxguard_entries WHERE stream = 1 AND seq = 4), hash FROM ctxguard_entries WHERE stream = 1 AND seq = 2"
        ),
        "REPLACE INTO ctxguard_streams (id, address, tenant, kind, key) SELECT id, address, tenant, kind, 'other' FROM ctxguard_streams WHERE id = 1",
    ],
)
def test_sqlite_refuses_to_replace_what_is_on_record(file: Path, statement: str) -> None:
    """REPLACE deletes without a DELETE that a trigger would see."""
    with GuardStore.open(f"sqlite:///{file}") as store:
        filled(store)
        with pytest.raises(sqlite3.IntegrityError, match="ctxguard"):
            run(f"sqlite:///{file}", statement, is_guarded=True)
        assert ([4, 1], []) == (store.log.heads([A, B]), store.verify())


TAMPERINGS: list[tuple[str, str, set[tuple[str, int, Fault]]]] = [
    ("a changed body", "UPDATE ctxguard_entries SET body = '\\x7b7d' WHERE stream = 1 AND seq = 2", {("user-1", 2, Fault.CHANGED)}),
    ("a changed time", "UPDATE ctxguard_entries SET at = '2026-06-01T12:00:01+00:00' WHERE stream = 1 AND seq = 4", {("user-1", 4, Fault.CHANGED)}),
    ("other refs", "UPDATE ctxguard_entries SET refs = '\\x5b5d' WHERE stream = 2", {("线程", 1, Fault.CHANGED), ("线程", 1, Fault.INDEX)}),
    ("the same time in other words", "UPDATE ctxguard_entries SET at = '2026-06-01T12:00:00Z' WHERE stream = 2", {("线程", 1, Fault.UNREADABLE)}),
    ("a time that is none", "UPDATE ctxguard_entries SET at = 'noon' WHERE stream = 2", {("线程", 1, Fault.UNREADABLE)}),
    ("refs that are none", "UPDATE ctxguard_entries SET refs = '\\xff' WHERE stream = 2", {("线程", 1, Fault.UNREADABLE)}),
    ("a deleted entry", "DELETE FROM ctxguard_entries WHERE stream = 1 AND seq = 2", {("user-1", 2, Fault.MISSING)}),
    ("a deleted first entry", "DELETE FROM ctxguard_entries WHERE stream = 1 AND seq = 1", {("user-1", 1, Fault.MISSING)}),
    ("all entries of a stream deleted", "DELETE FROM ctxguard_entries WHERE stream = 2", {("线程", 1, Fault.MISSING)}),
    (
        "two entries that changed places",
        (
            "UPDATE ctxguard_entries SET seq = CASE seq WHEN 2 THEN -3 ELSE -2 END WHERE stream = 1 AND seq IN (2, 3);"
            "UPDATE ctxguard_entries SET seq = -seq WHERE seq < 0"
        ),
        {("user-1", 2, Fault.CHANGED), ("user-1", 3, Fault.CHANGED), ("user-1", 4, Fault.MISPLACED)},
    ),
    (
        "an entry put in between",
        (
            "UPDATE ctxguard_entries SET seq = seq + 100 WHERE stream = 1 AND seq > 2;"
            "UPDATE ctxguard_entries SET seq = seq - 99 WHERE seq > 100;"
            "INSERT INTO ctxguard_entries (stream, seq, at, body, refs, before, hash) SELECT stream, 3, at, body, refs, before, hash "
            "FROM ctxguard_entries WHERE stream = 1 AND seq = 2"
        ),
        {("user-1", 3, Fault.CHANGED), ("user-1", 4, Fault.CHANGED), ("user-1", 5, Fault.CHANGED)},
    ),
    (
        "an entry moved to another stream",
        "UPDATE ctxguard_entries SET stream = 2, seq = 2 WHERE stream = 1 AND seq = 4",
        {("线程", 2, Fault.CHANGED)},
    ),
    ("a stream under another name", "UPDATE ctxguard_streams SET key = 'user-2' WHERE id = 1", {("user-2", 0, Fault.CHANGED)}),
    ("a stream of another tenant", "UPDATE ctxguard_streams SET tenant = 'red' WHERE id = 1", {("user-1", 0, Fault.CHANGED)}),
    ("an entry that is no longer found", "DELETE FROM ctxguard_refs WHERE stream = 2", {("线程", 1, Fault.INDEX)}),
    (
        "a name in the index without an entry",
        "UPDATE ctxguard_refs SET seq = 9 WHERE stream = 2",
        {("线程", 1, Fault.INDEX), ("线程", 9, Fault.INDEX)},
    ),
]


@pytest.mark.parametrize(("statement", "expected"), [case[1:] for case in TAMPERINGS], ids=[case[0] for case in TAMPERINGS])
def test_what_was_done_behind_the_back_of_the_log_is_found(
    store: GuardStore, url: str, statement: str, expected: set[tuple[str, int, Fault]]
) -> None:
    """Each finding names stream, number and what is wrong; the log as it was written has none."""
    filled(store)
    assert [] == store.verify()
    run(url, *(part for part in statement.split(";") if part.strip()))
    found = {(finding.stream.key, finding.seq, finding.fault) for finding in store.verify()}
    assert expected <= found
    assert str(next(finding for finding in store.verify() if finding.fault is next(iter(expected))[2])).startswith("stream ")


def test_a_deleted_stream_leaves_its_entries_to_be_found(store: GuardStore, url: str) -> None:
    """The entries are there and nothing says whose."""
    filled(store)
    run(
        url,
        *(["ALTER TABLE ctxguard_entries DROP CONSTRAINT ctxguard_entries_stream_fkey"] if url.startswith("postgres") else []),
        "DELETE FROM ctxguard_streams WHERE id = 1",
    )
    assert ["stream unknown '1', entry 0: the stream itself is missing, and its entries are there."] == [str(finding) for finding in store.verify()]


def test_what_was_taken_off_the_end_is_found_with_an_anchor(store: GuardStore, url: str) -> None:
    """Without one, the rest is a whole chain; with one, the entry, or the whole stream, is named. An anchor outlives JSON."""
    filled(store)
    anchor = Anchor.from_json(store.anchor().to_json())
    assert ({A: 4, B: 1}, NOW) == ({head.stream: head.seq for head in anchor.heads}, anchor.at)
    run(url, "DELETE FROM ctxguard_refs WHERE stream = 1 AND seq = 4", "DELETE FROM ctxguard_entries WHERE stream = 1 AND seq = 4")
    run(
        url,
        "DELETE FROM ctxguard_refs WHERE stream = 2",
        "DELETE FROM ctxguard_entries WHERE stream = 2",
        "DELETE FROM ctxguard_streams WHERE id = 2",
    )
    assert [] == store.verify()
    assert {(A, 4, Fault.MISSING), (B, 1, Fault.MISSING)} == {(finding.stream, finding.seq, finding.fault) for finding in store.verify(anchor)}


def test_a_chain_written_anew_is_found_with_an_anchor(store: GuardStore, url: str) -> None:
    """Every hash fits, and the anchor knows another one."""
    filled(store)
    anchor = store.anchor()
    run(url, "DELETE FROM ctxguard_refs WHERE stream = 1 AND seq = 4", "DELETE FROM ctxguard_entries WHERE stream = 1 AND seq = 4")
    store.log.append(A, [b'{"n":"another"}'], refs=["user:1", "retention"])
    assert ([], [(4, Fault.REPLACED)]) == (store.verify(), [(finding.seq, finding.fault) for finding in store.verify(anchor)])


def test_a_log_goes_on_after_an_anchor(store: GuardStore) -> None:
    """What came later is nothing to complain of."""
    filled(store)
    anchor = store.anchor()
    store.log.append(A, [b"{}"])
    store.log.append(Stream(kind="audit", key="new"), [b"{}"])
    assert [] == store.verify(anchor)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"heads": [], "at": "noon", "schema_version": 1}', '{"heads": [[1]], "at": "2026-06-01T12:00:00Z", "schema_version": 1}'],
)
def test_what_is_no_anchor_is_refused(text: str) -> None:
    """Nothing is verified against half an anchor."""
    with pytest.raises(StoreError, match="no anchor of a log"):
        Anchor.from_json(text)


def test_an_anchor_of_a_later_version_is_refused() -> None:
    """It may say something this version does not understand."""
    with pytest.raises(StoreError, match="schema version 2; this version of the package reads 1"):
        Anchor.from_json('{"heads": [], "at": "2026-06-01T12:00:00Z", "schema_version": 2}')


def test_a_row_that_is_no_entry_is_not_read(store: GuardStore, url: str) -> None:
    """Reading stops with an error that names stream and number; finding it does too."""
    filled(store)
    run(url, "UPDATE ctxguard_entries SET at = 'noon' WHERE stream = 1 AND seq = 3")
    for ask in (lambda: store.log.read(A), lambda: store.log.find("retention")):
        with pytest.raises(LogTamperedError, match=r"Entry 3 of stream consents 'user-1' is not what was written") as caught:
            ask()
        assert (A, 3) == (caught.value.stream, caught.value.seq)
    assert [4] == [entry.seq for entry in store.log.read(A, since=3)]


def test_sqlite_takes_any_type_and_the_log_does_not(file: Path) -> None:
    """A column of bytes may hold a text there: it is found, not read, and nothing is appended behind it."""
    url = f"sqlite:///{file}"
    with GuardStore.open(url) as store:
        filled(store)
        run(url, "UPDATE ctxguard_entries SET hash = 'text' WHERE stream = 1 AND seq = 4", "UPDATE ctxguard_entries SET body = '{}' WHERE stream = 2")
        found = {(finding.stream.key, finding.seq, finding.fault) for finding in store.verify()}
        assert {("user-1", 4, Fault.UNREADABLE), ("线程", 1, Fault.UNREADABLE)} <= found
        asks: list[Callable[[], object]] = [lambda: store.log.append(A, [b"{}"]), lambda: store.log.read(A), lambda: store.log.read(B), store.anchor]
        for ask in asks:
            with pytest.raises(LogTamperedError, match="is not what was written"):
                ask()


def test_random_alterations_are_found() -> None:
    """A byte changed, a row deleted, rows swapped, a row inserted or appended by hand, a line of the index gone: none is missed."""
    assert 0 == store_trials.tamperings(2_000)["missed"]


def test_the_rows_of_a_whole_stream_have_no_fault() -> None:
    """What is altered above is found because it was altered."""
    rows, names = store_trials.chain_of(20)
    stream = store_trials.STREAM
    assert [] == list(row_findings(Place(1, bytes.fromhex(stream.address), stream.tenant, stream.kind, stream.key), rows, names, {}))


def test_an_altered_content_is_not_given_out(store: GuardStore, url: str) -> None:
    """Its address says what it was."""
    (address,) = store.blobs.put("thread-1", [b"what was said"])
    run(url, "UPDATE ctxguard_blobs SET content = '\\x00'")
    with pytest.raises(BlobMissingError, match="was altered") as caught:
        store.blobs.get("thread-1", [address])
    assert ("thread-1", address) == (caught.value.space, caught.value.address)


def test_a_thread_can_be_erased_without_breaking_the_chain(store: GuardStore) -> None:
    """Records name texts by digest; when the texts are gone, the records stand and verify."""
    addresses = store.blobs.put("thread-1", ["绝不删除订单。".encode(), b"Keep nothing."])
    store.blobs.put("thread-2", [b"Keep nothing."])
    store.log.append(A, [f'{{"text":"{address}"}}'.encode() for address in addresses])
    anchor = store.anchor()
    assert 2 == store.blobs.purge_space("thread-1")
    assert ([], {}, 1) == (store.verify(anchor), store.blobs.get("thread-1", addresses), len(store.blobs.get("thread-2", addresses)))


def statements_of(store: GuardStore, ask: Callable[[], object]) -> list[str]:
    """Return the statements that `ask` sends to the database."""
    sent: list[str] = []
    engine = store._database._engine  # type: ignore[union-attr]  # a store on a database has one

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        ask()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return sent


def test_heads_of_many_streams_are_one_query(store: GuardStore) -> None:
    """It is asked before every model call."""
    streams = [Stream(kind="audit", key=str(number)) for number in range(300)]
    for stream in streams[:3]:
        store.log.append(stream, [b"{}"] * 2)
    sent = statements_of(store, lambda: store.log.heads(streams))
    assert (1, [2, 2, 2, *[0] * 297]) == (len(sent), store.log.heads(streams))


def test_more_streams_than_a_database_binds_are_asked_in_parts(file: Path) -> None:
    """No limit of the database is the caller's to know."""
    with GuardStore.open(f"sqlite:///{file}") as store:
        store.log.append(A, [b"{}"])
        assert [0] * 40_000 + [1] == store.log.heads([*(Stream(kind="audit", key=str(number)) for number in range(40_000)), A])


def test_a_ref_is_looked_up_in_an_index(file: Path) -> None:
    """SQLite plans to search for it, and scans no table."""
    with GuardStore.open(f"sqlite:///{file}") as store:
        filled(store)
        (statement,) = statements_of(store, lambda: store.log.find("retention"))
    with sqlite3.connect(file) as connection:
        plan = " / ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", (b"x", b"y")))
    connection.close()
    assert "SEARCH ctxguard_refs USING PRIMARY KEY (ref=? AND tenant=?)" in plan
    assert "SCAN" not in plan


def test_a_sqlite_file_is_made_when_it_is_opened(file: Path) -> None:
    """With WAL, so that readers never wait for a writer; what was written is there for the next who opens it."""
    with GuardStore.open(f"sqlite:///{file}") as store:
        filled(store)
        assert (True, {}) == (store.is_durable, dict(store.limits))
    with sqlite3.connect(file) as connection:
        assert ("wal", "1") == (
            connection.execute("PRAGMA journal_mode").fetchone()[0],
            connection.execute("SELECT value FROM ctxguard_meta WHERE name = 'schema_version'").fetchone()[0],
        )
    connection.close()
    with GuardStore.open(f"sqlite:///{file}") as store:
        assert [4, 1] == store.log.heads([A, B])


class _Contended(sqlite3.Cursor):
    """A cursor that finds the file locked at the first look, as SQLite does when two processes change the mode of a new file at once."""

    refusals: ClassVar[list[str]] = []

    def execute(self, statement: str, /, *arguments: Any) -> Self:
        if "journal_mode = WAL" in statement and self.refusals:
            error = sqlite3.OperationalError(self.refusals.pop())
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY if "locked" in str(error) else sqlite3.SQLITE_IOERR
            raise error
        return super().execute(statement, *arguments)


class _ContendedConnection(sqlite3.Connection):
    def cursor(self, *_: Any) -> _Contended:
        return super().cursor(_Contended)


@pytest.mark.parametrize(("refusals", "is_opened"), [(["database is locked"] * 3, True), (["disk I/O error"], False)])
def test_two_processes_may_open_a_new_file_at_once(file: Path, refusals: list[str], *, is_opened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite fails one of them without waiting; we wait for it, and for nothing else."""
    monkeypatch.setattr(_Contended, "refusals", list(refusals))
    connection = sqlite3.connect(file, factory=_ContendedConnection)
    try:
        if is_opened:
            sql_database._prepare_sqlite(connection, None)
            assert ("wal", 0) == (connection.execute("PRAGMA journal_mode").fetchone()[0], len(_Contended.refusals))
        else:
            with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
                sql_database._prepare_sqlite(connection, None)
    finally:
        connection.close()


def test_many_threads_open_one_new_file(file: Path) -> None:
    """One makes the tables, the others find them."""
    start, errors = threading.Barrier(6), []

    def work(who: int) -> None:
        start.wait(timeout=30)
        try:
            with GuardStore.open(f"sqlite:///{file}") as store:
                store.log.append(A, [str(who).encode()])
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == errors
    with GuardStore.open(f"sqlite:///{file}") as store:
        assert [6] == store.log.heads([A])


def test_postgresql_is_prepared_by_who_may(postgres_url: str) -> None:
    """A database without the tables is refused with the command that makes them; made once, it is found."""
    with pytest.raises(StoreError, match=r"has no tables of this package yet\. Nothing was read or written; run `ctxguard migrate URL`"):
        GuardStore.open(postgres_url)
    assert [(0, 1), (1, 1)] == [migrate_store(postgres_url), migrate_store(postgres_url)]
    GuardStore.open(postgres_url).close()


def test_an_agent_needs_no_right_to_make_tables(postgres_url: str) -> None:
    """A role that may select and insert appends, reads and finds; what it may not do is refused by the server."""
    import psycopg

    migrate_store(postgres_url)
    role = f"agent_{postgres_url.rpartition('_')[2]}"
    run(
        postgres_url,
        f"CREATE ROLE {role} LOGIN PASSWORD 'agent'",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}",
        f"GRANT DELETE ON ctxguard_blobs, ctxguard_texts, ctxguard_terms TO {role}",
        is_guarded=True,
    )
    as_agent = f"postgresql://{role}:agent@{postgres_url.rpartition('@')[2]}"
    try:
        with GuardStore.open(as_agent) as store:
            filled(store)
            store.index.put("t", {"a": "one"})
            store.index.put("t", {"a": "two"})
            addresses = store.blobs.put("t", [b"x"])
            assert ([4, 1], 5, 1, 1, 1) == (
                store.log.heads([A, B]),
                len(store.log.find("user:1")),
                len(store.index.search("t", "two")),
                store.blobs.purge_space("t"),
                len(addresses),
            )
            assert [] == store.verify(store.anchor())
        with psycopg.connect(as_agent) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM ctxguard_entries")
        with psycopg.connect(as_agent) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DROP TABLE ctxguard_entries")
    finally:
        run(postgres_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}", is_guarded=True)


def test_a_newer_schema_is_refused(url: str) -> None:
    """It may hold what this version would read wrongly; the command that prepares databases leaves it alone too."""
    GuardStore.open(url).close()
    run(url, "UPDATE ctxguard_meta SET value = '2'")
    for ask in (GuardStore.open, migrate_store):
        with pytest.raises(StoreError, match=r"has schema version 2; this version of the package reads up to 1\. .* upgrade langchain-ctxguard"):
            ask(url)


def test_a_schema_version_that_is_none_is_refused(url: str) -> None:
    """Nothing is guessed about a database that does not say what it is."""
    GuardStore.open(url).close()
    run(url, "UPDATE ctxguard_meta SET value = 'x'")
    with pytest.raises(StoreError, match="no readable schema version"):
        GuardStore.open(url)


def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path) -> None:
    """Somebody named the wrong file."""
    file.write_bytes(b"not a database, but somebody's notes" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        GuardStore.open(f"sqlite:///{file}")
    assert file.read_bytes().startswith(b"not a database")


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense", "", "sqlite://", "sqlite:///:memory:", "postgresql//x", "oracle+cx://secret@host"])
def test_a_url_that_names_no_store_is_a_configuration_error(url: str) -> None:
    """With an example of one that does."""
    with pytest.raises(ConfigurationError, match=r"sqlite:///ctxguard\.db"):
        GuardStore.open(url)


def test_what_is_no_url_and_no_store_is_a_configuration_error(tmp_path: Path) -> None:
    """A path is not taken for a URL."""
    with pytest.raises(ConfigurationError, match="not on a Path"):
        GuardStore.open(tmp_path / "ctxguard.db")  # type: ignore[arg-type]  # the mistake is the test
    with pytest.raises(ConfigurationError, match="`tenant` is empty"):
        GuardStore.open("memory://", tenant="")


def test_no_error_shows_a_password_or_a_body(postgres_url: str) -> None:
    """Errors end up in logs."""
    with pytest.raises(StoreError) as caught:
        GuardStore.open(postgres_url.replace("@", "-wrong-secret@"))
    assert "wrong-secret" not in str(caught.value)
    migrate_store(postgres_url)
    run(postgres_url, "ALTER TABLE ctxguard_entries DROP COLUMN body CASCADE")
    with GuardStore.open(postgres_url) as store, pytest.raises(StoreError) as caught:
        store.log.append(A, [b"what the user said"])
    assert "what the user said" not in str(caught.value)


def test_a_writer_waits_for_its_turn_and_not_for_ever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is stopped in the middle of a write holds up others for a while; they say so, and readers do not wait at all."""
    monkeypatch.setattr(sql_database, "BUSY_SECONDS", 1)
    with GuardStore.open(url) as stopped, GuardStore.open(url) as waiting:
        stopped.log.append(A, [b"1"])
        assert stopped._database is not None
        with stopped._database.writing(claim=bytes.fromhex(A.address)):
            with pytest.raises(StoreError, match=r"was kept busy by other writers for 1 seconds\. Nothing was acknowledged; try again"):
                waiting.log.append(A, [b"2"])
            assert [1] == waiting.log.heads([A])
        waiting.log.append(A, [b"2"], expected=1)


def test_a_closed_store_says_so(store: GuardStore) -> None:
    """Closing twice is closing once."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match=r"was closed\. Nothing was read or written; open it again"):
        store.log.heads([A])


def test_the_streams_of_another_tenant_cannot_be_named(url: str) -> None:
    """Neither written, read, nor asked for their heads; what another tenant wrote is neither found nor verified here."""
    with GuardStore.open(url, tenant="red") as red, GuardStore.open(url, tenant="blue") as blue:
        red.log.append(red.stream("audit", "t"), [b"red"], refs=["x"])
        blue.log.append(blue.stream("audit", "t"), [b"blue"], refs=["x"])
        red.blobs.put("t", [b"red"])
        red.index.put("t", {"a": "red"})
        asks: list[Callable[[], object]] = [
            lambda: red.log.append(A, [b"{}"]),
            lambda: red.log.read(blue.stream("audit", "t")),
            lambda: red.log.heads([red.stream("audit", "t"), A]),
        ]
        for ask in asks:
            with pytest.raises(StoreError, match="The store is open for tenant 'red'"):
                ask()
        assert ([b"red"], [b"blue"]) == ([entry.body for entry in red.log.find("x")], [entry.body for entry in blue.log.find("x")])
        assert (["red"], [], 0, []) == (
            [head.stream.tenant for head in red.anchor().heads],
            red.verify(),
            blue.blobs.purge_space("t"),
            blue.index.search("t", "red"),
        )


def trial(*arguments: str) -> dict[str, Any]:
    """Run a trial in a process of its own: it forks, which the threads of a test run would not survive."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.store_trials", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_rules_on_record_outlive_the_process(url: str) -> None:
    """A registry on the log of a store reads what another one wrote, and sees at once what it writes next."""
    with GuardStore.open(url, tenant="red") as theirs, GuardStore.open(url, tenant="red") as ours:
        writer = ConstraintRegistry(theirs.log, tenant="red").writer("system", by="security")
        writer.declare(Constraint(constraint_id="no-exports", text="绝不导出订单。"), "audit")
        reader = ConstraintRegistry(ours.log, tenant="red").reader()
        assert ["绝不导出订单。"] == [rule.text for rule in reader.in_force()]
        writer.revoke("no-exports", "no longer needed")
        assert ((), 2) == (reader.in_force(), len(reader.history("no-exports")))


def test_processes_append_to_one_chain(url: str) -> None:
    """Every entry of every process is there, once, numbered without gaps."""
    found = trial("writers", url, "4", "25")
    assert (100, 0, 0) == (found["count"], found["lost"], found["faults"])


def test_what_was_acknowledged_survives_a_kill(url: str) -> None:
    """A writer killed at any moment leaves everything it was told is on record, and a whole chain."""
    found = trial("kills", url, "8")
    assert (0, 0) == (found["lost"], found["faults"])
    assert found["count"] > 0


FORKS = """
import os, sys
from langchain_ctxguard.backends.store import GuardStore

store = GuardStore.open(sys.argv[1])
stream = store.stream("audit", "forked")
store.log.append(stream, [b"parent"])
# A thread is writing while the process forks: its lock must not stay taken in the child.
database = store._database
with database.reading() as first, database.reading() as second:
    known = {id(used.connection.dbapi_connection) for used in (first, second)}
# One of the two is in use when the process forks, the other lies idle in the pool.
with database.reading() as held:
    database._writing.__enter__()
    child = os.fork()
    if not child:
        with database.reading() as mine:
            assert id(mine.connection.dbapi_connection) not in known
        store.log.append(stream, [b"child"])
        assert 2 == store.log.heads([stream])[0]
        store.close()
        sys.exit(0)
    database._writing.__exit__(None, None, None)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    held.exec_driver_sql("SELECT 1")
for _ in range(3):
    store.log.append(stream, [b"parent"])
print([entry.body.decode() for entry in store.log.read(stream)], store.verify())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_store_goes_on_after_a_fork(url: str) -> None:
    """The child opens connections of its own, and the parent's go on when the child closes its store and ends."""
    done = subprocess.run([sys.executable, "-c", FORKS, url], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ("['parent', 'child', 'parent', 'parent', 'parent'] []\n", 0) == (done.stdout, done.returncode), done.stderr


def test_content_whose_follower_waits_for_the_disk_need_not_wait_itself(tmp_path: Path) -> None:
    """Only where the same file is written next, and only for that content: what is written otherwise waits as before."""
    file = tmp_path / "one.db"
    link = tmp_path / "link.db"
    link.symlink_to(file)
    with GuardStore.open(f"sqlite:///{file}") as store:
        waits: list[int] = []
        level = [2]

        def note(statement: str) -> None:
            if statement.startswith("PRAGMA synchronous = "):
                level[0] = {"NORMAL": 1, "FULL": 2}[statement.rpartition(" ")[2]]
            elif statement.startswith("INSERT"):
                waits.append(level[0])

        event.listen(store._database._current(), "checkout", lambda connection, *_: connection.set_trace_callback(note))
        blobs: Any = store.blobs
        for name in (str(file), str(link), str(tmp_path / "other.db"), ""):
            blobs.followed(name).put("space", [name.encode()])
        blobs.put("space", [b"by itself"])
        store.log.append(A, [b"{}"])
        assert [1, 1, 2, 2, 2] == waits[:5]
        assert {2} == set(waits[5:])
