"""Messages come back to their places, whatever else was kept before the cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.bring_back import accounts_for, gap_before
from langchain_ctxguard.core.identity import make_cut, message_keys
from langchain_ctxguard.domain.archive import Archived
from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import StructuredSummary


def head_at(messages: list[BaseMessage], at: int) -> ContextHead:
    """A head whose view begins with a message."""
    cut = make_cut(messages, message_keys(messages), at, start=0)
    return ContextHead(version=1, cut=cut, body=ContextBody(summary=StructuredSummary(original_goal="x"), evidence=Evidence(), summary_id="s"))


@given(st.data())
def test_whatever_stayed_everything_is_in_its_place(data: st.DataObject) -> None:
    """Any part of what lies before the cut may have stayed, some messages have no ids and some say the same: the whole list is as it was."""
    count = data.draw(st.integers(2, 12))
    said = ["yes", *(data.draw(st.sampled_from(["yes", "no", f"text {index}"])) for index in range(1, count))]
    front: list[BaseMessage] = [SystemMessage("Be kind.")] if data.draw(st.booleans()) else []
    at = data.draw(st.integers(1, count - 1))
    names = [f"m-{index}" if index == count - 1 or data.draw(st.booleans()) else None for index in range(count)]
    messages: list[BaseMessage] = [HumanMessage(text, id=name) for text, name in zip(said, names, strict=True)]
    head = head_at(messages, at)
    keys = message_keys(messages)
    rows = [(index, Archived(keys[index], f"ctx:{index}")) for index in range(at)]
    stayed = [message for message in messages[:at] if message.id is None or data.draw(st.booleans())]
    start = data.draw(st.integers(0, at))

    gap = gap_before([*front, *stayed, *messages[at:]], head, rows, start=start)
    assert gap is not None
    assert all(position >= start for position in gap.missing)
    filled = gap.filled({f"ctx:{index}": messages[index] for index in range(at)})
    wanted = [message for index, message in enumerate(messages) if index >= start or any(message is one for one in stayed)]
    assert [message.content for message in [*front, *wanted]] == [message.content for message in filled]


def test_a_cut_that_is_not_there_has_no_gap() -> None:
    """Nobody knows then what is missing."""
    head = head_at([HumanMessage("a", id="a"), HumanMessage("b", id="b")], 1)
    assert gap_before([HumanMessage("c", id="c")], head, [], start=0) is None
    whole = gap_before([HumanMessage("c", id="c")], ContextHead(version=0, cut=Cut()), [], start=0)
    assert whole is not None
    assert {} == whole.missing


def test_a_message_that_was_given_an_id_since_is_the_same() -> None:
    """Some channels give ids late: what was archived without one is not brought back beside it."""
    messages: list[BaseMessage] = [HumanMessage("a"), HumanMessage("b", id="b")]
    head = head_at(messages, 1)
    rows = [(0, Archived(message_keys(messages)[0], "ctx:0"))]
    gap = gap_before([HumanMessage("a", id="given"), messages[1]], head, rows, start=0)
    assert gap is not None
    assert {} == gap.missing


@given(st.data())
def test_what_is_missing_is_accounted_for_by_what_was_archived_of_it(data: st.DataObject) -> None:
    """All that did not stay is on record, or somebody has to be told; what was archived of another conversation proves nothing."""
    count = data.draw(st.integers(2, 12))
    at = data.draw(st.integers(1, count - 1))
    messages: list[BaseMessage] = [HumanMessage(f"text {index}", id=f"m-{index}") for index in range(count)]
    head, keys = head_at(messages, at), message_keys(messages)
    rows = [(index, Archived(keys[index], f"ctx:{index}")) for index in range(at)]
    stay = data.draw(st.sets(st.integers(0, at - 1)))
    state = [message for index, message in enumerate(messages) if index in stay or index >= at]
    archived = data.draw(st.sets(st.integers(0, at - 1)))
    some = [row for row in rows if row[0] in archived]
    assert (stay | archived == set(range(at))) == accounts_for(state, head, some)
    assert accounts_for(messages, head, [])
    foreign = [(index, Archived(f"other-{index}", f"ctx:{index}")) for index in range(at)]
    assert (at - 1 in stay) >= accounts_for(state, head, foreign)


def test_a_state_without_anything_the_cut_names_is_accounted_for_by_the_archive_alone() -> None:
    """Cleared by its application, for example."""
    messages: list[BaseMessage] = [HumanMessage(f"text {index}", id=f"m-{index}") for index in range(4)]
    head, keys = head_at(messages, 3), message_keys(messages)
    rows = [(index, Archived(keys[index], f"ctx:{index}")) for index in range(3)]
    assert accounts_for([HumanMessage("new", id="new")], head, rows)
    assert not accounts_for([HumanMessage("new", id="new")], head, rows[1:])
