"""Critical rules -> one short message at the very end. A rule that is present is not yet obeyed; nothing before the reminder moves."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.roles import calls_of, results_of
from langchain_ctxguard.domain.constraint import Authority, Constraint, Severity

REMINDER = "context_reminder"
"""Name of the message."""

_LEAD = "Before you answer or act, check it against these rules:"
_LEAD_ZH = "回答或行动之前，先逐条对照以下规则："


def reminder(rules: Sequence[Constraint]) -> HumanMessage | None:
    """Return the critical ones of `rules` as an instruction, each byte for byte; `None` where there is none.

    Inferred rules are somebody's words and stay where they are quoted.
    """
    critical = [rule for rule in rules if rule.severity is Severity.CRITICAL and rule.authority is not Authority.INFERRED]
    if not critical:
        return None
    chinese = sum((rule.language or language_of(rule.text) or "").lower().startswith("zh") for rule in critical)
    lead = _LEAD_ZH if chinese * 2 > len(critical) else _LEAD
    return HumanMessage("\n".join([lead, *(f"- {rule.text}" for rule in critical)]), name=REMINDER)


def with_reminder(messages: Sequence[BaseMessage], rules: Sequence[Constraint]) -> Sequence[BaseMessage]:
    """Return `messages` with the reminder behind the last one; the same list where there is nothing to remind of or no place for it.

    There is no place while calls of the newest AI message wait for their results, and none behind an answer that is to be continued. A reminder that
    is there already is not repeated.
    """
    if not messages or not has_place(messages):
        return messages
    made = reminder(rules)
    if made is None or (messages[-1].name == REMINDER and messages[-1].content == made.content):
        return messages
    return [*messages, made]


def length_without_reminder(messages: Sequence[BaseMessage]) -> int:
    """Return how many of `messages` stand before a reminder at the end: the part that comes again in the next call."""
    return len(messages) - (1 if messages and messages[-1].name == REMINDER else 0)


def has_place(messages: Sequence[BaseMessage]) -> bool:
    """Say whether a message may stand behind the last one: no calls wait for their results, and no answer is to be continued."""
    if isinstance(messages[-1], AIMessage):
        return False
    answered: set[str | None] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return all(call.call_id is not None and call.call_id in answered for call in calls_of(message))
        answered.update(results_of(message))
    return True
