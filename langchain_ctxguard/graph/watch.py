"""What a verifier does in a call: reads what is new, compares what went into a compactor with what came out, puts right what is sent.

For agents and plain graphs alike: `verifier` and `verify_node` only translate. What is remembered here can be lost at any time; that costs a second
look, or the way back to an earlier view, never what is known of a thread: that lies in the state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import is_
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.carried import carried_message
from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.core.known_fields import Extraction, moved_on, unread_from, with_made, without_edited
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.replaced import NOTHING, Replaced, compared, is_said, mark_of, traced
from langchain_ctxguard.core.units import PairScan
from langchain_ctxguard.core.user_patterns import pattern_set
from langchain_ctxguard.core.verify_context import CARRIED_SHARE, Findings, Given, findings_of, placed, record_of, settled
from langchain_ctxguard.domain.config import DEFAULT_WINDOW
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.verification import VerificationOutcome
from langchain_ctxguard.domain.verified import VerifiedHead, read_verified
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.graph.pacing import known_window
from langchain_ctxguard.graph.turns import Turns
from langchain_ctxguard.graph.verdicts import Action, action_for, action_of, asked
from langchain_ctxguard.ports import Clock
from langchain_ctxguard.records.bounded import Bounded

_THREADS = 256
_HEADS = 256
_ENTRIES = 5
_WHOLE = 64
"""Threads whose earlier view is kept so that a rollback can go on; beyond it the values are put back instead."""


@dataclass(frozen=True, slots=True)
class Look:
    """A call about to be made, as far as a verifier looks at it."""

    raw: Any
    """The channel, as the state has it."""

    state: Sequence[BaseMessage]
    """The messages of the state."""

    view: Compiled
    """What would reach the model."""

    thread: tuple[str | None, str] = (None, "")
    before: Sequence[BaseMessage] | None = None
    """What the compactor was given, where the caller has it."""

    rules: tuple[Constraint, ...] = ()
    tools: Sequence[Any] = ()
    model: Any = None
    is_lifted: bool = False
    """What is sent is one list with one system message at its front."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is sent, and what is to be written."""

    view: Compiled
    update: dict[str, Any] | None = None
    """`None`: nothing changed."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a thread last, in this process."""

    digest: str
    messages: Sequence[BaseMessage]
    size: int
    last: str


@dataclass(frozen=True, slots=True)
class _Compared:
    before: Sequence[BaseMessage]
    size: int
    view: list[BaseMessage]
    replaced: Replaced


@dataclass(frozen=True, slots=True)
class _Whole:
    """A conversation whose compaction was rolled back."""

    basis: str
    messages: list[BaseMessage]
    tokens: int


@dataclass(frozen=True, slots=True)
class _Case:
    """One look while it is taken."""

    look: Look
    head: VerifiedHead
    before: Sequence[BaseMessage] | None
    replaced: Replaced
    stored: VerifiedHead = field(default_factory=VerifiedHead)
    """The head as the state has it."""


