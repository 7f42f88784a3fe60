"""What a guard knows of coding work: whoever keeps hand-overs and a work log registers here, and is told at each point where it matters."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.domain.reconcile import WorkStatus
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.ports import WorkRecord


class Coding(Protocol):
    """Keeps a work log and hand-overs for a guard's threads. `HandoffGuard` is one."""

    blocks: bool
    """Whether what it does may wait for a disk or a database."""

    def named(self, thread: str, namespace: str) -> str:
        """Return what the stable prefix says of where hand-overs and work log lie: the same text in every call of a thread."""

    def nears(self, call: Call, *, is_near: bool) -> None:
        """Take notice of a model call: whether a compaction may come soon, or there was one. Far from one, nothing is looked at yet."""

    def preparing(self, call: Call, model: Any) -> Callable[[], None] | None:
        """Return what is to be done before a compaction, `None` for nothing."""

    def lead(self, call: Call, version: int, room: int, shown: Sequence[BaseMessage]) -> HumanMessage | None:
        """Return what a context that was compacted shows of the work, `None` for nothing. It changes with the version and with the status alone.

        Args:
            call: The model call.
            version: Of the context.
            room: In characters.
            shown: What else the context shows.
        """

    def purge_thread(self, thread: str) -> int:
        """Erase what is kept of a thread's work on record, and return how many texts that were."""


class Reconciling(WorkRecord, Protocol):
    """Compares what the work log shows with the workspace, after a compaction and before the next change."""

    def status(self, thread: str, namespace: str, version: int) -> WorkStatus | None:
        """Return what a look at the workspace found for the context of this version, `None` where nobody looked.

        It is asked at each model call of a compacted context, and looks anew once for each version.
        """


MOST_ROOM = 8_000
LEAST_ROOM = 800
_SHARE = 0.08


def room_of(tokens: int) -> int:
    """Return how many characters a context of so many tokens shows of the work.

    >>> room_of(128_000), room_of(1_000)
    (8000, 800)
    """
    # Four characters are about a token of code and English.
    return max(LEAST_ROOM, min(MOST_ROOM, int(tokens * 4 * _SHARE)))


def named_system(coding: Coding | None, given: SystemMessage | None, thread: tuple[str | None, str]) -> SystemMessage | None:
    """Return the system message with the place of hand-overs and work log behind it; the same object where there is none."""
    if coding is None or not thread[0]:
        return given
    text = coding.named(thread[0], thread[1])
    if not text:
        return given
    block = {"type": "text", "text": text}
    if given is None:
        return SystemMessage([block])
    blocks: list[Any] = [{"type": "text", "text": given.content}] if isinstance(given.content, str) else list(given.content)
    return given.model_copy(update={"content": [*blocks, block]})


def worked(coding: Coding | None, call: Call, version: int, room: int, shown: Sequence[BaseMessage]) -> Generator[Work, Any, HumanMessage | None]:
    """Return what a compacted context shows of the work, asked off the event loop where that may block."""
    if coding is None or version < 1:
        return None
    found: HumanMessage | None = yield Work(lambda: coding.lead(call, version, room, shown), coding.blocks)
    return found
