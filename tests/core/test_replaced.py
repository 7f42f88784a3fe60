from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.replaced import NOTHING, compared, is_made, is_said, mark_of, traced
from tests.support.builders import ai, human, result, with_ids, without_ids

SUMMARY = HumanMessage("They talked.", id="s")
TALK = with_ids([human(f"line {index}") if index % 2 == 0 else ai(f"line {index}") for index in range(10)])


@given(kept=st.integers(1, 9), more=st.integers(0, 3))
def test_a_compaction_is_the_same_however_the_list_goes_on(kept: int, more: int) -> None:
    """What left and what was put in its place are found; later messages do not make another compaction of it."""
    new = [human(f"new {index}", f"n{index}") for index in range(more)]
    view = [SUMMARY, *TALK[-kept:], *new]
    found = compared(TALK, view)
    assert TALK[:-kept] == list(found.gone)
    assert (SUMMARY,) == found.made
    assert found.basis == compared(TALK, view[: 1 + kept]).basis != ""


@given(more=st.integers(0, 3))
def test_a_list_that_grows_lost_nothing(more: int) -> None:
    """New messages, at the end or in front, are no compaction."""
    new = [human(f"new {index}", f"n{index}") for index in range(more)]
    assert NOTHING == compared(TALK, [*TALK, *new])
    assert NOTHING == compared(TALK, [SystemMessage("x", id="y"), *TALK])


def test_messages_without_ids_are_known_by_what_they_say() -> None:
    """A conversation without ids is compared all the same."""
    plain = without_ids(TALK)
    found = compared(plain, [SUMMARY, *plain[-2:]])
    assert 8 == found.count
    assert (SUMMARY,) == found.made


def test_another_summary_is_another_compaction() -> None:
    """Another text, or another first message kept."""
    one = compared(TALK, [SUMMARY, *TALK[-2:]]).basis
    assert one != compared(TALK, [HumanMessage("Otherwise.", id="s"), *TALK[-2:]]).basis
    assert one != compared(TALK, [SUMMARY, *TALK[-3:]]).basis
    assert one == compared(TALK, [HumanMessage("They talked.", id="other"), *TALK[-2:]]).basis


@pytest.mark.parametrize(("text", "is_gone"), [("[cleared]", True), (f"{'x' * 90} [REDACTED]", False)])
def test_an_emptied_result_left_and_an_edited_one_did_not(text: str, *, is_gone: bool) -> None:
    """A result that keeps most of its text was edited on purpose."""
    before = [human("go", "a"), ai("", calls=["c"], message_id="b"), result("c", "x" * 100, message_id="d")]
    found = compared(before, [*before[:2], result("c", text, message_id="d")])
    assert is_gone is bool(found.basis)
    assert int(is_gone) == len(found.emptied)


def test_what_a_person_wrote_shorter_is_an_edit() -> None:
    """Only tool results are emptied."""
    assert NOTHING == compared([human("x" * 100, "a")], [human("x", "a")])


def test_a_trace_is_found_without_the_list_before() -> None:
    """The first message and a few others are enough to see what was put in front."""
    view = [SUMMARY, *TALK[-4:]]
    known = [mark_of(message) for message in TALK[-4:]]
    assert (SUMMARY,) == traced(view, first="m0", known=known).made
    assert NOTHING == traced(TALK, first="m0", known=known)
    assert NOTHING == traced(view, first=None, known=())
    assert NOTHING == traced([], first="m0", known=())


def test_a_trim_puts_nothing_in_its_place() -> None:
    """Where old messages are only removed, what stands first was said."""
    assert () == compared(TALK, TALK[4:]).made
    assert () == traced(TALK[4:], first="m0", known=["m4"]).made


def test_a_summary_with_a_new_id_is_still_a_summary() -> None:
    """Some nodes write their summary anew at every step."""
    (made,) = compared(TALK, [SUMMARY, *TALK[-2:]]).made
    marks = {mark_of(made.model_copy(update={"id": None}))}
    assert is_made(HumanMessage("They talked.", id="fresh"), marks)
    assert not is_said(HumanMessage("They talked.", id="fresh"), marks)
    assert is_said(human("hello", "h"), marks)


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("x", additional_kwargs={"lc_source": "summarization"}),
        SystemMessage("Summary of the conversation so far: x"),
        HumanMessage('<context_note from="summary" trust="untrusted">\nx\n</context_note>', name="context_note"),
    ],
)
def test_marked_summaries_and_notes_are_nobodys_words(message: Any) -> None:
    """What carries a known mark was not said."""
    assert not is_said(message)
    assert is_said(AIMessage("x"))


@pytest.mark.parametrize("name", ["a", "m00", "z"])
def test_another_first_message_was_put_there_whatever_its_id(name: str) -> None:
    """Ids have no order: one that would sort before the old one is as new as one that would sort behind it."""
    made = HumanMessage("They talked.", id=name)
    assert (made,) == traced([made, *TALK[-4:]], first="m0", known=["m6"]).made
