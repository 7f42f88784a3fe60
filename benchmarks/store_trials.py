"""Trials of the stores: many processes on one stream, writers killed while they write, entries altered behind the log's back, and how long it takes.

    python -m benchmarks.store_trials                             all of it; prints, and writes `results/store.json`
    python -m benchmarks.store_trials --small                     a small share of it; writes nothing
    python -m benchmarks.store_trials writers URL 4 25            one trial, its row as JSON; so the tests run it
    python -m benchmarks.store_trials kills URL 20

With CTXGUARD_TEST_POSTGRES set, PostgreSQL is tried as well, in a database of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from benchmarks.measuring import cores, percentile, seconds_of, table, versions, write
from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_log import insert_entries, new_stream
from langchain_ctxguard.backends.sql_migrate import require_schema
from langchain_ctxguard.backends.sql_rows import Name, Place, Row, names_of, row_findings, row_of
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.anchor import Head
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, appended, entry_hash

HERE = ("audit", "trial")
_NUMBER_BYTES = 8


def row(what: str, store: str, count: int, **measured: Any) -> dict[str, Any]:
    """Return a row of the result; what was not measured is None."""
    empty = {"lost": None, "faults": None, "missed": None, "seconds": None, "p50_ms": None, "p99_ms": None}
    return {"what": what, "store": store, "count": count, **empty, **measured}


def writers(url: str, processes: int, appends: int) -> dict[str, Any]:
    """Let processes append to one stream at once, and count what is missing from one chain."""
    start = time.perf_counter()
    children = [_forked(partial(_append, url, who, appends)) for who in range(processes)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    seconds = time.perf_counter() - start
    assert not any(codes), f"writers ended with {codes}"
    with GuardStore.open(url) as store:
        bodies = {entry.body for entry in store.log.read(store.stream(*HERE))}
        wanted = {f"{who}-{number}".encode() for who in range(processes) for number in range(appends)}
        faults = len(store.verify())
        head = store.log.heads([store.stream(*HERE)])[0]
    lost = len(wanted - bodies)
    assert head == len(wanted) - lost
    return row(f"{processes} processes append to one stream", _kind(url), processes * appends, lost=lost, faults=faults, seconds=round(seconds, 1))


def _append(url: str, who: int, appends: int) -> None:
    with GuardStore.open(url) as store:
        for number in range(appends):
            store.log.append(store.stream(*HERE), [f"{who}-{number}".encode()], refs=[f"w{who}"])


def kills(url: str, times: int) -> dict[str, Any]:
    """Kill a writer at a random moment, again and again, and count what it was told is on record and is not."""
    moments = random.Random(7)  # noqa: S311 - repeatable, not secret
    start = time.perf_counter()
    lost = faults = 0
    GuardStore.open(url).close()
    for _ in range(times):
        # On a busy machine a moment alone would often come before the first entry.
        acknowledged = _killed_writer(url, entries=moments.randrange(3), after=moments.uniform(0.0, 0.04))
        with GuardStore.open(url) as store:
            head = store.log.heads([store.stream(*HERE)])[0]
            lost += max(0, acknowledged - head)
    with GuardStore.open(url) as store:
        entries = store.log.read(store.stream(*HERE))
        lost += entries[-1].seq - len(entries) if entries else 0
        # Appended together, there together: a writer's pairs are never torn.
        lost += sum(first.body != second.body for first, second in zip(entries[::2], entries[1::2], strict=True))
        faults = len(store.verify())
    return row(f"a writer killed {times} times", _kind(url), len(entries), lost=lost, faults=faults, seconds=round(time.perf_counter() - start, 1))


def _killed_writer(url: str, *, entries: int, after: float) -> int:
    """Kill a writer some time after it was told of so many entries; return the number of the last that it was told is on record."""
    reading, writing = os.pipe()
    child = _forked(partial(_append_and_tell, url, writing))
    os.close(writing)
    told = b""
    while len(told) < 1 + entries * _NUMBER_BYTES:  # the first byte says that it has opened the store
        piece = os.read(reading, 65_536)
        assert piece, "the writer ended by itself"
        told += piece
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reading, 65_536):
        told += piece
    os.close(reading)
    numbers = told[1:]
    whole = len(numbers) - len(numbers) % _NUMBER_BYTES
    return int.from_bytes(numbers[whole - _NUMBER_BYTES : whole], "big") if whole else 0


def _append_and_tell(url: str, writing: int) -> None:
    store = GuardStore.open(url)
    os.write(writing, b".")
    for number in range(1_000_000):
        body = f"{os.getpid()}-{number}".encode()
        added = store.log.append(store.stream(*HERE), [body, body], refs=["k"])
        os.write(writing, added[-1].seq.to_bytes(_NUMBER_BYTES, "big"))


def _forked(work: Callable[[], None]) -> int:
    """Do `work` in a forked child, which starts with everything imported, and return the child's number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except Exception:  # noqa: BLE001 - said here, since `os._exit` says nothing
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


