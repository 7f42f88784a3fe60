"""What every `Log` has to keep."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_ctxguard.domain.log import Stream, verify
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.ports import Log
from langchain_ctxguard.testing.conformance_expect import HOSTILE_BODIES, HOSTILE_NAMES, a_stream, at_once, raised, same


def an_empty_stream_is_empty(log: Log) -> None:
    """Nothing to read, nothing to find, and its head is 0."""
    stream = a_stream()
    same(([], [0], []), (log.read(stream), log.heads([stream]), log.find(uuid4().hex)))
    same([], log.heads([]))
    same([], log.append(stream, []))
    same([0], log.heads([stream]))


def bodies_are_kept_byte_for_byte(log: Log) -> None:
    """`1.0` stays `1.0`, keys stay in order, composed and decomposed letters stay apart, and what is no UTF-8 is kept as well."""
    stream = a_stream()
    added = log.append(stream, HOSTILE_BODIES)
    same(list(HOSTILE_BODIES), [entry.body for entry in added])
    same(added, log.read(stream))


def entries_are_numbered_without_gaps(log: Log) -> None:
    """From 1, per stream, over any number of appends; their time is in UTC."""
    one, other = a_stream(), a_stream()
    log.append(one, [b"1", b"2"])
    log.append(other, [b"x"])
    log.append(one, [b"3"])
    same([1, 2, 3], [entry.seq for entry in log.read(one)])
    same([3, 1, 0, 3], log.heads([one, other, a_stream(), one]))
    same({UTC.utcoffset(None)}, {entry.at.utcoffset() for entry in log.read(one)})


def reading_goes_on_where_it_stopped(log: Log) -> None:
    """Only what came after the number given."""
    stream = a_stream()
    log.append(stream, [b"1", b"2", b"3"])
    same([[b"1", b"2", b"3"], [b"3"], [], []], [[entry.body for entry in log.read(stream, since)] for since in (-1, 2, 3, 9)])


def entries_are_chained(log: Log) -> None:
    """Each stands on the one before, also when they were appended one by one, and all of it can be verified from what is read."""
    stream = a_stream()
    for number in range(5):
        log.append(stream, [b"{}", str(number).encode()], refs=[f"n{number}"])
    entries = log.read(stream)
    same(None, verify(entries, stream=stream))
    same(None, verify(log.read(stream, 4), after=entries[3], stream=stream))


def streams_are_told_apart_by_their_whole_name(log: Log) -> None:
    """Names that look alike, and parts that move from key to kind, are other streams; any text is a name."""
    mark = uuid4().hex
    named = [Stream(kind="conformance", key=f"{mark}{name}") for name in HOSTILE_NAMES]
    named += [Stream(kind=f"conformance{mark}", key="a"), Stream(kind="conformance", key=f"{mark}A"), Stream(kind="conformance", key=f"{mark}a")]
    for number, stream in enumerate(named):
        log.append(stream, [str(number).encode()])
    same([[str(number).encode()] for number in range(len(named))], [[entry.body for entry in log.read(stream)] for stream in named])
    same([1] * len(named), log.heads(named))
    same(named, [log.read(stream)[0].stream for stream in named])


def who_expects_another_end_writes_nothing(log: Log) -> None:
    """A conflict is an error with both numbers, and leaves the stream as it is."""
    stream = a_stream()
    log.append(stream, [b"1"], expected=0)
    error = raised(LogConflictError, lambda: log.append(stream, [b"2", b"3"], expected=0, refs=["x"]))
    same((0, 1), (error.expected, error.found))
    raised(LogConflictError, lambda: log.append(stream, [b"2"], expected=7))
    same([b"1"], [entry.body for entry in log.read(stream)])
    log.append(stream, [b"2"], expected=1)
    same([2], log.heads([stream]))


def what_is_no_bytes_is_refused(log: Log) -> None:
    """A text, or one body in place of a list, is an error before anything is written; of several bodies, all are kept or none."""
    stream = a_stream()
    wrong: tuple[Any, ...] = ("text", b"bytes", ["text"], [b"1", None], [{"a": 1}])
    for bodies in wrong:
        raised(StoreError, partial(log.append, stream, bodies))
    raised(StoreError, partial(log.append, stream, [b"1"], refs="one text"))
    same(([], [0]), (log.read(stream), log.heads([stream])))


def entries_are_found_by_their_refs(log: Log) -> None:
    """By each name they carry, once, whatever the name; across streams, oldest first."""
    one, other, mark = a_stream(), a_stream(), uuid4().hex
    names = [f"{mark}{name}" for name in HOSTILE_NAMES]
    first = log.append(one, [b"1", b"2"], refs=[*names, names[0]])
    second = log.append(other, [b"3"], refs=names[:1])
    same(tuple(names), first[0].refs)
    same([*first, *second], log.find(names[0]))
    for name in names[1:]:
        same(first, log.find(name))
    same([], log.find(mark[:-1]))


def what_is_read_is_a_copy(log: Log) -> None:
    """Nobody empties a log by emptying the list they were given."""
    stream, ref = a_stream(), uuid4().hex
    log.append(stream, [b"1"], refs=[ref]).clear()
    log.read(stream).clear()
    log.find(ref).clear()
    same(([1], 1, 1), (log.heads([stream]), len(log.read(stream)), len(log.find(ref))))


def threads_append_without_gaps_or_losses(log: Log) -> None:
    """Four writers at once: every entry is there, what was appended together stands together, and the chain is whole."""
    stream = a_stream()

    def write(who: int) -> None:
        for number in range(10):
            log.append(stream, [f"{who}-{number}".encode()] * 2)

    at_once([partial(write, who) for who in range(4)])
    entries = log.read(stream)
    same((80, None), (len(entries), verify(entries, stream=stream)))
    same([first.body for first in entries[::2]], [second.body for second in entries[1::2]])
    same({f"{who}-{number}".encode() for who in range(4) for number in range(10)}, {entry.body for entry in entries})


def of_many_who_expect_the_same_end_one_writes(log: Log) -> None:
    """To compare and to append is one step."""
    stream = a_stream()
    refused: list[LogConflictError] = []

    def write() -> None:
        try:
            log.append(stream, [b"{}"], expected=0)
        except LogConflictError as error:
            refused.append(error)

    at_once([write] * 4)
    same((3, [1]), (len(refused), log.heads([stream])))


LOG_CHECKS: tuple[Callable[[Log], None], ...] = (
    an_empty_stream_is_empty,
    bodies_are_kept_byte_for_byte,
    entries_are_numbered_without_gaps,
    reading_goes_on_where_it_stopped,
    entries_are_chained,
    streams_are_told_apart_by_their_whole_name,
    who_expects_another_end_writes_nothing,
    what_is_no_bytes_is_refused,
    entries_are_found_by_their_refs,
    what_is_read_is_a_copy,
    threads_append_without_gaps_or_losses,
    of_many_who_expect_the_same_end_one_writes,
)
