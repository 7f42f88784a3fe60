"""A thread's versions, and the words of its archive, for a copy of the thread. Content is copied by whoever copies the thread's space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
from langchain_ctxguard.ports import TextIndex
from langchain_ctxguard.records.archive import index_space
from langchain_ctxguard.records.versions import VersionLog


class _Store(Protocol):
    log: Any
    blobs: Any
    index: TextIndex
    tenant: str


class Planned(NamedTuple):
    """What one place of a thread gets."""

    source: ContextPlace
    target: ContextPlace
    versions: Sequence[ContextVersion]
    """Those it has not yet, oldest first, as the source has them."""


class ThreadCopy:
    """Copies the record of contexts from one thread to another. Approvals, budgets and consents are of a thread alone and are not copied."""

    def __init__(self, store: _Store) -> None:
        """Bind a `GuardStore`."""
        self._versions = VersionLog(store)
        self._index = store.index

    def plan(self, source: str, target: str) -> list[Planned]:
        """Return what is to be copied, from one look at the source: to be asked before its content is copied, which then holds all they name.

        Raises:
            StoreError: the target has versions of its own.
        """
        if source == target:
            return []
        places = self._versions.places_of(source)
        return [self._planned(place, ContextPlace(thread=target, namespace=place.namespace)) for place in places]

    def carry_out(self, plan: Sequence[Planned]) -> int:
        """Copy, and return how many versions were. To do it twice is to do it once: what a crash left undone is done by the next call."""
        for place in plan:
            # The words first: what a version lists can be found.
            self._index.copy_space(index_space(place.source), index_space(place.target))
            for version in place.versions:
                self._versions.copy(version, place.target)
        return sum(len(place.versions) for place in plan)

    def _planned(self, source: ContextPlace, target: ContextPlace) -> Planned:
        return Planned(source, target, self._versions.not_copied(source, target))