class Watch:
    """Watches threads for one verifier. Safe under threads."""

    def __init__(
        self,
        turns: Turns,
        *,
        on_loss: Action | None = None,
        on_change: Action | None = None,
        patterns: Any = None,
        timezone: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Wire everything, as `ContextVerifier` documents it."""
        self._turns = turns
        fields = turns.fields
        self._on_loss = fields.settings.on_loss if on_loss is None else action_of("on_loss", on_loss)
        self._on_change = self._on_loss if on_change is None else action_of("on_change", on_change)
        found = fields.patterns if patterns is None else pattern_set(patterns)
        self._extraction = Extraction(found, fields.timezone if timezone is None else timezone, clock or _now)
        # A zone nobody knows is refused while wiring, not in a call.
        moved_on(VerifiedHead(), [HumanMessage("1")], self._extraction)
        self._count = turns.count
        self._settings = turns.settings
        self._tool_tokens = turns.tools_tokens
        self._is_silent = self._on_loss == "warn" and self._on_change == "warn"
        self._heads: Bounded[VerifiedHead] = Bounded(_HEADS)
        self._read: Bounded[_Read] = Bounded(_THREADS)
        self._compared: Bounded[_Compared] = Bounded(_THREADS)
        self._whole: Bounded[_Whole] = Bounded(_WHOLE)
        self._paired: Bounded[tuple[list[BaseMessage], PairScan]] = Bounded(_THREADS)
        self._told: Bounded[bool] = Bounded(1_024)
        self._lock = threading.Lock()
        self._pins: tuple[tuple[Constraint, ...], str] | None = None

    def rules(self, thread: tuple[str | None, str], tools: Sequence[Any]) -> tuple[Constraint, ...]:
        """Return the rules in force for a call."""
        return self._turns.rules(thread=thread[0], tools=tools)

    def read(self, messages: Sequence[BaseMessage], raw: Any, thread: tuple[str | None, str]) -> dict[str, Any] | None:
        """Read what is new in the messages before a compactor sees them; return what is to be written, `None` where nothing is."""
        head = self._head(raw, thread)
        new = moved_on(head, messages, self._extraction, start=self._next(messages, raw, thread))
        update = None if new is head else self._written(new, head, raw)
        digest = _digest(raw if update is None else update)
        if messages:
            self._read.put(thread, _Read(digest, messages, len(messages), mark_of(messages[-1])))
        return update

    def unread(self, messages: Sequence[BaseMessage], raw: Any, thread: tuple[str | None, str]) -> int:
        """Return how many messages `read` would read."""
        start = self._next(messages, raw, thread)
        return len(messages) - (unread_from(self._head(raw, thread), messages) if start is None else start)

    def seen(self, look: Look) -> Seen:
        """Compare what went in with what came out, and return what is to be sent and written.

        Raises:
            CompactionError: a person's answer decides nothing.
        """
        case = self._case(look)
        seen = self._looked(case)
        if look.is_lifted and look.state:
            # No node of a plain graph need have read before the compactor: what stands there now is what the next compaction starts from.
            digest = _digest(look.raw if seen.update is None else seen.update)
            self._read.put(look.thread, _Read(digest, look.state, len(look.state), mark_of(look.state[-1])))
        return seen

    def _looked(self, case: _Case) -> Seen:
        head = case.head
        is_known = head.outcome is not None and case.replaced.basis in {"", head.basis}
        if is_known or not case.replaced.basis:
            view = self._shown(case)
            if view is not None:
                return Seen(view, None if head is case.stored else self._written(head, case.stored, case.look.raw))
            # What was rolled back can be sent no more: too large by now, or another process.
            return self._judged(replace(case, replaced=replace(case.replaced, basis=head.basis)), may_roll_back=False)
        return self._judged(case)

    def _case(self, look: Look) -> _Case:
        stored = self._head(look.raw, look.thread)
        read = self._read.get(look.thread)
        is_fresh = read is not None and read.digest and read.digest == _digest(look.raw) and len(read.messages) == read.size
        before = look.before
        if before is None and is_fresh and read is not None:
            before = read.messages
        if before is None and not look.is_lifted and not _is_same(look.view.messages, look.state):
            before = look.state
        replaced = self._replaced(look, before, stored)
        head = with_made(stored, replaced)
        if not (is_fresh and read is not None and look.state is read.messages):
            head = without_edited(head, read.messages if is_fresh and read is not None else None, look.state)
            head = moved_on(head, look.state, self._extraction)
        return _Case(look, head, before, replaced, stored)

    def _replaced(self, look: Look, before: Sequence[BaseMessage] | None, head: VerifiedHead) -> Replaced:
        found = NOTHING if before is None else self._compared_with(look, before)
        if found.basis or not look.state or head.first in {None, mark_of(look.state[0])}:
            return found
        # What was taken out of the state, nobody here saw it go: another process did, or it went between two runs, or in front of the reading.
        known = {*head.anchors, *(item.message_id for item in head.ledger if item.message_id)}
        return traced(look.view.messages, first=head.first, known=known)

    def _compared_with(self, look: Look, before: Sequence[BaseMessage]) -> Replaced:
        view = look.view.messages
        if view is before or (len(view) >= len(before) and all(map(is_, before, view))):
            return NOTHING
        known = self._compared.get(look.thread)
        if known is not None and _extends(before, known.before, known.size) and len(view) >= len(known.view) and all(map(is_, known.view, view)):
            return known.replaced
        found = compared(before, view)
        self._compared.put(look.thread, _Compared(before, len(before), list(view), found))
        return found

    def _judged(self, case: _Case, *, may_roll_back: bool = True) -> Seen:
        """Judge a compaction, decide, and put on record what it came to."""
        look = case.look
        given = Given(case.head, case.replaced, look.view, case.before, look.state, look.rules)
        findings = findings_of(given, self._extraction)
        outcome, by_person = self._decided(given, findings, may_pause=look.thread[0] is not None and may_roll_back)
        if outcome is VerificationOutcome.ROLLED_BACK:
            whole = self._whole_of(case) if may_roll_back else None
            if whole is None:
                outcome = VerificationOutcome.REPAIRED
            else:
                self._whole.put(look.thread, replace(whole, basis=case.replaced.basis))
        head = settled(given, findings, outcome, room=self._room(look))
        view = self._shown(replace(case, head=head)) or look.view
        record = record_of(given, findings, head, view, self._extraction, by_person=by_person)
        told = (look.thread, head.basis, outcome, head.carried)
        if self._told.get(told) is None:
            self._told.put(told, value=True)
            self._turns.engine.record(record)
        return Seen(view, self._written(head, case.stored, look.raw))

    def _decided(self, given: Given, findings: Findings, *, may_pause: bool) -> tuple[VerificationOutcome, bool]:
        """Return what is done about findings, and whether a person said so."""
        if findings.is_clean:
            return VerificationOutcome.HELD, False
        action = action_for(findings, on_loss=self._on_loss, on_change=self._on_change)
        answer = asked(given, findings) if action == "ask" and may_pause else None
        if answer == "approve":
            return VerificationOutcome.APPROVED, True
        if action == "warn":
            return VerificationOutcome.WARNED, False
        wants_rollback = answer == "rollback" or (answer is None and action == "rollback")
        return VerificationOutcome.ROLLED_BACK if wants_rollback else VerificationOutcome.REPAIRED, answer is not None

    def _shown(self, case: _Case) -> Compiled | None:
        """Return what is sent under a head; `None` where a rolled back view cannot be."""
        look, head = case.look, case.head
        if self._is_silent:
            return look.view
        view = look.view
        if head.outcome is VerificationOutcome.ROLLED_BACK:
            whole = self._whole_of(case)
            if whole is None:
                return None
            self._whole.put(look.thread, whole)
            view = Compiled(view.system, whole.messages)
        if head.outcome in {None, VerificationOutcome.WARNED} and not look.rules and not look.is_lifted:
            return view
        is_paired = head.outcome is VerificationOutcome.REPAIRED and self._is_paired(look.thread, view.messages)
        return placed(head, view, look.rules, pins=self._pinned(look.rules), is_lifted=look.is_lifted, is_paired=is_paired)

    def _is_paired(self, thread: tuple[str | None, str], messages: list[BaseMessage]) -> bool:
        """Say whether no call and no result is torn; what was looked at before is not looked at again. A system message pairs with nothing."""
        with self._lock:
            known = self._paired.get(thread)
            if known is None or len(known[0]) > len(messages) or not all(map(is_, known[0], messages)):
                known = ([], PairScan())
            seen, scan = known
            for message in messages[len(seen) :]:
                if not isinstance(message, SystemMessage):
                    scan.feed(message)
                seen.append(message)
            self._paired.put(thread, known)
            return scan.is_clean

    def _written(self, head: VerifiedHead, stored: VerifiedHead, raw: Any) -> dict[str, Any]:
        """Return a new head as it is written; it is known already when it is read."""
        is_like = isinstance(raw, dict) and isinstance(raw.get("body"), str) and self._head(raw, None) is stored and stored is not _NONE
        data = head.to_dict(like=(stored, raw) if is_like else None)
        self._heads.put(_key(data), head)
        return data

    def _whole_of(self, case: _Case) -> _Whole | None:
        """Return the conversation as it would be without the compaction, `None` where it is not at hand or does not fit the window."""
        look, known = case.look, self._whole.get(case.look.thread)
        stored = case.head if case.head.outcome is VerificationOutcome.ROLLED_BACK else case.stored
        if known is not None and (stored.outcome is not VerificationOutcome.ROLLED_BACK or known.basis != stored.basis):
            known = None
        if known is not None:
            whole = _grown(known, look.state, case.head.made, self._count)
        elif case.before is not None and case.replaced.gone:
            marks = {mark_of(message) for message in (*case.before, *case.replaced.made)}
            messages = [*case.before, *(message for message in look.view.messages if mark_of(message) not in marks)]
            whole = _Whole(case.head.basis, messages, self._count(messages))
        else:
            return None
        system = placed(VerifiedHead(), Compiled(look.view.system, []), look.rules, pins=self._pinned(look.rules)).system
        fixed = (0 if system is None else self._count([system])) + self._tool_tokens(look.tools)
        return whole if whole.tokens + fixed <= self._window(look) else None

    def _room(self, look: Look) -> Callable[[HumanMessage], bool]:
        """Return what says whether the lines of a message with carried fields are few enough; its frame is the same for one and for twenty."""
        most = self._window(look) * CARRIED_SHARE + self._count([carried_message(())])
        return lambda message: self._count([message]) <= most

    def _window(self, look: Look) -> int:
        return known_window(self._settings, look.model) or DEFAULT_WINDOW

    def _pinned(self, rules: tuple[Constraint, ...]) -> str:
        known = self._pins
        if known is None or known[0] is not rules:
            known = (rules, render_rules(rules))
            self._pins = known
        return known[1]

    def _next(self, messages: Sequence[BaseMessage], raw: Any, thread: tuple[str | None, str]) -> int | None:
        """Return where reading goes on, as far as this process knows: messages that taught nothing left no trace in the state."""
        read = self._read.get(thread)
        if read is None or not read.digest or read.digest != _digest(raw) or read.size > len(messages):
            return None
        return read.size if mark_of(messages[read.size - 1]) == read.last else None

    def _head(self, raw: Any, thread: Hashable) -> VerifiedHead:
        """Return the head in a state, decoded once; what is none counts for nothing and is put on record."""
        if not raw:
            return _NONE
        key = _key(raw)
        known = None if key is None else self._heads.get(key)
        if known is not None:
            return known
        found = read_verified(raw)
        if isinstance(found, VerifiedHead):
            if key is not None:
                self._heads.put(key, found)
            return found
        if self._told.get(("fault", thread, found)) is None:
            self._told.put(("fault", thread, found), value=True)
            fault = str(found).replace("_", " ")
            detail = f"What the state says a verifier knows counts for nothing ({fault}); the thread is read anew."
            self._turns.engine.record(ContextEvent(kind="head_refused", detail=detail))
        return _NONE


_NONE = VerifiedHead()


def system_of(given: SystemMessage | str | None) -> SystemMessage | None:
    """Return a system prompt as a message."""
    return SystemMessage(given) if isinstance(given, str) else given


def _is_same(one: Sequence[BaseMessage], other: Sequence[BaseMessage]) -> bool:
    """Say whether two lists hold the same objects: agents hand on a copy of the state's."""
    return one is other or (len(one) == len(other) and all(map(is_, one, other)))


def _extends(messages: Sequence[BaseMessage], known: Sequence[BaseMessage], size: int) -> bool:
    """Say whether a list goes on where another one of that size ended, by its two ends."""
    return 0 < size <= len(messages) and size <= len(known) and messages[0] is known[0] and messages[size - 1] is known[size - 1]


def _grown(whole: _Whole, state: Sequence[BaseMessage], made: Sequence[str], count: Any) -> _Whole:
    """Return a conversation with what was said since."""
    last = mark_of(whole.messages[-1])
    new: list[BaseMessage] = []
    for message in reversed(state):
        if mark_of(message) == last:
            break
        new.append(message)
    else:
        known = {mark_of(message) for message in whole.messages}
        new = [message for message in new if mark_of(message) not in known and is_said(message, made)]
    new.reverse()
    return replace(whole, messages=[*whole.messages, *new], tokens=whole.tokens + count(new)) if new else whole


def _key(raw: Any) -> Hashable:
    """Return all that a head can differ in, `None` where that cannot be compared."""
    if not isinstance(raw, dict) or len(raw) != _ENTRIES or not all(isinstance(value, (str, int)) for value in raw.values()):
        return None
    return tuple(sorted((str(name), type(value).__name__, value) for name, value in raw.items()))


def _digest(raw: Any) -> str:
    found = raw.get("digest") if isinstance(raw, dict) else None
    return found if isinstance(found, str) else ""


def _now() -> datetime:
    return datetime.now(UTC)
