"""The standing state of threads on a log: a stream of its own for each thread, appended to by guards and applications, folded anew when it moves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.core.standing import folded
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream, verify
from langchain_ctxguard.domain.standing import (
    ArgumentsReleased,
    ArgumentsReplaced,
    MarkedSynthetic,
    Mode,
    ModeSet,
    OpenQuestion,
    Permission,
    PermissionsSet,
    PhaseClosed,
    PhaseEnded,
    QuestionAnswered,
    QuestionAsked,
    Replaced,
    StandingChange,
    StandingEvent,
    StandingState,
)
from langchain_ctxguard.errors import ConfigurationError, LogTamperedError, StoreError
from langchain_ctxguard.ports import Clock, Log

KIND = "standing"
_KEPT = 4_096
_PERMISSIONS = ("allow", "ask", "deny")


class _Fold(NamedTuple):
    last: Entry | None
    state: StandingState


class StandingLog:
    """Reads and writes standing state. Safe under threads; what a stream adds up to is kept until the stream moves."""

    def __init__(self, log: Log, *, tenant: str = "default", clock: Clock | None = None, forgets: bool = False) -> None:
        """Bind a log.

        Args:
            log: Where the events rest.
            tenant: Whose threads.
            clock: Says what time it is; `None`: the system's, in UTC.
            forgets: The log may drop whole threads, as one in memory does: then that one is gone is no sign of tampering.
        """
        self._log = log
        self._forgets = forgets
        self._tenant = tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))
        self._folds: OrderedDict[str, _Fold] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, thread: str) -> StandingState:
        """Return where a thread stands: one cheap question where nothing moved.

        Raises:
            StoreError: it cannot be read, was altered, or entries are gone; then nobody can say what is allowed.
        """
        stream = self._stream(thread)
        with self._lock:
            known = self._folds.get(thread, _Fold(None, StandingState()))
        head = self._log.heads([stream])[0]
        if head == known.state.seq:
            return known.state
        if head < known.state.seq and self._forgets:
            with self._lock:
                self._folds.pop(thread, None)
            known = _Fold(None, StandingState())
        elif head < known.state.seq:
            raise LogTamperedError(stream, seq=head, reason=f"it ended at entry {known.state.seq} before, and ends at {head} now")
        entries = self._log.read(stream, since=known.state.seq)
        if (broken := verify(entries, after=known.last, stream=stream)) is not None:
            raise LogTamperedError(stream, seq=broken, reason="it does not match its chain")
        if not entries:
            return known.state
        fold = _Fold(entries[-1], folded(((entry.seq, _decoded(entry)) for entry in entries), known.state))
        with self._lock:
            kept = self._folds.get(thread)
            if kept is None or kept.state.seq < fold.state.seq:
                self._folds[thread] = fold
            self._folds.move_to_end(thread)
            while len(self._folds) > _KEPT:
                self._folds.popitem(last=False)
        return fold.state

    def set_mode(self, thread: str, mode: Mode | str, *, by: str = "") -> None:
        """Set what a thread's tools may do.

        Raises:
            ConfigurationError: no such mode.
        """
        try:
            known = Mode(mode)
        except ValueError as error:
            msg = f"'{mode}' is no mode; use {', '.join(Mode)}. Nothing was changed."
            raise ConfigurationError(msg) from error
        self._append(thread, ModeSet(mode=known), by)

    def set_permissions(self, thread: str, permissions: Mapping[str, Permission], *, by: str = "") -> None:
        """Set what a person said of single tools; the former map is gone.

        Raises:
            ConfigurationError: a permission that is none.
        """
        for tool, permission in permissions.items():
            if permission not in _PERMISSIONS:
                msg = f"'{permission}' is no permission for '{tool}'; use {', '.join(_PERMISSIONS)}. Nothing was changed."
                raise ConfigurationError(msg)
        self._append(thread, PermissionsSet(permissions=dict(permissions)), by)

    def ask(self, thread: str, message: str, *, run: str = "", by: str = "") -> None:
        """Put on record that the agent ended its turn with a question."""
        self._append(thread, QuestionAsked(question=OpenQuestion(message=message, run=run, at=self.now())), by)

    def answer(self, thread: str, message: str, *, answer: str = "", by: str = "") -> None:
        """Put on record that a person spoke after it."""
        self._append(thread, QuestionAnswered(message=message, answer=answer), by)

    def replace(self, thread: str, tool: str, digest: str, *, by_digest: str, call_id: str = "", by: str = "") -> None:
        """Put on record that a person had other arguments run than the agent gave."""
        self._append(thread, ArgumentsReplaced(replaced=Replaced(tool=tool, digest=digest, by=by_digest, call_id=call_id, at=self.now())), by)

    def release(self, thread: str, tool: str, digest: str = "", *, by: str = "") -> None:
        """Let the agent use replaced arguments again; without a digest, all of a tool."""
        self._append(thread, ArgumentsReleased(tool=tool, digest=digest), by)

    def end_phase(self, thread: str, reason: str, *, by: str = "") -> None:
        """Put on record that a stage of the work is over; the next model call of the thread compacts."""
        self._append(thread, PhaseEnded(reason=reason), by)

    def close_phase(self, thread: str, *, by: str = "") -> None:
        """Put on record that this was seen to."""
        self._append(thread, PhaseClosed(), by)

    def mark_synthetic(self, thread: str, messages: Sequence[str], *, by: str = "") -> None:
        """Put on record that messages in the user role are no person's."""
        self._append(thread, MarkedSynthetic(messages=tuple(messages)), by)

    def _append(self, thread: str, change: StandingChange, by: str) -> None:
        event = StandingEvent(change=change, recorded_by=by, at=self.now())
        self._log.append(self._stream(thread), [encode_json(event.model_dump(mode="json", exclude_none=True))])

    def _stream(self, thread: str) -> Stream:
        if not thread:
            msg = "Standing state is that of a thread, and none is named. Nothing was changed; pass its `thread_id`."
            raise ConfigurationError(msg)
        return Stream(tenant=self._tenant, kind=KIND, key=thread)


def _decoded(entry: Entry) -> StandingEvent:
    try:
        return StandingEvent.model_validate_json(entry.body)
    except ValidationError as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no standing event this package can read. Nothing was changed, and tools that change something "
            "are denied. Upgrade langchain-ctxguard if a later version wrote it."
        )
        raise StoreError(msg) from error
