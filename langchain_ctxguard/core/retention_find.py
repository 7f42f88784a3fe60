"""Where in texts a rule stands, and what became of it there: word for word first, then the sentences that have the most in common with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from langchain_ctxguard.core.retention_frame import frame_of
from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_rule import RELATIONS, Rule
from langchain_ctxguard.core.retention_text import Reading, Sentence
from langchain_ctxguard.core.retention_verdict import ABSENT, Verdict, judge
from langchain_ctxguard.core.retention_words import is_action
from langchain_ctxguard.domain.retention import Retention

CANDIDATES = 4
"""Sentences looked at closely for one rule."""

_ADVICE_SHARE = 0.55
_PERMIT_SHARE = 0.6
_VALUE_SHARE = 0.5
_LEAST_SHARE = 0.15
_INDEX_SHARE = 0.35
_MOST_OFFENDING = 16
_LONGEST_WINDOW = 3
_SHORT_RULE = 3
_FIRST_PERSON = re.compile(r"\b(?:i|i'[a-z]+|let me|my)\b|我")


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
    for number in reading.nearest(rule.sentences, CANDIDATES, share=_LEAST_SHARE):
        for window in _windows(reading.sentences, number, len(rule.sentences)):
            verdict = judge(rule, window)
            if _rank(verdict) > _rank(best[0]):
                best = (verdict, reading.sentences[number])
    return best if best[0].retention is not Retention.DROPPED else (best[0], None)


def offences(rule: Rule, reading: Reading) -> Iterator[tuple[Sentence, Verdict]]:
    """Yield the sentences that weaken, contradict or change a rule, as far as that is beyond doubt: better one missed than another one removed."""
    framed = {}
    for first, last in reading.verbatim(rule.sentences):
        verdict = frame_of(rule, reading.sentences, first, last)
        framed.update(dict.fromkeys(range(first, last + 1), verdict))
    for number, verdict in framed.items():
        if verdict.retention is not Retention.PRESERVED:
            yield reading.sentences[number], verdict
    for number in reading.nearest(rule.sentences, _MOST_OFFENDING, share=_INDEX_SHARE):
        if number not in framed:
            verdict = judge(rule, [reading.sentences[number]])
            if _is_beyond_doubt(rule, verdict, reading.sentences[number]):
                yield reading.sentences[number], verdict


def _is_beyond_doubt(rule: Rule, verdict: Verdict, sentence: Sentence) -> bool:
    is_open = rule.forbids and verdict.reason in ("permission", "reversed") and _leaves_condition(rule, sentence)
    if is_open or not _shares_subject(rule, sentence):
        return False
    share = verdict.coverage
    match verdict.reason:
        case "reversed":
            return share >= _PERMIT_SHARE and not _FIRST_PERSON.search(sentence.folded)
        case "permission" | "released" | "lifted":
            return share >= _PERMIT_SHARE and len(sentence.tokens) <= 3 * len(rule.tokens) + 8
        case "advice" | "story" | "condition" | "narrowed":
            return share >= _ADVICE_SHARE and not _is_particular(rule, sentence)
        case "value" | "direction" | "name":
            return share >= _VALUE_SHARE and _sets_force(sentence) and len(sentence.tokens) <= 2 * len(rule.tokens) + 4
    return False


def _leaves_condition(rule: Rule, sentence: Sentence) -> bool:
    """Say whether a permission is silent on the condition of a ban: it may still hold only under that."""
    return bool(rule.condition) and len(rule.condition & sentence.concepts) * 2 <= len(rule.condition)


def _is_particular(rule: Rule, sentence: Sentence) -> bool:
    """Say whether it names an order or an amount the rule does not: then it is about that one, not about the rule."""
    return any(token.kind in ("name", "number") and token.text not in rule.words for token in sentence.tokens)


def _shares_subject(rule: Rule, sentence: Sentence) -> bool:
    """Say whether two meanings are shared and one of them is a thing, not only something that is done."""
    shared = (rule.concepts & sentence.concepts) - RELATIONS
    if rule.has_han != sentence.has_han and len(shared) * 2 <= len(rule.concepts - RELATIONS):
        return False  # words that were not translated leave too little to go by
    unknown = (rule.pairs & sentence.pairs) if not shared or len(shared) == 1 else frozenset()
    things = [concept for concept in shared if not is_action(concept)]
    return (len(shared) > 1 and bool(things)) or (bool(shared) and len(unknown) > 1) or len(rule.content) <= _SHORT_RULE


def _sets_force(sentence: Sentence) -> bool:
    return any(hit.mark in (Mark.BAN, Mark.DUTY, Mark.ONLY, Mark.MOST, Mark.LEAST) for hit in sentence.hits)


def _windows(sentences: Sequence[Sentence], number: int, size: int) -> list[list[Sentence]]:
    """Return a sentence alone, and with its neighbours of the same text as many as the rule has."""
    own = sentences[number]
    windows = [[own]]
    for width in range(2, min(size, _LONGEST_WINDOW) + 1):
        for start in range(max(0, number - width + 1), number + 1):
            window = [sentence for sentence in sentences[start : start + width] if sentence.part == own.part]
            if len(window) == width:
                windows.append(window)
    return windows


def _rank(verdict: Verdict) -> tuple[bool, float]:
    return verdict.retention is not Retention.DROPPED, verdict.coverage
