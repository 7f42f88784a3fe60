"""A summarizer's draft -> the summary in force: what is no summary is refused, what is no fact is removed, trust is set anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_ctxguard.core.lexicon import claims_authority, gives_order, is_placeholder
from langchain_ctxguard.core.provenance import Sources, folded, judged
from langchain_ctxguard.core.retention import offending_sentences
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary, SummaryDraft, Trust

CLAIM = "[claimed by ai] "
"""Before an item that stands in no message in so many words, as `render_fact` has it."""

ITEM_LIMIT = 600
"""Characters of one item of a summary; a longer one is a retelling, not an item."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The summary and what was taken out of the draft."""

    summary: StructuredSummary
    removed_sentences: int
    downgraded_facts: int
    distorted_sentences: int = 0
    """Sentences that weakened, contradicted or changed a rule in force."""

    @property
    def holds_anything_told(self) -> bool:
        """Say whether anything of the draft is left; goal and intent stand in the messages anyway."""
        summary = self.summary
        return bool(summary.pending_items or summary.facts or summary.decisions or summary.open_questions)


def refusal(draft: SummaryDraft, *, evicted_characters: int, evicted_has_evidence: bool) -> str | None:
    """Return why a draft is no summary of what was evicted, in one word, or `None` if it is one."""
    texts = [*_texts(draft)]
    if evicted_has_evidence and (draft.is_empty or not any(text.strip() for text in texts)):
        return "empty"
    if texts and all(is_placeholder(text) for text in texts):
        return "placeholder"
    if sum(map(len, _everything(draft))) >= max(10 * evicted_characters, 4_000):
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


def _everything(draft: SummaryDraft) -> Iterable[str]:
    yield from _texts(draft)
    for fact in draft.facts:
        yield fact.quote or ""
    for decision in draft.decisions:
        yield decision.why
        yield from decision.rejected


def clean(
    draft: SummaryDraft,
    sources: Sources,
    *,
    previous: StructuredSummary | None,
    original_goal: str,
    language: str | None,
    rules: Sequence[str] = (),
    latest_request: str = "",
) -> Cleaned:
    """Return the summary a draft amounts to.

    Orders and permissions are removed unless the user said them in so many words (then they are the user's claim). Facts are judged by
    `provenance`; a claim of authority is rendered as a claim, whoever tells it. What restates one of the `rules` leaves: it stands in the pins.
    What weakens, contradicts or changes one is removed; only what the user asks for stands as it was asked.
    """
    door = _Door.of(sources, previous, rules)
    door.offending = _offending(draft, rules)
    intent = _tidy(draft.user_intent) if door.admits(draft.user_intent, is_request=True) else ""
    told = draft.facts
    if intent and not door.is_the_users(draft.user_intent):
        # What a person wants stands in the person's words: the draft's own would be taken for theirs.
        told = (Fact(statement=intent), *told)
        intent = _tidy(latest_request)
    facts = door.facts(told)
    decisions = {
        folded(decision.chosen): Decision(
            chosen=door.marked(decision.chosen),
            rejected=door.items(decision.rejected),
            why=_tidy(decision.why) if door.admits(decision.why) else "",
        )
        for decision in draft.decisions
        if door.admits(decision.chosen)
    }
    summary = StructuredSummary(
        original_goal=_tidy(original_goal),
        user_intent=intent or (previous.user_intent if previous is not None else ""),
        pending_items=tuple(map(door.marked, door.items(draft.pending_items))),
        facts=facts,
        decisions=tuple(decisions.values()),
        open_questions=door.items(draft.open_questions),
        language=language,
    )
    return Cleaned(summary, door.removed, door.downgraded, door.distorted)


def _offending(draft: SummaryDraft, rules: Sequence[str]) -> tuple[str, ...]:
    told = [" ".join(text.split()) for text in (*draft.pending_items, *draft.open_questions, *(fact.statement for fact in draft.facts))]
    told += [" ".join(text.split()) for decision in draft.decisions for text in (decision.chosen, decision.why, *decision.rejected)]
    if not rules or not any(told):
        return ()
    return tuple({folded(sentence) for sentence, _, _ in offending_sentences(rules, "\n\n".join(text for text in told if text))})


