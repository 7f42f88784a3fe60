"""Is a rule still in the model's input, and what became of it there? Retention only: whether the model obeys is another question."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import SystemMessage

from langchain_ctxguard.core.retention_frame import frame_of
from langchain_ctxguard.core.retention_text import Reading, Sentence
from langchain_ctxguard.core.retention_verdict import ABSENT, Rule, Verdict, judge, rule_of
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.retention import Retention, SemanticJudge

CANDIDATES = 4
"""Sentences looked at closely for one rule."""


def missing_rules(rules: Sequence[Constraint], system: SystemMessage | None) -> tuple[str, ...]:
    """Return the ids of the rules whose text does not stand byte for byte in the system message: elsewhere it would be no rule."""
    if not rules:
        return ()
    text = "" if system is None else text_of(system)
    return tuple(rule.constraint_id for rule in rules if rule.text not in text)


def classify_retention(constraint: str, before: str, after: str, *, judge: SemanticJudge | None = None) -> Retention:
    """Return what became of a rule between two texts. No model is asked unless one is given.

    Args:
        constraint: The rule as declared.
        before: The text that held it.
        after: The text that stands in its place.
        judge: Asked about whatever does not stand there word for word; for offline runs.

    >>> classify_retention("Do not delete orders.", "Do not delete orders.", "Orders may be deleted.").value
    'contradicted'
    """
    verdict, _ = find(rule_of(constraint), Reading((after,)))
    if judge is not None and verdict.reason != "verbatim":
        opinion = judge(constraint, before, after)
        return verdict.retention if opinion is None else opinion
    return verdict.retention


def find(rule: Rule, reading: Reading) -> tuple[Verdict, Sentence | None]:
    """Return what became of a rule in texts, and the sentence that says so."""
    framed: tuple[Verdict, Sentence] | None = None
    for first, last in reading.verbatim(rule.sentences):
        verdict = frame_of(rule, reading.sentences, first, last)
        if verdict.retention is Retention.PRESERVED:
            return verdict, reading.sentences[first]
        framed = framed or (verdict, reading.sentences[first])
    if framed is not None:
        return framed
    best: tuple[Verdict, Sentence | None] = (ABSENT, None)
    for number in reading.nearest(rule.sentences, CANDIDATES):
        for window in _windows(reading.sentences, number, len(rule.sentences)):
            verdict = judge(rule, window)
            if _rank(verdict, window) > _rank(best[0], window):
                best = (verdict, window[0])
    return best


def _windows(sentences: Sequence[Sentence], number: int, size: int) -> list[list[Sentence]]:
    """Return a sentence alone, and with its neighbours of the same text as many as the rule has."""
    own = sentences[number]
    windows = [[own]]
    for width in range(2, min(size, 3) + 1):
        for start in range(number - width + 1, number + 1):
            window = [sentence for sentence in sentences[max(start, 0) : max(start, 0) + width] if sentence.part == own.part]
            if own in window and len(window) == width:
                windows.append(window)
    return windows


def _rank(verdict: Verdict, window: Sequence[Sentence]) -> tuple[bool, float]:
    return verdict.retention is not Retention.DROPPED, verdict.coverage
