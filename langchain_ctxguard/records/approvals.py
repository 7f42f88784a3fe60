"""What was asked and answered about a thread's calls, what was begun and what came of it: typed events on a log, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from langchain_ctxguard.core.calls import folded
from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.tool_call import CALL_EVENT, CallEvent, CallLedger, Effects, EffectState, Released
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Log
from langchain_ctxguard.records.folds import Folds, opened, sealed
from langchain_ctxguard.records.versions import HasLog

APPROVALS = "approvals"


class ApprovalLog:
    """The calls of threads. Safe under threads, and among processes where the log can compare before it writes."""

    def __init__(self, store: HasLog) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._tenant = store.tenant
        self._folds: Folds[CallLedger] = Folds(self._log, _added, CallLedger())

    def read(self, thread: str) -> CallLedger:
        """Return what a thread's stream adds up to now; one cheap question where nothing was added.

        Raises:
            StoreError: the log cannot be read, or holds what this package cannot.
        """
        return self._folds.read(self._stream(thread))[1]

    def append(self, thread: str, events: Sequence[CallEvent], *, expected: int | None = None) -> CallLedger:
        """Put events on record and return what the stream adds up to with them.

        Raises:
            LogConflictError: somebody appended since `expected`.
            StoreError: the log cannot be written.
        """
        stream = self._stream(thread)
        bodies = [sealed({**event.model_dump(mode="json", exclude_defaults=True), "type": event.type}) for event in events]
        added = self._log.append(stream, bodies, expected=expected)
        return self._folds.added(stream, added)[1]

    def open_effects(self, thread: str, *, now: datetime) -> tuple[EffectState, ...]:
        """Return the calls of a thread that were begun and of which nobody knows what came of them.

        Raises:
            StoreError: the log cannot be read.
        """
        return tuple(state for state in self.read(thread).effects.values() if state.standing(now) in {Effects.RUNNING, Effects.UNKNOWN})

    def release(self, thread: str, effect: str, *, by: str, at: datetime, role: str | None = None) -> None:
        """Let a call run again that was begun or has run: for the application, once a person has looked up what came of it.

        Raises:
            StoreError: no such call is on record, or the log cannot be written.
        """
        if effect not in self.read(thread).effects:
            msg = f"No call '{effect}' of thread '{thread}' is on record. Nothing was changed; `open_effects` lists those there are."
            raise StoreError(msg)
        self.append(thread, [Released(effect=effect, by=Approver(id=by, role=role), at=at)])

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=APPROVALS, key=thread)


def _added(entries: Sequence[Entry], ledger: CallLedger) -> CallLedger:
    return folded([(entry.seq, _event(entry)) for entry in entries], ledger)


def _event(entry: Entry) -> CallEvent:
    try:
        return CALL_EVENT.validate_python(opened(entry))
    except ValueError as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no event of a call this package can read. Nothing was changed, and nothing that rests on it is "
            "allowed. Upgrade langchain-ctxguard if a later version wrote it."
        )
        raise StoreError(msg) from error
