"""What is found wrong with a chain, and how an anchor travels."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.anchor import Anchor, Fault, Head, Unreadable, findings, missing_streams
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, appended

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HERE = Stream(kind="consents", key="user-1")


def chain(size: int) -> list[Entry]:
    return appended(HERE, (0, GENESIS), [str(number).encode() for number in range(size)], clock=lambda: NOW, refs=["x"])


def faults(entries: list[Entry | Unreadable], anchored: Head | None = None) -> list[tuple[int, str]]:
    return [(finding.seq, finding.fault.value) for finding in findings(HERE, entries, anchored)]


def head(entry: Entry) -> Head:
    return Head(stream=entry.stream, seq=entry.seq, hash=entry.hash)


@given(st.integers(0, 8), st.data())
def test_a_whole_chain_has_no_fault(size: int, data: st.DataObject) -> None:
    """Of any length, and against an anchor taken at any of its entries."""
    entries = chain(size)
    anchored = data.draw(st.none() | st.sampled_from([head(entry) for entry in entries]) if entries else st.none())
    assert [] == faults([*entries], anchored)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0, 1, 3, 4], [(3, "missing")]),
        ([3, 4], [(1, "missing")]),
        ([0, 4], [(2, "missing")]),
        ([0, 1, 2, 2, 3, 4], [(3, "misplaced")]),
        ([0, 2, 1, 3, 4], [(2, "missing"), (2, "misplaced"), (4, "misplaced")]),
        ([], []),
    ],
)
def test_entries_out_of_their_order_are_named(order: list[int], expected: list[tuple[int, str]]) -> None:
    """Missing from where, or standing where they do not belong."""
    entries = chain(5)
    assert expected == faults([entries[index] for index in order])


def test_several_missing_entries_are_one_finding() -> None:
    """It says how far the gap goes."""
    entries = chain(5)
    assert ["stream consents 'user-1', entry 2: is missing, and so are all up to entry 4."] == [
        str(finding) for finding in findings(HERE, [entries[0], entries[4]])
    ]


def test_what_cannot_be_read_breaks_the_chain_only_where_it_stands() -> None:
    """The entries around it are still held against one another where its hash can be read."""
    entries: list[Entry | Unreadable] = [*chain(4)]
    entries[1] = Unreadable(seq=2, reason="it is no entry")
    assert [(2, "unreadable")] == faults(entries)
    entries[1] = Unreadable(seq=2, hash="f" * 64, reason="it is no entry")
    assert [(2, "unreadable"), (3, "misplaced")] == faults(entries)


def test_an_anchor_knows_what_was_taken_and_what_was_replaced() -> None:
    """The end of a stream, all of it, or another chain in its place."""
    entries, other = chain(5), appended(HERE, (0, GENESIS), [b"other"] * 5, clock=lambda: NOW)
    anchored = head(entries[3])
    assert ([(3, "missing")], [(1, "missing")], [(4, "replaced")]) == (
        faults([*entries[:2]], anchored),
        faults([], anchored),
        faults([*other], anchored),
    )
    assert [(HERE, 1, Fault.MISSING)] == [(found.stream, found.seq, found.fault) for found in missing_streams([], {HERE: anchored})]
    assert [] == list(missing_streams([HERE], {HERE: anchored}))


@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.integers(1, 2**62)), max_size=4))
def test_an_anchor_is_read_back(rows: list[tuple[str, str, str, int]]) -> None:
    """Whatever the streams are called, as one line of ASCII."""
    heads = tuple(Head(stream=Stream(tenant=tenant, kind=kind, key=f"{key}\ud800"), seq=seq, hash="0" * 64) for tenant, kind, key, seq in rows)
    anchor = Anchor(at=NOW, heads=heads)
    assert anchor.to_json().isascii()
    assert "\n" not in anchor.to_json()
    assert anchor == Anchor.from_json(anchor.to_json())
