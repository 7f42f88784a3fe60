"""The work log of threads: appended to, numbered without gaps, folded anew when it moves. Numbers and digests on the log, words apart."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.domain.citation import action_ref
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.domain.worklog import WorkEntry, WorkState
from langchain_ctxguard.errors import ConfigurationError, LogConflictError, StoreError
from langchain_ctxguard.ports import BlobStore, Clock, Log
from langchain_ctxguard.records.folds import Folds, opened, sealed
from langchain_ctxguard.records.versions import HasLog

WORKLOG = "worklog"
_ATTEMPTS = 20
_THREADS = 64


class _Row(NamedTuple):
    """What stands on the log of an entry."""

    number: int
    state: WorkState
    content: str
    call: str
    effect: str
    at: datetime


class Recorded(NamedTuple):
    """An entry as it is on record."""

    number: int
    state: WorkState
    at: datetime
    call: str
    """Id of the call it is about; empty where none stands behind it."""

    entry: WorkEntry | None
    """`None`: its words were erased."""


class WorkLog:
    """Reads and writes work logs, one stream for each thread. Safe under threads and processes."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Bind a `GuardStore`."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))
        self._folds: Folds[tuple[_Row, ...]] = Folds(self._log, _added, ())
        self._contents: OrderedDict[str, dict[str, WorkEntry]] = OrderedDict()
        self._lock = threading.Lock()

    def append(self, thread: str, entries: Sequence[WorkEntry]) -> tuple[WorkEntry, ...]:
        """Put entries on record and return them with their numbers; what is on record already, by its call and effect, is returned as it is there.

        Two processes may write at once: each number is given once.

        Raises:
            ConfigurationError: no thread is named.
            StoreError: the store cannot be reached, or others were faster every time.
        """
        for _ in range(_ATTEMPTS):
            last, rows = self._folds.read(self._stream(thread))
            known = {(row.call, row.effect, row.state): row for row in rows if row.call}
            new = [entry for entry in entries if (entry.tool_call_id, entry.effect_digest, entry.state) not in known]
            numbered = {id(entry): entry.model_copy(update={"number": last + place}) for place, entry in enumerate(new, start=1)}
            try:
                self._write(thread, [numbered[id(entry)] for entry in new], expected=last)
            except LogConflictError:
                continue
            said = {entry.number: entry for entry in self.read(thread)} if len(new) < len(entries) else {}
            return tuple(
                numbered.get(id(entry)) or _as_on_record(entry, known[entry.tool_call_id, entry.effect_digest, entry.state].number, said)
                for entry in entries
            )
        msg = f"Others wrote to the work log of thread '{thread}' {_ATTEMPTS} times in a row. Nothing was written; try again."
        raise StoreError(msg)

    def read(self, thread: str) -> tuple[WorkEntry, ...]:
        """Return the entries of a thread, oldest first: one cheap question where nothing moved. What was erased is left out.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        _, rows = self._folds.read(self._stream(thread))
        contents = self._known(thread)
        missing = [row.content for row in rows if row.content not in contents]
        for address, data in (self._blobs.get(worklog_space(thread), missing) if missing else {}).items():
            contents[address] = _decoded(data)
        return tuple(_numbered(contents[row.content], row.number) for row in rows if row.content in contents)

    def on_record(self, thread: str) -> tuple[Recorded, ...]:
        """Return every entry of a thread with its number, oldest first; of one that was erased, what stays on the log.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        _, rows = self._folds.read(self._stream(thread))
        entries = {entry.number: entry for entry in self.read(thread)}
        return tuple(Recorded(row.number, row.state, row.at, row.call, entries.get(row.number)) for row in rows)

    def purge_thread(self, thread: str) -> int:
        """Erase the words of a thread's work log and return how many entries that were. Numbers and their chain stay."""
        with self._lock:
            self._contents.pop(thread, None)
        return self._blobs.purge_space(worklog_space(thread))

    def _known(self, thread: str) -> dict[str, WorkEntry]:
        """Return what is remembered of a thread's entries, by address: content that never changes."""
        with self._lock:
            known = self._contents.setdefault(thread, {})
            self._contents.move_to_end(thread)
            while len(self._contents) > _THREADS:
                self._contents.popitem(last=False)
            return known

    def _write(self, thread: str, entries: Sequence[WorkEntry], *, expected: int) -> None:
        if not entries:
            return
        texts = [encode_json(entry.model_dump(mode="json", exclude_defaults=True, exclude={"number"})) for entry in entries]
        addresses = self._blobs.put(worklog_space(thread), texts)
        bodies, refs = [], []
        for entry, address in zip(entries, addresses, strict=True):
            row = {"state": entry.state, "content": address, "call": entry.tool_call_id, "effect": entry.effect_digest, "at": entry.at.isoformat()}
            bodies.append(sealed({key: value for key, value in row.items() if value}))
            refs += [] if not entry.tool_call_id else [action_ref(entry.tool_call_id, thread)]
        self._log.append(self._stream(thread), bodies, expected=expected, refs=refs)
        self._known(thread).update(zip(addresses, entries, strict=True))

    def _stream(self, thread: str) -> Stream:
        if not thread:
            msg = "A work log is that of a thread, and none is named. Nothing was written; pass a `thread_id`."
            raise ConfigurationError(msg)
        return Stream(tenant=self._tenant, kind=WORKLOG, key=thread)


def _added(entries: Sequence[Entry], rows: tuple[_Row, ...]) -> tuple[_Row, ...]:
    return (*rows, *map(_row, entries))


def _row(entry: Entry) -> _Row:
    try:
        data = opened(entry)
        at = datetime.fromisoformat(data["at"])
        return _Row(entry.seq, WorkState(data["state"]), data["content"], data.get("call", ""), data.get("effect", ""), at)
    except (ValueError, KeyError, TypeError) as error:
        msg = f"Entry {entry.seq} of {entry.stream} is no entry of a work log this package can read. Upgrade langchain-ctxguard."
        raise StoreError(msg) from error


def _decoded(data: bytes) -> WorkEntry:
    try:
        return WorkEntry.model_validate(json.loads(data))
    except (ValueError, ValidationError) as error:
        msg = "What a work log names as an entry's words is none this package can read. Upgrade langchain-ctxguard if a later version wrote it."
        raise StoreError(msg) from error


def _numbered(entry: WorkEntry, number: int) -> WorkEntry:
    return entry if entry.number == number else entry.model_copy(update={"number": number})


def _as_on_record(entry: WorkEntry, number: int, said: Mapping[int, WorkEntry]) -> WorkEntry:
    # Its words may be erased; that it is there stays.
    return said.get(number) or _numbered(entry, number)


def worklog_space(thread: str) -> str:
    """Return the space in which the words of a thread's work log rest."""
    return canonical_json(["worklog", thread])