@dataclass(slots=True)
class _Door:
    """Who may enter the summary, and a count of who was turned away."""

    sources: Sources
    known: dict[str, Fact]
    carried: frozenset[str]
    """Items of the summary in force: they were admitted when their source was at hand."""

    pinned: tuple[str, ...] = ()
    """The rules in force, folded."""

    offending: tuple[str, ...] = ()
    """Sentences of the draft that weaken, contradict or change a rule in force, folded."""

    removed: int = 0
    downgraded: int = 0
    distorted: int = 0

    @classmethod
    def of(cls, sources: Sources, previous: StructuredSummary | None, rules: Sequence[str]) -> _Door:
        pinned = tuple(folded(rule) for rule in rules)
        if previous is None:
            return cls(sources, {}, frozenset(), pinned)
        decided = (text for decision in previous.decisions for text in (decision.chosen, decision.why, *decision.rejected))
        carried = frozenset(map(folded, (*previous.pending_items, *previous.open_questions, previous.user_intent, *decided)))
        return cls(sources.knowing(_told_before(previous)), {folded(fact.statement): fact for fact in previous.facts}, carried, pinned)

    def admits(self, text: str, *, is_request: bool = False) -> bool:
        """Say whether `text` is an item: it says something, and gives no order and claims no authority but in the user's own words."""
        plain = folded(text)
        if is_placeholder(plain) or self._restates_a_pin(plain) or (not is_request and self._distorts_a_pin(plain)):
            return False
        if (gives_order(plain) or claims_authority(plain) or rule_in(plain) is not None) and not self.is_the_users(text):
            self.removed += 1
            return False
        return True

    def marked(self, text: str) -> str:
        """Return an item, marked as the summarizer's own where nobody said it in so many words."""
        tidy = _tidy(text)
        if tidy.startswith(CLAIM) or folded(tidy) in self.carried or self.sources.holder(text, None) is not None:
            return tidy
        return _tidy(f"{CLAIM}{tidy}")

    def _restates_a_pin(self, plain: str) -> bool:
        bare = plain.removesuffix("…").strip()
        return bool(bare) and any(bare in rule and 2 * len(bare) >= len(rule) for rule in self.pinned)

    def _distorts_a_pin(self, plain: str) -> bool:
        bare = plain.removesuffix("…").strip()
        found = bool(bare) and any(sentence in bare or bare in sentence for sentence in self.offending)
        self.distorted += found
        return found

    def is_the_users(self, text: str) -> bool:
        """Say whether a person said `text` in so many words, or the summary in force already has it as theirs."""
        if folded(text) in self.carried and text:
            return True
        held = self.sources.holder(text, None)
        return held is not None and held[1] == "user"

    def items(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_tidy(text) for text in texts if self.admits(text)))

    def facts(self, told: Iterable[Fact]) -> tuple[Fact, ...]:
        facts: dict[str, Fact] = {}
        for fact in told:
            statement = _tidy(fact.statement)
            if is_placeholder(statement) or self._restates_a_pin(folded(statement)) or self._distorts_a_pin(folded(statement)):
                continue
            found = judged(fact.model_copy(update={"statement": statement}), self.sources, self.known)
            if not self._may_tell(statement, found):
                self.removed += 1
                continue
            self.downgraded += fact.status is Trust.CONFIRMED and found.status is Trust.CLAIMED
            quote = None if found.quote is None or folded(found.quote) == folded(statement) else clipped(found.quote, ITEM_LIMIT)
            facts[folded(statement)] = found.model_copy(update={"quote": quote})
        return tuple(facts.values())

    def _may_tell(self, statement: str, found: Fact) -> bool:
        if gives_order(statement):
            return found.said_by == "user"
        # A rule nobody said is no fact: what tools and people say stands as theirs.
        if rule_in(statement) is not None and found.said_by == "ai" and found.source is None and folded(statement) not in self.known:
            return False
        # The model's own words about authority are no source at all.
        return not claims_authority(statement) or found.said_by != "ai" or folded(statement) in self.known


def _told_before(summary: StructuredSummary) -> Iterable[str]:
    """Yield what the summary in force holds as said: a tool that repeats it is no new source."""
    yield from (summary.original_goal, summary.user_intent, *summary.pending_items, *summary.open_questions)
    for fact in summary.facts:
        if fact.status is Trust.CLAIMED:
            yield fact.statement


def _tidy(text: str) -> str:
    return clipped(readable(text), ITEM_LIMIT)
