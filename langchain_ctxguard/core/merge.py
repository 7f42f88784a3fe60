"""The summary in force and a cleaned draft -> the next summary. Joined item by item: prose is never summarized again.

A summarizer may leave something out or put it differently; it cannot change the goal, bring back what is done, offer again what was called off, or
lose what only it was to carry on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.field_matter import Matter, is_of_another, matter_at
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.items import (
    SENTENCE,
    Steps,
    call_words,
    calls_with_keys,
    finished_in,
    is_finished_by,
    item_of,
    plan_in,
    wanted_words,
    withdrawn_in,
)
from langchain_ctxguard.core.left_out import together
from langchain_ctxguard.core.lexicon import addresses_reader, claims_authority, is_acknowledgement, is_placeholder
from langchain_ctxguard.core.powers import lends_power
from langchain_ctxguard.core.provenance import folded, uncut
from langchain_ctxguard.core.requests import INTENTS_KEPT
from langchain_ctxguard.core.results import own_words, results_in
from langchain_ctxguard.core.roles import NOTE, calls_of, holds_foreign_summary, is_request, speaker_of, text_of
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.terms import covers, terms
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, StructuredSummary, Trust

CLOSED_KEPT = 24
"""Closed items kept, newest last: so many are told apart from what is asked anew."""

CLOSED_LENGTH = 80
"""Characters of a closed item."""

OPEN_KEPT = 60
FACTS_KEPT = 150
DECISIONS_KEPT = 40
RISKS_KEPT = 12
FOREIGN_LINES = 16
"""Statements taken over from one summary of another tool."""

_FOREIGN_LENGTH = 300
_BULLET = re.compile(r"^\s*(?:[-*•#>]+\s*|\d{1,3}[.)、]\s*)+")
_BY_CALL = 0.7
"""Part of what an item asks for that a successful call must speak of to have done it."""

_BY_WORD = 0.8
"""The same for a sentence of the assistant that reports something as finished."""

_DROPPED = 0.3
"""The same where the summarizer no longer lists the item."""

_SAME = 0.8


@dataclass(frozen=True)
class Passed:
    """What was said and done in a stretch of conversation: the evicted part and, behind it, what stays in view."""

    messages: tuple[BaseMessage, ...]
    keys: tuple[str, ...]
    evicted: int
    """How many of the messages leave the view."""

    state_plan: Steps | None = None
    """The todo list of a state key, newer than any in the messages; `None` where there is none."""

    @classmethod
    def of(
        cls,
        evicted: Sequence[BaseMessage],
        keys: Sequence[str],
        kept: Sequence[BaseMessage] = (),
        kept_keys: Sequence[str] = (),
        *,
        state_plan: Steps | None = None,
    ) -> Passed:
        """Return the stretch made of what leaves and what stays."""
        return cls((*evicted, *kept), (*keys, *kept_keys), len(evicted), state_plan)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each message stands, by its key."""
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def results(self) -> Mapping[str, tuple[str, bool]]:
        """Text and failure of each result, by call id."""
        found: dict[str, tuple[str, bool]] = {}
        for message in self.messages:
            if not is_synthetic(message):
                found.update({result.call_id: (result.text, result.is_failed) for result in results_in(message)})
        return found

    @cached_property
    def done(self) -> tuple[tuple[int, frozenset[str], float], ...]:
        """What was finished: where, by its words, and the share of an item those must cover."""
        found: list[tuple[int, frozenset[str], float]] = []
        for place, message in enumerate(self.messages):
            for call in calls_of(message):
                text, is_failed = self.results.get(call.call_id or "", ("", True))
                if not is_failed and plan_in(call) is None:
                    found.append((place, call_words(call, text), _BY_CALL))
            if speaker_of(message) == "ai" and not holds_foreign_summary(message):
                found += [(place, words, _BY_WORD) for words in finished_in(text_of(message))]
        return tuple(found)

    @cached_property
    def replies(self) -> tuple[tuple[int, frozenset[str]], ...]:
        """What the assistant said in answer, by its words."""
        return tuple(
            (place, terms(text))
            for place, message in enumerate(self.messages)
            if speaker_of(message) == "ai" and not calls_of(message) and not holds_foreign_summary(message) and (text := text_of(message)).strip()
        )

    @cached_property
    def first_request(self) -> int:
        """Where the first new request stands: what is said before it answers an earlier one."""
        return next((place for place, message in enumerate(self.messages) if is_request(message)), len(self.messages))

    @cached_property
    def withdrawals(self) -> tuple[tuple[int, frozenset[str], bool], ...]:
        """What people took back: where, by its words, and whether it may mean just the request before."""
        return tuple(
            (place, words, is_bare)
            for place, message in enumerate(self.messages)
            if is_request(message)
            for words, is_bare in withdrawn_in(own_words(message))
        )

    @cached_property
    def plans(self) -> tuple[tuple[str, Steps], ...]:
        """The lists written down, oldest first, each with the message it stands in; a call that failed wrote nothing."""
        found: list[tuple[str, Steps]] = []
        for call, key in calls_with_keys(self.messages, self.keys):
            plan = plan_in(call)
            _, is_failed = self.results.get(call.call_id or "", ("", False))
            if plan is not None and not is_failed:
                found.append((key, plan))
        if self.state_plan is not None and (not found or found[-1][1] != self.state_plan):
            found.append(("state", self.state_plan))
        return tuple(found)

    def place_of(self, item: PendingItem) -> int:
        """Return where an item was asked for; -1 where it was before this stretch."""
        return -1 if item.source is None else self.places.get(item.source, -1)


