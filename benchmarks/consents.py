"""How long it takes to read a consent, and to explain an action, in a log of a million events.

    python -m benchmarks.consents              all of it; prints, and writes `results/consents.json`
    python -m benchmarks.consents --small      a small log; writes nothing
    python -m benchmarks.consents --at URL     all of it, in a log that was filled before
    python -m benchmarks.consents --fill URL   fill one, and nothing else

With CTXGUARD_TEST_POSTGRES set, PostgreSQL is measured as well, in a database of its own and with a tenth of the events.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.measuring import cores, cpu_seconds_of, percentile, priority, seconds_of, table, write
from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_log import insert_entries, new_stream
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.citation import GateReading, action_ref, carried_ref
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, entry_hash
from langchain_ctxguard.records.consent_ledger import ConsentLedger
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.explain import explain

START = datetime(2026, 6, 1, tzinfo=UTC)
FULL = 1_000_000
PER_THREAD = 1_000
COMPACTIONS = 60
"""Of the events of a thread; the rest are calls of tools."""

FIELD = "send_mail"


def threads_of(events: int) -> list[str]:
    """Return the threads of a log of that size."""
    return [f"t-{number}" for number in range(max(1, events // PER_THREAD))]


def filled(url: str, events: int) -> list[str]:
    """Write threads of `PER_THREAD` events each, every one with a grant of its own subject, and return the threads."""
    threads = threads_of(events)
    with GuardStore.open(url, clock=lambda: START) as store:
        ledger = ConsentLedger(store, surface="settings page", clock=lambda: START)
        grants = [_granted(ledger, thread) for thread in threads]
    database = Database(url)
    try:
        for start in range(0, len(threads), 20):
            with database.writing() as connection:
                for thread, read in zip(threads[start : start + 20], grants[start : start + 20], strict=True):
                    stream = Stream(kind="audit", key=json.dumps([thread, ""], separators=(",", ":")))
                    insert_entries(connection, new_stream(connection, stream), list(_events(stream, thread, read)))
    finally:
        database.close()
    return threads


def _granted(ledger: ConsentLedger, thread: str) -> Consents:
    ledger.grant(FIELD, value=True, subject=f"user of {thread}", basis="consent", recorded_by="benchmark")
    return ledger.reader().read(f"user of {thread}", thread=thread)


def _events(stream: Stream, thread: str, read: Consents) -> Iterator[Entry]:
    reading = GateReading.of(read, FIELD)
    carried = [carried_ref(one.reference, thread) for one in reading.consents]
    between = PER_THREAD // COMPACTIONS
    before = GENESIS
    for number in range(1, PER_THREAD):
        at = START + timedelta(seconds=number)
        if number % between == 0:
            body: dict[str, Any] = {"type": "compaction", "thread": thread, "version": number // between}
            refs: Sequence[str] = carried
        else:
            call = f"{thread}-c{number}"
            body = {"type": "tool_call", "thread": thread, "tool": "mail", "reading": reading.model_dump(mode="json")}
            refs = (action_ref(call), action_ref(call, thread))
        data = encode_json(body)
        digest = entry_hash(stream, number, at, data, tuple(refs), before)
        # Built without a check of each field: these are ours.
        yield Entry.model_construct(stream=stream, seq=number, at=at, body=data, refs=tuple(refs), before=before, hash=digest)
        before = digest


def measured(url: str, threads: Sequence[str], asked: int) -> list[dict[str, Any]]:
    """Return how long each question takes, of random threads and actions."""
    draw = random.Random(7)  # noqa: S311 - nothing secret
    between = PER_THREAD // COMPACTIONS
    calls = [(thread, number) for thread in draw.choices(threads, k=asked) if (number := draw.randrange(1, PER_THREAD)) % between]
    kind, events = url.partition(":")[0].partition("+")[0], len(threads) * PER_THREAD
    with GuardStore.open(url) as store:
        reader = ConsentReader(store, clock=lambda: START)
        for thread, number in calls[:20]:
            found = explain(store, f"{thread}-c{number}", thread=thread)
            assert found.holds, found.faults
            assert number // between == len(found.chains[0].carried)
        questions: dict[str, Callable[[str, int], Any]] = {
            "explain an action": lambda thread, number: explain(store, f"{thread}-c{number}", thread=thread),
            "explain an action, its thread not named": lambda thread, number: explain(store, f"{thread}-c{number}"),
            "explain what is not on record": lambda thread, number: explain(store, f"{thread}-none-{number}"),
            "read a subject's consents for the first time": lambda thread, _: ConsentReader(store).read(f"user of {thread}", thread=thread),
            "read them again": lambda thread, _: reader.read(f"user of {thread}", thread=thread),
        }
        return [_timed(what, question, calls, kind, events) for what, question in questions.items()]


def _timed(what: str, question: Callable[[str, int], Any], calls: Sequence[tuple[str, int]], kind: str, events: int) -> dict[str, Any]:
    wall = [seconds_of(question, *call) * 1e3 for call in calls]
    cpu = [cpu_seconds_of(question, *call) * 1e3 for call in calls]
    numbers = {"p10_ms": percentile(wall, 0.1), "p50_ms": percentile(wall, 0.5), "p99_ms": percentile(wall, 0.99), "cpu_p50_ms": percentile(cpu, 0.5)}
    return {"what": what, "store": kind, "events": events, "asked": len(calls), **{name: round(value, 2) for name, value in numbers.items()}}


@contextmanager
def _database() -> Iterator[str | None]:
    """Give a database of our own on the server under test; `None` without a server."""
    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    if not server:
        yield None
        return
    import psycopg

    name = f"ctxguard_bench_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    url = f"{server.rpartition('/')[0]}/{name}"
    try:
        migrate_store(url)
        yield url
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def run(events: int, asked: int, at: str | None = None) -> list[dict[str, Any]]:
    """Fill and measure SQLite, and PostgreSQL where there is one."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        url = at or f"sqlite:///{folder}/consents.db"
        rows += measured(url, threads_of(events) if at else filled(url, events), asked)
    with _database() as server:
        if server is not None:
            rows += measured(server, filled(server, events // 10), asked)
    return rows


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--at")
    parser.add_argument("--fill")
    given = parser.parse_args()
    if given.fill:
        filled(given.fill, FULL)
        return
    rows = run(20_000, 50) if given.small else run(FULL, 300, given.at)
    print(table(rows))
    if not given.small:
        write(
            "consents",
            measured=f"a log of threads with {PER_THREAD:,} events each, {COMPACTIONS} of them compactions that carried the consent; `p10_ms` to"
            f" `p99_ms`: wall time of one question; `cpu_p50_ms`: CPU time of the asking thread. On {cores()}, {priority()}",
            against="nothing else; the budget is 10 ms for an explanation at a million events",
            rows=rows,
        )


if __name__ == "__main__":
    main()
