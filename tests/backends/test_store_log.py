"""The log on a LangGraph `BaseStore`, beyond the contract that every store keeps, and what it cannot give."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.backends.store_log import StoreLog
from langchain_ctxguard.domain.anchor import Fault
from langchain_ctxguard.domain.log import Stream, verify
from langchain_ctxguard.errors import BlobMissingError, LogConflictError, LogTamperedError, StoreError

NOW = datetime(2026, 6, 1, tzinfo=UTC)
A, B = Stream(kind="audit", key="a"), Stream(kind="audit", key="订单.b")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """A store of each kind that LangGraph ships."""
    if request.param == "memory":
        yield InMemoryStore()
        return
    if request.param == "sqlite":
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            yield store
        return
    from langgraph.store.postgres import PostgresStore

    with PostgresStore.from_conn_string(request.getfixturevalue("postgres_url")) as store:
        store.setup()
        yield store


@pytest.fixture
def log(base: BaseStore) -> StoreLog:
    return StoreLog(base, clock=lambda: NOW)


def items(base: BaseStore, stream: Stream) -> list[Any]:
    """Return the items of a stream, by number."""
    return sorted(base.search(("ctxguard", "log", stream.address), limit=1_000), key=lambda item: item.key)


def test_it_says_what_it_cannot_give(base: BaseStore) -> None:
    """By name, each in a sentence; memory is also not durable, and a database has no such limits."""
    store = GuardStore.open(base)
    expected = {"compare_and_set", "append_only", "atomic_append"} | ({"durable"} if isinstance(base, InMemoryStore) else set())
    assert (expected, not isinstance(base, InMemoryStore)) == (set(store.limits), store.is_durable)
    assert "a BaseStore cannot compare before it writes" in StoreLog.limits["compare_and_set"]
    assert "a BaseStore refuses neither" in StoreLog.limits["append_only"]


def test_a_store_holds_what_was_written_before(base: BaseStore) -> None:
    """Another log on the same store reads on, also one of another process that shares nothing but the store."""
    first = StoreLog(base)
    first.append(A, [b"1.0", b'{"b":1,"a":2}'], refs=["x"])
    second = StoreLog(base)
    second.append(A, ["絶".encode()], expected=2)
    assert ([b"1.0", b'{"b":1,"a":2}', "絶".encode()], None) == ([entry.body for entry in first.read(A)], verify(first.read(A), stream=A))


def test_long_streams_are_read_whole(base: BaseStore) -> None:
    """More entries than a store gives when it is not told how many, of which many have the same time."""
    log = StoreLog(base)
    for start in range(0, 1_200, 300):
        log.append(A, [str(number).encode() for number in range(start, start + 300)], refs=["all"])
    assert [str(number).encode() for number in range(1_200)] == [entry.body for entry in log.read(A)]
    assert (1_200, [1_199, 1_200]) == (len(log.find("all")), [entry.seq for entry in log.read(A, since=1_198)])


def test_nothing_of_it_is_embedded_or_expires() -> None:
    """Whatever the store does with other items: bodies are no documents, and a record has no end."""
    written: list[Any] = []

    class Noting(InMemoryStore):
        def batch(self, ops: Iterable[Op]) -> list[Result]:
            given = list(ops)
            written.extend(op for op in given if isinstance(op, PutOp))
            return super().batch(given)

    store = GuardStore.open(Noting())
    store.log.append(A, [b"1"], refs=["x"])
    store.blobs.put("t", [b"1"])
    store.index.put("t", {"a": "b"})
    assert [(False, None)] * 5 == [(op.index, op.ttl) for op in written]


def test_logs_on_one_store_take_turns(base: BaseStore) -> None:
    """Threads of one process append without gaps, each with a log of its own."""
    start, errors = threading.Barrier(4), []

    def write(who: int) -> None:
        log = StoreLog(base)
        start.wait(timeout=30)
        try:
            for number in range(10):
                log.append(A, [f"{who}-{number}".encode()])
        except Exception as error:  # noqa: BLE001 - the assertion below shows it
            errors.append(error)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ([], 40, []) == (errors, len(StoreLog(base).read(A)), StoreLog(base).verify())


class Meddling(InMemoryStore):
    """A store in which another process appends whenever ours has looked and is about to write."""

    def __init__(self) -> None:
        """Meddle with nothing yet."""
        super().__init__()
        self.others: list[list[PutOp]] = []

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Let the other one be first."""
        given = list(ops)
        if self.others and any(isinstance(op, PutOp) for op in given):
            super().batch(self.others.pop())
        return super().batch(given)


def test_a_writer_who_was_overtaken_withdraws() -> None:
    """Two processes that write the same number at once: ours sees the other's entry and takes its own back, with a conflict."""
    elsewhere = InMemoryStore()
    theirs: list[PutOp] = []

    class Recording(InMemoryStore):
        def batch(self, ops: Iterable[Op]) -> list[Result]:
            given = list(ops)
            theirs.extend(op for op in given if isinstance(op, PutOp))
            return super().batch(given)

    StoreLog(Recording(), clock=lambda: NOW).append(A, [b"theirs"], refs=["x"])
    assert elsewhere.search(("ctxguard",)) == []
    store = Meddling()
    store.others.append(theirs)
    log = StoreLog(store)
    with pytest.raises(LogConflictError, match="Nothing was written"):
        log.append(A, [b"ours"], refs=["x"])
    assert ([b"theirs"], [1], [b"theirs"], []) == (
        [entry.body for entry in log.read(A)],
        log.heads([A]),
        [entry.body for entry in log.find("x")],
        log.verify(),
    )
    log.append(A, [b"ours"], expected=1)
    assert [2] == log.heads([A])


