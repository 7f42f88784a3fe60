"""What people said in messages that leave, sentence by sentence in their words, and in what order it claims room that is too small for all of it.

Rules are no matter of room and are not ranked here. Of the rest comes first what a person put a label on, a value, a name, a wish, a change; then
what says more of a matter they labelled; talk comes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.attributes import states_attribute
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.infer import infer
from langchain_ctxguard.core.lexicon import is_acknowledgement
from langchain_ctxguard.core.noted import is_form
from langchain_ctxguard.core.provenance import folded, uncut
from langchain_ctxguard.core.recalled import is_recalled
from langchain_ctxguard.core.render import open_inferred
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import is_foreign_summary, is_request
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.sentences import Sentence, Sign, has_value, key_of, sentences, signs_of, values_in
from langchain_ctxguard.core.tight import is_said
from langchain_ctxguard.core.tight_lines import label_of
from langchain_ctxguard.core.worth import MUST_KEEP, Standing, worth
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.summary import Fact, StructuredSummary

STATED = 60.0
"""From here on a sentence states something somebody would ask for later; below it is talk."""

_PASTED = 12
"""Sentences from which on nobody typed a message."""

_MOST = 400
"""Sentences that are ranked closely: no short window holds more."""

_LABELLED = 80
_OF_LABELLED = 30
"""What a sentence behind the first of a labelled message is worth more."""

_STATES = 30
_OPEN = 30
_ASIDE = 20
"""What a sentence is worth less where its message tells a value already: of two such the one that stands alone is missed more."""

_KNOWN_VALUE = 26
"""What a value is worth to a sentence; nothing where it is told already."""

_RENEWS = 40
"""What a value is worth more that took the place of another: who misses it goes by the old one."""

_OUTDATED = 100
_EDGES = 3


@dataclass(frozen=True, slots=True)
class Ranked:
    """A sentence of a person's and how much it would be missed."""

    fact: Fact
    place: int
    score: float


def said_by_people(
    messages: Sequence[BaseMessage], keys: Sequence[str], rules: Iterable[InferredConstraint], *, infers: bool = True
) -> tuple[Fact, ...]:
    """Return the sentences people said, each as a claim of theirs with its message: what is thanks, or a rule that holds no longer, is left out.

    Args:
        messages: Messages that leave the view.
        keys: Their keys.
        rules: The rules nobody decided on that stand after these messages; one said here is given whole.
        infers: Whether rules are looked for at all; else their sentences are sentences like others.
    """
    standing: defaultdict[str, list[InferredConstraint]] = defaultdict(list)
    for rule in open_inferred([*rules]):
        standing[rule.source].append(rule)
    last: dict[str, Fact] = {}
    for message, key in zip(messages, keys, strict=True):
        if is_request(message) and not (is_synthetic(message) or is_foreign_summary(message) or is_recalled(message)):
            for text in _sentences_of(message, key, standing[key], infers=infers):
                # Said again later, it holds from there.
                words = key_of(text)
                last.pop(words, None)
                last[words] = Fact(statement=text, said_by="user", source=key)
    return tuple(last.values())


def _sentences_of(message: BaseMessage, key: str, rules: Sequence[InferredConstraint], *, infers: bool) -> Iterator[str]:
    text = own_words(message)
    # What ends in a colon announces something, and tells nothing.
    pieces = [piece for piece in sentences(text) if not (is_acknowledgement(piece.text) or piece.text.endswith((":", "：")))]
    spans = {(rule.start, rule.stop) for rule in rules if text[rule.start : rule.stop] == rule.text}
    over = _ended(message, key, pieces, spans) if infers else []
    told: dict[int, str] = {start: text[start:stop] for start, stop in spans}
    for piece in pieces:
        start, stop = piece.start, piece.start + len(piece.text)
        if any(_covers(span, start, stop) for span in (*spans, *over)):
            continue
        # A rule that is part of a sentence stands in it.
        for inner in [span for span in spans if start <= span[0] and span[1] <= stop]:
            told.pop(inner[0])
        told[start] = piece.shown
    yield from (told[start] for start in sorted(told))


def _covers(span: tuple[int, int], start: int, stop: int) -> bool:
    """Say whether a span leaves nothing of a sentence but its edges."""
    return max(0, span[0] - start) + max(0, stop - span[1]) <= _EDGES


