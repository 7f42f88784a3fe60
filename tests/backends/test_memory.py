from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.log import Stream, verify
from langchain_ctxguard.errors import LogConflictError, StoreError

A, B = Stream(kind="audit", key="a"), Stream(kind="audit", key="b")
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_entries_are_kept_in_order_byte_for_byte() -> None:
    """What was appended is what is read, numbered from 1, per stream."""
    log = MemoryLog(clock=lambda: NOW)
    bodies = [b'{"a": 1}', '{"名": "值"}'.encode(), b"", b" x "]
    log.append(A, bodies[:2])
    log.append(B, [b"other"])
    log.append(A, bodies[2:])
    assert bodies == [entry.body for entry in log.read(A)]
    assert [1, 2, 3, 4] == [entry.seq for entry in log.read(A)]
    assert ([4, 1, 0], {NOW}) == (log.heads([A, B, Stream(kind="audit", key="c")]), {entry.at for entry in log.read(A)})


def test_reading_goes_on_where_it_stopped() -> None:
    """Only what came after the number given."""
    log = MemoryLog()
    log.append(A, [b"1", b"2", b"3"])
    assert [[b"1", b"2", b"3"], [b"3"], [], []] == [[entry.body for entry in log.read(A, since)] for since in (-1, 2, 3, 9)]


def test_the_chain_is_whole() -> None:
    """Every entry stands on the one before it, over any number of appends."""
    log = MemoryLog()
    for number in range(5):
        log.append(A, [b"x", str(number).encode()])
    assert verify(log.read(A), stream=A) is None
    assert verify(log.read(A, since=4), after=log.read(A)[3]) is None


def test_who_expects_another_end_writes_nothing() -> None:
    """The error carries both numbers; also on an empty stream."""
    log = MemoryLog()
    log.append(A, [b"1"], expected=0)
    with pytest.raises(LogConflictError, match=r"it ends at entry 1, not 0\. Nothing was written") as caught:
        log.append(A, [b"2", b"3"], expected=0)
    assert (0, 1, [b"1"]) == (caught.value.expected, caught.value.found, [entry.body for entry in log.read(A)])
    with pytest.raises(LogConflictError):
        log.append(B, [b"1"], expected=1)


def test_what_fails_half_way_leaves_nothing() -> None:
    """Bodies appended together are there together or not at all."""
    moments = iter([NOW])
    log = MemoryLog(clock=lambda: next(moments))
    with pytest.raises(StopIteration):
        log.append(A, [b"1", b"2"], refs=["x"])
    assert ([], [0], []) == (log.read(A), log.heads([A]), log.find("x"))


def test_entries_are_found_by_name_once_each() -> None:
    """Across streams, oldest first; a name given twice counts once."""
    log = MemoryLog(clock=lambda: NOW + timedelta(0))
    log.append(A, [b"1"], refs=["x", "x", "y"])
    log.append(B, [b"2"], refs=["x"])
    assert ([b"1", b"2"], [b"1"], []) == tuple([entry.body for entry in log.find(ref)] for ref in ("x", "y", "z"))


def test_what_is_read_is_a_copy() -> None:
    """Nobody empties the log by emptying the list they were given."""
    log = MemoryLog()
    log.append(A, [b"1"], refs=["x"]).clear()
    log.read(A).clear()
    log.find("x").clear()
    assert ([1], 1, 1) == (log.heads([A]), len(log.read(A)), len(log.find("x")))


def test_threads_append_without_gaps_or_losses() -> None:
    """Eight writers at once: every entry is there, numbered without gaps, in one whole chain."""
    log = MemoryLog()
    start = threading.Barrier(8)

    def write(who: int) -> None:
        start.wait(timeout=10)
        for number in range(50):
            log.append(A, [f"{who}-{number}".encode()] * 2)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    entries = log.read(A)
    assert list(range(1, 801)) == [entry.seq for entry in entries]
    assert {f"{who}-{number}".encode(): 2 for who in range(8) for number in range(50)} == {
        body: sum(entry.body == body for entry in entries) for body in {entry.body for entry in entries}
    }
    assert verify(entries, stream=A) is None


def test_of_many_who_expect_the_same_end_one_writes() -> None:
    """Compare and append is one step."""
    log = MemoryLog()
    start, refused = threading.Barrier(8), []

    def write() -> None:
        start.wait(timeout=10)
        try:
            log.append(A, [b"x"], expected=0)
        except LogConflictError as error:
            refused.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (7, [1]) == (len(refused), log.heads([A]))


def test_a_clock_of_another_zone_is_put_in_utc_and_one_without_is_refused() -> None:
    """The hash covers the moment as it is written."""
    zone = timezone(timedelta(hours=8))
    (entry,) = MemoryLog(clock=lambda: NOW.astimezone(zone)).append(A, [b"1"])
    assert (NOW, NOW.isoformat(), True) == (entry.at, entry.at.isoformat(), entry.is_intact())
    with pytest.raises(StoreError, match="names no time zone"):
        MemoryLog(clock=lambda: NOW.replace(tzinfo=None)).append(A, [b"1"])


def test_what_was_altered_in_memory_is_found() -> None:
    """By the same words as in a database."""
    log = MemoryLog(clock=lambda: NOW)
    log.append(A, [b"1", b"2", b"3"])
    log.append(B, [b"1"])
    anchor = log.anchor()
    log._entries[A][1] = log._entries[A][1].model_copy(update={"body": b"forged"})
    del log._entries[B]
    assert ([(A, 2)], [(A, 2), (B, 1)]) == tuple([(found.stream, found.seq) for found in log.verify(given)] for given in (None, anchor))


def test_a_store_in_memory_says_that_it_ends() -> None:
    """And keeps to its tenant as every other."""
    with GuardStore.open("memory://", tenant="red") as store:
        assert (False, {"durable"}) == (store.is_durable, set(store.limits))
        asks: list[Callable[[], object]] = [lambda: store.log.append(A, [b"1"]), lambda: store.log.read(A), lambda: store.log.heads([A])]
        for ask in asks:
            with pytest.raises(StoreError, match="The store is open for tenant 'red'"):
                ask()
        assert Stream(tenant="red", kind="audit", key="a") == store.stream("audit", "a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_lock_that_was_held_at_a_fork_is_free_in_the_child() -> None:
    """Nobody there would ever release it."""
    code = (
        "import os; from langchain_ctxguard.backends.forked import ForkSafeLock\n"
        "lock = ForkSafeLock()\n"
        "with lock:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        with lock: os._exit(7)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert "7\n" == done.stdout
