"""A line of the work log reads back, and nobody but the harness or a person says that something is done."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langchain_ctxguard.domain.code_place import CodePlace, read_places, written_places
from langchain_ctxguard.domain.one_line import from_one_line, on_one_line
from langchain_ctxguard.domain.summary import Decision, Rejected
from langchain_ctxguard.domain.worklog import WorkEntry, WorkLine, WorkState, decision_text

NOW = datetime(2026, 11, 30, tzinfo=UTC)

# No surrogates: values refuse them.
texts = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["a @ b", "@", " @ x", "[TRACE-001] done: x", "\\", "\\n", "\n", "a\u2028b", "用 @ 路径", '"']
)
paths = texts | st.sampled_from(["src/a.py", "a b.py", "C:\\x", "a::b", "a:12", "ä/文件.py", "a, b"])
lines = st.integers(1, 10**6)
places = st.one_of(
    st.builds(CodePlace, path=paths),
    st.builds(CodePlace, path=paths, symbol=texts | st.sampled_from(["Cart.total", "A::b", "f(x, y)"])),
    st.builds(CodePlace, path=paths, line=lines),
    st.builds(lambda path, line, more: CodePlace(path=path, line=line, last_line=line + more), paths, lines, st.integers(0, 9)),
)


def test_a_line_reads_as_people_write_it() -> None:
    """The form is the one the documentation shows."""
    line = WorkLine(number=14, state=WorkState.DONE, text="rename total()", places=(CodePlace(path="src/cart.py", symbol="total"),))
    assert str(line) == "[TRACE-014] done: rename total() @ src/cart.py::total"


@given(text=st.text())
def test_any_text_fits_on_one_line(text: str) -> None:
    """What stands on the line is one line for every reader of lines, and is the text again."""
    line = on_one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert from_one_line(line) == text


@given(place=places)
def test_a_place_reads_back(place: CodePlace) -> None:
    """Whatever path and symbol hold."""
    assert CodePlace.read(str(place)) == place


@given(given=st.lists(places, max_size=4))
def test_places_read_back(given: list[CodePlace]) -> None:
    """Several places stand in one line and stay several."""
    assert read_places(written_places(tuple(given))) == tuple(given)


@given(number=st.integers(0, 10**5), state=st.sampled_from(WorkState), text=texts, given=st.lists(places, max_size=3))
def test_a_line_reads_back(number: int, state: WorkState, text: str, given: list[CodePlace]) -> None:
    """Number, state, text and places, whatever is in the text."""
    line = WorkLine(number=number, state=state, text=text, places=tuple(given))
    assert len(str(line).splitlines()) == 1
    assert WorkLine.read(str(line)) == line


@pytest.mark.parametrize("line", ["", "done: x", "[TRACE-1] made: x", "[TRACE-001] done: x @ a b"])
def test_what_is_no_line_is_refused(line: str) -> None:
    """A damaged line is named, not guessed at."""
    with pytest.raises(ValueError, match=r"line of a work log|places in code|should have at least"):
        assert WorkLine.read(line).places


def test_an_agent_cannot_say_done() -> None:
    """What an agent says it did is no evidence that it did."""
    with pytest.raises(ValidationError, match="an agent cannot say 'done'"):
        WorkEntry(state=WorkState.DONE, text="all tests pass", said_by="agent", at=NOW)
    assert WorkEntry(state=WorkState.DONE, text="merged", said_by="person", at=NOW).said_by == "person"


def test_a_decision_goes_with_decided() -> None:
    """A decision stands in no other entry, and `decided` has one."""
    decision = Decision(chosen="httpx", rejected=(Rejected(option="requests", why="no async"),))
    with pytest.raises(ValidationError, match="a `decision` goes with 'decided'"):
        WorkEntry(state=WorkState.NEXT, text="x", decision=decision, at=NOW)
    with pytest.raises(ValidationError, match="a `decision` goes with 'decided'"):
        WorkEntry(state=WorkState.DECIDED, text="x", at=NOW)
    assert WorkEntry(state=WorkState.DECIDED, text=decision_text(decision), decision=decision, at=NOW).text == "httpx, not requests (no async)"
