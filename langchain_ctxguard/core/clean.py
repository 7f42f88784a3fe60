"""A summarizer's draft -> the summary in force: what is no summary is refused, what is no fact is removed, trust is set anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from langchain_ctxguard.core.findings import edits_file, is_idle, is_own_deed, is_talk, names_something, orders_things, tells_failure
from langchain_ctxguard.core.items import is_noted_task, item_of
from langchain_ctxguard.core.left_out import counted, together
from langchain_ctxguard.core.lexicon import (
    addresses_reader,
    claims_authority,
    gives_order,
    hides_text,
    is_acknowledgement,
    is_formula,
    is_placeholder,
    tells_to_act,
)
from langchain_ctxguard.core.powers import before_power, bids, claims_power, denies, lends_power, touches_power
from langchain_ctxguard.core.provenance import Sources, folded, is_cut, judged, split_sentences, stands_in, uncut
from langchain_ctxguard.core.retention import offending_sentences
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.sentences import asks, has_amount
from langchain_ctxguard.core.terms import is_question
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, Rejected, StructuredSummary, SummaryDraft, Trust

SENTENCE_LIMIT = 300
"""Characters above which what reads as one sentence is no sentence anybody said: code, a listing, a log."""

ITEM_LIMIT = 600
"""Characters of one item of a summary; a longer one is a retelling, not an item."""

_RESTS = 0.5
"""Part of a statement's content words that stand in what a tool or the assistant said: it may come from there, and is judged by that."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The summary and what was taken out of the draft."""

    summary: StructuredSummary
    removed_sentences: int
    downgraded_facts: int
    distorted_sentences: int = 0
    """Sentences that weakened, contradicted or changed a rule in force."""

    restored: int = 0
    """Items and facts of the summary in force that the draft had left out and that were put back."""

    summaries: int = 0
    """Summaries of other tools that were taken over."""

    holds_anything_told: bool = False
    """Whether anything of the draft is left; goal and intent stand in the messages anyway."""


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
    yield from draft.open_risks
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
        for rejected in decision.rejected:
            yield rejected.option
            yield rejected.why


def clean(
    draft: SummaryDraft,
    sources: Sources,
    *,
    previous: StructuredSummary | None,
    original_goal: str,
    language: str | None,
    rules: Sequence[str] = (),
    requests: Sequence[str] = (),
) -> Cleaned:
    """Return the summary a draft amounts to.

    A request stands as the person said it, with the message that holds it: one the summarizer put in its own words is put back into the person's,
    one that nobody made is removed. Orders and claims of power are removed unless a user said them in so many words (then they are the user's claim).
    Facts are judged by `provenance`. What restates one of the `rules` leaves: it stands in the pins. What weakens, contradicts or changes one is
    removed; only what the user asks for stands as it was asked.

    Args:
        draft: What the summarizer told.
        sources: The messages it may speak of.
        previous: The summary in force.
        original_goal: The first request, from its message.
        language: Of the conversation.
        rules: Texts of the rules in force.
        requests: What users asked in these messages, oldest first.
    """
    door = _Door.of(sources, previous, rules)
    door.offending = _offending(draft, rules)
    intent = _tidy(draft.user_intent) if door.admits(draft.user_intent, is_request=True) else ""
    told = draft.facts
    latest = tuple(dict.fromkeys(text for request in reversed(requests) if (text := _tidy(request))))
    if intent and not door.is_the_users(draft.user_intent):
        # What a person wants stands in the person's words, as a request: the draft's own would be taken for theirs. What nobody asked is a claim.
        pieces = [piece for piece in split_sentences(intent) if sources.retold(piece) is None]
        door.intent = frozenset(map(folded, pieces))
        told = (*(Fact(statement=piece) for piece in pieces), *told)
        intent = ""
    questions, theirs = door.questions(draft.open_questions)
    risks, also_theirs = door.risks(draft.open_risks)
    # What a person said has its place with who said it: among the requests what they ask, among the facts what they tell.
    said = tuple(dict.fromkeys((*theirs, *also_theirs)))
    pending = door.pending((*draft.pending_items, *filter(is_question, said)))
    facts = door.facts((*told, *(Fact(statement=text) for text in said if not is_question(text))))
    summary = StructuredSummary(
        original_goal=_tidy(original_goal),
        user_intent=_latest(intent, latest) or (() if previous is None else previous.user_intent),
        pending_items=pending,
        facts=facts,
        decisions=door.decisions(draft.decisions),
        open_questions=questions,
        open_risks=risks,
        left_out=together(draft.left_out, counted(["amounts"] * door.valued)),
        language=language,
    )
    lists = (summary.pending_items, summary.facts, summary.decisions, summary.open_questions, summary.open_risks)
    return Cleaned(summary, door.removed, door.downgraded, door.distorted, holds_anything_told=any(lists))