STREAM = Stream(kind="consents", key="user-1")
_PER_STREAM = 1_000
Rows = tuple[list[Row], list[Name]]


def chain_of(size: int) -> Rows:
    """Return the rows of a stream, and of its index."""
    bodies = [json.dumps({"n": number, "text": "绝不删除订单"}, ensure_ascii=False).encode() for number in range(size)]
    moment = datetime(2026, 6, 1, tzinfo=UTC)
    entries = appended(STREAM, (0, GENESIS), bodies, clock=lambda: moment, refs=["field:retention", "user:1"])
    return [row_of(1, entry) for entry in entries], [name for entry in entries for name in sorted(names_of(1, entry))]


def tampered(rows: Rows, chance: random.Random) -> tuple[str, Rows]:
    """Return what was done to a stream, and the stream as it then is."""
    entries, names = list(rows[0]), list(rows[1])
    kind = chance.choice(["byte", "deleted", "swapped", "inserted", "appended by hand", "index"])
    at = chance.randrange(len(entries))
    match kind:
        case "byte":
            name = chance.choice(["seq", "at", "body", "refs", "before", "hash"])
            entries[at] = entries[at]._replace(**{name: _bent(getattr(entries[at], name), chance)})
        case "deleted":
            del entries[at]
        case "swapped":
            other = chance.choice([index for index in range(len(entries)) if index != at])
            first, second = entries[at], entries[other]
            fields = chance.choice([("body",), ("body", "hash"), ("at", "body", "refs", "before", "hash")])
            entries[at] = first._replace(**{name: getattr(second, name) for name in fields})
            entries[other] = second._replace(**{name: getattr(first, name) for name in fields})
        case "inserted":
            entries = [*entries[:at], _forged(entries, at), *(entry._replace(seq=entry.seq + 1) for entry in entries[at:])]
        case "appended by hand":
            entries.append(entries[at]._replace(seq=len(entries) + 1))
        case _:
            del names[chance.randrange(len(names))]
    return kind, (sorted(entries, key=lambda entry: entry.seq), names)


def _forged(entries: list[Row], at: int) -> Row:
    """Return an entry of one's own that fits behind the one before, hash and all."""
    before = entries[at - 1].hash.hex() if at else GENESIS
    moment = datetime(2026, 6, 2, tzinfo=UTC)
    digest = entry_hash(STREAM, at + 1, moment, b"forged", (), before)
    return row_of(1, Entry(stream=STREAM, seq=at + 1, at=moment, body=b"forged", before=before, hash=digest))


def _bent(value: Any, chance: random.Random) -> Any:
    """Return a value with one byte changed."""
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 100])
    if isinstance(value, str):
        at = chance.randrange(len(value))
        return f"{value[:at]}{chr(ord(value[at]) ^ chance.randint(1, 7))}{value[at + 1 :]}"
    at = chance.randrange(len(value))
    return value[:at] + bytes([value[at] ^ chance.randint(1, 255)]) + value[at + 1 :]


def tamperings(times: int, *, size: int = 6, seed: int = 3) -> dict[str, Any]:
    """Alter a stream in its rows, again and again, and count what is not found with an anchor at hand."""
    whole = chain_of(size)
    place = Place(1, bytes.fromhex(STREAM.address), STREAM.tenant, STREAM.kind, STREAM.key)
    anchored = {STREAM: Head(stream=STREAM, seq=size, hash=whole[0][-1].hash.hex())}
    assert not list(row_findings(place, *whole, anchored))
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    start = time.perf_counter()
    missed = 0
    for _ in range(times):
        _, rows = tampered(whole, chance)
        missed += next(row_findings(place, *rows, anchored), None) is None
    return row("a stream altered in its rows", "rows", times, missed=missed, seconds=round(time.perf_counter() - start, 1))


