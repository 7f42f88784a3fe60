"""What stands for a message or a tool in a cache: equal for equal content, another after an edit in place."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage


def fingerprint(value: Any) -> int:
    """Return a hash of JSON-like data that every edit changes, in this process. Text is hashed once in its life and not kept.

    Raises:
        TypeError: it holds something that is no data.
        RecursionError: it is nested too deeply, or holds itself.
    """
    kind = type(value)
    if kind is str:
        return hash(value)
    if kind is dict:
        return hash(("{", *((fingerprint(key), fingerprint(inner)) for key, inner in value.items())))
    if kind is list or kind is tuple:
        return hash(("[", *map(fingerprint, value)))
    if kind is int:
        return hash((value, value.bit_length()))  # -1 and -2 have one hash, as have 1 and 2**61
    if value is None or kind in (bool, float, bytes):
        return hash((kind, value))
    raise TypeError(kind.__name__)


def message_key(message: BaseMessage) -> Hashable | None:
    """Return what stands for everything of a message that is sent, `None` where that cannot be told."""
    content = message.content
    try:
        seen = hash(content) if type(content) is str else fingerprint(content)
        extras = fingerprint(message.additional_kwargs) if message.additional_kwargs else 0
        if isinstance(message, AIMessage):
            calls = message.tool_calls
            invalid = message.invalid_tool_calls
            made = fingerprint((calls, invalid)) if calls or invalid else 0
            return type(message), seen, message.name, extras, made
    except (TypeError, RecursionError):
        return None
    return type(message), seen, message.name, extras, getattr(message, "tool_call_id", None)
