"""The compactions that providers made of a thread's context: when, of which version, told by which answer. No text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import ValidationError

from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.provider_compaction import ProviderCompaction, ProviderCompactionEntry
from langchain_ctxguard.ports import Clock, Log

PROVIDER_COMPACTIONS = "provider_compactions"


class HasLog(Protocol):
    """What a `GuardStore` has, as far as this log needs it."""

    log: Any
    tenant: str


class ProviderCompactionLog:
    """Writes and reads them, one stream for each thread."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._tenant = store.tenant
        self._clock: Clock = clock or (lambda: datetime.now(UTC))

    def note(self, place: ContextPlace, compaction: ProviderCompaction, *, version: int) -> bool:
        """Put one on record, and say whether it was not there yet: an answer under an id is noted once, whoever finds it again.

        Raises:
            StoreError: the store cannot be reached.
        """
        if compaction.message and any(entry.compaction.message == compaction.message for entry in self.all(place.thread)):
            return False
        entry = ProviderCompactionEntry(at=self._clock(), namespace=place.namespace, version=version, compaction=compaction)
        data = encode_json(entry.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
        self._log.append(self._stream(place.thread), [data])
        return True

    def all(self, thread: str) -> list[ProviderCompactionEntry]:
        """Return those of a thread, oldest first; what a later version of this package wrote is left out."""
        found = []
        for entry in self._log.read(self._stream(thread)):
            try:
                found.append(ProviderCompactionEntry.model_validate_json(entry.body))
            except ValidationError:
                continue
        return found

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=PROVIDER_COMPACTIONS, key=thread)
