"""What a guard knows of coding work: whoever keeps hand-overs and a work log registers here, and is told at each point where it matters."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from langchain_core.messages import HumanMessage, SystemMessage

from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.reading import Call


class Coding(Protocol):
    """Keeps a work log and hand-overs for a guard's threads. `HandoffGuard` is one."""

    blocks: bool
    """Whether what it does may wait for a disk or a database."""

    def named(self, thread: str, namespace: str) -> str:
        """Return what the stable prefix says of where hand-overs and work log lie: the same text in every call of a thread."""

    def preparing(self, call: Call, model: Any) -> Callable[[], None] | None:
        """Return what is to be done before a compaction, `None` for nothing."""

    def lead(self, call: Call, version: int) -> HumanMessage | None:
        """Return what a context that was compacted shows of the work, `None` for nothing. It changes with the version and with the status alone."""


class Observer(Protocol):
    """Looks at a tool call before and after it runs."""

    blocks: bool

    def began(self, request: ToolRequest) -> Any:
        """Take notice of what a call is about to touch; what is returned is given to `ended`."""

    def ended(self, request: ToolRequest, before: Any, *, is_done: bool, text: str) -> None:
        """Take notice of what a call has changed.

        Args:
            request: The call, with the arguments that ran.
            before: What `began` returned.
            is_done: It reports no failure.
            text: What it answered.
        """


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


def worked(coding: Coding | None, call: Call, version: int) -> Generator[Work, Any, HumanMessage | None]:
    """Return what a compacted context shows of the work, asked off the event loop where that may block."""
    if coding is None or version < 1:
        return None
    found: HumanMessage | None = yield Work(lambda: coding.lead(call, version), coding.blocks)
    return found
