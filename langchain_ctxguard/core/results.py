"""The results a message carries, each with its own text and status: a tool message holds one, a user message of Anthropic's dialect several."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.roles import is_failure, text_of

_WITHOUT_RESULTS = frozenset({HumanMessage, AIMessage, SystemMessage})
"""Messages that carry no results where their content is a text: the common case, told without `isinstance`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to one call."""

    call_id: str
    text: str
    is_failed: bool


def results_in(message: BaseMessage) -> tuple[Result, ...]:
    """Return the results in `message`, in order."""
    if type(message.content) is str and type(message) in _WITHOUT_RESULTS:
        return ()
    if isinstance(message, ToolMessage):
        return (Result(message.tool_call_id, text_of(message), is_failure(message)),)
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return ()
    return tuple(
        Result(str(block.get("tool_use_id", "")), text_of(HumanMessage([block])), bool(block.get("is_error")))
        for block in message.content
        if isinstance(block, dict) and block.get("type") == "tool_result"
    )


def own_words(message: BaseMessage) -> str:
    """Return what the speaker of `message` said: its text without the results it carries for tools."""
    if isinstance(message.content, str) or not isinstance(message, HumanMessage):
        return text_of(message)
    blocks = [block for block in message.content if not (isinstance(block, dict) and block.get("type") == "tool_result")]
    return text_of(message) if len(blocks) == len(message.content) else text_of(HumanMessage(blocks))
