"""Content that no checkpoint names any more: set aside first, erased later, and given back if somebody needs it after all.

A writer may rely on content a collection is about to remove: it found it there a moment ago, or names it in a checkpoint that is not written yet.
So nothing is erased at once. What seems unneeded is moved to a batch of its own; a reader that misses it finds it there and puts it back; and a
batch is erased only after a delay, and only what nothing leads to at that time. The stream of a thread tells writers that something was moved:
whoever kept in mind what is stored forgets it, and stores it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import Value, canonical_json
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, Clock, Log

COLLECTED = "collected"
_AT_ONCE = 2_000


class _Store(Protocol):
    log: Any
    blobs: Any
    tenant: str


class Batch(Value):
    """What one collection set aside."""

    thread: str
    number: int
    at: datetime

    @property
    def space(self) -> str:
        """Where it rests."""
        return canonical_json(["collected", self.thread, self.number])


class Collections:
    """The collections of the threads of a store. Safe under threads and processes."""

    def __init__(self, store: _Store, *, clock: Clock | None = None) -> None:
        """Bind a `GuardStore`."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self._clock = clock or (lambda: datetime.now(UTC))

    def epoch(self, thread: str) -> int:
        """Return a number that moves before content of the thread is moved or erased: one cheap question."""
        return self._log.heads([self._stream(thread)])[0]

    def begin(self, thread: str) -> Batch:
        """Announce a collection, before anybody looks at what is needed.

        Raises:
            LogConflictError: somebody else began one at this moment.
        """
        at = self._clock()
        (entry,) = self._append(thread, {"began": at.isoformat()}, expected=self.epoch(thread))
        return Batch(thread=thread, number=entry.seq, at=at)

    def set_aside(self, batch: Batch, addresses: Sequence[str]) -> int:
        """Move content into the batch, and return how many contents that were."""
        space, moved = thread_space(batch.thread), 0
        for start in range(0, len(addresses), _AT_ONCE):
            some = list(addresses[start : start + _AT_ONCE])
            moved += self._moved(space, batch.space, some)
        return moved

    def waiting(self, thread: str) -> list[Batch]:
        """Return the batches that are not erased, newest first.

        Raises:
            StoreError: an entry cannot be read.
        """
        began: dict[int, Batch] = {}
        for entry in self._log.read(self._stream(thread)):
            body = _body(entry)
            if "began" in body:
                began[entry.seq] = Batch(thread=thread, number=entry.seq, at=datetime.fromisoformat(body["began"]))
            elif "erased" in body:
                began.pop(body["erased"], None)
            elif "purged" in body:
                began.clear()
        return sorted(began.values(), key=lambda batch: -batch.number)

    def give_back(self, thread: str, addresses: Iterable[str]) -> dict[str, bytes]:
        """Return what of these addresses was set aside, and put it back where it was."""
        wanted = set(addresses)
        found: dict[str, bytes] = {}
        for batch in self.waiting(thread) if wanted else []:
            found |= self._blobs.get(batch.space, sorted(wanted - set(found)))
            if len(found) == len(wanted):
                break
        if found:
            self._blobs.put(thread_space(thread), list(found.values()), addresses=list(found))
        return found

    def erase(self, batch: Batch, needed: set[str]) -> int:
        """Erase a batch for good, give back what is needed after all, and return how many contents were erased."""
        there = self._blobs.addresses(batch.space)
        back = [address for address in there if address in needed]
        self._moved(batch.space, thread_space(batch.thread), back)
        erased = self._blobs.purge_space(batch.space)
        self._append(batch.thread, {"erased": batch.number, "contents": erased})
        return erased

    def purge(self, thread: str) -> int:
        """Erase all content of a thread, set aside or not, and return how many contents there were."""
        waiting = self.waiting(thread)
        # Announced before, in case this process ends in between, and after: whoever wrote meanwhile stores anew what it names.
        self._append(thread, {"purging": self._clock().isoformat()})
        erased = self._blobs.purge_space(thread_space(thread)) + sum(self._blobs.purge_space(batch.space) for batch in waiting)
        self._append(thread, {"purged": self._clock().isoformat(), "contents": erased})
        return erased

    def copy(self, source: str, target: str) -> int:
        """Keep for thread `target` also all content of thread `source`, and return how many contents that added."""
        added = self._blobs.copy_space(thread_space(source), thread_space(target))
        return added + sum(self._blobs.copy_space(batch.space, thread_space(target)) for batch in self.waiting(source))

    def _moved(self, source: str, target: str, addresses: Sequence[str]) -> int:
        found = self._blobs.get(source, addresses) if addresses else {}
        if not found:
            return 0
        self._blobs.put(target, list(found.values()), addresses=list(found))
        return self._blobs.drop(source, list(found))

    def _append(self, thread: str, body: dict[str, Any], *, expected: int | None = None) -> list[Entry]:
        return self._log.append(self._stream(thread), [encode_json({"schema_version": 1, **body})], expected=expected)

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=COLLECTED, key=thread)


def _body(entry: Entry) -> dict[str, Any]:
    try:
        body = json.loads(entry.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        msg = f"Entry {entry.seq} of {entry.stream} does not say what was set aside. Nothing was removed; upgrade langchain-ctxguard."
        raise StoreError(msg)
    return body
