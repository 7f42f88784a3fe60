"""Messages as OpenAI chat messages, ready to be sent: no call is lost, even one whose arguments are broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, convert_to_openai_messages

_PLAIN_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def openai_form(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the messages in OpenAI's form, oldest first."""
    return [form for message in messages for form in _forms(message)]


def _forms(message: BaseMessage) -> list[dict[str, Any]]:
    try:
        forms: list[dict[str, Any]] = convert_to_openai_messages([message])
    except (ValueError, KeyError, TypeError, AttributeError):
        # Content blocks of no known dialect stay as they are.
        forms = [_plain_form(message)]
    if isinstance(message, AIMessage) and message.invalid_tool_calls and forms:
        # LangChain leaves these out, which would orphan their results.
        broken = [
            {"type": "function", "id": call["id"], "function": {"name": call["name"] or "", "arguments": call["args"] or ""}}
            for call in message.invalid_tool_calls
        ]
        forms[0]["tool_calls"] = [*forms[0].get("tool_calls", []), *broken]
    return forms


def _plain_form(message: BaseMessage) -> dict[str, Any]:
    role = message.role if isinstance(message, ChatMessage) else _PLAIN_ROLES.get(message.type, "user")
    form: dict[str, Any] = {"role": role, "content": message.content}
    if message.name:
        form["name"] = message.name
    if isinstance(message, AIMessage) and message.tool_calls:
        form["tool_calls"] = convert_to_openai_messages([AIMessage("", tool_calls=message.tool_calls)])[0]["tool_calls"]
    call_id = getattr(message, "tool_call_id", None)
    if call_id is not None and not isinstance(message, FunctionMessage):
        form["tool_call_id"] = call_id
    return form