def _latest(intent: str, requests: Sequence[str]) -> tuple[str, ...]:
    """Return the intents, latest first; one the summarizer quotes from a request stands for it."""
    bare = uncut(intent)
    return tuple(dict.fromkeys(([intent] if intent else []) + [request for request in requests if not (bare and bare in folded(request))]))


def _offending(draft: SummaryDraft, rules: Sequence[str]) -> tuple[str, ...]:
    told = [" ".join(text.split()) for text in _everything(draft)]
    if not rules or not any(told):
        return ()
    return tuple({folded(sentence) for sentence, _, _ in offending_sentences(rules, "\n\n".join(text for text in told if text))})


@dataclass(slots=True)
class _Door:
    """Who may enter the summary, and a count of who was turned away."""

    sources: Sources
    known: dict[str, Fact] = field(default_factory=dict)
    carried: frozenset[str] = frozenset()
    """What the summary in force holds as a user's own words: it was found to be theirs when its source was at hand."""

    known_questions: frozenset[str] = frozenset()
    known_risks: frozenset[str] = frozenset()

    known_items: dict[str, PendingItem] = field(default_factory=dict)
    known_decisions: dict[str, Decision] = field(default_factory=dict)
    pinned: tuple[str, ...] = ()
    """The rules in force, folded."""

    offending: tuple[str, ...] = ()
    """Sentences of the draft that weaken, contradict or change a rule in force, folded."""

    intent: frozenset[str] = frozenset()
    """What the draft says the conversation is about, folded: a heading is made of a summarizer's own words."""

    goes_on: bool = False
    """Whether there is a summary in force: then something may come back whose source is no longer at hand."""

    removed: int = 0
    valued: int = 0
    """How many of the facts that were removed held an amount or a date."""

    downgraded: int = 0
    distorted: int = 0

    @classmethod
    def of(cls, sources: Sources, previous: StructuredSummary | None, rules: Sequence[str]) -> _Door:
        pinned = tuple(map(folded, rules))
        if previous is None:
            return cls(sources, pinned=pinned)
        theirs = (
            *(text for decision in previous.decisions if decision.said_by == "user" for text in _parts(decision)),
            *(item.text for item in previous.pending_items if item.asked_by == "user"),
            *(fact.statement for fact in previous.facts if fact.said_by == "user"),
        )
        carried = tuple(text for text in map(folded, (previous.original_goal, *previous.user_intent, *theirs)) if text)
        return cls(
            sources.knowing(_told_before(previous), carried),
            {folded(fact.statement): fact for fact in previous.facts},
            frozenset(carried),
            frozenset(map(folded, previous.open_questions)),
            frozenset(map(folded, previous.open_risks)),
            {folded(item.text): item for item in previous.pending_items},
            {folded(decision.chosen): decision for decision in previous.decisions},
            pinned,
            goes_on=True,
        )

    def admits(self, text: str, *, is_request: bool = False) -> bool:
        """Say whether `text` is an item: it says something, and gives no order and claims no authority but in the user's own words."""
        plain = folded(text)
        if is_placeholder(plain) or self._restates_a_pin(plain) or (not is_request and self._distorts_a_pin(plain)):
            return False
        is_power = lends_power(plain) or claims_authority(plain) or addresses_reader(plain) or rule_in(plain) is not None
        if (is_power or hides_text(text)) and not self.is_the_users(text):
            self.removed += 1
            return False
        return True

    def pending(self, texts: Iterable[str]) -> tuple[PendingItem, ...]:
        """Return the items among `texts`, each with the message that holds it; what nobody asked for is removed."""
        items: dict[str, PendingItem] = {}
        for text in texts:
            tidy = _tidy(text)
            if is_placeholder(tidy) or is_acknowledgement(tidy) or self._restates_a_pin(folded(tidy)):
                continue
            found = self._item(tidy)
            if found is None:
                self.removed += 1
            else:
                items.setdefault(found.item_id, found)
        return tuple(items.values())

    def _item(self, text: str) -> PendingItem | None:
        key = self.sources.asked_in(text)
        if key is not None:
            return item_of(text, "user", key)
        known = self.known_items.get(folded(text))
        if known is not None:
            return known
        asked = self.sources.request_behind(text)
        if asked is not None:
            words, key = asked
            return self.known_items.get(folded(_tidy(words))) or item_of(_tidy(words), "user", key)
        if self.sources.was_given(text):
            # A step of a plan: the call that wrote it down says what became of it, and `core.merge` reads that.
            return None if lends_power(text) else item_of(text, "ai", "", in_plan=True)
        key = self.sources.written_in(text)
        # Only what the assistant noted as its own task is one: the rest of its words, and what it repeats of a tool's, ask for nothing.
        if key is not None and is_noted_task(text) and not self.sources.was_found(text) and self.admits(text):
            return item_of(text, "ai", key)
        return self._translated(text)

    def _translated(self, text: str) -> PendingItem | None:
        """Return the request a summarizer told in another language, in the person's words: no words of its own enter."""
        if lends_power(text) or gives_order(text) or hides_text(text) or self.sources.holder(text, None) is not None:
            return None
        if self.sources.passed_on(text, share=_RESTS) is not None:
            return None
        asked = self.sources.asked_abroad(text)
        if asked is None:
            return None
        words, key = asked
        return self.known_items.get(folded(_tidy(words))) or item_of(_tidy(words), "user", key)

    def decisions(self, told: Iterable[Decision]) -> tuple[Decision, ...]:
        """Return the decisions, each with who said what was chosen."""
        found: dict[str, Decision] = {}
        for decision in told:
            chosen = _tidy(decision.chosen)
            known = self.known_decisions.get(folded(chosen))
            if known is not None:
                found.setdefault(folded(chosen), known)
                continue
            if not self.admits(chosen) or folded(chosen) in found:
                continue
            held = self.sources.holder(chosen, decision.source)
            if held is None or held[1] == "ai":
                # As with a request: what a person said of it stands as they said it.
                said = self.sources.retold(chosen)
                if said is not None:
                    chosen, held = _tidy(said[0]), (said[1], "user")
                    known = self.known_decisions.get(folded(chosen))
            by_nobody = held is None or held[1] == "tool"
            if held is None or held[1] != "user":
                is_led = held is not None and self._is_led_by_power(chosen, None, held[0])
                is_order = by_nobody and (tells_to_act(chosen) or is_led)
                # Nobody in this conversation chose what stands in a page or a ticket: it is told as a fact, if at all.
                is_turned_away = self.sources.is_hearsay(chosen) or is_order or (held is None and self._is_doubtful(chosen))
                if is_turned_away or self._is_talk(chosen, *((None, None) if held is None else held[::-1])):
                    self.removed += 1
                    continue
            if known is not None:
                found.setdefault(folded(chosen), known)
                continue
            source: str | None = None
            said_by: Origin | None = "ai"
            if held is not None:
                source, said_by = held[0] or None, held[1]
            rejected = tuple(
                Rejected(option=_tidy(each.option), why=_tidy(each.why) if self.admits(each.why) else "")
                for each in decision.rejected
                if self.admits(each.option)
            )
            why = _tidy(decision.why) if self.admits(decision.why) else ""
            found[folded(chosen)] = Decision(chosen=chosen, rejected=rejected, why=why, source=source, said_by=said_by)
        return tuple(found.values())

    def _restates_a_pin(self, plain: str) -> bool:
        bare = plain.removesuffix("...").strip()
        return bool(bare) and any(bare in rule and 2 * len(bare) >= len(rule) for rule in self.pinned)

    def _distorts_a_pin(self, plain: str) -> bool:
        bare = plain.removesuffix("...").strip()
        found = bool(bare) and any(sentence in bare or bare in sentence for sentence in self.offending)
        self.distorted += found
        return found

    def is_the_users(self, text: str) -> bool:
        """Say whether a person said `text` in so many words, or the summary in force already has it as theirs."""
        if folded(text) in self.carried and text:
            return True
        held = self.sources.holder(text, None)
        return held is not None and held[1] == "user"

    def questions(self, texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the questions among `texts` that nobody has answered, and what of them a person said. A statement is no question."""
        told = [text for text in texts if not is_placeholder(folded(text))]
        asked = [text for text in told if folded(_tidy(text)) in self.known_questions or is_question(text) or self.is_the_users(text)]
        self.removed += len(told) - len(asked)
        return self._open(asked, self.known_questions)

    def risks(self, texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the risks among `texts`, and what of them a person said."""
        return self._open(texts, self.known_risks)

    def _open(self, texts: Iterable[str], known: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        kept: dict[str, None] = {}
        theirs: list[str] = []
        for text in texts:
            tidy = _tidy(text)
            if folded(tidy) in known:
                kept[tidy] = None
                continue
            if not self.admits(tidy):
                continue
            if self.is_the_users(tidy):
                theirs.append(tidy)
                continue
            # A known fact has its place and its standing; here it would lose both.
            is_passed_on = folded(tidy) in self.known or self.sources.is_hearsay(tidy)
            is_no_risk = not is_question(tidy) and (tells_to_act(tidy) or is_passed_on)
            if is_no_risk or lends_power(tidy) or claims_authority(tidy) or self._is_doubtful(tidy, is_guess=True) or self._is_talk(tidy, "ai", None):
                self.removed += 1
            else:
                kept[tidy] = None
        return tuple(kept), tuple(theirs)

    def facts(self, told: Iterable[Fact]) -> tuple[Fact, ...]:
        facts: dict[str, Fact] = {}
        for fact in told:
            statement = _tidy(fact.statement)
            if (
                is_placeholder(statement)
                or is_acknowledgement(statement)
                or is_formula(statement)
                or self._restates_a_pin(folded(statement))
                or self._distorts_a_pin(folded(statement))
            ):
                continue
            if folded(statement) not in self.known and self.sources.was_found(statement) and not self.is_the_users(statement):
                # A row of a table is worth keeping without the note that somebody put at its end.
                statement = before_power(statement) or statement
            found = judged(fact.model_copy(update={"statement": statement}), self.sources, self.known)
            if folded(statement) not in self.known:
                found = self._in_their_words(found)
                statement = found.statement
            if not self._may_tell(statement, found):
                self.removed += 1
                self.valued += has_amount(statement)
                continue
            self.removed += fact.quote is not None and found.quote is None and folded(statement) not in self.known
            self.downgraded += fact.status is Trust.CONFIRMED and found.status is Trust.CLAIMED
            quote = None if found.quote is None or folded(found.quote) == folded(statement) else clipped(found.quote, ITEM_LIMIT)
            facts[folded(statement)] = found.model_copy(update={"quote": quote})
        return tuple(facts.values())

    def _in_their_words(self, found: Fact) -> Fact:
        """Return what is retold of a person's words in those words: so it is their claim, and nobody's finding.

        The assistant that repeats a person is no second source; a summarizer that puts it differently is none at all.
        """
        if found.said_by != "ai":
            return found
        if found.source is None and self._was_theirs(found.statement):
            return found.model_copy(update={"said_by": "user"})
        said, key = "", found.source or ""
        if found.quote is not None and self.sources.origins.get(key) == "user":
            said = self.sources.sentence_of(found.quote, key)
        elif found.source is None or self.sources.origins.get(key) == "ai":
            said, key = self.sources.retold(found.statement) or ("", "")
            if said and self._answers(found, said, key):
                return found
        if len(said) > SENTENCE_LIMIT:
            # Of a page somebody pasted the lines that were quoted are enough; what only resembles it is no retelling.
            said = found.statement if uncut(found.statement) in folded(said) else ""
        return found.model_copy(update={"statement": _tidy(said), "said_by": "user", "source": key or None, "quote": None}) if said else found

    def _answers(self, found: Fact, said: str, key: str) -> bool:
        """Say whether what the assistant said in so many words is its own: an answer is made of the words of its question.

        A request that comes after it goes on from it. A question that repeats its words doubts them.
        """
        if found.source is None or not asks(said) or not self.sources.sentence_of(found.statement, found.source):
            return False
        goes_on = not is_question(said)
        return (goes_on or self.sources.is_before(key, found.source)) and self._may_tell(found.statement, found)

    def _was_theirs(self, text: str) -> bool:
        """Say whether the summary in force holds `text` within a person's words."""
        plain = uncut(text)
        return bool(plain) and any(stands_in(plain, said, goes_on=is_cut(text)) for said in self.carried)

    def _is_talk(self, statement: str, said_by: Origin | None, source: str | None) -> bool:
        """Say whether a tool talks instead of reporting, or the assistant talks of power and not of what it did. An error reports."""
        is_error = self.sources.origins.get(source or "") == "tool" and source not in self.sources.successes
        is_failure = tells_failure(statement) and not touches_power(statement)
        if is_error or is_failure or denies(statement):
            return False
        if said_by == "tool" or self.sources.was_found(statement):
            return is_idle(statement)
        return is_talk(statement) and touches_power(statement) and not names_something(statement) and not is_own_deed(statement)

    def _is_bidden(self, statement: str, found: Fact) -> bool:
        """Say whether a tool's words bid somebody do something. A line of a log has that form too, and names what was done to what."""
        return (found.said_by == "tool" or self.sources.was_found(statement)) and bids(statement)

    def _is_doubtful(self, text: str, *, is_guess: bool = False) -> bool:
        """Say whether a summarizer's own words speak of power, or rest on words of a tool or the assistant that lend some.

        A guess, such as a risk, may speak of what could happen.
        """
        if self.sources.holder(text, None) is not None:
            return self._is_led_by_power(text, None, None)
        rests_on = self.sources.passed_on(text, share=_RESTS)
        if rests_on is None or self.sources.passed_on(text) is None:
            # Nobody said it, or nobody any more: what a tool said in an earlier round may come back without its source.
            if touches_power(text) or (is_talk(text) and not denies(text)):
                return True
            if rests_on is None:
                # Of leave, rules and those who act a summarizer knows what it was shown, and nothing else.
                is_free = is_question(text) or folded(text) in self.intent or not self.goes_on
                return orders_things(text, is_guess=is_guess) and not is_free and not self.sources.knows(text)
        said, key = rests_on
        # What is retold is what it was: talk, or an order.
        is_tools = self.sources.origins.get(key) == "tool"
        return lends_power(self.sources.lead_to(said, key)) or (is_tools and ((is_idle(said) and not denies(said)) or bids(said)))

    def _is_led_by_power(self, statement: str, quote: str | None, source: str | None) -> bool:
        """Say whether a tool or the assistant lends power in the words around a statement, or around what it is retold from."""
        if source is None:
            retold = self.sources.passed_on(statement)
            return retold is not None and lends_power(self.sources.lead_to(*retold))
        words = statement if self.sources.sentence_of(statement, source) else quote or ""
        return lends_power(self.sources.lead_to(words, source))

    def _may_tell(self, statement: str, found: Fact) -> bool:
        if gives_order(statement):
            return found.said_by == "user"
        if found.said_by == "user" or folded(statement) in self.known:
            return True
        if self._lends(statement, found) or self._is_bidden(statement, found):
            return False
        # What a tool's text asks of its reader is no finding, whoever passes it on.
        if addresses_reader(statement) and (found.said_by == "tool" or found.source is None or self.sources.was_found(statement)):
            return False
        if found.said_by != "ai":
            return True
        # A rule or an instruction nobody said is no fact, and the model's own words about authority are no source at all.
        is_made_up = found.source is None and (rule_in(statement) is not None or tells_to_act(statement))
        return not is_made_up and not claims_power(statement)

    def _lends(self, statement: str, found: Fact) -> bool:
        """Say whether a statement of a tool or the assistant lends power, by its words, by what leads to it, or by what it is retold from."""
        if found.said_by == "ai" and found.source is not None and edits_file(statement):
            return False
        if lends_power(statement) or self._is_led_by_power(statement, found.quote, found.source):
            return True
        return (found.source is None and self._is_doubtful(statement)) or self._is_talk(statement, found.said_by, found.source)


def _told_before(summary: StructuredSummary) -> Iterable[str]:
    """Yield what the summary in force holds as said: a tool that repeats it is no new source."""
    yield from (summary.original_goal, *summary.user_intent, *summary.open_questions, *summary.open_risks)
    yield from (item.text for item in summary.pending_items)
    for fact in summary.facts:
        if fact.status is Trust.CLAIMED:
            yield fact.statement


def _parts(decision: Decision) -> Iterable[str]:
    yield from (decision.chosen, decision.why)
    for rejected in decision.rejected:
        yield from (rejected.option, rejected.why)


def _tidy(text: str) -> str:
    return clipped(readable(text), ITEM_LIMIT)
