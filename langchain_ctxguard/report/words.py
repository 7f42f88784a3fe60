"""Small words of a report: numbers, moments, and what one-word reasons mean to somebody who has not read the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from langchain_ctxguard.domain.control import ChangeKind
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.version import Outcome

_HOW: dict[ChangeKind, str] = {
    "digit": "a digit differed",
    "shifted": "the date or time had moved",
    "unit": "the unit or currency differed",
    "extended": "the name had grown",
    "truncated": "the name was cut",
    "negated": "the statement was turned round",
    "blurred": "a vague word stood in its place",
    "renamed": "other words stood in its place",
    "value": "another value stood in its place",
}

DRIFTS: dict[DriftReason, str] = {
    DriftReason.POLICY_UPDATE: "a rule came in, moved, or has a new version",
    DriftReason.PERMISSION_SHRINK: "a tool or a permission was taken away",
    DriftReason.CONSTRAINT_REMOVED: "a rule is no longer in force",
    DriftReason.TOOL_CHANGE: "a tool came in, or says something else",
    DriftReason.TOOL_ORDER: "the tools came in another order",
    DriftReason.KEY_ORDER: "the JSON of a tool was written in another order",
    DriftReason.MODEL_CHANGE: "another model was called",
    DriftReason.PROVIDER_CHANGE: "another provider was called",
    DriftReason.COMPACTION: "the context was compacted",
    DriftReason.REBUILD: "the context was built anew: asked for, rolled back, or replaced from its first message on",
    DriftReason.UNKNOWN: "the system prompt changed, or messages that had been sent",
}

OUTCOMES: dict[Outcome, str] = {
    Outcome.ACCEPTED: "accepted",
    Outcome.REPAIRED: "repaired",
    Outcome.RETRIED: "accepted at another try",
    Outcome.FELL_BACK: "fell back to a simpler way",
    Outcome.REJECTED: "refused; the context before stayed",
    Outcome.SKIPPED: "nothing to do",
}


def how_words(how: ChangeKind | None) -> str | None:
    """Return what a draft did to a value; `None` where it did not tell it at all."""
    return None if how is None else _HOW[how]


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "rule"), count(2_000, "rule"), count(2, "reply"), count(0, "rule")
    ('1 rule', '2,000 rules', '2 replies', 'no rules')
    """
    words = noun if number == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"no {words}" if number == 0 else f"{number:,} {words}"


def moment(at: datetime | None) -> str:
    """Return a moment to the second, in UTC."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z"


def listed(items: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return stretches with those that follow each other made one: not where a rule stood, but whether it did.

    >>> joined([(1, 6), (7, 9), (12, 12)])
    [(1, 9), (12, 12)]
    """
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def spans(stretches: Sequence[tuple[int, int]]) -> str:
    """Return stretches of numbers.

    >>> spans([(1, 4), (6, 6)])
    '1\u20134, 6'
    """
    return ", ".join(f"{first:,}" if first == last else f"{first:,}\u2013{last:,}" for first, last in stretches)
