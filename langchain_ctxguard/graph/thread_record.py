"""What a call asks of its thread's record before it reads anything else: where the thread stands, and what a version should show."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.situation import Crossing
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.copied import NO_COPY, Copied
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.copies import Copies
from langchain_ctxguard.graph.on_record import OnRecord, Work
from langchain_ctxguard.graph.reading import Call, Reader, as_messages, tool_name
from langchain_ctxguard.graph.standing import Standing
from langchain_ctxguard.graph.steps import place_of
from langchain_ctxguard.graph.verify import final_answer
from langchain_ctxguard.graph.whereabouts import Whereabouts


class ThreadRecord:
    """Reads and notes the standing state of threads, in the steps of their calls."""

    def __init__(self, standing: Standing, copies: Copies, reader: Reader, on_record: OnRecord | None, *, blocks: bool) -> None:
        """Bind the records; `blocks`: asking them may wait for a database."""
        self._standing = standing
        self._copies = copies
        self._reader = reader
        self._on_record = on_record
        self._blocks = blocks
        self.blocks = blocks
        """Whether asking the records may wait for a database."""

        self.unread = copies.unread
        """Told of a record that could not be read or written."""

    def stood(self, where: Whereabouts, messages: Sequence[BaseMessage]) -> Generator[Work, Any, StandingState | None]:
        """Return where the thread stands, `None` where that cannot be read; close the open question where a person answered it."""
        if where.thread is None:
            return StandingState()
        try:
            state: StandingState = yield Work(lambda: self._standing.read(where, messages), self._blocks)
        except StoreError as error:
            self._copies.unread(where, error)
            return None
        return state

    def standing_or_none(self, where: Whereabouts) -> StandingState | None:
        """Return where a thread stands, for a look: nothing is judged."""
        try:
            return StandingState() if where.thread is None else self._standing.log.read(where.thread)
        except StoreError as error:
            self._copies.unread(where, error)
            return None

    def as_said(self, messages: Sequence[Any], standing: StandingState | None) -> Sequence[BaseMessage]:
        """Return messages with arguments that were replaced shown as they were called."""
        said = as_messages(messages)
        return said if standing is None else self._standing.as_said(said, standing)

    def renewed(self, call: Call) -> Generator[Work, Any, Call]:
        """Return the call with the record shown as it is now, where a version shows an older one."""
        head = self._reader.head(call.raw_head)
        if not isinstance(head, ContextHead) or not self._copies.may_differ(head, call.where, call.standing):
            return call
        try:
            copied: Copied = yield Work(lambda: self._copies.read(call.where, call.state, call.standing), self._blocks)
        except StoreError as error:
            self._copies.unread(call.where, error)
            return call
        raw = self._copies.renewed(head, call.raw_head, copied, call.where)
        return call if raw is call.raw_head else replace(call, raw_head=raw)

    def noted(self, where: Whereabouts, said: Sequence[BaseMessage]) -> Generator[Work, Any, None]:
        """Put on record what the model's answer does to the standing state."""
        write = self._standing.answered_with(where, final_answer(said), said)
        if write is None:
            return
        try:
            yield Work(write, self._blocks)
        except StoreError as error:
            self._copies.unread(where, error)

    def crossing(self, call: Call) -> Generator[Work, Any, Crossing]:
        """Return what a compaction has to take across by copying, read from the stores just now."""
        place = place_of(call)
        seen_head, checkpoints = (None, ()) if self._on_record is None or place is None else (yield from self._on_record.checkpoints(place))
        unread = None if call.standing is not None else "the standing state"
        copied = NO_COPY
        try:
            copied = yield Work(lambda: self._copies.read(call.where, call.state, call.standing), self._blocks)
        except StoreError as error:
            self._copies.unread(call.where, error)
            unread = type(error).__name__
        tools = {name: self._standing.effect(name, tool) for tool in call.tools if (name := tool_name(tool))}
        return self._copies.crossing(copied, unread=unread, tools=tools, seen_head=seen_head, checkpoints=checkpoints)
