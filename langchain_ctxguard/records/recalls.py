"""What agents looked for in the archive of a thread: queries, what was found and shown, and what was not. Digests here, texts as content."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import ValidationError

from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.recall import RecallEntry
from langchain_ctxguard.ports import Clock, Log
from langchain_ctxguard.records.archive import Contents
from langchain_ctxguard.records.kept import KeptContent

RECALL = "recall"


class HasLog(Protocol):
    """What a `GuardStore` has, as far as this log needs it."""

    log: Any
    tenant: str


class RecallLog:
    """The uses of recall tools, one stream for each thread."""

    def __init__(self, store: HasLog, contents: Contents, *, clock: Clock | None = None) -> None:
        """Bind a store, and where texts are kept."""
        self._log: Log = store.log
        self._tenant = store.tenant
        self._contents = contents
        self._kept = KeptContent(store)
        self._clock: Clock = clock or (lambda: datetime.now(UTC))

    def note(self, place: ContextPlace, asked: str, **about: Any) -> RecallEntry:
        """Put one use on record; what was asked for is kept as content, so that it is erased with the thread.

        Args:
            place: Where.
            asked: The query, or the id.
            about: The other fields of a `RecallEntry`.

        Raises:
            StoreError: the store cannot be reached.
        """
        (address,) = self._contents.put(place.thread, [asked])
        self._kept.keep(place.thread, [address])
        entry = RecallEntry(at=self._clock(), namespace=place.namespace, asked=address, **about)
        data = encode_json(entry.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
        self._log.append(self._stream(place.thread), [data])
        return entry

    def all(self, thread: str) -> list[RecallEntry]:
        """Return the uses in a thread, oldest first; what a later version of this package wrote is left out."""
        found = []
        for entry in self._log.read(self._stream(thread)):
            try:
                found.append(RecallEntry.model_validate_json(entry.body))
            except ValidationError:
                continue
        return found

    def asked(self, thread: str, entries: Sequence[RecallEntry]) -> list[str]:
        """Return what was asked for, in words.

        Raises:
            BlobMissingError: it was erased.
        """
        return [str(text) for text in self._contents.get(thread, [entry.asked for entry in entries])]

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=RECALL, key=thread)
