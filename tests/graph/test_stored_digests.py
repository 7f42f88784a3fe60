"""What a process keeps in mind of stored digests: what is asked for stays, and no thread makes it grow without end."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.manifest import is_node
from langchain_ctxguard.graph import stored_digests
from langchain_ctxguard.graph.recent_contents import Place
from langchain_ctxguard.graph.stored_digests import StoredDigests

HERE = Place("t", 1, b"")
THERE = Place("u", 1, b"")
NODE = b"\x00" + bytes(16)


def name(number: int) -> bytes:
    """A digest."""
    return number.to_bytes(16, "big")


def test_what_was_told_is_known_at_its_place_and_no_other() -> None:
    """Each absent digest is named once, in order; nodes come back by digest and by content; a newer epoch knows nothing."""
    stored = StoredDigests()
    stored.add({b"1": b"", b"2": NODE}, HERE)
    assert is_node(NODE)
    assert [b"4", b"3"] == stored.absent([b"4", b"1", b"3", b"4", b"2"], HERE)
    assert {b"2": NODE} == stored.nodes([b"1", b"2", b"3"], HERE)
    assert (b"2", None) == (stored.node_names(HERE).get(NODE), stored.node_names(HERE).get(b"\x00"))
    assert [b"1"] == stored.absent([b"1"], Place("t", 2, b""))
    assert {} == stored.nodes([b"2"], THERE)
    assert None is stored.node_names(THERE).get(NODE)


def test_a_newer_epoch_takes_the_place_of_the_one_before() -> None:
    """What was removed since may be gone: nothing told before counts."""
    stored, later = StoredDigests(), Place("t", 2, b"")
    stored.add({b"1": b""}, HERE)
    stored.add({b"2": b""}, later)
    assert ([b"1"], [b"1"]) == (stored.absent([b"1"], HERE), stored.absent([b"1", b"2"], later))
    stored.forget("t")
    assert [b"2"] == stored.absent([b"2"], later)
    assert 0 == stored._size


def test_the_thread_that_was_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all threads as much is kept as fits; the one that is told of now is never dropped."""
    monkeypatch.setattr(stored_digests, "_LARGEST", 2 * stored_digests._DIGEST)
    stored = StoredDigests()
    stored.add({b"1": b""}, HERE)
    stored.add({b"2": b""}, THERE)
    assert ([], []) == (stored.absent([b"1"], HERE), stored.absent([b"2"], THERE))
    stored.add({b"3": b"", b"4": b""}, THERE)
    assert ([b"1"], []) == (stored.absent([b"1"], HERE), stored.absent([b"2", b"3", b"4"], THERE))


def test_one_thread_without_end_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand digests: what is asked for at each turn stays known, what nobody asks for goes, and the size stays where it is."""
    monkeypatch.setattr(stored_digests, "_YOUNG", 1_000 * stored_digests._DIGEST)
    stored = StoredDigests()
    stored.add({b"always": NODE}, HERE)
    largest = 0
    for number in range(0, 100_000, 50):
        stored.add({name(number + index): b"" for index in range(50)}, HERE)
        assert [] == stored.absent([b"always", name(number)], HERE)
        largest = max(largest, stored._size)
        assert stored._size == stored._spaces["t"].size
    assert {b"always": NODE} == stored.nodes([b"always"], HERE)
    assert b"always" == stored.node_names(HERE).get(NODE)
    assert [name(0)] == stored.absent([name(0)], HERE)
    assert largest <= 2 * 1_001 * stored_digests._DIGEST + stored_digests._NODE + len(NODE)
