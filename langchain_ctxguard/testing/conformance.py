"""What every log, blob store and text index has to keep, as checks that run on any of them: ours and yours.

    report = check_log(MyLog())
    report.raise_for_failures()

With pytest, run each check as a test of its own:

    @pytest.mark.parametrize("check", LOG_CHECKS, ids=lambda check: check.__name__)
    def test_my_log(check):
        check(MyLog())

A check writes to streams and spaces of its own, so one store serves them all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, TypeVar
from uuid import uuid4

from langchain_ctxguard.domain.log import Entry, Stream, verify
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.ports import BlobStore, Log, TextIndex

T = TypeVar("T")

HOSTILE_BODIES: tuple[bytes, ...] = (
    b'{"price":1.0}',
    b'{"price":1e2}',
    b'{"count":9223372036854775808}',
    b'{"b":1,"a":2}',
    b'{"a":1,"a":2}',
    b' { "spaces" : [ ] } ',
    '{"name":"caf\u00e9"}'.encode(),
    '{"name":"cafe\u0301"}'.encode(),
    b'{"text":"one\r\ntwo"}\r\n',
    b'{"nul":"\\u0000","half":"\\ud800"}',
    '{"text":"不要删除订单 🙂 \u2028"}'.encode(),
    b"1.0",
    b'""',
    b"",
    b"\x00",
    b"\xed\xa0\x80\xff",
    b"x" * 300_000,
)
"""Bodies that a store which parses, normalizes or decodes them gives back as others."""

HOSTILE_NAMES: tuple[str, ...] = ("", " ", ".", "a.b", "/../", "C:\\new\\u0041", "%s", "'; --", "caf\u00e9", "cafe\u0301", "订单", "\x00", "\ud800", "k" * 5_000)
"""Names that a store which trims, folds or interprets them mixes up, or cannot hold."""


class ConformanceError(AssertionError):
    """A promise of a port is not kept."""


@dataclass(frozen=True)
class Report:
    """What a store keeps, and what it does not."""

    passed: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    """Why, by the name of the check."""

    def raise_for_failures(self) -> None:
        """Raise `ConformanceError` that names every check that failed."""
        if self.failed:
            raise ConformanceError("\n".join(f"{name}: {why}" for name, why in self.failed.items()))


def check_log(log: Log) -> Report:
    """Return which promises a `Log` keeps."""
    return _report(LOG_CHECKS, log)


def check_blobs(blobs: BlobStore) -> Report:
    """Return which promises a `BlobStore` keeps."""
    return _report(BLOB_CHECKS, blobs)


def check_index(index: TextIndex) -> Report:
    """Return which promises a `TextIndex` keeps."""
    return _report(INDEX_CHECKS, index)


# --- Log


def an_empty_stream_is_empty(log: Log) -> None:
    """Nothing to read, nothing to find, and its head is 0."""
    stream = a_stream()
    _same(([], [0], []), (log.read(stream), log.heads([stream]), log.find(uuid4().hex)))
    _same([], log.heads([]))
    _same([], log.append(stream, []))
    _same([0], log.heads([stream]))


def bodies_are_kept_byte_for_byte(log: Log) -> None:
    """`1.0` stays `1.0`, keys stay in order, composed and decomposed letters stay apart, and what is no UTF-8 is kept as well."""
    stream = a_stream()
    added = log.append(stream, HOSTILE_BODIES)
    _same(list(HOSTILE_BODIES), [entry.body for entry in added])
    _same(added, log.read(stream))


def entries_are_numbered_without_gaps(log: Log) -> None:
    """From 1, per stream, over any number of appends; their time is in UTC."""
    one, other = a_stream(), a_stream()
    log.append(one, [b"1", b"2"])
    log.append(other, [b"x"])
    log.append(one, [b"3"])
    _same([1, 2, 3], [entry.seq for entry in log.read(one)])
    _same([3, 1, 0, 3], log.heads([one, other, a_stream(), one]))
    _same({UTC.utcoffset(None)}, {entry.at.utcoffset() for entry in log.read(one)})


def reading_goes_on_where_it_stopped(log: Log) -> None:
    """Only what came after the number given."""
    stream = a_stream()
    log.append(stream, [b"1", b"2", b"3"])
    _same([[b"1", b"2", b"3"], [b"3"], [], []], [[entry.body for entry in log.read(stream, since)] for since in (-1, 2, 3, 9)])


def entries_are_chained(log: Log) -> None:
    """Each stands on the one before, also when they were appended one by one, and all of it can be verified from what is read."""
    stream = a_stream()
    for number in range(5):
        log.append(stream, [b"{}", str(number).encode()], refs=[f"n{number}"])
    entries = log.read(stream)
    _same(None, verify(entries, stream=stream))
    _same(None, verify(log.read(stream, 4), after=entries[3], stream=stream))


def streams_are_told_apart_by_their_whole_name(log: Log) -> None:
    """Names that look alike, and parts that move from key to kind, are other streams; any text is a name."""
    mark = uuid4().hex
    named = [Stream(kind="conformance", key=f"{mark}{name}") for name in HOSTILE_NAMES]
    named += [Stream(kind=f"conformance{mark}", key="a"), Stream(kind="conformance", key=f"{mark}A"), Stream(kind="conformance", key=f"{mark}a")]
    for number, stream in enumerate(named):
        log.append(stream, [str(number).encode()])
    _same([[str(number).encode()] for number in range(len(named))], [[entry.body for entry in log.read(stream)] for stream in named])
    _same([1] * len(named), log.heads(named))
    _same(named, [log.read(stream)[0].stream for stream in named])


def who_expects_another_end_writes_nothing(log: Log) -> None:
    """A conflict is an error with both numbers, and leaves the stream as it is."""
    stream = a_stream()
    log.append(stream, [b"1"], expected=0)
    error = _raised(LogConflictError, lambda: log.append(stream, [b"2", b"3"], expected=0, refs=["x"]))
    _same((0, 1), (error.expected, error.found))
    _raised(LogConflictError, lambda: log.append(stream, [b"2"], expected=7))
    _same([b"1"], [entry.body for entry in log.read(stream)])
    log.append(stream, [b"2"], expected=1)
    _same([2], log.heads([stream]))


def what_is_no_bytes_is_refused(log: Log) -> None:
    """A text, or one body in place of a list, is an error before anything is written; of several bodies, all are kept or none."""
    stream, wrong = a_stream(), ("text", b"bytes", ["text"], [b"1", None], [{"a": 1}])
    for bodies in wrong:
        _raised(StoreError, lambda bodies=bodies: log.append(stream, bodies))
    _raised(StoreError, lambda: log.append(stream, [b"1"], refs="one text"))
    _same(([], [0]), (log.read(stream), log.heads([stream])))


def entries_are_found_by_their_refs(log: Log) -> None:
    """By each name they carry, once, whatever the name; across streams, oldest first."""
    one, other, mark = a_stream(), a_stream(), uuid4().hex
    names = [f"{mark}{name}" for name in HOSTILE_NAMES]
    first = log.append(one, [b"1", b"2"], refs=[*names, names[0]])
    second = log.append(other, [b"3"], refs=names[:1])
    _same(tuple(names), first[0].refs)
    _same([*first, *second], log.find(names[0]))
    for name in names[1:]:
        _same(first, log.find(name))
    _same([], log.find(mark[:-1]))


def what_is_read_is_a_copy(log: Log) -> None:
    """Nobody empties a log by emptying the list they were given."""
    stream, ref = a_stream(), uuid4().hex
    log.append(stream, [b"1"], refs=[ref]).clear()
    log.read(stream).clear()
    log.find(ref).clear()
    _same(([1], 1, 1), (log.heads([stream]), len(log.read(stream)), len(log.find(ref))))


def threads_append_without_gaps_or_losses(log: Log) -> None:
    """Four writers at once: every entry is there, what was appended together stands together, and the chain is whole."""
    stream = a_stream()
    at_once([lambda who=who: [log.append(stream, [f"{who}-{number}".encode()] * 2) for number in range(10)] for who in range(4)])
    entries = log.read(stream)
    _same((80, None), (len(entries), verify(entries, stream=stream)))
    _same([first.body for first in entries[::2]], [second.body for second in entries[1::2]])
    _same({f"{who}-{number}".encode() for who in range(4) for number in range(10)}, {entry.body for entry in entries})


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
    _same((3, [1]), (len(refused), log.heads([stream])))


# --- BlobStore


def contents_are_kept_by_their_digest(blobs: BlobStore) -> None:
    """What was put is what is got, once however often it was put, in the order it was given."""
    space = a_name()
    addresses = blobs.put(space, [*HOSTILE_BODIES, HOSTILE_BODIES[0]])
    _same(addresses[0], addresses[-1])
    _same(dict(zip(addresses, HOSTILE_BODIES, strict=False)), blobs.get(space, addresses))
    _same(addresses[:1], blobs.put(space, HOSTILE_BODIES[:1]))
    _same(([], {}), (blobs.put(space, []), blobs.get(space, [])))


def what_is_not_there_is_not_in_the_answer(blobs: BlobStore) -> None:
    """A missing content is no error: whoever needs it says so."""
    space = a_name()
    (address,) = blobs.put(space, [b"here"])
    _same({address: b"here"}, blobs.get(space, ["0" * 64, address, address]))
    _same({}, blobs.get(a_name(), [address]))


def contents_may_have_addresses_of_their_own(blobs: BlobStore) -> None:
    """Kept under the address given, and never replaced; one that could pass for a digest is refused."""
    space = a_name()
    _same(["keyed:1"], blobs.put(space, [b"cipher"], addresses=["keyed:1"]))
    blobs.put(space, [b"other"], addresses=["keyed:1"])
    _same({"keyed:1": b"cipher"}, blobs.get(space, ["keyed:1"]))
    for addresses in (["0" * 64], ["keyed:é"], [], [f"keyed:{'x' * 300}"]):
        _raised(StoreError, lambda addresses=addresses: blobs.put(space, [b"x"], addresses=addresses))
    _raised(StoreError, lambda: blobs.put(space, "text"))


def spaces_are_apart(blobs: BlobStore) -> None:
    """Any text names a space; to erase one leaves the others as they are."""
    mark = a_name()
    spaces = [f"{mark}{name}" for name in HOSTILE_NAMES]
    addresses = {space: blobs.put(space, [b"same", space.encode("utf-8", "surrogatepass")]) for space in spaces}
    _same(2, blobs.purge_space(spaces[0]))
    _same((0, {}), (blobs.purge_space(spaces[0]), blobs.get(spaces[0], addresses[spaces[0]])))
    _same([2] * (len(spaces) - 1), [len(blobs.get(space, addresses[space])) for space in spaces[1:]])


def a_space_is_copied(blobs: BlobStore) -> None:
    """What is in the one is in the other too, and outlives it."""
    source, target = a_name(), a_name()
    addresses = blobs.put(source, [b"1", b"2"])
    blobs.put(target, [b"2", b"3"])
    _same((1, 0, 0), (blobs.copy_space(source, target), blobs.copy_space(source, target), blobs.copy_space(a_name(), target)))
    _same((2, 3), (blobs.purge_space(source), len(blobs.get(target, [*addresses, *blobs.put(target, [b"3"])]))))


# --- TextIndex


def words_are_found_in_any_case(index: TextIndex) -> None:
    """Whole words, folded; composed and decomposed letters are the same word; punctuation is none."""
    space = a_name()
    index.put(space, {"a": "Never DELETE an order.", "b": "caf\u00e9 in der Stra\u00dfe", "c": "ORD-1042"})
    found = {query: keys_of(index.search(space, query)) for query in ("delete", "cafe\u0301", "STRASSE", "1042", "dele", "", "?!")}
    _same({"delete": ["a"], "cafe\u0301": ["b"], "STRASSE": ["b"], "1042": ["c"], "dele": [], "": [], "?!": []}, found)


def chinese_words_of_two_characters_are_found(index: TextIndex) -> None:
    """Anywhere in a sentence, and single characters too."""
    space = a_name()
    index.put(space, {"a": "绝不删除订单。", "b": "请查询物流", "c": "订 单"})
    found = {query: sorted(keys_of(index.search(space, query))) for query in ("订单", "删除", "查询物流", "物", "流", "单", "除单")}
    _same({"订单": ["a"], "删除": ["a"], "查询物流": ["b"], "物": ["b"], "流": ["b"], "单": ["a", "c"], "除单": []}, found)


def the_best_come_first(index: TextIndex) -> None:
    """More of the words before fewer; a rare word before one that is everywhere; no more than were asked for."""
    space = a_name()
    index.put(space, {f"k{number}": "the order" for number in range(9)})
    index.put(space, {"rare": "the refund", "both": "order and refund"})
    _same(["both", "rare"], keys_of(index.search(space, "order refund", limit=2)))
    _same([], index.search(space, "order", limit=0))


def a_text_put_again_replaces_the_former(index: TextIndex) -> None:
    """Its old words are forgotten."""
    space = a_name()
    index.put(space, {"a": "old words"})
    index.put(space, {"a": "new words", "b": ""})
    _same(([], ["a"], ["a"]), tuple(keys_of(index.search(space, query)) for query in ("old", "new", "words")))
    index.put(space, {})


def texts_of_a_space_are_forgotten(index: TextIndex) -> None:
    """To purge one space leaves the others; any text is a name or a key."""
    mark = a_name()
    spaces = [f"{mark}{name}" for name in HOSTILE_NAMES]
    for space in spaces:
        index.put(space, dict.fromkeys(HOSTILE_NAMES, "word \ud800 \x00 word"))
    _same((len(HOSTILE_NAMES), 0), (index.purge(spaces[0]), index.purge(spaces[0])))
    _same([], index.search(spaces[0], "word"))
    _same(sorted(HOSTILE_NAMES), sorted(keys_of(index.search(spaces[1], "word", limit=99))))


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
BLOB_CHECKS: tuple[Callable[[BlobStore], None], ...] = (
    contents_are_kept_by_their_digest,
    what_is_not_there_is_not_in_the_answer,
    contents_may_have_addresses_of_their_own,
    spaces_are_apart,
    a_space_is_copied,
)
INDEX_CHECKS: tuple[Callable[[TextIndex], None], ...] = (
    words_are_found_in_any_case,
    chinese_words_of_two_characters_are_found,
    the_best_come_first,
    a_text_put_again_replaces_the_former,
    texts_of_a_space_are_forgotten,
)


def a_stream() -> Stream:
    """Return a stream nobody has written to."""
    return Stream(kind="conformance", key=a_name())


def a_name() -> str:
    """Return a name nobody has used."""
    return uuid4().hex


def keys_of(hits: Iterable[Any]) -> list[str]:
    """Return what was found, best first."""
    return [hit.key for hit in hits]


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Make all calls at the same moment, each in a thread; an error in one is raised here."""
    start, errors = threading.Barrier(len(calls)), []

    def run(call: Callable[[], object]) -> None:
        try:
            start.wait(timeout=30)
            call()
        except Exception as error:  # noqa: BLE001 - it is raised below, in the thread that asked
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _report(checks: Iterable[Callable[[T], None]], subject: T) -> Report:
    passed, failed = [], {}
    for check in checks:
        try:
            check(subject)
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the other checks are still made
            failed[check.__name__] = f"{type(error).__name__}: {error}"
        else:
            passed.append(check.__name__)
    return Report(tuple(passed), failed)


def _same(expected: object, actual: object) -> None:
    if expected != actual:
        msg = f"expected {_brief(expected)}, got {_brief(actual)}"
        raise ConformanceError(msg)


def _raised(kind: type[Any], call: Callable[[], object]) -> Any:
    try:
        answer = call()
    except kind as error:
        return error
    msg = f"expected {kind.__name__}, got {_brief(answer)}"
    raise ConformanceError(msg)


def _brief(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 500 else f"{text[:500]}... ({len(text):,} characters)"


__all__ = [
    "BLOB_CHECKS",
    "HOSTILE_BODIES",
    "HOSTILE_NAMES",
    "INDEX_CHECKS",
    "LOG_CHECKS",
    "ConformanceError",
    "Report",
    "check_blobs",
    "check_index",
    "check_log",
]
