"""`ReportRecorder`: the hook that keeps of each model call what a report tells of it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from langchain_ctxguard.core.enforcement import standing_of
from langchain_ctxguard.domain.constraint import Constraint, Severity
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.model_call import ModelCall, RuleShown
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Clock, Fact
from langchain_ctxguard.records.model_calls import ModelCallRecords, RuleList
from langchain_ctxguard.records.versions import HasLog

EVERY = 50
"""Calls to an entry, where nothing else is written before."""

_LISTS = 256
_NOTHING: AbstractContextManager[None] = nullcontext()


class ReportRecorder:
    """Puts every model call of an agent on record: tokens, cache, and which rules stood in it. No text of the conversation.

    A call that triggers nothing writes nothing: calls are gathered, and written by a thread of their own once a compaction, a tool call or a break
    of the cache is on record anyway, or `every` of them have come together. What a crash takes is telemetry. Use it as a hook, and close it:

        with ReportRecorder(store) as recorder:
            guard = ContextGuard(store=store, hooks=[recorder])
    """

    def __init__(self, store: HasLog, *, every: int = EVERY, clock: Clock | None = None) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore`, best that of the guard.
            every: How many calls of a thread wait at most.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._records = ModelCallRecords(store)
        self._every = max(1, every)
        self._clock: Clock = clock or (lambda: datetime.now(UTC))
        self._waiting: dict[ContextPlace, list[ModelCall]] = {}
        self._lists: dict[str, RuleList] = {}
        self._written: set[tuple[ContextPlace, str]] = set()
        self._known: dict[tuple[int, bool, tuple[str, ...]], tuple[tuple[Constraint, ...], str]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._worker: threading.Thread | None = None
        self._has_warned = False
        self.lost = 0
        """Calls that could not be written."""

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Wrap a step in nothing."""
        del name, facts
        return _NOTHING

    def record(self, fact: Fact) -> None:
        """Take notice of a call; after what is on record anyway, write what waits."""
        if isinstance(fact, PrefixReport):
            if fact.thread is None:
                return
            place = ContextPlace(thread=fact.thread, namespace=fact.namespace)
            with self._lock:
                waiting = self._waiting.setdefault(place, [])
                waiting.append(self._call(fact))
                is_due = len(waiting) >= self._every or fact.drift_reason is not None
        else:
            is_due = isinstance(fact, CompactionRecord | CallRecord)
        if is_due and self._waiting:
            self._start()

    def flush(self) -> None:
        """Write what waits, now.

        Raises:
            StoreError: the store cannot be written; what waited is lost and counted.
        """
        with self._writing:
            while (taken := self._taken()) is not None:
                place, calls, lists = taken
                try:
                    self._records.append(place, calls, lists)
                except StoreError:
                    self.lost += len(calls)
                    raise
                self._written |= {(place, name) for name in lists}

    def close(self) -> None:
        """Write what waits, and be done."""
        self.flush()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def _start(self) -> None:
        with self._lock:
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="ctxguard-report", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 - telemetry never reaches the run
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(f"Model calls are not on record for reports: {type(error).__name__}. The run goes on.", RuntimeWarning, stacklevel=1)

    def _taken(self) -> tuple[ContextPlace, list[ModelCall], dict[str, RuleList]] | None:
        with self._lock:
            if not self._waiting:
                return None
            place, calls = self._waiting.popitem()
            fresh = {call.rules for call in calls if call.rules and (place, call.rules) not in self._written}
            return place, calls, {name: self._lists[name] for name in sorted(fresh)}

    def _call(self, fact: PrefixReport) -> ModelCall:
        return ModelCall(
            at=self._clock(),
            version=fact.context_version,
            rules=self._listed(fact),
            tokens=fact.tokens,
            common=fact.common_prefix_tokens,
            hit=fact.prompt_cache_hit_tokens,
            miss=fact.prompt_cache_miss_tokens,
            first_changed_offset=fact.first_changed_offset,
            drift_reason=fact.drift_reason,
            prefix=fact.prefix_fingerprint,
            seconds=round(fact.total_latency_s, 4),
            cost=fact.cost,
        )

    def _listed(self, fact: PrefixReport) -> str:
        """Return the name of a call's list of rules. A guard hands the same tuple again as long as no rule moves."""
        key = (id(fact.rules), fact.is_reminded, fact.unenforced)
        known = self._known.get(key)
        if known is not None:
            return known[1]
        made = RuleList(
            rules=tuple(_shown(rule, is_reminded=fact.is_reminded, unenforced=fact.unenforced) for rule in fact.rules),
            texts={rule.reference: rule.text for rule in fact.rules},
        )
        name = made.name
        if len(self._known) >= _LISTS:
            self._forget()
        self._lists[name] = made
        # The tuple is held, so that its identity cannot be used anew.
        self._known[key] = (fact.rules, name)
        return name

    def _forget(self) -> None:
        """Let go of lists no waiting call names; one that comes again is written again."""
        named = {call.rules for calls in self._waiting.values() for call in calls}
        self._lists = {name: one for name, one in self._lists.items() if name in named}
        self._known.clear()
        self._written.clear()


def _shown(rule: Constraint, *, is_reminded: bool, unenforced: tuple[str, ...]) -> RuleShown:
    # What the guard did not report as unenforced is kept by something: by its check, or by a tool rule that names it.
    is_kept = rule.reference not in unenforced
    validators = {rule.validator} if is_kept and isinstance(rule.validator, str) else set[str]()
    named = {rule.constraint_id} if is_kept else set[str]()
    found = standing_of(rule, validators=validators, enforced_by=set() if rule.validator else named, asked_by=named)
    return RuleShown(
        reference=rule.reference,
        authority=rule.authority,
        severity=rule.severity,
        kind=found.kind,
        sentence=found.sentence,
        is_reminded=is_reminded and rule.severity is Severity.CRITICAL,
    )
