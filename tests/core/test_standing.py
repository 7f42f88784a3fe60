"""What the standing state says to a tool call, and what its events add up to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.standing import arguments_digest, folded, permission_of, standing_verdict
from langchain_ctxguard.domain.standing import (
    ArgumentsReleased,
    ArgumentsReplaced,
    MarkedSynthetic,
    Mode,
    ModeSet,
    OpenQuestion,
    PermissionsSet,
    QuestionAnswered,
    QuestionAsked,
    Replaced,
    StandingEvent,
    StandingState,
)

AT = datetime(2026, 11, 30, tzinfo=UTC)
ASKED = StandingState(question=OpenQuestion(message="q", at=AT))


def after(*changes: Any) -> StandingState:
    """Return what changes add up to."""
    return folded((seq, StandingEvent(change=change, at=AT)) for seq, change in enumerate(changes, start=1))


def asked(message: str) -> QuestionAsked:
    """Return that a question was asked."""
    return QuestionAsked(question=OpenQuestion(message=message, at=AT))


def replaced(old: str, new: str) -> ArgumentsReplaced:
    """Return that arguments were replaced."""
    return ArgumentsReplaced(replaced=Replaced(tool="send", digest=old, by=new, at=AT))


@pytest.mark.parametrize(
    "standing", [StandingState(mode=Mode.PLAN), StandingState(mode=Mode.READ_ONLY), ASKED], ids=["plan", "read-only", "open question"]
)
@pytest.mark.parametrize("effect", ["write", "memory", None])
def test_what_changes_something_waits(standing: StandingState, effect: Any) -> None:
    """And so does what does not say what it does; reading goes on."""
    assert standing_verdict(effect, standing)
    assert standing_verdict("read", standing) is None
    assert standing_verdict(effect, StandingState()) is None


def test_permissions_deny_reading_too() -> None:
    """They are about the tool, not about what it does."""
    standing = StandingState(permissions={"look": "deny", "edit": "ask"})
    assert "deny it" in (standing_verdict("read", standing, tool="look") or "")
    assert standing_verdict("write", standing, tool="edit") is None
    assert ("ask", None) == (permission_of("edit", standing), permission_of("other", standing))


def test_only_the_answer_to_the_open_question_closes_it() -> None:
    """An answer to one that another took the place of answers nothing; a mode or a mark does not either."""
    assert after(asked("q1"), QuestionAnswered(message="q1")).question is None
    assert "q2" == (after(asked("q1"), asked("q2"), QuestionAnswered(message="q1")).question or OpenQuestion(message="none", at=AT)).message
    assert after(asked("q1"), ModeSet(mode=Mode.ACT), MarkedSynthetic(messages=("h",)), PermissionsSet(permissions={})).question is not None


def test_replaced_arguments_until_a_person_puts_them_back() -> None:
    """The old ones are refused; those a person put in, or released, are not."""
    once = after(replaced("a", "b"))
    assert standing_verdict("write", once, tool="send", arguments="a")
    assert standing_verdict("write", once, tool="send", arguments="b") is None
    assert standing_verdict("write", once, tool="other", arguments="a") is None
    assert standing_verdict("write", after(replaced("a", "b"), replaced("b", "a")), tool="send", arguments="a") is None
    assert () == after(replaced("a", "b"), ArgumentsReleased(tool="send", digest="a")).replaced
    assert () == after(replaced("a", "b"), replaced("c", "b"), ArgumentsReleased(tool="send")).replaced
    assert 1 == len(after(replaced("a", "b"), replaced("c", "b"), ArgumentsReleased(tool="send", digest="a")).replaced)


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(st.dictionaries(st.text(max_size=5), _JSON, max_size=4))
def test_arguments_are_known_whatever_the_order(arguments: dict[str, Any]) -> None:
    """Keys in another order are the same arguments; another value is another one."""
    turned = dict(reversed(arguments.items()))
    assert arguments_digest(arguments) == arguments_digest(turned)
    assert arguments_digest(arguments) != arguments_digest({**arguments, "more": 1.0})


@given(
    st.lists(st.sampled_from([asked("q1"), asked("q2"), QuestionAnswered(message="q1"), ModeSet(mode=Mode.PLAN), replaced("a", "b")]), max_size=12)
)
def test_a_fold_goes_on_where_it_stopped(changes: list[Any]) -> None:
    """Folding in two parts is folding at once."""
    events = [(seq, StandingEvent(change=change, at=AT)) for seq, change in enumerate(changes, start=1)]
    middle = len(events) // 2
    assert folded(events) == folded(events[middle:], folded(events[:middle]))
    assert len(events) == folded(events).seq
