"""Hand-overs of threads, numbered: on record where a folder may be lost or cannot be written. Numbers on the log, words apart."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.ports import BlobStore, Log
from langchain_ctxguard.records.folds import opened, sealed
from langchain_ctxguard.records.versions import HasLog

HANDOFFS = "handoffs"
_ATTEMPTS = 20


class Recorded(NamedTuple):
    """A hand-over as it is on record."""

    number: int
    at: datetime
    handoff: Handoff | None
    """`None`: its words were erased."""


class HandoffLog:
    """Reads and writes hand-overs, one stream for each conversation. Nothing is kept in memory."""

    def __init__(self, store: HasLog) -> None:
        """Bind a `GuardStore`."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant

    def append(self, handoff: Handoff) -> Handoff:
        """Put a hand-over on record and return it with its number.

        Raises:
            StoreError: the store cannot be reached, or others were faster every time.
        """
        stream = self._stream(handoff.thread, handoff.namespace)
        for _ in range(_ATTEMPTS):
            last = self._log.heads([stream])[0]
            numbered = handoff.model_copy(update={"number": last + 1})
            (address,) = self._blobs.put(handoffs_space(handoff.thread), [encode_json(numbered.model_dump(mode="json"))])
            try:
                self._log.append(stream, [sealed({"content": address, "at": numbered.made_at.isoformat()})], expected=last)
            except LogConflictError:
                continue
            return numbered
        msg = f"Others wrote hand-overs of thread '{handoff.thread}' {_ATTEMPTS} times in a row. Nothing was written; try again."
        raise StoreError(msg)

    def count(self, thread: str, namespace: str = "") -> int:
        """Return the number of the newest hand-over of a conversation, 0 for none."""
        return self._log.heads([self._stream(thread, namespace)])[0]

    def newest(self, thread: str, namespace: str = "") -> Handoff | None:
        """Return the newest hand-over of a conversation, `None` where there is none or it was erased."""
        stream = self._stream(thread, namespace)
        last = self._log.heads([stream])[0]
        return None if last == 0 else self.numbered(thread, last, namespace)

    def numbered(self, thread: str, number: int, namespace: str = "") -> Handoff | None:
        """Return a hand-over by its number, `None` where there is none or it was erased.

        Raises:
            StoreError: it cannot be read.
        """
        entry = next(iter(self._log.read(self._stream(thread, namespace), since=number - 1)), None)
        return None if entry is None or entry.seq != number else self._recorded(thread, entry).handoff

    def on_record(self, thread: str, namespace: str = "") -> list[Recorded]:
        """Return every hand-over of a conversation with its number and moment, oldest first; of one that was erased, these alone.

        Raises:
            StoreError: it cannot be read.
        """
        return [self._recorded(thread, entry) for entry in self._log.read(self._stream(thread, namespace))]

    def _recorded(self, thread: str, entry: Entry) -> Recorded:
        try:
            row = opened(entry)
            data = self._blobs.get(handoffs_space(thread), [row["content"]]).get(row["content"])
            return Recorded(entry.seq, datetime.fromisoformat(row["at"]), None if data is None else Handoff.model_validate(json.loads(data)))
        except (ValueError, KeyError, ValidationError) as error:
            msg = f"Entry {entry.seq} of {entry.stream} is no hand-over this package can read. Upgrade langchain-ctxguard."
            raise StoreError(msg) from error

    def purge_thread(self, thread: str) -> int:
        """Erase the words of a thread's hand-overs, sub-agents included, and return how many they were. Numbers and their chain stay."""
        return self._blobs.purge_space(handoffs_space(thread))

    def _stream(self, thread: str, namespace: str) -> Stream:
        return handoff_stream(self._tenant, thread, namespace)


def handoff_stream(tenant: str, thread: str, namespace: str) -> Stream:
    """Return the stream of a conversation's hand-overs."""
    return Stream(tenant=tenant, kind=HANDOFFS, key=thread if not namespace else canonical_json([thread, namespace]))


def handoffs_space(thread: str) -> str:
    """Return the space in which the words of a thread's hand-overs rest."""
    return canonical_json(["handoffs", thread])