def _ended(message: BaseMessage, key: str, pieces: Sequence[Sentence], spans: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where a message says rules that do not stand: ended by a later one, or decided by a person."""
    if not any(rule_in(piece.text) for piece in pieces):
        return []
    found = ((rule.start, rule.stop) for rule in infer([message], [key]))
    return [span for span in found if span not in spans]


def without_rules(summary: StructuredSummary, rules: Collection[str]) -> StructuredSummary:
    """Return a summary that does not tell, as something a person said, any of some rules; these are folded.

    Where the first request was nothing but such rules, the earliest of the others that are known stands in its place.
    """
    longest_first = sorted(rules, key=len, reverse=True)
    intents = tuple(text for text in summary.user_intent if not _says_only(folded(text), longest_first))
    goal = summary.original_goal
    if goal and _says_only(folded(goal), longest_first):
        goal = intents[-1] if intents else ""
    facts = tuple(fact for fact in summary.facts if fact.said_by != "user" or folded(fact.statement) not in rules)
    items = tuple(item for item in summary.pending_items if item.asked_by != "user" or folded(item.text) not in rules)
    return summary.model_copy(update={"original_goal": goal, "user_intent": intents, "facts": facts, "pending_items": items})


def _says_only(words: str, rules: Sequence[str]) -> bool:
    """Say whether a text is made of some rules and nothing else."""
    if not any(map(words.startswith, rules)):
        return False
    for rule in rules:
        words = words.replace(rule, " ")
    return not any(map(str.isalnum, words))


def with_open(summary: StructuredSummary, *, goal: str, evicted: Collection[str]) -> tuple[Fact, ...]:
    """Return the facts of a summary and, as claims of people, what they asked for before and is open, and their first request where it is given."""
    known = {folded(fact.statement) for fact in summary.facts}
    asked = (item for item in summary.open_items if item.asked_by == "user" and item.source is not None and item.source not in evicted)
    items = (Fact(statement=item.text, said_by="user", source=item.source) for item in asked if folded(item.text) not in known)
    return (*((Fact(statement=goal, said_by="user"),) if goal else ()), *summary.facts, *items)


def with_said(facts: Sequence[Fact], said: Sequence[Fact], *, earlier: Sequence[Fact], pinned: Collection[str]) -> tuple[Fact, ...]:
    """Return the facts of a summary with what people said, each sentence once: what earlier versions tell, in their order, then what leaves now.

    Args:
        facts: Facts of a summary, those a summarizer told just now among them.
        said: What leaves now.
        earlier: Facts of the version before.
        pinned: Texts that stand in the rules in force, folded.
    """
    new = [folded(fact.statement) for fact in said]
    known, whole = set(new), "\n".join(new)
    places = {folded(fact.statement): place for place, fact in enumerate(earlier)}
    before = [fact for fact in facts if not is_said(fact) or ((words := uncut(fact.statement)) not in known and words not in whole)]
    before.sort(key=lambda fact: places.get(folded(fact.statement), len(places)))
    return tuple(fact for fact in (*before, *said) if not (is_said(fact) and any(folded(fact.statement) in text for text in pinned)))


def ranked(
    facts: Sequence[Fact],
    *,
    rules: Collection[str],
    critical: Collection[str] = (),
    wanted: Collection[str] = (),
    renewed: Collection[str] = (),
) -> list[Ranked]:
    """Return what people said but rules, what would be missed most first.

    Args:
        facts: Facts of a summary.
        rules: The rules that are shown in any case, folded.
        critical: Values that are critical, folded.
        wanted: Texts to keep, folded.
        renewed: Values that took the place of others, folded.
    """
    said = [(place, fact) for place, fact in enumerate(facts) if is_said(fact)]
    first: dict[str, int] = {}
    for place, fact in said:
        first.setdefault(fact.source or "", place)
    told: defaultdict[str, list[str]] = defaultdict(list)
    for _, fact in said:
        told[fact.source or ""].append(fact.statement)
    forms = {source for source, texts in told.items() if is_form(texts)}
    labelled = {source for source, place in first.items() if source not in forms and label_of(facts[place].statement)}
    rough: list[Ranked] = []
    for place, fact in said:
        words = folded(fact.statement)
        if words in rules:
            continue
        source = fact.source or ""
        score = _alone(fact.statement, is_pasted=len(told[source]) > _PASTED, in_form=source in forms)
        if source in labelled:
            score += _LABELLED if first[source] == place else _OF_LABELLED
        if any(text in words for text in wanted):
            score += MUST_KEEP
        elif any(value in words for value in renewed):
            score += _RENEWS
        rough.append(Ranked(fact, place, score))
    rough.sort(key=lambda one: (-one.score, -one.place))
    order = _in_company(rough[:_MOST], first)
    return _critical_first(order, {value for value in critical if not any(value in rule for rule in rules)})


def _critical_first(order: Sequence[Ranked], untold: set[str]) -> list[Ranked]:
    """Return sentences, first those that tell a critical value nothing before them tells."""
    again = []
    for one in order:
        words = folded(one.fact.statement)
        new = {value for value in untold if value in words}
        untold -= new
        again.append(Ranked(one.fact, one.place, one.score + MUST_KEEP * bool(new)))
    again.sort(key=lambda one: (-one.score, -one.place))
    return again


def _alone(text: str, *, is_pasted: bool, in_form: bool) -> float:
    signs = signs_of(text, [Sentence(text, 0)])[0]
    score = worth(text, signs, Standing("user", is_pasted=is_pasted, is_form=in_form))
    score += _OPEN * (Sign.DEFERRED in signs) + _STATES * states_attribute(text)
    return score - _OUTDATED * ("[now: " in text or "[现为：" in text or "[no longer valid]" in text or "[已作废]" in text)


def _in_company(rough: Sequence[Ranked], first: dict[str, int]) -> list[Ranked]:
    """Return sentences ranked again beside each other: one behind the first of its message is worth what it adds."""
    opening = {one.fact.source for one in rough if one.place == first[one.fact.source or ""]}
    told = {value for one in rough if one.place == first[one.fact.source or ""] for value in values_in(one.fact.statement)}
    valued = {one.fact.source for one in rough if one.place == first[one.fact.source or ""] and values_in(one.fact.statement)}
    again = []
    for one in rough:
        score, source = one.score, one.fact.source
        if one.place != first[source or ""] and source in opening and score < MUST_KEEP:
            score -= _ASIDE * (source in valued)
            score -= _KNOWN_VALUE * (has_value(one.fact.statement) and values_in(one.fact.statement) <= told)
        again.append(Ranked(one.fact, one.place, score))
    again.sort(key=lambda one: (-one.score, -one.place))
    return again
