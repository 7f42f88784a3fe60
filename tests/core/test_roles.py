"""Who speaks in a message, and what a result reports."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.roles import is_failure


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
