from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, chained, entry_hash, verify

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HERE = Stream(kind="constraints", key="global")


def chain(*bodies: bytes, stream: Stream = HERE) -> list[Entry]:
    entries: list[Entry] = []
    for body in bodies:
        entries.append(chained(stream, entries[-1] if entries else None, NOW, body, ("x",)))
    return entries


def test_an_empty_chain_and_a_whole_one_are_intact() -> None:
    """Nothing to complain of."""
    entries = chain(b"1", "二".encode(), b"")
    assert (None, None) == (verify([]), verify(entries))
    assert [GENESIS, entries[0].hash, entries[1].hash] == [entry.before for entry in entries]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("body", b"forged"),
        ("seq", 9),
        ("at", NOW + timedelta(microseconds=1)),
        ("refs", ()),
        ("refs", ("x", "y")),
        ("before", "1" * 64),
        ("stream", Stream(tenant="other", kind="constraints", key="global")),
        ("stream", Stream(kind="consents", key="global")),
        ("hash", "0" * 64),
    ],
)
def test_an_entry_altered_anywhere_is_not_intact(field: str, value: Any) -> None:
    """Content, number, moment, names, place and predecessor are all in the hash."""
    entries = chain(b"1", b"2", b"3")
    entries[1] = entries[1].model_copy(update={field: value})
    assert (False, 2) == (entries[1].is_intact(), verify(entries))


def test_an_entry_hashed_anew_does_not_fit_its_chain() -> None:
    """Who forges an entry and its hash breaks the next one."""
    entries = chain(b"1", b"2", b"3")
    forged = entries[1].model_copy(update={"body": b"forged"})
    entries[1] = forged.model_copy(update={"hash": entry_hash(HERE, 2, NOW, b"forged", ("x",), forged.before)})
    assert (True, 3) == (entries[1].is_intact(), verify(entries))


@pytest.mark.parametrize(("order", "broken"), [([0, 2], 2), ([1, 2], 1), ([0, 2, 1], 2), ([0, 0, 1], 2), ([0, 1, 1], 3)])
def test_a_missing_moved_or_repeated_entry_is_found(order: list[int], broken: int) -> None:
    """The number named is the first that does not stand where it belongs."""
    entries = chain(b"1", b"2", b"3")
    assert broken == verify([entries[index] for index in order])


def test_a_chain_of_another_stream_does_not_pass_for_this_one() -> None:
    """Whole, but not ours."""
    other = chain(b"1", stream=Stream(kind="constraints", key="thread:t-1"))
    assert (None, 1, 2) == (verify(other), verify(other, stream=HERE), verify(other, after=chain(b"1")[0]))


@given(st.lists(st.binary(max_size=8).filter(lambda body: body.isascii()), min_size=1, max_size=6), st.data())
def test_any_part_of_a_chain_is_verified_from_the_entry_before(bodies: list[bytes], data: st.DataObject) -> None:
    """Reading on needs only the last entry known."""
    entries = chain(*bodies)
    cut = data.draw(st.integers(0, len(entries)))
    assert verify(entries[cut:], after=entries[cut - 1] if cut else None) is None


def test_a_stream_names_itself_in_a_sentence() -> None:
    """Errors say which, and whose where it is not everybody's."""
    assert "stream constraints 'global'" == str(HERE)
    assert "stream constraints 'global' of 'red'" == str(Stream(tenant="red", kind="constraints", key="global"))