def timings(url: str, *, entries: int) -> list[dict[str, Any]]:
    """Fill a log, and measure what is asked of it. Ten entries of each stream share a ref."""
    seconds = seconds_of(_fill, url, entries)
    with GuardStore.open(url) as store:
        streams = [store.stream("audit", f"thread-{number}") for number in range(8)]
        place = store.stream("audit", "place")
        chance = random.Random(5)  # noqa: S311 - repeatable, not secret
        asks: list[tuple[str, int, Callable[[], object]]] = [
            ("find(ref), 10 entries", 200, lambda: len(store.log.find(f"chain-{chance.randrange(entries // 10)}")) == 10),
            ("heads of 8 streams", 400, lambda: store.log.heads(streams)),
            ("append one entry", 200, lambda: store.log.append(place, [b'{"a":1}' * 40], refs=["a", "b"])),
            ("read 10 new entries", 400, lambda: len(store.log.read(streams[0], since=_PER_STREAM - 10)) == 10),
        ]
        rows = [row("fill, in one transaction for each stream", _kind(url), entries, seconds=round(seconds, 1))]
        for what, times, ask in asks:
            assert ask()
            samples = [1e3 * seconds_of(ask) for _ in range(times)]
            rows.append(row(what, _kind(url), entries, p50_ms=round(percentile(samples, 0.5), 2), p99_ms=round(percentile(samples, 0.99), 2)))
        spent = seconds_of(lambda: _assert_whole(store))
        rows.append(row("verify()", _kind(url), entries, faults=0, seconds=round(spent, 1)))
    return rows


def _fill(url: str, entries: int) -> None:
    # Entry by entry it would take the disk an hour to say so often that it is durable.
    database = Database(url)
    require_schema(database)
    for number in range(entries // _PER_STREAM):
        stream = Stream(kind="audit", key=f"thread-{number}")
        head, added = (0, GENESIS), list[Entry]()
        for ten in range(_PER_STREAM // 10):
            bodies = [json.dumps({"n": index, "tool": "query_order", "text": "x" * 200}).encode() for index in range(10)]
            chain = f"chain-{number * _PER_STREAM // 10 + ten}"
            added += appended(stream, head, bodies, clock=lambda: datetime.now(UTC), refs=[chain])
            head = (added[-1].seq, added[-1].hash)
        with database.writing() as connection:
            insert_entries(connection, new_stream(connection, stream), added)
    database.close()


def _assert_whole(store: GuardStore) -> None:
    assert not store.verify()


@contextmanager
def postgres() -> Iterator[str | None]:
    """Give a database of its own on the server under test; None where there is none."""
    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    if not server:
        yield None
        return
    import psycopg

    name = f"ctxguard_trial_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    try:
        url = f"{server.rpartition('/')[0]}/{name}"
        migrate_store(url)
        yield url
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _kind(url: str) -> str:
    return url.partition(":")[0].partition("+")[0]


def whole(*, is_small: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of all trials."""
    processes, appends, times, alterations, entries = (4, 25, 20, 2_000, 20_000) if is_small else (8, 200, 500, 100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        yield writers(f"sqlite:///{folder}/writers.db", processes, appends)
        yield kills(f"sqlite:///{folder}/kills.db", times)
    with postgres() as url:
        if url is not None:
            yield writers(url, processes, appends)
    with postgres() as url:
        if url is not None:
            yield kills(url, times)
    yield tamperings(alterations)
    with tempfile.TemporaryDirectory() as folder:
        yield from timings(f"sqlite:///{folder}/timings.db", entries=entries)
    with postgres() as url:
        if url is not None:
            yield from timings(url, entries=entries // 10)


def main() -> int:
    """Run one trial, or all of them; without `--small`, write the result."""
    parser = argparse.ArgumentParser(description="Try the stores.")
    parser.add_argument("--small", action="store_true", help="a small share; write nothing")
    parser.add_argument("trial", nargs="*", help="writers URL PROCESSES APPENDS, or kills URL TIMES")
    given = parser.parse_args()
    match given.trial:
        case ["writers", url, processes, appends]:
            print(json.dumps(writers(url, int(processes), int(appends))))
            return 0
        case ["kills", url, times]:
            print(json.dumps(kills(url, int(times))))
            return 0
        case []:
            rows = []
            for found in whole(is_small=given.small):
                print(table([found]), flush=True)
                rows.append(found)
        case _:
            parser.error("a trial is `writers URL PROCESSES APPENDS` or `kills URL TIMES`")
    bad = [found for found in rows if found["lost"] or found["faults"] or found["missed"]]
    if bad:
        print(f"Something was lost, at fault or missed:\n{table(bad)}", file=sys.stderr)
        return 1
    if not given.small:
        write("store", measured=f"{_SAID} On {cores()}.", against="nothing else.", rows=rows, versions=_versions())
    return 0


def _versions() -> dict[str, str]:
    return {**versions(), **{name: version(name) for name in ("SQLAlchemy", "psycopg")}, "sqlite": sqlite3.sqlite_version}


_SAID = (
    "`lost`: entries a writer was told are on record and are not; `faults`: what `verify()` finds then; `missed`: alterations it does not find; "
    "entries of 240 bytes; SQLite with WAL and `synchronous=FULL`; PostgreSQL on this machine; wall time."
)

if __name__ == "__main__":
    sys.exit(main())
