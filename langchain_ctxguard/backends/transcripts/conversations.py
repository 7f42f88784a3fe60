"""The envelopes shared by the plain message formats: a list, `{"messages": [...]}`, many of them, or one message per line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of


@dataclass(frozen=True, slots=True)
class Conversation:
    """One list of recorded messages, unread."""

    name: str
    entries: list[Any]
    where: Where


def conversations(data: Any, name: str) -> list[Conversation]:
    """Return the conversations in `data`, or nothing where it is none of the envelopes.

    Raises:
        Misfit: one of many has no list of messages.
    """
    if isinstance(data, dict) and isinstance(data.get("runs"), list) and _envelops(data["runs"]):
        return _each(data["runs"], name, ("runs",))
    if isinstance(data, dict) and "messages" in data:
        return [_in_envelope(data, name, ())]
    if isinstance(data, dict) and ("role" in data or "type" in data):
        return [Conversation(name, [data], ())]
    if isinstance(data, list) and _envelops(data):
        return _each(data, name, ())
    if isinstance(data, list) and data and all(isinstance(entry, list) for entry in data):
        return [Conversation(f"{name}#{index}", entry, (index,)) for index, entry in enumerate(data)]
    return [Conversation(name, data, ())] if isinstance(data, list) and data else []


def sampled(data: Any) -> Iterator[Any]:
    """Yield the recorded messages in `data`, of whatever envelope, for a reader to recognise; damaged envelopes yield nothing."""
    try:
        found = conversations(data, "")
    except Misfit:
        found = [Conversation("", entry["messages"], ()) for entry in _listed(data) if _is_envelope(entry)]
    for conversation in found:
        yield from conversation.entries


def _listed(data: Any) -> list[Any]:
    runs = data.get("runs") if isinstance(data, dict) else data
    return runs if isinstance(runs, list) else []


def _is_envelope(entry: Any) -> bool:
    return isinstance(entry, dict) and "role" not in entry and isinstance(entry.get("messages"), list)


def _envelops(entries: list[Any]) -> bool:
    return any(_is_envelope(entry) for entry in entries)


def _each(entries: list[Any], name: str, where: Where) -> list[Conversation]:
    return [_in_envelope(entry, f"{name}#{index}", (*where, index)) for index, entry in enumerate(entries)]


def _in_envelope(entry: Any, name: str, where: Where) -> Conversation:
    if not isinstance(entry, dict) or "messages" not in entry:
        raise Misfit(where, "has no `messages`, as the others have")
    if not isinstance(entry["messages"], list):
        raise Misfit((*where, "messages"), f"is {kind_of(entry['messages'])}; it takes a list of messages")
    said = next((entry[key] for key in ("name", "thread_id", "id") if isinstance(entry.get(key), str) and entry[key]), name)
    return Conversation(said, entry["messages"], (*where, "messages"))
