"""Reconciliations on a log: one stream for each context, folded anew when it moves. Types and addresses on the log, words apart."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.core.reconciling import folded
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.reconcile import RECONCILE_EVENT, ReconcileEvent, ReconcileState, WorkStatus
from langchain_ctxguard.domain.value import Value, canonical_json
from langchain_ctxguard.domain.workspace import Survey
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, Clock, Log
from langchain_ctxguard.records.folds import Folds, opened, sealed
from langchain_ctxguard.records.versions import HasLog

RECONCILE = "reconcile"
_KEPT = 512


class _Fold(NamedTuple):
    rows: int
    state: ReconcileState


class _Row(NamedTuple):
    """What stands on the log of an event."""

    number: int
    type: str
    content: str


class Recorded(NamedTuple):
    """An event as it is on record."""

    number: int
    type: str
    event: ReconcileEvent | None
    """`None`: its words were erased."""


class ReconcileLog:
    """Reads and writes reconciliations. Safe under threads; what is remembered can be lost at any time."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))
        self._rows: Folds[tuple[_Row, ...]] = Folds(self._log, _added, ())
        self._folds: OrderedDict[ContextPlace, _Fold] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, place: ContextPlace) -> tuple[int, ReconcileState]:
        """Return the number of the last entry and what the events of a context add up to. An event whose words were erased says nothing any more.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        seq, rows = self._rows.read(self._stream(place))
        with self._lock:
            known = self._folds.get(place, _Fold(0, ReconcileState()))
        if known.rows == len(rows):
            return seq, known.state
        if known.rows > len(rows):
            known = _Fold(0, ReconcileState())
        new = [row.content for row in rows[known.rows :]]
        contents = self._blobs.get(reconcile_space(place.thread), list(dict.fromkeys(new)))
        events = [_event(contents[address]) for address in new if address in contents]
        found = _Fold(len(rows), folded(events, known.state))
        with self._lock:
            self._folds[place] = found
            self._folds.move_to_end(place)
            while len(self._folds) > _KEPT:
                self._folds.popitem(last=False)
        return seq, found.state

    def on_record(self, place: ContextPlace) -> list[Recorded]:
        """Return every event of a context, oldest first; of one whose words were erased, its number and type.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        _, rows = self._rows.read(self._stream(place))
        contents = self._blobs.get(reconcile_space(place.thread), list(dict.fromkeys(row.content for row in rows)))
        events = {address: _event(data) for address, data in contents.items()}
        return [Recorded(row.number, row.type, events.get(row.content)) for row in rows]

    def append(self, place: ContextPlace, *events: ReconcileEvent, expected: int | None = None) -> None:
        """Put events on record.

        Raises:
            LogConflictError: the stream does not end at `expected`: others were faster.
            StoreError: the store cannot be written.
        """
        addresses = self._put(place, events)
        bodies = [sealed({"type": event.type, "content": address}) for event, address in zip(events, addresses, strict=True)]
        self._log.append(self._stream(place), bodies, expected=expected)

    def keep(self, place: ContextPlace, value: WorkStatus | Survey) -> str:
        """Keep a status or a survey and return its address.

        Raises:
            StoreError: the store cannot be written.
        """
        return self._put(place, [value])[0]

    def status(self, place: ContextPlace, address: str) -> WorkStatus | None:
        """Return a status that was kept, `None` where it was erased.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        data = self._content(place, address)
        return None if data is None else WorkStatus.model_validate_json(data)

    def survey(self, place: ContextPlace, address: str) -> Survey | None:
        """Return a survey that was kept, `None` where there is none or it was erased.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        data = self._content(place, address)
        return None if data is None else Survey.model_validate_json(data)

    def purge_thread(self, thread: str) -> int:
        """Erase the words of a thread's reconciliations and return how many contents that were. Numbers and their chain stay."""
        with self._lock:
            for place in [place for place in self._folds if place.thread == thread]:
                del self._folds[place]
        return self._blobs.purge_space(reconcile_space(thread))

    def _content(self, place: ContextPlace, address: str) -> bytes | None:
        return self._blobs.get(reconcile_space(place.thread), [address]).get(address) if address else None

    def _put(self, place: ContextPlace, values: Sequence[Value]) -> list[str]:
        return self._blobs.put(
            reconcile_space(place.thread), [encode_json(value.model_dump(mode="json", exclude_defaults=False)) for value in values]
        )

    def _stream(self, place: ContextPlace) -> Stream:
        return Stream(tenant=self._tenant, kind=RECONCILE, key=place.key)


def _added(entries: Sequence[Entry], rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    return (*rows, *map(_row, entries))


def _row(entry: Entry) -> _Row:
    try:
        data = opened(entry)
        return _Row(entry.seq, str(data["type"]), str(data["content"]))
    except (ValueError, KeyError, TypeError) as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no reconciliation this package can read. Upgrade langchain-ctxguard if a later version wrote it."
        )
        raise StoreError(msg) from error


def _event(data: bytes) -> ReconcileEvent:
    try:
        return RECONCILE_EVENT.validate_python(json.loads(data))
    except (ValueError, ValidationError) as error:
        msg = "What a reconciliation names as its words is none this package can read. Upgrade langchain-ctxguard if a later version wrote it."
        raise StoreError(msg) from error


def reconcile_space(thread: str) -> str:
    """Return the space in which the words of a thread's reconciliations rest."""
    return canonical_json(["reconcile", thread])
