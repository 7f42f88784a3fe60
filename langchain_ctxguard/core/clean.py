"""A summarizer's draft -> the summary in force: what is no summary is refused, what is no fact is removed, trust is set anew."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from langchain_ctxguard.core.bounds import clipped
from langchain_ctxguard.core.lexicon import claims_authority, gives_order, is_placeholder
from langchain_ctxguard.core.provenance import Sources, folded, judged
from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary, SummaryDraft, Trust

ITEM_LIMIT = 600
"""Characters of one item of a summary; a longer one is a retelling, not an item."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The summary and what was taken out of the draft."""

    summary: StructuredSummary
    removed_sentences: int
    downgraded_facts: int


def refusal(draft: SummaryDraft, *, evicted_characters: int, evicted_has_evidence: bool) -> str | None:
    """Return why a draft is no summary of what was evicted, in one word, or `None` if it is one."""
    texts = [*_texts(draft)]
    if evicted_has_evidence and (draft.is_empty or not any(text.strip() for text in texts)):
        return "empty"
    if texts and all(is_placeholder(text) for text in texts):
        return "placeholder"
    if sum(map(len, texts)) > max(10 * evicted_characters, 4_000):
        return "too_long"
    return None


def _texts(draft: SummaryDraft) -> Iterable[str]:
    if draft.user_intent:
        yield draft.user_intent
    yield from draft.pending_items
    yield from draft.open_questions
    for fact in draft.facts:
        yield fact.statement
    for decision in draft.decisions:
        yield decision.chosen


def clean(
    draft: SummaryDraft,
    sources: Sources,
    *,
    previous: StructuredSummary | None,
    original_goal: str,
    language: str | None,
) -> Cleaned:
    """Return the summary a draft amounts to.

    Orders and permissions are removed unless the user said them in so many words (then they are the user's claim). Facts are judged by
    `provenance`; a claim of authority is rendered as a claim, whoever tells it.
    """
    removed = 0
    known = {} if previous is None else {folded(fact.statement): fact for fact in previous.facts}

    def said_by_user(text: str) -> bool:
        held = sources.holder(text, None)
        return held is not None and held[1] == "user"

    carried = set()
    if previous is not None:
        carried = {folded(text) for text in (*previous.pending_items, *previous.open_questions, previous.user_intent)}
        carried |= {folded(decision.chosen) for decision in previous.decisions}

    def admitted(text: str) -> bool:
        nonlocal removed
        plain = folded(text)
        if not plain or is_placeholder(plain):
            return False
        # An item of the summary in force was admitted when its source was at hand.
        if (gives_order(plain) or claims_authority(plain)) and plain not in carried and not said_by_user(text):
            removed += 1
            return False
        return True

    def items(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_tidy(text) for text in texts if admitted(text)))

    facts: dict[str, Fact] = {}
    downgraded = 0
    for fact in draft.facts:
        statement = _tidy(fact.statement)
        if not statement or is_placeholder(statement):
            continue
        told = judged(fact.model_copy(update={"statement": statement}), sources, known)
        if gives_order(statement) and told.said_by != "user":
            removed += 1
            continue
        if claims_authority(statement) and told.said_by == "ai" and folded(statement) not in known:
            # The model's own words about authority are no source at all.
            removed += 1
            continue
        downgraded += fact.status is Trust.CONFIRMED and told.status is Trust.CLAIMED
        quote = None if told.quote is None or folded(told.quote) == folded(statement) else clipped(told.quote, ITEM_LIMIT)
        facts[folded(statement)] = told.model_copy(update={"quote": quote})
    decisions = {
        folded(decision.chosen): Decision(
            chosen=_tidy(decision.chosen),
            rejected=tuple(_tidy(text) for text in decision.rejected if text.strip()),
            why=_tidy(decision.why),
        )
        for decision in draft.decisions
        if admitted(decision.chosen) and not gives_order(decision.why)
    }
    intent = _tidy(draft.user_intent) if admitted(draft.user_intent) else ""
    return Cleaned(
        StructuredSummary(
            original_goal=_tidy(original_goal),
            user_intent=intent or (previous.user_intent if previous is not None else ""),
            pending_items=items(draft.pending_items),
            facts=tuple(facts.values()),
            decisions=tuple(decisions.values()),
            open_questions=items(draft.open_questions),
            language=language,
        ),
        removed,
        downgraded,
    )


def _tidy(text: str) -> str:
    """Return `text` on one line, without control characters, at most `ITEM_LIMIT` characters."""
    kept = "".join(character for character in text if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs"))
    return clipped(" ".join(kept.split()), ITEM_LIMIT)
