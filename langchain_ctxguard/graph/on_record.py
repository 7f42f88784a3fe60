"""A version goes on record before the state knows it, and one the state does not know yet is found again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.identity import find_cut, message_keys
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.graph.bounded import Bounded
from langchain_ctxguard.ports import Clock
from langchain_ctxguard.records.versions import VersionLog


@dataclass(frozen=True, slots=True)
class Work:
    """Ask the store; off the event loop where it may block."""

    call: Callable[[], Any]
    blocks: bool


class OnRecord:
    """The versions of a guard's threads, in the steps of its calls."""

    def __init__(self, store: GuardStore, record: Callable[[ContextEvent], None], *, kept: int, clock: Clock | None = None) -> None:
        """Bind a store, and who is told when it fails."""
        self.versions = VersionLog(store, kept=kept, clock=clock)
        self._blocks = store.is_durable
        self._record = record
        self._troubled: Bounded[bool] = Bounded(1_024)
        self._apart: Bounded[tuple[int, int, str]] = Bounded(1_024)
        """Where record and state were found not to belong together, as on a branch: looked into once, not at every call."""

    def adopted(self, place: ContextPlace, head: ContextHead, messages: Sequence[BaseMessage]) -> Generator[Work, Any, ContextHead | None]:
        """Return the head the record is ahead with, `None` where state and record agree or do not belong together."""

        def look() -> ContextHead | None:
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
            return self.versions.head_of(version)

        try:
            found: ContextHead | None = yield Work(look, self._blocks)
        except BlobMissingError:
            # Thinned or purged since: the state's own head stands.
            return None
        except StoreError as error:
            self._trouble("read", place, error)
            return None
        if found is None or found.body is None:
            return None
        return found if find_cut(found.cut, messages) is not None else None

    def committed(
        self, place: ContextPlace, before: ContextHead, after: ContextHead, record: CompactionRecord, messages: Sequence[BaseMessage]
    ) -> Generator[Work, Any, ContextHead | None]:
        """Return the head to store in the state, once its version is on record; `None` where the store failed and the previous context stays."""
        first = (find_cut(before.cut, messages) or 0) if before.body is not None else 0
        stop = find_cut(after.cut, messages)
        gone = messages[first : len(messages) if stop is None else stop]
        keys = message_keys(gone, start=first)
        try:
            head: ContextHead = yield Work(lambda: self.versions.commit(place, before, after, record, replaced=keys), self._blocks)
        except StoreError as error:
            self._trouble("write", place, error)
            return None
        return head

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
