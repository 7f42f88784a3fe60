"""Facts -> what a stream is told of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, cast

from langchain_ctxguard.core.told import Told, call_step, reason_of
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.stream_event import (
    ApprovalAnswered,
    ApprovalRefused,
    CompactionFailed,
    CompactionFinished,
    CompactionPaused,
    CompactionRejected,
    CompactionSkipped,
    CompactionStarted,
    Noticed,
    PolicyVerdict,
    RolledBack,
    StreamEvent,
    ToolRan,
    Verified,
)
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.verification import VerificationRecord
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome


class Happened(NamedTuple):
    """When and where something happened, as far as the graph says."""

    at: datetime
    thread: str | None = None
    namespace: str = ""


def started_event(attempt: str, *, trigger: str, parent: int, when: Happened) -> StreamEvent:
    """Return the event of a compaction that begins."""
    return CompactionStarted(attempt=attempt, trigger=trigger, parent=parent, **when._asdict())


def broken_off_event(attempt: str, *, trigger: str, error: str | None, when: Happened) -> StreamEvent:
    """Return the event of a compaction that ended before anything was decided: with an error's type, or `None` where it waits for a person."""
    if error is None:
        return CompactionPaused(attempt=attempt, trigger=trigger, **when._asdict())
    return CompactionFailed(attempt=attempt, trigger=trigger, error=error, **when._asdict())


def event_of(fact: Told, *, attempt: str, when: Happened) -> StreamEvent | None:
    """Return what a stream is told of a fact; `None` for a prefix report, which is telemetry of the model call.

    Args:
        fact: What happened.
        attempt: Name of the compaction it belongs to.
        when: When and where.
    """
    match fact:
        case CompactionRecord():
            return _compaction(fact, attempt, when._asdict())
        case CallRecord():
            return _call(fact, when._asdict())
        case VerificationRecord():
            return _verified(fact, when._asdict())
        case ContextEvent():
            return _noted(fact, when._asdict())
        case PrefixReport():
            return None


def _compaction(record: CompactionRecord, attempt: str, when: dict[str, Any]) -> StreamEvent:
    about = {**when, "attempt": attempt, "trigger": record.trigger, "version": record.version, "reason": reason_of(record)}
    if record.outcome is Outcome.SKIPPED:
        return CompactionSkipped(tokens=record.tokens_before, **about)
    if record.outcome is Outcome.REJECTED:
        return CompactionRejected(tokens=record.tokens_before, failures=record.failures, broken=record.broken, **about)
    return CompactionFinished(
        outcome=cast("Any", record.outcome.value),
        strategy=record.strategy,
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        evicted_messages=record.evicted_messages,
        evicted_tokens=record.evicted_tokens,
        kept_messages=record.kept_messages,
        fields_repaired=record.fields.repaired,
        fields_lost=record.fields.lost,
        rules_in_force=record.rules_in_force,
        rules_missing=record.rules_missing_after,
        seconds=record.seconds,
        **about,
    )


def _noted(event: ContextEvent, when: dict[str, Any]) -> StreamEvent:
    match event.kind:
        case "rolled_back":
            return RolledBack(version=event.version, restored=event.restored, **when)
        case "tool_denied":
            return PolicyVerdict(type="policy.denied", tool=event.tool or "", keys=("standing",), **when)
        case _:
            return Noticed(kind=event.kind, version=event.version, **when)


def _call(record: CallRecord, when: dict[str, Any]) -> StreamEvent:
    keys = record.keys if record.error is None or record.step != "judged" else (*record.keys, record.error)
    about = {**when, "tool": record.tool, "call_id": record.call_id, "rules": record.rules, "keys": keys}
    match record.step:
        case "judged" | "asked":
            return PolicyVerdict(type=cast("Any", call_step(record)), **about)
        case "answered":
            return ApprovalAnswered(choice=record.choice or "", **about)
        case "refused":
            return ApprovalRefused(why=record.error or "", **about)
        case "receipt" | "ran":
            kind = cast("Any", call_step(record))
            return ToolRan(type=kind, outcome=record.outcome or "", error=record.error, seconds=record.seconds, **about)


def _verified(record: VerificationRecord, when: dict[str, Any]) -> StreamEvent:
    kind = cast("Any", f"verification.{record.outcome.value}")
    return Verified(
        type=kind,
        gone_messages=record.gone_messages,
        lost=len(record.lost),
        changed=len(record.changed),
        carried=record.carried,
        remaining=record.remaining,
        rules_missing=record.rules_missing,
        request_missing=record.request_missing,
        **when,
    )
