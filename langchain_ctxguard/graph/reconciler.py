"""Reconciliation in a run: what a call about to change something is told, and what the model reads after a compaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_ctxguard.core.edits import files_named
from langchain_ctxguard.core.effects import CallAtWork, WorkWord
from langchain_ctxguard.core.evidence import effect_of
from langchain_ctxguard.core.reconcile import Plan, Seen, compare, contradictions, is_blamed, may_mend
from langchain_ctxguard.core.reconciling import AskedCall, mends, next_step, untold
from langchain_ctxguard.core.redact import WITHHELD, left_of
from langchain_ctxguard.core.redacted_status import redacted_status
from langchain_ctxguard.core.shell_words import command_in, only_reads
from langchain_ctxguard.core.status_text import HELD_INSTEAD, blocked_instead, blocked_reason, held_reason
from langchain_ctxguard.core.steps import CHANGES_NOTHING
from langchain_ctxguard.core.worklog import files_left
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.reconcile import (
    Checked,
    CheckSeen,
    Confirmed,
    Contradiction,
    Held,
    Noticed,
    ReconcileState,
    Stated,
    Waived,
    WaivedPart,
    WorkStatus,
)
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.worklog import WorkEntry
from langchain_ctxguard.domain.workspace import CheckResult, Survey
from langchain_ctxguard.errors import ConfigurationError, LogConflictError, StoreError
from langchain_ctxguard.graph.baseline import Baseline, Check, LookedAt
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.reconcile import ReconcileLog

ReconcileMode = Literal["auto", "explore"]
"""`auto`: after each compaction. `explore`: never; nothing is held and no check runs."""

_TRIES = 32
_PLACES = 512


class Reconciler:
    """Holds plan, work log and workspace against each other after a compaction. What it knows of a thread rests in the store; it survives a kill."""

    def __init__(
        self,
        files: LookedAt,
        log: ReconcileLog,
        *,
        entries: Callable[[str], tuple[WorkEntry, ...]],
        plan: Callable[[ContextPlace], Plan],
        check: Check | None = None,
        mode: ReconcileMode = "auto",
        waive: Callable[[WorkStatus], str | None] | None = None,
        record: Callable[[ContextEvent], None] = lambda _: None,
        redact: Redactor | None = None,
        baseline: Baseline | None = None,
        is_far: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Bind what is looked at.

        Args:
            files: The workspace.
            log: Where reconciliations are on record.
            entries: Returns the work log of a thread, oldest first.
            plan: Returns what is to be done in a context.
            check: The configured check; `None`: there is none.
            mode: When to reconcile.
            waive: The application's rule: returns the reason to let the agent go on in spite of a status, `None` for not.
            record: Is told what was found and what was held.
            redact: Sees every text before it goes on record: of the status, the output of the check among them, and of waivers.
            baseline: Looks at the workspace for the first time; `None`: one that knows of no earlier state.
            is_far: Says of a thread that no compaction is near: nothing is looked at, run or put on record yet.
        """
        self.mode: ReconcileMode = mode
        self._files = files
        self._log = log
        self._entries = entries
        self._plan = plan
        self._check = check
        self._waive = waive
        self._record = record
        self._redact = redact
        self._baseline = baseline or Baseline(files, log, entries=entries, check=check)
        self._is_far = is_far
        self._locks: Bounded[threading.Lock] = Bounded(_PLACES)
        self._guard = threading.Lock()

    def status(self, place: ContextPlace, version: int) -> WorkStatus | None:
        """Return the status for the model, `None` where nothing was compacted; it is made once for each compaction.

        Args:
            place: The context.
            version: Its newest compaction, 0 for none.

        Raises:
            StoreError: it cannot be read or written.
        """
        if self.mode == "explore" or not version:
            return None
        with self._lock(place):
            state = self._stated(place, version)
        if state.stated is None or state.stated.version != version:
            return None
        return self._log.status(place, state.stated.status)

    def held(self, call: CallAtWork, between: Callable[[], WorkWord | None] = lambda: None) -> WorkWord | None:
        """Return why a call may not run now, `None` where it may.

        Args:
            call: The call.
            between: Asked after contradictions and before the check: what need not run at all needs no check.

        Raises:
            StoreError: what is on record cannot be read or written.
        """
        request = call.request
        if self.mode == "explore" or not request.thread:
            return between()
        place = ContextPlace.of_step(request.thread, request.namespace)
        asked = self.asked(call)
        if asked.is_reading or (not call.context_version and self._is_far(place.thread)):
            return between()
        self.begin(place.thread)
        with self._lock(place):
            word = self._settled(place, call, asked)
            if word is None:
                word = between()
            return self._blocked(place, asked) if word is None else word

    def begin(self, thread: str) -> None:
        """Put on record how the workspace was before the work of a thread, where that was not done yet.

        Raises:
            StoreError: what is on record cannot be read or written.
        """
        if self.mode == "explore":
            return
        root = ContextPlace(thread=thread)
        with self._lock(root):
            self._baseline.take(root)

    def asked(self, call: CallAtWork) -> AskedCall:
        """Return what of a call decides whether it may run."""
        request = call.request
        line = command_in(request.args, tool=request.tool)
        if line is not None:
            reads = only_reads(line, checks=() if self._check is None else [self._check.shown])
            return AskedCall(request.call_id, call.siblings, None, is_reading=reads or call.effect == "read")
        is_reading = call.effect == "read" or request.tool.lower() in CHANGES_NOTHING or effect_of(request.tool) == "read"
        named = files_named(request.args)
        touches = tuple(self._files.relative(path) or path for path in named)
        return AskedCall(request.call_id, call.siblings, touches or None, is_reading=is_reading)

    def state(self, place: ContextPlace) -> ReconcileState:
        """Return how the reconciliation of a context stands.

        Raises:
            StoreError: it cannot be read.
        """
        return self._log.read(place)[1]

    def waive(self, place: ContextPlace, what: WaivedPart = "all", *, by: str, reason: str) -> None:
        """Let the agent go on in spite of what the newest reconciliation found. It is on record with who said so and why.

        Args:
            place: The context.
            what: The contradictions found, the failing check, or both.
            by: Who says so: a person, or a rule of the application.
            reason: Why.

        Raises:
            ConfigurationError: nobody says so, or for no reason.
            StoreError: it cannot be written.
        """
        if not by.strip() or not reason.strip():
            msg = "A waiver is on record with who gave it and why. Nothing was waived; pass `by` and `reason`."
            raise ConfigurationError(msg)
        with self._lock(place):
            state = self.state(place)
            if state.phase == "due":
                state = self._stated(place, state.version)
            self._log.append(place, Waived(what=what, by=by, reason=left_of(self._redact, reason) or WITHHELD, at=self._log.now()))
        self._tell("waived", f"{by} let the agent go on in thread '{place.thread}': {what}.")

    def purge_thread(self, thread: str) -> int:
        """Erase the words of a thread's reconciliations on record."""
        return self._log.purge_thread(thread)

    def _stated(self, place: ContextPlace, version: int) -> ReconcileState:
        """Return the state once the status of a compaction is on record."""
        for _ in range(_TRIES):
            seq, state = self._log.read(place)
            try:
                if version != state.version:
                    self._log.append(place, Noticed(version=version, at=self._log.now()), expected=seq)
                elif state.phase == "due":
                    self._state(place, seq, state)
                else:
                    return state
            except LogConflictError:
                continue
        raise _overtaken(place)

    def _settled(self, place: ContextPlace, call: CallAtWork, asked: AskedCall) -> WorkWord | None:
        """Return what contradictions say to a call, `None` where they say nothing more."""
        version = call.context_version or 0
        for _ in range(_TRIES):
            seq, state = self._log.read(place)
            try:
                if version and version != state.version:
                    self._log.append(place, Noticed(version=version, at=self._log.now()), expected=seq)
                    continue
                match next_step(state, asked):
                    case "state":
                        self._state(place, seq, state)
                    case "confirm":
                        held = self._confirm(place, seq, state, asked)
                        if held is not None:
                            return _held_word(held)
                    case "hold_again":
                        known = state.held_for(asked.call_id)
                        return _held_word(() if known is None else known.contradictions)
                    case "pass" | "block":
                        return None
            except LogConflictError:
                continue
        raise _overtaken(place)

    def _state(self, place: ContextPlace, seq: int, state: ReconcileState) -> None:
        """Look at the workspace, run the check, and put the status on record."""
        entries = self._entries(place.thread)
        survey = self._files.survey()
        root = self.state(_root(place))
        baseline = None if root.baseline is None else root.baseline.check
        result = self._baseline.checked_in(place.thread, survey) or self._checked(entries, survey)
        seen = self._seen(place, entries, survey, state, root)
        found = compare(self._plan(place), entries, seen, check=result, baseline=baseline)
        blamed = is_blamed(result, baseline)
        event = Stated(
            version=state.version,
            status=self._log.keep(place, redacted_status(found, self._redact)),
            survey=self._log.keep(place, survey),
            contradictions=tuple(one.name for one in found.contradictions),
            may_mend=may_mend(found.contradictions, result, entries),
            check=None if result is None else CheckSeen.of(result),
            is_blamed=blamed,
            print="" if result is None else self._print(),
            at=self._log.now(),
        )
        reason = self._waive(found) if self._waive is not None and (blamed or found.contradictions) else None
        why = left_of(self._redact, reason) or WITHHELD if reason else ""
        waived = [Waived(what="all", by="rule", reason=why, at=self._log.now())] if why else []
        self._log.append(place, event, *waived, expected=seq)
        what = f"{len(found.in_effect)} steps in effect, {len(found.not_in_effect)} not, {len(found.contradictions)} contradictions"
        self._tell("reconciled", f"Thread '{place.thread}' was held against its workspace: {what}.", state.version)

    def _confirm(self, place: ContextPlace, seq: int, state: ReconcileState, asked: AskedCall) -> tuple[Contradiction, ...] | None:
        """Hold the files against the work log once more, and put on record what that leads to; return what denies the call, `None` for nothing."""
        entries = self._entries(place.thread)
        root = self.state(_root(place))
        found, _ = contradictions(entries, self._seen(place, entries, self._files.survey(), state, root))
        new = untold(state, found)
        if not new:
            self._log.append(place, Confirmed(at=self._log.now()), expected=seq)
            return None
        mend = tuple(path for one in new for path in (one.path, one.moved_to) if path)
        self._log.append(place, Held(calls=asked.all_calls, contradictions=new, may_mend=mend, at=self._log.now()), expected=seq)
        self._tell("call_held", f"A call in thread '{place.thread}' was held once: {len(new)} files are not as the work log says.", state.version)
        return new

    def _blocked(self, place: ContextPlace, asked: AskedCall) -> WorkWord | None:
        """Return why a failing check denies a call, `None` where it does not; it runs again where the workspace changed since."""
        if self._check is None:
            return None
        for _ in range(_TRIES):
            seq, state = self._log.read(place)
            if not state.is_blocking or mends(state, asked):
                return None
            output = ""
            now = self._print()
            if not now or now != state.print:
                entries = self._entries(place.thread)
                baseline = self.state(_root(place)).baseline
                result = self._check.run(known=_known(entries, self._files.survey()))
                blamed = is_blamed(result, None if baseline is None else baseline.check)
                held = tuple(one for event in state.held for one in event.contradictions)
                mend = may_mend(held, result, entries)
                event = Checked(check=CheckSeen.of(result), is_blamed=blamed, may_mend=mend, print=self._print(), at=self._log.now())
                try:
                    self._log.append(place, event, expected=seq)
                except LogConflictError:
                    continue
                output, state = result.output, self.state(place)
                if not state.is_blocking or mends(state, asked):
                    return None
            self._tell("check_blocks", f"A call in thread '{place.thread}' was denied: the check fails.", state.version)
            return WorkWord("held", blocked_reason(state.check, self._check.shown), blocked_instead(state.may_mend, output))
        raise _overtaken(place)

    def _checked(self, entries: Sequence[WorkEntry], survey: Survey) -> CheckResult | None:
        return None if self._check is None else self._check.run(known=_known(entries, survey), before=survey)

    def _seen(self, place: ContextPlace, entries: Sequence[WorkEntry], survey: Survey, state: ReconcileState, root: ReconcileState) -> Seen:
        """Return the workspace as far as the work log names it."""
        left = files_left(entries)
        facts = {path: self._files.fact(path) for path in left}
        earlier, at = (
            (place, state.stated.survey) if state.stated is not None else (_root(place), "" if root.baseline is None else root.baseline.survey)
        )
        before = self._log.survey(earlier, at)
        odd = [path for path, fact in facts.items() if fact.sha256 != left[path].sha256]
        gone = {str(left[path].sha256) for path in odd if facts[path].kind == "absent"}
        return Seen(
            facts=facts,
            survey=survey,
            before=before,
            committed=_asked_of(self._files, "committed", None if before is None else before.head, survey.head) or (),
            tracked=(_asked_of(self._files, "tracked", odd) or ()) if odd else (),
            copies=(_asked_of(self._files, "copies", gone, [path for path in survey.marks if path not in left]) or {}) if gone else {},
        )

    def _print(self) -> str:
        """Return what tells the workspace from any other; empty where that cannot be told."""
        return self._files.survey().fingerprint

    def _lock(self, place: ContextPlace) -> threading.Lock:
        with self._guard:
            found = self._locks.get(place)
            if found is None:
                found = threading.Lock()
                self._locks.put(place, found)
            return found

    def _tell(self, kind: Any, detail: str, version: int = 0) -> None:
        self._record(ContextEvent(kind=kind, detail=detail, version=version))


def _held_word(found: Sequence[Contradiction]) -> WorkWord:
    return WorkWord("held", held_reason(found), HELD_INSTEAD)


def _known(entries: Sequence[WorkEntry], survey: Survey) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*files_left(entries), *list(survey.marks)[:1_000]]))


def _root(place: ContextPlace) -> ContextPlace:
    return ContextPlace(thread=place.thread)


def _asked_of(files: Any, name: str, *given: Any) -> Any:
    """Return what files say that can say more than a `LookedAt` has to, `None` where these cannot."""
    asked = getattr(files, name, None)
    return asked(*given) if callable(asked) else None


def _overtaken(place: ContextPlace) -> StoreError:
    msg = f"Others wrote to the reconciliation of thread '{place.thread}' {_TRIES} times in a row. Nothing was changed; try again."
    return StoreError(msg)