@dataclass(frozen=True, slots=True)
class Merged:
    """The next summary, and what joining it came to."""

    summary: StructuredSummary
    restored: int = 0
    """Items and facts of the summary in force that the draft had left out."""

    summaries: int = 0
    """Summaries of other tools that were taken over; as many as there were."""


def merge(told: StructuredSummary, previous: StructuredSummary | None, passed: Passed, *, is_told: bool = True) -> Merged:
    """Return the next summary.

    Args:
        told: The cleaned draft.
        previous: The summary in force.
        passed: What was said and done since, and what stays in view.
        is_told: Whether a summarizer told anything; else its silence means nothing.
    """
    before = previous if previous is not None else StructuredSummary()
    foreign = foreign_facts(passed)
    items, restored_items = _items(told.pending_items, before.pending_items, passed, is_told=is_told)
    facts, restored_facts = _facts((*told.facts, *_untold(foreign, told)), before.facts)
    questions = told.open_questions if is_told else (*before.open_questions, *told.open_questions)
    summary = told.model_copy(
        update={
            "original_goal": before.original_goal or told.original_goal,
            "user_intent": tuple(dict.fromkeys((*told.user_intent, *before.user_intent)))[:INTENTS_KEPT],
            "pending_items": items,
            "facts": facts,
            "decisions": _decisions(told.decisions, before.decisions),
            "open_questions": tuple(dict.fromkeys(questions)),
            "open_risks": _risks((*before.open_risks, *told.open_risks), passed),
            "language": told.language or before.language,
            "left_out": together(before.left_out, told.left_out),
        }
    )
    return Merged(summary, restored_items + restored_facts, sum(1 for _ in foreign))


def _items(told: Sequence[PendingItem], before: Sequence[PendingItem], passed: Passed, *, is_told: bool) -> tuple[tuple[PendingItem, ...], int]:
    """Return the items with what became of them: what was known first, then what is new."""
    known = {item.item_id or item.text: item for item in before}
    fresh = [item for item in told if (item.item_id or item.text) not in known and not item.in_plan]
    named = {item.item_id or item.text for item in told}
    steps = _steps([item for item in before if item.in_plan], passed)
    listed = {folded(item.text) for item in steps}
    asked: list[PendingItem] = []
    restored = 0
    for item in [*(item for item in before if not item.in_plan), *fresh]:
        if item.state == "open" and folded(item.text) in listed and item.asked_by != "user":
            continue  # The plan has it.
        is_left_out = is_told and item in before and (item.item_id or item.text) not in named
        after = _after(item, passed, is_left_out=is_left_out)
        restored += is_left_out and item.state == "open" == after.state
        asked.append(after)
    asked = _called_off(asked, passed)
    whole = [*asked, *steps]
    closed = [_shortened(item) for item in whole if item.state != "open"][-CLOSED_KEPT:]
    still_open = [item for item in whole if item.state == "open"]
    # Of far too many the newest stay, and what a person asked for before what the assistant noted.
    if len(still_open) > OPEN_KEPT:
        kept = {id(item) for item in sorted(still_open, key=lambda item: item.asked_by == "user")[-OPEN_KEPT:]}
        still_open = [item for item in still_open if id(item) in kept]
    return (*closed, *still_open), restored


