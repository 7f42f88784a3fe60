"""Messages put together from a stream of events: calls of one answer become one message, condensations become marks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_ctxguard.backends.transcripts.build import build
from langchain_ctxguard.backends.transcripts.marks import SUMMARY_EXTRAS
from langchain_ctxguard.backends.transcripts.stamps import iso_time, stamped
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, CompactionMark, Misfit, Where, kind_of

_LISTS = ("history", "events", "trajectory")
"""Where envelopes keep their events."""

IsEvent = Callable[[Any], bool]
Said = tuple[type[BaseMessage], dict[str, Any], Where]


def has_events(data: Any, is_event: IsEvent) -> bool:
    """Say whether `data` is an event, a list of them, or an envelope or list of envelopes that hold any."""
    if is_event(data) or _holds(data, is_event):
        return True
    return any(_events_in(entry, is_event) is not None for entry in (data if isinstance(data, list) else [data]))


def event_lists(data: Any, name: str, is_event: IsEvent) -> list[tuple[str, list[Any], Where]]:
    """Return the streams in `data`, in which `has_events` found some: name, events and place of each.

    Raises:
        Misfit: one of several envelopes has no list of events.
    """
    if is_event(data):
        return [(name, [data], ())]
    if _holds(data, is_event):
        return [(name, data, ())]
    if isinstance(data, dict):
        return [_stream(data, name, (), is_event)]
    return [_stream(entry, f"{name}#{index}", (index,), is_event) for index, entry in enumerate(data)]


def _stream(envelope: Any, name: str, where: Where, is_event: IsEvent) -> tuple[str, list[Any], Where]:
    key = _events_in(envelope, is_event)
    if key is None and isinstance(envelope, dict):
        key = next((found for found in _LISTS if envelope.get(found) == []), None)
    if key is None:
        raise Misfit(where, f"has no list of events under {' or '.join(f'`{found}`' for found in _LISTS)}, as the others have")
    own = envelope.get("instance_id")
    return own if isinstance(own, str) and own else name, envelope[key], (*where, key)


def _events_in(envelope: Any, is_event: IsEvent) -> str | None:
    if not isinstance(envelope, dict):
        return None
    return next((key for key in _LISTS if _holds(envelope.get(key), is_event)), None)


def _holds(entries: Any, is_event: IsEvent) -> bool:
    return isinstance(entries, list) and any(is_event(entry) for entry in entries)


def is_integer(found: Any) -> TypeGuard[int]:
    """Say whether a JSON value is a whole number; `true` is none."""
    return isinstance(found, int) and not isinstance(found, bool)


class EventLog:
    """What a stream said so far, and which of it the model still sees."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self._said: list[Said] = []
        self._answers: dict[str, int] = {}
        self._made: set[tuple[int, str | None]] = set()
        self._marks: list[CompactionMark] = []
        self._seen: dict[int | str, int] = {}
        self._numbers: list[int] = []

    def messages(self) -> list[BaseMessage]:
        """Return the messages.

        Raises:
            Misfit: the first that does not fit.
        """
        return [build(kind, fields, where) for kind, fields, where in self._said]

    def compactions(self) -> tuple[CompactionMark, ...]:
        """Return the marks, oldest first."""
        return tuple(self._marks)

    def say(self, kind: type[BaseMessage], fields: dict[str, Any], event: dict[str, Any], where: Where) -> None:
        """Add one message."""
        if kind is HumanMessage:
            self._answers.clear()
        extras = {**stamped(event.get("timestamp")), **fields.get("additional_kwargs", {})}
        self._note(event)
        self._said.append((kind, {**fields, "additional_kwargs": extras}, where))

    def call(self, call: Any, beside: dict[str, Any], answer: str | None, event: dict[str, Any], where: Where) -> None:
        """Add one call, with what was said beside it: to the message of the same answer, or as a message of its own."""
        place = self._answers.get(answer) if answer is not None else None
        key = "tool_calls" if call["type"] == "tool_call" else "invalid_tool_calls"
        if place is None:
            calls: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
            calls[key].append(call)
            if answer is not None:
                self._answers[answer] = len(self._said)
                self._made.add((len(self._said), call["id"]))
            self.say(AIMessage, {**beside, **calls}, event, where)
            return
        fields = self._said[place][1]
        if (place, call["id"]) not in self._made:
            fields[key].append(call)
            self._made.add((place, call["id"]))
        fields["content"] = fields["content"] or beside["content"]

    def forget(self, ids: Iterable[int | str]) -> list[int]:
        """Return the messages of these events that the model saw until now, and sees no more."""
        return sorted({self._seen.pop(key) for key in list(dict.fromkeys(ids)) if key in self._seen})

    def forget_range(self, first: int, last: int) -> list[int]:
        """Return the same for all events from `first` to `last`."""
        start, stop = bisect_left(self._numbers, first), bisect_right(self._numbers, last)
        ids = self._numbers[start:stop]
        del self._numbers[start:stop]
        return self.forget(ids)

    def condense(self, dropped: list[int], summary: Any, event: dict[str, Any], where: Where) -> None:
        """Mark a condensation; its summary, where it has one, is the message after it.

        Raises:
            Misfit: a summary that is no text.
        """
        if summary is not None and not isinstance(summary, str):
            raise Misfit(where, f"has a `summary` that is {kind_of(summary)}; it takes a text")
        start = len(self._said)
        if summary:
            self.say(HumanMessage, {"content": summary, "additional_kwargs": SUMMARY_EXTRAS}, event, where)
        kind = CompactionKind.SUMMARY if summary else CompactionKind.DROPPED
        time = iso_time(event.get("timestamp"))
        self._marks.append(CompactionMark(start, kind, start if summary else None, tuple(dropped), time))

    def _note(self, event: dict[str, Any]) -> None:
        key = event.get("id")
        if isinstance(key, str) or is_integer(key):
            self._seen.setdefault(key, len(self._said))
            if is_integer(key):
                insort(self._numbers, key)
