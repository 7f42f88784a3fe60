"""The tools by which a coding agent keeps its own side of the work: what is next, blocked or decided, and a hand-over when it wants one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, ValidationError

from langchain_ctxguard.core.roles import escaped
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.standing import EFFECT
from langchain_ctxguard.domain.summary import Decision, Rejected
from langchain_ctxguard.domain.worklog import WorkEntry, WorkState, decision_text
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.phases import compact_context
from langchain_ctxguard.graph.reading import as_messages
from langchain_ctxguard.graph.thread import thread_in

TRACE_TOOL = "trace"
WRITE_TOOL = "write_handoff"
READ_TOOL = "read_handoff"
_LONGEST = 2_000
_PLACES = 20
_LOG_SHOWN = 100
NO_THREAD = "This run has no thread, so there is no work log to write to. Go on without it."


class RejectedOption(BaseModel):
    """An option that was turned down."""

    option: str = Field(description="What was turned down.")
    why: str = Field(default="", description="Why.")


class Keeping(Protocol):
    """What keeps the work, as far as the tools need it."""

    now: Callable[[], datetime]

    def note(self, thread: str, entry: WorkEntry, messages: Sequence[BaseMessage]) -> WorkEntry:
        """Put an entry on record and return it with its number."""

    def hand_over(self, thread: str, namespace: str, state: Any, *, next_action: str) -> Handoff:
        """Make a hand-over now."""

    def shown(self, thread: str, namespace: str, number: int | None, lines: int) -> str:
        """Return a hand-over and the end of the log as text."""


class WorkTools:
    """Makes the tools of one `HandoffGuard`."""

    def __init__(self, keeping: Keeping) -> None:
        """Bind what keeps the work."""
        self._keeping = keeping

    def tools(self) -> list[BaseTool]:
        """Return `trace`, `write_handoff`, `read_handoff` and `compact_context`."""

        def trace(  # noqa: PLR0917 - the model's own words
            state: Literal["next", "blocked", "decided", "done"],
            text: str,
            runtime: ToolRuntime[Any, Any],
            at: list[str] | None = None,
            why: str = "",
            rejected: list[RejectedOption] | None = None,
            closes: list[int] | None = None,
        ) -> ToolMessage:
            return self._answered(TRACE_TOOL, runtime, lambda: self._traced(runtime, state, text, at or [], why, rejected or [], closes or []))

        async def atrace(  # noqa: PLR0917 - as above
            state: Literal["next", "blocked", "decided", "done"],
            text: str,
            runtime: ToolRuntime[Any, Any],
            at: list[str] | None = None,
            why: str = "",
            rejected: list[RejectedOption] | None = None,
            closes: list[int] | None = None,
        ) -> ToolMessage:
            return await asyncio.to_thread(trace, state, text, runtime, at, why, rejected, closes)

        def write_handoff(runtime: ToolRuntime[Any, Any], next_action: str = "") -> ToolMessage:
            return self._answered(WRITE_TOOL, runtime, lambda: self._written(runtime, next_action))

        async def awrite_handoff(runtime: ToolRuntime[Any, Any], next_action: str = "") -> ToolMessage:
            return await asyncio.to_thread(write_handoff, runtime, next_action)

        def read_handoff(runtime: ToolRuntime[Any, Any], number: int | None = None) -> ToolMessage:
            return self._answered(READ_TOOL, runtime, lambda: (self._keeping.shown(*_place(runtime), number, _LOG_SHOWN), False))

        async def aread_handoff(runtime: ToolRuntime[Any, Any], number: int | None = None) -> ToolMessage:
            return await asyncio.to_thread(read_handoff, runtime, number)

        # They change nothing of the world: what they write is a record of it.
        own: dict[str, Any] = {"metadata": {EFFECT: "read"}}
        return [
            StructuredTool.from_function(trace, atrace, name=TRACE_TOOL, description=_TRACE_ABOUT, **own),
            StructuredTool.from_function(write_handoff, awrite_handoff, name=WRITE_TOOL, description=_WRITE_ABOUT, **own),
            StructuredTool.from_function(read_handoff, aread_handoff, name=READ_TOOL, description=_READ_ABOUT, **own),
            compact_context,
        ]

    def _traced(  # noqa: PLR0917 - as the tool has them
        self, runtime: ToolRuntime, state: str, text: str, at: list[str], why: str, rejected: list[RejectedOption], closes: list[int]
    ) -> tuple[str, bool]:
        if state == WorkState.DONE:
            return "Nothing was noted: `done` is written when the effect is seen, and not on anybody's word. Note what is next instead.", True
        said = _said(text)
        if not said:
            return "Nothing was noted: `text` says nothing.", True
        places, unread = _places(at)
        decision = None
        if state == WorkState.DECIDED:
            turned_down = tuple(
                Rejected(option=clipped(readable(one.option), _LONGEST), why=clipped(readable(one.why), _LONGEST)) for one in rejected
            )
            decision = Decision(chosen=said, rejected=turned_down, why=clipped(readable(why), _LONGEST), said_by="ai")
        entry = WorkEntry(
            state=WorkState(state),
            text=said if decision is None else clipped(decision_text(decision), 2 * _LONGEST),
            places=places,
            said_by="agent",
            tool=TRACE_TOOL,
            tool_call_id=runtime.tool_call_id or "",
            namespace=_place(runtime)[1],
            decision=decision,
            closes=tuple(closes),
            at=self._keeping.now(),
        )
        noted = self._keeping.note(_place(runtime)[0], entry, _messages(runtime.state))
        left = f" Left out, as they name no place: {', '.join(unread)}." if unread else ""
        return f"Noted: {noted.line}{left}", False

    def _written(self, runtime: ToolRuntime, next_action: str) -> tuple[str, bool]:
        thread, namespace = _place(runtime)
        handoff = self._keeping.hand_over(thread, namespace, runtime.state, next_action=_said(next_action))
        counts = f"{len(handoff.done)} done, {len(handoff.not_done)} not done, {len(handoff.do_not)} not to be done, {len(handoff.decisions)} decided"
        return f"Hand-over {handoff.number} was written: {counts}.", False

    @staticmethod
    def _answered(name: str, runtime: ToolRuntime, answer: Callable[[], tuple[str, bool]]) -> ToolMessage:
        """Return the result of a tool; whatever goes wrong with the store, the run goes on."""
        if not thread_in(runtime.config)[0]:
            text, is_failed = NO_THREAD, True
        else:
            try:
                text, is_failed = answer()
            except StoreError as error:
                text, is_failed = f"The record of the work cannot be reached ({type(error).__name__}); nothing was written. Go on without it.", True
        return ToolMessage(escaped(text), tool_call_id=runtime.tool_call_id or "", name=name, status="error" if is_failed else "success")


def _said(text: str) -> str:
    return clipped(readable(text), _LONGEST)


def _place(runtime: ToolRuntime) -> tuple[str, str]:
    thread, namespace = thread_in(runtime.config)
    return str(thread or ""), namespace


def _messages(state: Any) -> Sequence[BaseMessage]:
    found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return as_messages(found) if found else ()


def _places(given: Sequence[str]) -> tuple[tuple[CodePlace, ...], list[str]]:
    found, unread = [], []
    for text in given[:_PLACES]:
        try:
            found.append(CodePlace.read(readable(text)))
        except (ValueError, ValidationError):
            unread.append(clipped(readable(text), 80))
    return tuple(found), unread


_TRACE_ABOUT = (
    "Note in the work log what only you know: what comes next, what is in the way, what was decided and what was turned down for it. "
    "It outlives every compaction. Steps that took effect are noted without you.\n\n"
    "Args:\n    state: `next`, `blocked` or `decided`.\n    text: What, in one sentence; of a decision: what was chosen.\n"
    "    at: Where in the code: 'path', 'path::symbol' or 'path:12'.\n    why: Of a decision: why.\n"
    "    rejected: Of a decision: each option that was turned down, and why.\n"
    "    closes: Numbers of earlier entries that say `next` or `blocked` and are so no more."
)
_WRITE_ABOUT = (
    "Write a hand-over of the work so far for whoever goes on: goal, done, not done, anchors, what must not be done, next action, decisions. "
    "It is made from the record; one is made before each compaction without you.\n\n"
    "Args:\n    next_action: What comes next, in one sentence, where the record does not say so."
)
_READ_ABOUT = (
    "Read the newest hand-over of this work and the end of the work log.\n\nArgs:\n    number: Of an earlier hand-over; leave it out for the newest."
)
