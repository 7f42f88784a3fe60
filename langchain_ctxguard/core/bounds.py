"""Keeps the summary and the evidence within their token bounds, round after round: what is newest stays, the rest is dropped or counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.render import render_action, render_artifact, render_decision, render_evidence, render_fact, render_summary
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import StructuredSummary

Item = TypeVar("Item")
_GOAL_SHARE = 0.25
_FILES_SHARE = 0.35


def text_tokens(count: CountTokens, text: str) -> int:
    """Return what `text` costs as a message of its own."""
    return count([HumanMessage(text)])


def clipped(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters; what is cut leaves an ellipsis.

    >>> clipped("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def bounded_summary(summary: StructuredSummary, *, version: int, max_tokens: int, count: CountTokens) -> StructuredSummary:
    """Return `summary` within `max_tokens` as rendered. Goals first, then open items, decisions and questions; the oldest facts go first."""
    if text_tokens(count, render_summary(summary, version=version)) <= max_tokens:
        return summary
    frame = text_tokens(count, render_summary(StructuredSummary(), version=version))
    room = max_tokens - frame
    empty = StructuredSummary(language=summary.language)
    if room <= 0:
        return empty

    def cost(line: str) -> int:
        return text_tokens(count, f"- {line}\n") + 1

    goal = _shortened(summary.original_goal, int(room * _GOAL_SHARE), cost)
    intent = goal if summary.user_intent == summary.original_goal else _shortened(summary.user_intent, int(room * _GOAL_SHARE), cost)
    room -= cost(goal) + (cost(intent) if intent != goal else 0) + 12
    pending, room = _newest(summary.pending_items, room, lambda item: cost(item))
    decisions, room = _newest(summary.decisions, room, lambda item: cost(render_decision(item)))
    questions, room = _newest(summary.open_questions, room, lambda item: cost(item))
    facts, room = _newest(summary.facts, room, lambda item: cost(render_fact(item)))
    return _trimmed(
        summary.model_copy(
            update={
                "original_goal": goal,
                "user_intent": intent,
                "pending_items": pending,
                "decisions": decisions,
                "open_questions": questions,
                "facts": facts,
            }
        ),
        version=version,
        max_tokens=max_tokens,
        count=count,
    )


def _trimmed(summary: StructuredSummary, *, version: int, max_tokens: int, count: CountTokens) -> StructuredSummary:
    """Drop what the line-by-line estimate let through: counters need not be additive."""
    lists: tuple[str, ...] = ("facts", "open_questions", "decisions", "pending_items")
    while text_tokens(count, render_summary(summary, version=version)) > max_tokens:
        longest = next((name for name in lists if getattr(summary, name)), None)
        if longest is not None:
            items = getattr(summary, longest)
            summary = summary.model_copy(update={longest: items[max(1, len(items) // 8) :]})
        elif summary.user_intent or summary.original_goal:
            shorter = {name: clipped(getattr(summary, name), len(getattr(summary, name)) // 2) for name in ("user_intent", "original_goal")}
            summary = summary.model_copy(update={name: "" if len(text) < 8 else text for name, text in shorter.items()})  # noqa: PLR2004
        else:
            return summary
    return summary


def _shortened(text: str, max_tokens: int, cost: Callable[[str], int]) -> str:
    while text and cost(text) > max_tokens:
        shorter = clipped(text, int(len(text) * 0.8))
        if len(shorter) < 8:  # noqa: PLR2004 - less says nothing
            return ""
        text = shorter
    return text


def _newest(items: Sequence[Item], room: int, cost: Callable[[Item], int]) -> tuple[tuple[Item, ...], int]:
    kept: list[Item] = []
    for item in reversed(items):
        price = cost(item)
        if price > room:
            break
        room -= price
        kept.append(item)
    return tuple(reversed(kept)), room


def bounded_evidence(evidence: Evidence, *, max_tokens: int, count: CountTokens) -> Evidence:
    """Return `evidence` within `max_tokens` as rendered; the oldest actions and files become a count."""
    if evidence.is_empty or text_tokens(count, render_evidence(evidence)) <= max_tokens:
        return evidence
    counted = Evidence(
        omitted_actions=evidence.omitted_actions + len(evidence.actions),
        omitted_artifacts=evidence.omitted_artifacts + len(evidence.artifacts),
    )
    room = max_tokens - text_tokens(count, render_evidence(counted)) - 16
    artifacts, _ = _newest(evidence.artifacts, int(room * _FILES_SHARE), lambda item: text_tokens(count, f"- {render_artifact(item)}\n"))
    room -= sum(text_tokens(count, f"- {render_artifact(item)}\n") for item in artifacts)
    actions, _ = _newest(evidence.actions, room, lambda item: text_tokens(count, f"- {render_action(item)}\n"))
    bounded = counted
    while actions or artifacts:
        bounded = Evidence(
            actions=actions,
            artifacts=artifacts,
            omitted_actions=counted.omitted_actions - len(actions),
            omitted_artifacts=counted.omitted_artifacts - len(artifacts),
        )
        if text_tokens(count, render_evidence(bounded)) <= max_tokens:
            return bounded
        actions, artifacts = actions[max(1, len(actions) // 8) :], artifacts[max(1, len(artifacts) // 8) :]
    return counted
