"""A run and the marks of its compactions -> which messages were visible before each of them, and which after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import speaker_of


class Mark(Protocol):
    """A place where a program compacted its context, as a reader of transcripts found it."""

    @property
    def start(self) -> int:
        """Index of the first message after it."""

    @property
    def kind(self) -> str:
        """`summary`, `dropped` or `cleared`."""

    @property
    def summary(self) -> int | None:
        """Index of the message with the summary."""

    @property
    def dropped(self) -> Sequence[int]:
        """Indexes of what it took from the context."""

    @property
    def timestamp(self) -> str | None:
        """When, in ISO form."""


class Step(NamedTuple):
    """One compaction of a run, by indexes into its messages."""

    number: int
    """From 1."""

    mark: Mark
    fresh: tuple[tuple[int, int], ...]
    """Ranges of messages that came into the context since the step before."""

    before: tuple[int, ...]
    """What was visible when it happened, summaries of earlier steps included."""

    after: tuple[int, ...]
    """What is visible from then on."""

    why_not: str = ""
    """Why it cannot be audited: what the file does not hold."""


NO_SUMMARY = "the file does not hold the summary that took the messages' place"
NO_PAST = "the file does not hold the messages it replaced"
NO_WORD = "the file does not say which messages left"


def steps_of(messages: Sequence[BaseMessage], marks: Sequence[Mark], *, is_snapshot: bool = False) -> Iterator[Step]:
    """Yield the compactions of a run, oldest first.

    Args:
        messages: The run as recorded.
        marks: Where its context was compacted.
        is_snapshot: The file holds a state, not a log: what follows a summary may have been kept by it or said since, so it counts as there before
            and after. Where such a file does not say what left, everything before the summary but system messages did.
    """
    visible: list[int] = []
    reached = 0
    for number, mark in enumerate(sorted(marks, key=lambda mark: mark.start), 1):
        fresh = [(reached, mark.start)]
        visible += range(reached, mark.start)
        reached = max(reached, mark.start if mark.summary is None else mark.summary + 1)
        gone = set(mark.dropped)
        if is_snapshot:
            gone = gone or {index for index in visible if speaker_of(messages[index]) != "system"}
            stop = min((other.start for other in marks if other.start > mark.start), default=len(messages))
            if stop > reached:
                fresh.append((reached, stop))
                visible += range(reached, stop)
                reached = stop
        before = tuple(visible)
        left = [index for index in visible if index in gone]
        visible = [*([] if mark.summary is None else [mark.summary]), *(index for index in visible if index not in gone)]
        yield Step(number, mark, tuple(fresh), before, tuple(sorted(visible)), _why_not(mark, left, is_snapshot=is_snapshot))


def _why_not(mark: Mark, left: Sequence[int], *, is_snapshot: bool) -> str:
    if mark.kind == "summary" and mark.summary is None:
        return NO_SUMMARY
    if left:
        return ""
    return NO_PAST if is_snapshot else NO_WORD
