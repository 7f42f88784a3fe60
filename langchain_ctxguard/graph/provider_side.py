"""What a provider does to the context on its own servers: noticed in its answers, put on record, answered by saying again what may be lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.provider_compaction import Anchor, anchor_at, anchor_in, lost_fields, newest_in, provider_compaction, said_again
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.provider_compaction import ProviderCompaction
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.provider_settings import dropping_settings
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.steps import place_of
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.provider_compactions import ProviderCompactionLog

_ANCHORS = 256


@dataclass(frozen=True, slots=True)
class _Searched:
    """How far the list of a thread was searched, and what was found."""

    count: int
    first: BaseMessage
    last: BaseMessage
    at: int | None
    """Index of the newest answer that tells of a compaction."""

    def goes_on_in(self, messages: Sequence[BaseMessage]) -> bool:
        """Say whether a list begins with what was searched, as its ends tell: to compare all of it would cost more at every turn."""
        return len(messages) >= self.count and _is_same(messages[0], self.first) and _is_same(messages[self.count - 1], self.last)


def _is_same(one: BaseMessage, other: BaseMessage) -> bool:
    return one is other or (one.id is not None and one.id == other.id and one.type == other.type)


class ProviderSide:
    """Watches what providers do. A conversation without a provider's compaction costs one look at each of its answers."""

    def __init__(
        self,
        record: Callable[[Any], None],
        *,
        memory: Memory,
        log: ProviderCompactionLog | None,
        fields: FieldPlan | None,
        count: CountTokens,
        blocks: bool,
    ) -> None:
        """Bind who is told, where it goes on record (`None`: nowhere), how values are found, and whether the store may wait for a database."""
        self._record = record
        self._memory = memory
        self._log = log
        self._fields = fields
        self._count = count
        self._blocks = blocks
        self._lost: Bounded[tuple[ControlField, ...]] = Bounded(_ANCHORS)
        self._searched: Bounded[_Searched] = Bounded(_ANCHORS)

    def check(self, model: Any, settings: Mapping[str, Any] | None = None) -> None:
        """Warn once of each setting by which the provider may drop the rules."""
        for text in dropping_settings(model, settings):
            if self._memory.is_first(("dropping", text)):
                detail = f"The model's provider may drop rules from a request: {text}."
                self._record(ContextEvent(kind="provider_may_drop_rules", detail=detail))
                warnings.warn(f"{detail} Turn it off and let the guard compact: it keeps the rules in every request.", UserWarning, stacklevel=2)

    def noted(self, call: Call, messages: Sequence[BaseMessage], version: int) -> Generator[Work, Any, None]:
        """Tell the hooks of the compactions that answers tell of, and put them on record; each once in this process, and once on record.

        A store that refuses ends no run: what was found is told to the hooks all the same, and the message tells of it as long as it is there.
        """
        for message in messages:
            found = provider_compaction(message)
            if found is None or (found.message and not self._memory.is_first(("provider on record", call.thread, found.message))):
                continue
            is_new = yield from self._on_record(call, found, version)
            if is_new:
                self._tell(call.thread, found, version)

    def told(self, thread: Any, messages: Sequence[BaseMessage], version: int) -> None:
        """Tell the hooks of the newest compaction a view shows, for whoever cannot wait for a store."""
        anchor = anchor_in(messages)
        if anchor is not None and anchor.found.message:
            self._tell(thread, anchor.found, version)

    def _tell(self, thread: Any, found: ProviderCompaction, version: int) -> None:
        if not found.message or self._memory.is_first(("provider told", thread, found.message)):
            self._record(event_of(found, version))

    def _on_record(self, call: Call, found: ProviderCompaction, version: int) -> Generator[Work, Any, bool]:
        log, place = self._log, place_of(call)
        if log is None or place is None:
            return True
        try:
            is_new: bool = yield Work(lambda: log.note(place, found, version=version), self._blocks)
        except StoreError as error:
            detail = f"A compaction by the provider could not be put on record ({type(error).__name__}); the run goes on."
            self._record(ContextEvent(kind="store_failed", detail=detail, version=version))
            return True
        return is_new

    def again(
        self, messages: Sequence[BaseMessage], *, leads: Sequence[BaseMessage], head: ContextHead, rules: Sequence[Constraint], thread: Any
    ) -> tuple[int, list[BaseMessage]]:
        """Return what stands again in a view, and at which index of `messages`; nothing where no provider compacted it.

        Args:
            messages: The view, without its system message and without `leads`.
            leads: What is sent in front of the view.
            head: Of the version in force.
            rules: The rules in force.
            thread: Names the thread in the cache.
        """
        anchor = self._newest(messages, thread)
        if anchor is None:
            return 0, []
        front = [] if head.body is None else rendered(head.body, version=head.version)
        made = [*leads, *front]
        shown = [message for message in messages if not any(message == one for one in front)]
        moved = len(messages) - len(shown)
        own = Anchor(anchor.found, anchor.at - moved, anchor.stop - moved)
        fields = self._fields_before(shown, own, head, thread)
        return anchor.stop, said_again(shown, own, made=made, rules=rules, fields=fields)

    def _newest(self, messages: Sequence[BaseMessage], thread: Any) -> Anchor | None:
        """Return the newest compaction; what was searched at an earlier call is not searched again."""
        if not messages:
            return None
        known = self._searched.get(thread)
        if known is None or not known.goes_on_in(messages):
            at = newest_in(messages)
        elif (at := newest_in(messages, known.count)) is None:
            at = known.at
        self._searched.put(thread, _Searched(len(messages), messages[0], messages[-1], at))
        return None if at is None else anchor_at(messages, at)

    def _fields_before(self, shown: Sequence[BaseMessage], anchor: Anchor, head: ContextHead, thread: Any) -> tuple[ControlField, ...]:
        if self._fields is None:
            return ()
        known = () if head.body is None else head.body.evidence.fields
        # Fields of the version stand in its evidence, which is said again as a whole where all before the answer may be gone.
        told = {field.field_id for field in known} if anchor.found.kind == "summarized" else set()
        key = (thread, anchor.found.message, anchor.at, head.version)
        lost = self._lost.get(key) if anchor.found.message else None
        if lost is None:
            lost = lost_fields(shown, anchor, self._fields, known)
            self._lost.put(key, lost)
        values = {(field.field_id, field.raw) for field in known}
        return tuple(field for field in lost if field.field_id not in told or (field.field_id, field.raw) not in values)

    def tokens(self, messages: Sequence[BaseMessage]) -> int:
        """Return what is said again costs."""
        return self._count(messages) if messages else 0


def event_of(found: ProviderCompaction, version: int) -> ContextEvent:
    """Return what hooks are told."""
    who = found.provider or "The provider"
    if found.kind == "summarized":
        detail = f"{who} replaced what came before its answer by a summary of its own; rules, evidence and critical values stand again behind it."
    else:
        detail = (
            f"{who} left out {found.cleared_tool_uses} tool results ({found.cleared_tokens} tokens); critical values of tools stand again behind."
        )
    return ContextEvent(kind="provider_compacted", detail=detail, version=version, compacted=found)
