"""Messages as OpenAI chat messages, ready to be sent: no call is lost, even one whose arguments are broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_openai_messages

from langchain_ctxguard.core.dialect import write_openai


def openai_form(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the messages in OpenAI's form, oldest first."""
    return [form for message in messages for form in _forms(message)]


def _forms(message: BaseMessage) -> list[dict[str, Any]]:
    try:
        if isinstance(message, HumanMessage) and _holds_results(message):
            # Results inside a human message (Anthropic's form) are messages of their own in this one.
            several: list[dict[str, Any]] = convert_to_openai_messages([message])
            return several
        return [write_openai(message)]
    except (ValueError, KeyError, TypeError, AttributeError):
        # Content blocks of no known dialect stay as they are.
        return [{**write_openai(message.model_copy(update={"content": ""})), "content": message.content}]


def _holds_results(message: BaseMessage) -> bool:
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in message.content if not isinstance(message.content, str))