def test_an_entry_that_is_there_twice_is_never_read_over(log: StoreLog, base: BaseStore) -> None:
    """Where two processes did write at once and neither could tell, reading and appending stop, and verify names the entry."""
    log.append(A, [b"1", b"2"])
    value = {**items(base, A)[1].value, "hash": "f" * 64}
    base.put(("ctxguard", "log", A.address), f"{value['seq']}-{value['hash']}", value)
    for ask in (lambda: log.read(A), lambda: log.append(A, [b"3"])):
        with pytest.raises(LogTamperedError, match=r"Entry 2 of stream audit 'a' is not what was written: it is there twice"):
            ask()
    assert [2] == [finding.seq for finding in log.verify()]


def test_what_a_store_does_not_refuse_is_found(log: StoreLog, base: BaseStore) -> None:
    """A changed body, a deleted entry, a deleted end, a lost line of the index, an item that is no entry."""
    log.append(A, [b"1", b"2", b"3"], refs=["x"])
    log.append(B, [b"1"], refs=["x"])
    whole, anchor = items(base, A), log.anchor()
    namespace = ("ctxguard", "log", A.address)
    assert [] == log.verify(anchor)

    base.put(namespace, whole[1].key, {**whole[1].value, "body": "bm8="})
    assert [(2, Fault.CHANGED)] == [(finding.seq, finding.fault) for finding in log.verify()]
    base.put(namespace, whole[1].key, {"seq": whole[1].value["seq"]})
    assert [(2, Fault.UNREADABLE)] == [(finding.seq, finding.fault) for finding in log.verify()]
    with pytest.raises(LogTamperedError, match="it is no entry"):
        log.read(A)
    base.delete(namespace, whole[1].key)
    assert [(2, Fault.MISSING)] == [(finding.seq, finding.fault) for finding in log.verify()]
    with pytest.raises(LogTamperedError, match="it is missing"):
        log.read(A)
    base.put(namespace, whole[1].key, whole[1].value)
    assert [] == log.verify(anchor)

    base.delete(namespace, whole[2].key)
    assert [(3, Fault.MISSING)] == [(finding.seq, finding.fault) for finding in log.verify()]
    with pytest.raises(LogTamperedError, match="it is missing"):
        log.append(A, [b"4"])
    base.put(namespace, whole[2].key, whole[2].value)

    (line, *_) = base.search(("ctxguard", "refs"), limit=100)
    base.delete(line.namespace, line.key)
    assert [Fault.INDEX] == [finding.fault for finding in log.verify(anchor)]


def test_a_stream_that_is_gone_is_found_with_an_anchor(log: StoreLog, base: BaseStore) -> None:
    """Head and entries deleted together leave nothing else to notice."""
    log.append(A, [b"1"])
    log.append(B, [b"1"])
    anchor = log.anchor()
    base.delete(("ctxguard", "heads"), A.address)
    base.delete(("ctxguard", "log", A.address), items(base, A)[0].key)
    assert ([], [(A, 1)]) == (log.verify(), [(finding.stream, finding.seq) for finding in log.verify(anchor)])


def test_a_head_that_a_crash_left_behind_is_caught_up(log: StoreLog, base: BaseStore) -> None:
    """The next entry goes behind the last one there is."""
    log.append(A, [b"1"])
    head = base.get(("ctxguard", "heads"), A.address)
    log.append(A, [b"2"])
    assert head is not None
    base.put(("ctxguard", "heads"), A.address, head.value)
    log.append(A, [b"3"])
    assert ([1, 2, 3], [3], []) == ([entry.seq for entry in log.read(A)], log.heads([A]), log.verify())


def test_an_altered_content_is_not_given_out(base: BaseStore) -> None:
    """Neither another text, nor what is none."""
    blobs = GuardStore.open(base).blobs
    (address,) = blobs.put("t", [b"what was said"])
    (item,) = base.search(("ctxguard", "blobs"), limit=5)
    for value in ({"content": "AA=="}, {"content": "?"}, {"other": 1}):
        base.put(item.namespace, item.key, value)
        with pytest.raises(BlobMissingError, match="was altered"):
            blobs.get("t", [address])


def test_the_streams_of_another_tenant_cannot_be_named(base: BaseStore) -> None:
    """Two tenants on one store see nothing of each other."""
    red, blue = GuardStore.open(base, tenant="red"), GuardStore.open(base, tenant="blue")
    red.log.append(red.stream("audit", "t"), [b"red"], refs=["x"])
    red.blobs.put("t", [b"red"])
    red.index.put("t", {"a": "red"})
    with pytest.raises(StoreError, match="not theirs"):
        blue.log.read(red.stream("audit", "t"))
    assert ([], [], (), 0, []) == (blue.log.find("x"), blue.verify(), blue.anchor().heads, blue.blobs.purge_space("t"), blue.index.search("t", "red"))
