"""One chat message with a `role` (OpenAI's dialect and its many cousins) -> a LangChain message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts.build import build, content_of
from langchain_ctxguard.backends.transcripts.calls import call_of, parse_calls
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of

_SPEAKERS: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "tool": ToolMessage,
    "function": ToolMessage,
}
_ROLES = "system, developer, user, assistant, tool or function"


def has_role(entry: Any) -> bool:
    """Say whether `entry` looks like a chat message with a role."""
    return isinstance(entry, dict) and isinstance(entry.get("role"), str)


def read_messages(entries: Sequence[Any], where: Where) -> list[BaseMessage]:
    """Return the messages of one conversation.

    Raises:
        Misfit: the first entry that is no message.
    """
    messages: list[BaseMessage] = []
    for index, entry in enumerate(entries):
        messages.append(read_message(entry, (*where, index), before=entries[index - 1] if index else None))
    return messages


def read_message(entry: Any, where: Where, *, before: Any = None) -> BaseMessage:
    """Return the message in `entry`. `before` is the entry ahead of it: results of the old function calls carry no id.

    Raises:
        Misfit: no role, an unknown role, or fields that do not fit it.
    """
    if not isinstance(entry, dict):
        raise Misfit(where, f"is {kind_of(entry)}; a message is an object with `role` and `content`")
    role = entry.get("role")
    if role is None:
        raise Misfit(where, f"has no `role`; each message needs one: {_ROLES}")
    kind = _SPEAKERS.get(role) if isinstance(role, str) else None
    if kind is None:
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise Misfit(where, f"has the role {shown}; use {_ROLES}")
    fields = {key: value for key, value in entry.items() if key != "role"}
    if kind is AIMessage:
        fields = {**fields, **_assistant(entry, where)}
        fields.pop("function_call", None)
    elif kind is ToolMessage:
        fields = {**fields, **_result(entry, where, before)}
    else:
        fields["content"] = content_of(entry, where, may_be_missing=False)
        if role == "developer":
            # The name by which LangChain's OpenAI package writes the role back.
            fields["__openai_role__"] = "developer"
    return build(kind, fields, where)


def _assistant(entry: dict[str, Any], where: Where) -> dict[str, Any]:
    valid, invalid = parse_calls(entry.get("tool_calls"), (*where, "tool_calls"))
    if (name := _function_name(entry)) is not None:
        call = call_of(name, entry["function_call"].get("arguments"), _function_call_id(where, 0))
        if call["type"] == "tool_call":
            valid.append(call)
        else:
            invalid.append(call)
    return {
        "content": content_of(entry, where, may_be_missing=True),
        "tool_calls": valid,
        "invalid_tool_calls": invalid,
    }


def _result(entry: dict[str, Any], where: Where, before: Any) -> dict[str, Any]:
    call_id = entry.get("tool_call_id")
    # A function result names no call: the old interface has it directly behind the one call it answers.
    if call_id is None and entry["role"] == "function" and isinstance(before, dict) and _function_name(before) == entry.get("name"):
        call_id = _function_call_id(where, -1)
    status = entry.get("status")
    return {
        "content": content_of(entry, where, may_be_missing=False, may_be_data=True),
        "tool_call_id": "" if call_id is None else str(call_id),
        "status": status if status in ("success", "error") else None,
        "recorded_status": None if status in ("success", "error") else status,
    }


def _function_name(entry: dict[str, Any]) -> str | None:
    call = entry.get("function_call")
    name = call.get("name") if isinstance(call, dict) else None
    return name if isinstance(name, str) else None


def _function_call_id(where: Where, step: int) -> str:
    position = where[-1]
    return f"function_call_{position + step}" if isinstance(position, int) else "function_call"
