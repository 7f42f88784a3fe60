"""Two lists -> what a compactor took out of the first and what it put in its place. Messages are known by id, those without one by what they say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.identity import message_digest
from langchain_ctxguard.core.roles import is_foreign_summary, is_note, results_of, text_of
from langchain_ctxguard.domain.value import canonical_json, digest_of

_EMPTIED = 0.5
"""A tool result that keeps less than this share of its text was emptied; one that keeps more was edited, and somebody meant to."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a compactor did to a list."""

    gone: tuple[BaseMessage, ...] = ()
    """Messages that are no longer there, or tool results that were emptied."""

    made: tuple[BaseMessage, ...] = ()
    """What stands in their place: messages at the front of the view that nobody had seen before."""

    emptied: tuple[BaseMessage, ...] = ()
    """Tool results as they stand in the view, emptied."""

    basis: str = ""
    """The same for the same compaction, however the list goes on behind it; empty where nothing left."""

    count: int = 0
    """How many messages are gone, as far as that is known."""


NOTHING = Replaced()


def mark_of(message: BaseMessage) -> str:
    """Return what a message is known by, wherever it stands."""
    return message.id or message_digest(message)


def is_said(message: BaseMessage, made: Collection[str] = ()) -> bool:
    """Say whether somebody said a message: no summary, whoever made it, and no note."""
    return not (is_foreign_summary(message) or is_note(message) or is_made(message, made))


def is_made(message: BaseMessage, made: Collection[str]) -> bool:
    """Say whether a message is one of a compactor's: by mark, or by what it says, since a summary may get a new id at every step."""
    return bool(made) and (mark_of(message) in made or (message.id is not None and message_digest(message) in made))


def compared(before: Sequence[BaseMessage], view: Sequence[BaseMessage]) -> Replaced:
    """Return what of `before` is not in `view`, and what is there instead. Costs O(messages)."""
    there = {mark_of(message): message for message in view}
    known = set()
    gone, emptied = [], []
    for message in before:
        mark = mark_of(message)
        known.add(mark)
        twin = there.get(mark)
        if twin is None:
            gone.append(message)
        elif twin is not message and is_emptied(message, twin):
            gone.append(message)
            emptied.append(twin)
    if not gone:
        return NOTHING
    kept = next((index for index, message in enumerate(view) if mark_of(message) in known), len(view))
    made = tuple(view[:kept])
    return Replaced(tuple(gone), made, tuple(emptied), _basis(made, view[kept : kept + 1], emptied), len(gone))


def traced(view: Sequence[BaseMessage], *, first: str | None, known: Collection[str]) -> Replaced:
    """Return the same where the list before is not at hand: only its first message and a few others are known.

    Args:
        view: The list now.
        first: Mark of the first message before.
        known: Marks of messages that stood there.
    """
    if not view or first is None or mark_of(view[0]) == first:
        return NOTHING
    kept = next((index for index, message in enumerate(view) if mark_of(message) in known), len(view))
    # More messages may be kept than are known by name: of those in front only what looks like a summary, or else the first, was made.
    made = tuple(message for message in view[:kept] if is_foreign_summary(message)) or tuple(view[: min(kept, 1)])
    return Replaced(made=made, basis=_basis(made, view[len(made) : len(made) + 1], ()))


def is_emptied(before: BaseMessage, now: BaseMessage) -> bool:
    """Say whether a tool result lost most of its text under its own id."""
    if not results_of(before):
        return False
    old, new = text_of(before), text_of(now)
    return old != new and len(new) < len(old) * _EMPTIED


def _basis(made: Sequence[BaseMessage], kept: Sequence[BaseMessage], emptied: Sequence[BaseMessage]) -> str:
    parts = [[text_of(message) for message in made], [mark_of(message) for message in kept], sorted(mark_of(message) for message in emptied)]
    return digest_of(canonical_json(parts))[:24]
