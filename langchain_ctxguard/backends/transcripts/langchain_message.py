"""One message as LangChain serialises it -> the message. Only message classes are ever made: the file chooses none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)

from langchain_ctxguard.backends.transcripts.build import build, content_of
from langchain_ctxguard.backends.transcripts.calls import parse_calls
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of

_TYPES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "chat": ChatMessage,
    "function": FunctionMessage,
}
_CLASSES = {name: kind for kind in _TYPES.values() for name in (kind.__name__, f"{kind.__name__}Chunk")}
"""By class name; a chunk that was stored is read as the whole message it stands for."""

_FLAT = {**_TYPES, **{name: kind for name, kind in _CLASSES.items() if name.endswith("Chunk")}}
"""By `type`, where a chunk's is its class name."""

_REMOVALS = ("remove", "RemoveMessage")


def is_serialised(entry: Any) -> bool:
    """Say whether `entry` looks like a message LangChain wrote: `dumpd`, `messages_to_dict` or a state's flat form."""
    if not isinstance(entry, dict):
        return False
    if _is_constructor(entry):
        return isinstance(entry.get("kwargs"), dict)
    return entry.get("type") in (*_FLAT, *_REMOVALS) and (isinstance(entry.get("data"), dict) or "content" in entry)


def read_messages(entries: Sequence[Any], where: Where) -> list[BaseMessage]:
    """Return the messages of one conversation.

    Raises:
        Misfit: the first entry that is no message.
    """
    return [read_message(entry, (*where, index)) for index, entry in enumerate(entries)]


def read_message(entry: Any, where: Where) -> BaseMessage:
    """Return the message in `entry`.

    Raises:
        Misfit: a class that is no message, an unknown type, or fields that do not fit it.
    """
    if not isinstance(entry, dict):
        raise Misfit(where, f"is {kind_of(entry)}; a message is an object with `type` and `content`")
    name, fields, where = _unwrap(entry, where)
    if name in _REMOVALS:
        raise Misfit(where, "removes a message from a state; it is an instruction, not part of a conversation")
    kind = (_CLASSES if _is_constructor(entry) else _FLAT).get(name)
    if kind is None:
        raise Misfit(where, f"is of the type {name[:60]!r}, which is no message; known are {', '.join(_TYPES)}")
    fields = {key: value for key, value in fields.items() if key not in ("type", "tool_call_chunks", "chunk_position")}
    fields["content"] = content_of(fields, where, may_be_missing=kind is AIMessage, may_be_data=kind is ToolMessage)
    if kind is AIMessage:
        return _assistant(entry, fields, where)
    if kind is ToolMessage:
        fields["tool_call_id"] = "" if fields.get("tool_call_id") is None else fields["tool_call_id"]
    return build(kind, fields, where)


def _unwrap(entry: dict[str, Any], where: Where) -> tuple[str, dict[str, Any], Where]:
    """Return type or class name, fields, and where the fields stand."""
    if _is_constructor(entry):
        path, fields = entry.get("id"), entry.get("kwargs")
        if not isinstance(path, list) or not path or not isinstance(path[-1], str) or not isinstance(fields, dict):
            raise Misfit(where, "is a serialised object without a class name or without `kwargs`")
        return path[-1], fields, (*where, "kwargs")
    name = entry.get("type")
    if not isinstance(name, str):
        raise Misfit(where, f"has no `type`; each message needs one: {', '.join(_TYPES)}")
    if isinstance(entry.get("data"), dict) and "content" not in entry:
        return name, entry["data"], (*where, "data")
    return name, entry, where


def _assistant(entry: dict[str, Any], fields: dict[str, Any], where: Where) -> AIMessage:
    valid, unreadable = parse_calls(fields.get("tool_calls"), (*where, "tool_calls"))
    invalid = fields.get("invalid_tool_calls") or []
    if not isinstance(invalid, list) or not all(isinstance(call, dict) for call in invalid):
        raise Misfit((*where, "invalid_tool_calls"), "is no list of calls")
    calls = {"name": None, "args": None, "id": None, "error": None}
    invalid = [{**calls, **{key: value for key, value in call.items() if key in calls}} for call in invalid]
    message = build(AIMessage, {**fields, "tool_calls": valid, "invalid_tool_calls": [*invalid, *unreadable]}, where)
    chunks = _unwrap(entry, ())[1].get("tool_call_chunks")
    if not chunks or message.tool_calls or message.invalid_tool_calls:
        return message
    # A stream that was stored before it was put together: the calls exist only in pieces.
    pieces = build(AIMessageChunk, {**fields, "tool_call_chunks": chunks}, where)
    whole = message_chunk_to_message(pieces)
    return whole if isinstance(whole, AIMessage) else message


def _is_constructor(entry: dict[str, Any]) -> bool:
    return "lc" in entry and entry.get("type") == "constructor"