def _after(item: PendingItem, passed: Passed, *, is_left_out: bool) -> PendingItem:
    """Return an item with the state this stretch leaves it in. What is closed stays closed."""
    if item.state != "open":
        return item
    place = passed.place_of(item)
    if any(at > place and is_finished_by(item, words, share=share) for at, words, share in passed.done):
        return item.model_copy(update={"state": "done"})
    if not is_left_out:
        return item
    # The summarizer takes it for settled; that counts where somebody has answered it, or did something like it.
    answered = [words for at, words in passed.replies if at > place]
    is_answered = any(at < passed.first_request for at, _ in passed.replies) or any(is_finished_by(item, words, share=_DROPPED) for words in answered)
    is_done = any(at > place and is_finished_by(item, words, share=_DROPPED) for at, words, _ in passed.done)
    return item.model_copy(update={"state": "done"}) if is_answered or is_done else item


def _called_off(items: Sequence[PendingItem], passed: Passed) -> list[PendingItem]:
    """Return the items; those a person has taken back since are cancelled."""
    after = list(items)
    for place, words, is_bare in passed.withdrawals:
        earlier = [number for number, item in enumerate(after) if item.state == "open" and passed.place_of(item) < place]
        meant = [number for number in earlier if words and covers(wanted_words(after[number]), words, 0.5)]
        if not meant and is_bare and earlier:
            latest = max(passed.place_of(after[number]) for number in earlier)
            meant = [number for number in earlier if passed.place_of(after[number]) == latest][-1:]
        for number in meant:
            after[number] = after[number].model_copy(update={"state": "cancelled"})
    return after


def _steps(before: Sequence[PendingItem], passed: Passed) -> list[PendingItem]:
    """Return the steps of the plan as its tool has them now. A step that is written down anew after it was done is another one."""
    steps = list(before)
    for key, plan in passed.plans:
        open_now = {folded(step.text): number for number, step in enumerate(steps) if step.state == "open"}
        closed = {(folded(step.text), step.state) for step in steps if step.state != "open"}
        listed = [(text, state) for text, state in plan if not lends_power(text)]
        for text, state in listed:
            plain = folded(text)
            if plain in open_now:
                number = open_now.pop(plain)
                steps[number] = steps[number].model_copy(update={"state": state})
            elif state == "open" or (plain, state) not in closed:
                steps.append(item_of(text, "ai", key, state=state, in_plan=True))
        for number in open_now.values():
            # No longer on the list: the assistant has given it up.
            steps[number] = steps[number].model_copy(update={"state": "cancelled"})
        order = {folded(text): place for place, (text, _) in enumerate(listed)}
        still = sorted((step for step in steps if step.state == "open"), key=lambda step: order.get(folded(step.text), 0))
        steps = [*(step for step in steps if step.state != "open"), *still]
    return steps


def _shortened(item: PendingItem) -> PendingItem:
    return item.model_copy(update={"text": clipped(item.text, CLOSED_LENGTH)})


@dataclass(frozen=True)
class _Worded:
    """A fact and what it speaks of."""

    fact: Fact
    words: frozenset[str]
    values: frozenset[str]

    @cached_property
    def matter(self) -> Matter:
        """What it is said of, its values apart."""
        return matter_at(self.fact.statement, 0, 0)._replace(value=self.values)

    @classmethod
    def of(cls, fact: Fact) -> _Worded:
        found = terms(fact.statement)
        values = frozenset(word for word in found if any(map(str.isdigit, word)))
        return cls(fact, found - values, values)


