"""LangGraph thread states: what `get_state` of a server answers, a saved checkpoint, or several of them."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.transcripts import langchain_message, openai_message
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "langgraph"
TITLE = "LangGraph thread state"

_CHANNELS = ("values", "channel_values")


def recognises(data: Any) -> bool:
    """Say whether `data` is a state with a `messages` channel, or a list of them."""
    return _is_state(data) or (isinstance(data, list) and any(_is_state(entry) for entry in data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each state.

    Raises:
        Misfit: a state without messages, or a message that does not fit.
    """
    if isinstance(data, dict):
        return (_run(data, name, ()),)
    return tuple(_run(state, f"{name}#{index}", (index,)) for index, state in enumerate(data))


def _run(state: Any, name: str, where: Where) -> Run:
    if not _is_state(state):
        raise Misfit(where, "is no thread state with `values.messages`, as the others are")
    channel = next(channel for channel in _CHANNELS if _has_messages(state, channel))
    entries, where = state[channel]["messages"], (*where, channel, "messages")
    if not isinstance(entries, list):
        raise Misfit(where, f"is {kind_of(entries)}; it takes a list of messages")
    # A graph keeps what its nodes wrote: most write message objects, a plain graph may keep chat dicts.
    read_one = langchain_message.read_message
    messages = [
        openai_message.read_message(entry, (*where, index), before=entries[index - 1] if index else None)
        if openai_message.has_role(entry) and not langchain_message.is_serialised(entry)
        else read_one(entry, (*where, index))
        for index, entry in enumerate(entries)
    ]
    return Run(_thread_of(state) or name, messages, FORMAT)


def _is_state(data: Any) -> bool:
    return isinstance(data, dict) and any(_has_messages(data, channel) for channel in _CHANNELS)


def _has_messages(data: dict[str, Any], channel: str) -> bool:
    return isinstance(data.get(channel), dict) and "messages" in data[channel]


def _thread_of(state: dict[str, Any]) -> str | None:
    config = state.get("config")
    places = [state.get("checkpoint"), state.get("metadata"), config.get("configurable") if isinstance(config, dict) else None, state]
    known = (place.get("thread_id") for place in places if isinstance(place, dict))
    return next((thread for thread in known if isinstance(thread, str) and thread), None)
