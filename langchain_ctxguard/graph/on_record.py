"""A version goes on record before the state knows it, and one the state does not know yet is found again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut, message_keys
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.graph.eviction import Eviction, StateChange
from langchain_ctxguard.ports import Clock
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.versions import VersionLog


@dataclass(frozen=True, slots=True)
class Work:
    """Ask the store; off the event loop where it may block."""

    call: Callable[[], Any]
    blocks: bool


class OnRecord:
    """The versions of a guard's threads, in the steps of its calls."""

    def __init__(
        self,
        store: GuardStore,
        record: Callable[[ContextEvent], None],
        *,
        kept: int,
        eviction: Callable[[VersionLog], Eviction],
        clock: Clock | None = None,
    ) -> None:
        """Bind a store, who is told when it fails, and what becomes of evicted messages."""
        self.versions = VersionLog(store, kept=kept, clock=clock)
        self.eviction = eviction(self.versions)
        self._blocks = store.is_durable
        self._record = record
        self._troubled: Bounded[bool] = Bounded(1_024)
        self._apart: Bounded[tuple[int, int, str]] = Bounded(1_024)
        """Where record and state were found not to belong together, as on a branch: looked into once, not at every call."""

    def adopted(
        self, place: ContextPlace, head: ContextHead, messages: Sequence[BaseMessage], change: StateChange
    ) -> Generator[Work, Any, ContextHead | None]:
        """Return the head the record is ahead with, `None` where state and record agree or do not belong together.

        Messages it needs and the state has lost are put into `change`; so are those that it lets go.
        """

        def look() -> tuple[ContextHead, list[BaseMessage] | None, set[int]] | None:
            newest = self.versions.newest(place)
            if newest is None or newest.number <= head.version:
                return None
            pair = (newest.number, head.version, "" if head.body is None else head.body.summary_id)
            if self._apart.get(place) == pair:
                return None
            version = self.versions.adoptable(place, head)
            if version is None:
                self._apart.put(place, pair)
                return None
            found = self.versions.head_of(version)
            if found.body is None:
                return None
            back = self.eviction.brought_back(place, head, found.cut.position, messages)
            if find_cut(found.cut, parted(messages if back is None else back).rest) is None:
                return None
            return found, back, self.eviction.leaving(place, found, change) if back is None else set()

        try:
            ahead: tuple[ContextHead, list[BaseMessage] | None, set[int]] | None = yield Work(look, self._blocks)
        except BlobMissingError as error:
            # Thinned or purged since: the state's own head stands.
            self._trouble("read", place, error)
            return None
        except StoreError as error:
            self._trouble("read", place, error)
            return None
        if ahead is None:
            return None
        head, change.back, gone = ahead
        change.gone |= gone
        return head

    def committed(  # noqa: PLR0917 - the steps of one commit
        self,
        place: ContextPlace,
        before: ContextHead,
        after: ContextHead,
        record: CompactionRecord,
        messages: Sequence[BaseMessage],
        change: StateChange,
    ) -> Generator[Work, Any, ContextHead | None]:
        """Return the head to store in the state, once its version is on record; `None` where the store failed and the previous context stays.

        What it takes out of the view is archived first; what may leave the state is put into `change`.
        """
        rest = parted(messages).rest
        first = (find_cut(before.cut, rest) or 0) if before.body is not None else 0
        stop = find_cut(after.cut, rest)
        gone = rest[first : len(rest) if stop is None else stop]
        keys = message_keys(gone, start=before.cut.position if before.body is not None else 0)

        def write() -> tuple[ContextHead, set[int]]:
            archived = self.eviction.put(place, before, after, messages, change.messages)
            head = self.versions.commit(place, before, after, record, replaced=keys, archived=archived)
            return head, self.eviction.leaving(place, head, change)

        try:
            head, leaving = yield Work(write, self._blocks)
        except StoreError as error:
            self._trouble("write", place, error)
            return None
        change.gone |= leaving
        made: ContextHead = head
        return made

    def whole(self, place: ContextPlace, head: ContextHead, messages: Sequence[BaseMessage]) -> Generator[Work, Any, Sequence[BaseMessage]]:
        """Return the whole conversation, what left the state included; what there is where the store has it no more."""
        try:
            back = yield Work(lambda: self.eviction.brought_back(place, head, 0, messages), self._blocks)
        except StoreError as error:
            self._trouble("read", place, error)
            return messages
        return messages if back is None else back

    def checkpoints(self, place: ContextPlace) -> Generator[Work, Any, tuple[int | None, tuple[int, ...]]]:
        """Return the consent entry the newest version was made under, and the marked versions."""
        try:
            found: tuple[int | None, tuple[int, ...]] = yield Work(lambda: self.versions.checkpoints(place), self._blocks)
        except StoreError as error:
            self._trouble("read", place, error)
            return None, ()
        return found

    def noted(self, place: ContextPlace, record: CompactionRecord, error: str | None = None) -> Generator[Work, Any, None]:
        """Put an attempt that made no version on record."""
        try:
            yield Work(lambda: self.versions.note(place, record, error=error), self._blocks)
        except StoreError as failed:
            self._trouble("write", place, failed)

    def _trouble(self, what: str, place: ContextPlace, error: StoreError) -> None:
        key = f"{what} {place.key}"
        if not self._troubled.get(key):
            self._troubled.put(key, value=True)
            detail = (
                f"The store could not be {'read' if what == 'read' else 'written'} ({type(error).__name__}); the previous context stays in force."
            )
            self._record(ContextEvent(kind="store_failed", detail=detail))