def _facts(told: Sequence[Fact], before: Sequence[Fact]) -> tuple[tuple[Fact, ...], int]:
    """Return the facts: those left out that nothing replaces, then those told. A claim never takes the place of what was confirmed."""
    new = {folded(fact.statement): fact for fact in told}
    worded = [_Worded.of(fact) for fact in new.values()]
    left_out = [_Worded.of(fact) for fact in before if folded(fact.statement) not in new]
    kept = [old.fact for old in left_out if not any(_replaces(fact, old) for fact in worded)]
    return (*kept, *new.values())[-FACTS_KEPT:], min(len(kept), FACTS_KEPT)


def _replaces(new: _Worded, old: _Worded) -> bool:
    """Say whether `new` tells what `old` told, or the same of another number or date."""
    if new.fact.status is Trust.CLAIMED and old.fact.status is Trust.CONFIRMED and new.fact.said_by != "user":
        return False
    if not old.words or not covers(new.words, old.words, _SAME):
        return not old.words and bool(old.values) and old.values <= new.values
    # Another value of the same thing; not another row of the same table.
    is_other = bool(new.values) and not (old.values & new.values) and new.words == old.words and len(old.values) == 1 == len(new.values)
    return (old.values <= new.values or is_other) and not is_of_another(new.matter, old.matter, is_change=True)


def _decisions(told: Sequence[Decision], before: Sequence[Decision]) -> tuple[Decision, ...]:
    turned_down = {folded(each.option) for decision in told for each in decision.rejected}
    new = {folded(decision.chosen) for decision in told}
    kept = [decision for decision in before if folded(decision.chosen) not in new and folded(decision.chosen) not in turned_down]
    return (*kept, *told)[-DECISIONS_KEPT:]


def _risks(risks: Iterable[str], passed: Passed) -> tuple[str, ...]:
    """Return the risks nothing has dealt with since."""
    still = [risk for risk in dict.fromkeys(risks) if not any(covers(words, terms(risk), share) for _, words, share in passed.done)]
    return tuple(still[-RISKS_KEPT:])


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A summary another tool left in the evicted part, as claims."""

    key: str
    facts: tuple[Fact, ...]


def foreign_facts(passed: Passed) -> tuple[_Foreign, ...]:
    """Return what the summaries of other tools in the evicted part say: claims of the assistant, without what gives orders or claims power."""
    found: list[_Foreign] = []
    for message, key in zip(passed.messages[: passed.evicted], passed.keys, strict=False):
        if holds_foreign_summary(message):
            statements = tuple(dict.fromkeys(_statements(text_of(message))))[:FOREIGN_LINES]
            found.append(_Foreign(key, tuple(Fact(statement=statement, said_by="ai", source=key) for statement in statements)))
    return tuple(found)


def _statements(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith((f"<{NOTE} ", f"</{NOTE}>")):
            continue
        bare = readable(_BULLET.sub("", line))
        pieces = [bare] if len(bare) <= _FOREIGN_LENGTH else [piece[0].strip() for piece in SENTENCE.finditer(bare)]
        yield from (clipped(piece, _FOREIGN_LENGTH) for piece in pieces if _is_statement(piece))


def _is_statement(text: str) -> bool:
    """Say whether a line of another tool's summary tells something, gives no order and claims no power."""
    if is_placeholder(text) or is_acknowledgement(text) or text.endswith((":", "：")):
        return False
    plain = folded(text)
    return not (lends_power(plain) or claims_authority(plain) or addresses_reader(plain) or rule_in(plain) is not None)


def _untold(foreign: Iterable[_Foreign], told: StructuredSummary) -> Iterator[Fact]:
    """Yield the statements of other summaries that the draft did not take over."""
    said = "\n".join(folded(text) for text in (*(fact.statement for fact in told.facts), *(item.text for item in told.pending_items)))
    for summary in foreign:
        yield from (fact for fact in summary.facts if uncut(fact.statement) not in said)
