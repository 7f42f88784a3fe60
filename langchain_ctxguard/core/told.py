"""Facts as what a trace shows of them: a name, and attributes that are names and numbers, the same for LangSmith and OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.verification import VerificationRecord
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

Told = CallRecord | CompactionRecord | ContextEvent | PrefixReport | VerificationRecord
Attribute = str | int | float | bool

PREFIX = "ctxguard_"
_VERDICTS = {"allow": "policy.allowed", "deny": "policy.denied", "ask": "policy.asked"}
_STEPS = {
    "asked": "policy.asked",
    "answered": "approval.answered",
    "refused": "approval.refused",
    "receipt": "tool.receipt",
    "ran": "tool.ran",
}


def name_of(fact: Told) -> str:
    """Return what a fact is called: `compaction`, `policy.denied`, `verification.held`, `rollback`, or the kind of an event.

    >>> name_of(ContextEvent(kind="rolled_back", detail="Version 3 holds what version 1 held."))
    'rollback'
    """
    match fact:
        case CompactionRecord():
            return "compaction"
        case CallRecord():
            return call_step(fact)
        case VerificationRecord():
            return f"verification.{fact.outcome.value}"
        case ContextEvent():
            return {"rolled_back": "rollback", "tool_denied": "policy.denied"}.get(fact.kind, fact.kind)
        case PrefixReport():
            return "prefix"
        case _:
            assert_never(fact)


def call_step(record: CallRecord) -> str:
    """Return what a step of a call is called."""
    if record.step == "judged":
        return _VERDICTS.get(record.decision or "", "policy.denied")
    return _STEPS[record.step]


def attributes_of(fact: Told) -> dict[str, Attribute]:
    """Return names and numbers of a fact, by the names a trace shows them under. What is empty or unknown is left out."""
    match fact:
        case CompactionRecord():
            return named(_compaction(fact))
        case CallRecord():
            return named(_call(fact))
        case VerificationRecord():
            return named(_verification(fact))
        case ContextEvent():
            return named({"event": fact.kind, "version": fact.version or None, "restored": fact.restored, "tool": fact.tool})
        case PrefixReport():
            return named(_prefix(fact))
        case _:
            assert_never(fact)


def named(facts: Mapping[str, Any]) -> dict[str, Attribute]:
    """Return names and numbers under the names of a trace; what is empty or unknown is left out."""
    plain = {name: value if isinstance(value, str | int | float | bool) else str(value) for name, value in facts.items() if value is not None}
    return {f"{PREFIX}{name}": value for name, value in plain.items() if value != ""}


def fact_shown(fact: Told, *, has_words: bool = False) -> dict[str, Any]:
    """Return a fact as data; without the sentences that may name what a person or the application wrote, unless words were asked for."""
    data: dict[str, Any] = fact.model_dump(mode="json")
    if not has_words:
        data.pop("detail", None)
        if isinstance(fact, CompactionRecord):
            data["reason"] = reason_of(fact)
    return data


def reason_of(record: CompactionRecord) -> str:
    """Return why an attempt came out as it did; empty where the sentence holds words of the application's checks, maybe the conversation's."""
    return "" if record.broken else record.reason


def _compaction(record: CompactionRecord) -> dict[str, Any]:
    return {
        "version": record.version,
        "trigger": record.trigger,
        "strategy": record.strategy,
        "outcome": record.outcome.value,
        "tokens_before": record.tokens_before,
        "tokens_after": record.tokens_after,
        "evicted_messages": record.evicted_messages,
        "fields_lost": record.fields.lost,
        "fields_repaired": record.fields.repaired,
        "attempts": record.attempts,
        "failures": ",".join(record.failures),
        "broken": ",".join(record.broken),
    }


def _call(record: CallRecord) -> dict[str, Any]:
    return {
        "tool": record.tool,
        "call_id": record.call_id,
        "thread": record.thread,
        "namespace": record.namespace,
        "decision": record.decision,
        "rules": ",".join(record.rules),
        "requirements": ",".join(record.keys),
        "choice": record.choice,
        "outcome": record.outcome,
        "error": record.error,
        "policy": record.fingerprint,
        "arguments": record.arguments,
    }


def _verification(record: VerificationRecord) -> dict[str, Any]:
    return {
        "outcome": record.outcome.value,
        "gone_messages": record.gone_messages,
        "fields_lost": len(record.lost),
        "fields_changed": len(record.changed),
        "fields_carried": record.carried,
        "rules_missing": ",".join(record.rules_missing),
    }


def _prefix(report: PrefixReport) -> dict[str, Any]:
    return {
        "prefix_fingerprint": report.prefix_fingerprint,
        "prefix_changed_at": report.first_changed_offset,
        "prefix_drift": None if report.drift_reason is None else report.drift_reason.value,
        "prefix_common_tokens": report.common_prefix_tokens,
        "prefix_cache_hit_tokens": report.prompt_cache_hit_tokens,
        "prefix_cache_miss_tokens": report.prompt_cache_miss_tokens,
    }
