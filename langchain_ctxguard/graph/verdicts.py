"""What is done about a finding: the settings of a verifier, and the question to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from langgraph.types import interrupt

from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.core.verify_context import Findings, Given, carried_of
from langchain_ctxguard.domain.control import FieldChange
from langchain_ctxguard.errors import CompactionError, ConfigurationError

Action = Literal["repair", "rollback", "warn", "ask"]
"""Put back what is missing, send the earlier view, only put on record, or ask a person."""

Decision = Literal["approve", "repair", "rollback"]
"""What a person may answer."""

_STRICTNESS: tuple[Action, ...] = ("warn", "repair", "rollback", "ask")
_MESSAGE_SHOWN = 2_000
_MESSAGES_SHOWN = 40
_AFTER_SHOWN = 16_000


def action_of(name: str, given: Any) -> Action:
    """Return a setting.

    Raises:
        ConfigurationError: it is none.
    """
    if given not in get_args(Action):
        msg = f"{name}={given!r} is nothing a verifier can do. Use 'repair', 'rollback', 'warn' or 'ask'."
        raise ConfigurationError(msg)
    action: Action = given
    return action


def action_for(findings: Findings, *, on_loss: Action, on_change: Action) -> Action:
    """Return what the settings say about findings; of two that apply the stricter one."""
    named = [on_loss] * findings.has_loss + [on_change] * bool(findings.changed)
    return max(named, key=_STRICTNESS.index, default="warn")


def asked(given: Given, findings: Findings) -> Decision | None:
    """Ask a person what to do; `None` where there is no graph that could pause.

    Asked with `interrupt()`, before anything else happened in the call. The answer is `approve`, `repair` or `rollback`, as such or as
    `{"decision": ...}`.

    Raises:
        CompactionError: the answer is none of these. Nothing was sent.
    """
    try:
        answer = interrupt(question(given, findings))
    except RuntimeError:
        return None
    named = answer.get("decision", answer.get("type")) if isinstance(answer, Mapping) else answer
    if named not in get_args(Decision):
        given_answer = clipped(repr(answer), 80)
        msg = f"{given_answer} decides nothing about the compaction; the model was not called. Resume with 'approve', 'repair' or 'rollback'."
        raise CompactionError(msg)
    decision: Decision = named
    return decision


def question(given: Given, findings: Findings) -> dict[str, Any]:
    """Return what a person is shown: the findings, what left, and what stands in its place. Plain JSON."""
    gone = given.replaced.gone
    shown = [{"role": speaker_of(message), "text": clipped(text_of(message), _MESSAGE_SHOWN)} for message in gone[-_MESSAGES_SHOWN:]]
    return {
        "type": "context_verification",
        "findings": {
            "lost": _fields(given, findings.lost),
            "changed": _fields(given, findings.changed),
            "rules_missing": list(findings.rules_missing),
            "rules_distorted": [{"rule": rule, "sentence": sentence, "how": str(how)} for sentence, rule, how in findings.distorted],
            "torn_calls": [{"kind": fault.kind, "call_id": fault.call_id} for fault in findings.faults],
            "request_missing": findings.request_missing,
        },
        "before": {"messages": shown, "not_shown": max(given.replaced.count - len(shown), 0)},
        "after": clipped("\n".join(text_of(message) for message in given.replaced.made), _AFTER_SHOWN),
        "answer_with": {"decision": "approve, repair or rollback"},
    }


def _fields(given: Given, changes: tuple[FieldChange, ...]) -> list[dict[str, Any]]:
    fields = carried_of(Findings(lost=changes), given.head.sentences)
    return [{**field.model_dump(mode="json", exclude_none=True)} for field in fields]
