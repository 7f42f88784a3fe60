from __future__ import annotations

import pytest

from langchain_ctxguard.graph import recent_contents
from langchain_ctxguard.graph.recent_contents import Place, RecentContents

HERE, LATER, THERE = Place("t", 1, b""), Place("t", 2, b""), Place("u", 1, b"")


def some(*names: bytes) -> tuple[dict[bytes, bytes], list[int]]:
    return {name: name for name in names}, [10] * len(names)


def test_contents_hold_for_one_thread_and_as_long_as_nothing_was_removed() -> None:
    """Another thread has its own, and once something was removed, nothing is known."""
    recent = RecentContents()
    recent.keep(*some(b"1", b"2"), HERE)
    assert {b"1": b"1"} == recent.of([b"1", b"3"], HERE)
    assert {} == recent.of([b"1"], LATER) == recent.of([b"1"], THERE)
    recent.keep(*some(b"4"), LATER)
    assert ({}, {b"4": b"4"}) == (recent.of([b"1"], HERE), recent.of([b"1", b"4"], LATER))
    recent.forget("t")
    assert {} == recent.of([b"4"], LATER)
    assert 0 == recent._size


def test_each_look_holds_the_next_ones_against_the_store() -> None:
    """After as many looks as it takes, each was looked at; a short list is looked at whole."""
    recent, names = RecentContents(), [bytes([number]) for number in range(100)]
    recent.keep(*some(*names), HERE)
    looks = [recent.to_check(names, HERE) for _ in range(1 + len(names) // recent_contents._CHECKED)]
    assert set(names) == set().union(*looks)
    assert {recent_contents._CHECKED} == {len(look) for look in looks}
    assert names[:5] == recent.to_check(names[:5], HERE)
    assert names[:3] == recent.to_check(names[:3], LATER)


def test_as_much_is_kept_as_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that was used longest ago goes first; of one that is too large, what is not needed goes, then what comes last is not kept."""
    each = 10 + recent_contents._BESIDE
    monkeypatch.setattr(recent_contents, "_LARGEST", 3 * each)
    recent = RecentContents()
    recent.keep(*some(b"1", b"2"), HERE)
    recent.keep(*some(b"3"), THERE)
    assert 3 * each == recent._size
    recent.keep(*some(b"4"), THERE)
    assert ({}, {b"3", b"4"}) == (recent.of([b"1"], HERE), set(recent.of([b"3", b"4"], THERE)))
    recent.keep(*some(b"5", b"6", b"7"), THERE, needed=[b"4", b"9"])
    assert {b"4", b"5", b"6"} == set(recent.of([b"3", b"4", b"5", b"6", b"7"], THERE))
    assert 3 * each == recent._size
    recent.keep(*some(b"5"), THERE)
    assert 3 * each == recent._size
