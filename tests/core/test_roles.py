"""Who speaks in a message, and what a result reports."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.roles import NOTE, is_failure, is_foreign_summary, is_note, is_plainly_calling, is_request, last_request


def block(**more: Any) -> HumanMessage:
    return HumanMessage([{"type": "tool_result", "tool_use_id": "c", "content": "x", **more}])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (ToolMessage("x", tool_call_id="c"), False),
        (ToolMessage("error", tool_call_id="c", status="success"), False),
        (ToolMessage("x", tool_call_id="c", status="error"), True),
        (block(), False),
        (block(is_error=False), False),
        (block(is_error=True), True),
        (AIMessage("error"), False),
    ],
)
def test_a_result_failed_where_its_status_says_so(message: BaseMessage, *, expected: bool) -> None:
    """Of a tool message by its status, of a block by its mark; the words say nothing of it."""
    assert expected is is_failure(message)


SUMMARIZED = {"lc_source": "summarization"}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [({}, False), ({"lc_source": "chat"}, False), ({"name": "summarization"}, False), (SUMMARIZED, True)],
)
def test_only_the_mark_of_a_summarizer_makes_a_note_of_what_a_person_said(extra: dict[str, Any], *, expected: bool) -> None:
    """Whatever else an application keeps beside a message says nothing of who wrote it."""
    message = HumanMessage("Refund order 7.", additional_kwargs=extra)
    assert expected is is_note(message)
    assert expected is is_foreign_summary(message)
    assert expected is not is_request(message)


def test_the_last_request_is_the_last_turn_of_a_person() -> None:
    """Where every human message is marked as a summary the last of them stands; our own notes and bare results never do."""
    marked = [HumanMessage("one", additional_kwargs=SUMMARIZED), HumanMessage("two", additional_kwargs=SUMMARIZED)]
    assert 0 == last_request([HumanMessage("Refund it."), *marked])
    assert 1 == last_request([*marked, AIMessage("ok"), HumanMessage("note", name=NOTE, additional_kwargs=SUMMARIZED)])
    assert None is last_request([AIMessage("ok"), block()])


CALL = {"name": "pay", "args": {}, "id": "c1"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (AIMessage("Paying.", tool_calls=[CALL]), True),
        (AIMessage([{"type": "tool_use", "name": "pay", "input": {}, "id": "c1"}]), False),
        (AIMessage("Paying.", additional_kwargs={"tool_calls": [{"id": "c1", "function": {"name": "pay", "arguments": "{}"}}]}), False),
        (AIMessage([{"type": "text", "text": "Paying."}], tool_calls=[CALL]), False),
    ],
)
def test_calls_stand_plainly_only_where_nothing_else_may_hold_them(message: AIMessage, *, expected: bool) -> None:
    """Blocks of the content and what a provider added may each hold further calls."""
    assert expected is is_plainly_calling(message)
