"""LangGraph thread states: what `get_state` of a server answers, a saved checkpoint, or several of them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts import langchain_message, openai_message
from langchain_ctxguard.backends.transcripts.marks import summary_marks
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, CompactionMark, Misfit, Run, Where, kind_of

FORMAT = "langgraph"
TITLE = "LangGraph thread state"

_CHANNELS = ("values", "channel_values")
_EVENT = "_summarization_event"
"""Channel in which deepagents keeps its last summary beside the messages, which it leaves as they are."""


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
    name = _thread_of(state) or name
    cutoff = _cutoff(state[channel], len(messages))
    if cutoff is None:
        return Run(name, messages, FORMAT, compactions=summary_marks(messages))
    summary = _summary(state[channel][_EVENT], (*where[:-1], _EVENT, "summary_message"))
    # What the model reads from then on: the summary, then the messages from the cutoff.
    messages[cutoff:cutoff] = [] if summary is None else [summary]
    mark = CompactionMark(cutoff, CompactionKind.SUMMARY, None if summary is None else cutoff, tuple(range(cutoff)))
    others = [found for found in summary_marks(messages) if found.summary != mark.summary]
    return Run(name, messages, FORMAT, compactions=tuple(sorted([*others, mark], key=lambda found: found.start)))


def _cutoff(channels: dict[str, Any], size: int) -> int | None:
    event = channels.get(_EVENT)
    cutoff = event.get("cutoff_index") if isinstance(event, dict) else None
    return cutoff if isinstance(cutoff, int) and not isinstance(cutoff, bool) and 0 <= cutoff <= size else None


def _summary(event: dict[str, Any], where: Where) -> BaseMessage | None:
    recorded = event.get("summary_message")
    return langchain_message.read_message(recorded, where) if langchain_message.is_serialised(recorded) else None


def _is_state(data: Any) -> bool:
    return isinstance(data, dict) and any(_has_messages(data, channel) for channel in _CHANNELS)


def _has_messages(data: dict[str, Any], channel: str) -> bool:
    return isinstance(data.get(channel), dict) and "messages" in data[channel]


def _thread_of(state: dict[str, Any]) -> str | None:
    config = state.get("config")
    places = [state.get("checkpoint"), state.get("metadata"), config.get("configurable") if isinstance(config, dict) else None, state]
    known = (place.get("thread_id") for place in places if isinstance(place, dict))
    return next((thread for thread in known if isinstance(thread, str) and thread), None)
