"""What was asked and answered about a thread's calls, what was begun and what came of it: typed events on a log, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import ValidationError

from langchain_ctxguard.core.calls import folded
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.tool_call import CALL_EVENT, CallEvent, CallLedger
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Log
from langchain_ctxguard.records.newest import Newest
from langchain_ctxguard.records.versions import HasLog

APPROVALS = "approvals"


class ApprovalLog:
    """The calls of threads. Safe under threads, and among processes where the log can compare before it writes."""

    def __init__(self, store: HasLog) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._tenant = store.tenant
        self._known: Newest[CallLedger] = Newest()

    def read(self, thread: str) -> CallLedger:
        """Return what a thread's stream adds up to now; one cheap question where nothing was added.

        Raises:
            StoreError: the log cannot be read, or holds what this package cannot.
        """
        stream = self._stream(thread)
        known = self._known.get(stream)
        if known is not None and self._log.heads([stream])[0] == known.seq:
            return known
        return self._after(stream, self._log.read(stream, 0 if known is None else known.seq), known)

    def append(self, thread: str, events: Sequence[CallEvent], *, expected: int | None = None) -> CallLedger:
        """Put events on record and return what the stream adds up to with them.

        Raises:
            LogConflictError: somebody appended since `expected`.
            StoreError: the log cannot be written.
        """
        stream = self._stream(thread)
        bodies = [encode_json({"schema_version": 1, **event.model_dump(mode="json", exclude_defaults=True), "type": event.type}) for event in events]
        added = self._log.append(stream, bodies, expected=expected)
        known = self._known.get(stream)
        if known is not None and added and added[0].seq == known.seq + 1:
            return self._after(stream, added, known)
        return self.read(thread)

    def _after(self, stream: Stream, entries: Sequence[Entry], known: CallLedger | None) -> CallLedger:
        ledger = folded([(entry.seq, _event(entry)) for entry in entries], known)
        self._known.put(stream, ledger, ledger.seq)
        return ledger

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=APPROVALS, key=thread)


def _event(entry: Entry) -> CallEvent:
    try:
        if not entry.is_intact():
            msg = "altered"
            raise ValueError(msg)
        data = json.loads(entry.body)
        if data.pop("schema_version", None) != 1:
            msg = "of another version"
            raise ValueError(msg)
        return CALL_EVENT.validate_python(data)
    except (ValueError, ValidationError, AttributeError) as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no event of a call this package can read. Nothing was changed, and nothing that rests on it is "
            "allowed. Upgrade langchain-ctxguard if a later version wrote it; `ctxguard verify` says whether it was altered."
        )
        raise StoreError(msg) from error
