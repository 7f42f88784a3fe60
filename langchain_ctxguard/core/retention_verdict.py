"""One rule against one passage: what the passage makes of the rule. Structure decides: force, values, coverage, alignment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from langchain_ctxguard.core.numerals import Amount, words_in
from langchain_ctxguard.core.retention_align import substituted
from langchain_ctxguard.core.retention_order import is_order_turned
from langchain_ctxguard.core.retention_passage import HINTED, RELATED, RESTATED, UNMARKED, WHOLE, Passage
from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_rule import Rule
from langchain_ctxguard.core.retention_text import Sentence
from langchain_ctxguard.core.retention_words import alternatives_line, is_action
from langchain_ctxguard.domain.retention import Retention

_OPPOSITES = (("#inside", "#outside"), ("#above", "#below"), ("#before", "#after"))


class Verdict(NamedTuple):
    """What a passage makes of a rule."""

    retention: Retention
    reason: str
    coverage: float = 0.0


ABSENT = Verdict(Retention.DROPPED, "absent")


def judge(rule: Rule, sentences: Sequence[Sentence]) -> Verdict:
    """Return what a passage makes of a rule that does not stand in it word for word."""
    passage = Passage(rule, sentences)
    if max(passage.coverage, passage.subject) < HINTED or not rule.content or sentences[-1].is_question:
        return ABSENT._replace(coverage=passage.coverage)
    for step in (_opened, _advised, _changed_value, _told, _unbanned, _denied, _narrowed, substituted, _cut):
        found = step(rule, passage)
        if found is not None:
            return Verdict(*found, passage.coverage)
    return _restated(rule, passage)


_Found = tuple[Retention, str] | None


def _opened(rule: Rule, passage: Passage) -> _Found:
    """Look for a rule that is lifted, a duty that is denied, a permission that is claimed."""
    if passage.coverage < RELATED or rule.grants:
        return None
    if passage.has(Mark.LIFT) and not passage.has(Mark.IN_FORCE):
        return Retention.CONTRADICTED, "lifted"
    if passage.has(Mark.RELEASE):
        # Some cases released and the duty upheld for the others.
        is_partial = not rule.forbids and passage.has(Mark.DUTY, Mark.ONLY)
        return (Retention.WEAKENED, "narrowed") if is_partial else (Retention.CONTRADICTED, "released")
    if not rule.forbids and passage.has(Mark.WITHOUT) and not passage.has(Mark.BAN, Mark.NEGATION, Mark.STORY) and Mark.WITHOUT not in rule.marks:
        return Retention.CONTRADICTED, "released"
    is_told_no = passage.has(Mark.STORY) and (not rule.forbids or passage.has(Mark.BAN, Mark.NEGATION, Mark.ASKED))
    if passage.has(Mark.PERMIT) and not is_told_no:
        return _permitted(rule, passage)
    return None


def _permitted(rule: Rule, passage: Passage) -> _Found:
    follows = passage.after(Mark.PERMIT)
    if rule.forbids or rule.confines:
        if (
            passage.has(Mark.ONLY)
            or (passage.has(Mark.SOFT) and passage.has(Mark.BAN, Mark.NEGATION))
            or (passage.has(Mark.BAN) and rule.banned not in follows)
        ):
            return None
        return Retention.CONTRADICTED, "permission"
    if passage.has(Mark.DUTY, Mark.BAN, Mark.MOST, Mark.LEAST):
        return None
    if rule.limits:
        return None if passage.has(Mark.MOST, Mark.LEAST) else (Retention.CONTRADICTED, "permission")
    actions = {token.concept for token in rule.content if is_action(token.concept)}
    if _opposite(rule, passage):
        return Retention.CONTRADICTED, "permission"
    does_it = any(concept in actions for concept in follows[:3]) or any(concept in rule.concepts for concept in follows[:1])
    return (Retention.WEAKENED, "advice") if does_it or passage.has(Mark.SOFT) else (Retention.CONTRADICTED, "permission")


def _changed_value(rule: Rule, passage: Passage) -> _Found:
    """Look for a number, a name or one of a closed set that stands where the rule has another."""
    others = [amount for amount in passage.amounts if not any(amount.is_same(token.amount) for token in rule.content if token.amount)]
    for token in passage.missing:
        if token.amount is not None and passage.subject >= RELATED and any(_could_replace(token.amount, other) for other in others):
            return Retention.MUTATED, "value"
    if _other_name(passage) or _other_alternative(rule, passage) or _other_proper_name(passage):
        return Retention.MUTATED, "name"
    if passage.coverage >= RESTATED and _turned(rule, passage):
        return Retention.MUTATED, "direction"
    return None


def _could_replace(old: Amount, new: Amount) -> bool:
    return old.group == new.group or (old.number == new.number and bool(old.group and new.group))


def _other_name(passage: Passage) -> bool:
    """Say whether a name of the rule is missing and a name it does not have is there."""
    if passage.coverage < RELATED or not any(token.kind == "name" for token in passage.missing):
        return False
    return any(token.kind == "name" and token.text not in passage.rule.words for token in passage.tokens)


def _other_alternative(rule: Rule, passage: Passage) -> bool:
    if passage.subject < RELATED:
        return False
    missing = {line for token in passage.missing if (line := alternatives_line(token.concept)) is not None}
    own = {token.concept for token in rule.content}
    return bool(missing) and any(token.concept not in own and alternatives_line(token.concept) in missing for token in passage.tokens)


def _other_proper_name(passage: Passage) -> bool:
    if passage.coverage < RESTATED or passage.is_other_language:
        return False
    lost = [token for token in passage.missing if token.is_capital]
    return bool(lost) and any(token.is_capital and not passage.is_of_rule(token) for token in passage.extra)


def _turned(rule: Rule, passage: Passage) -> bool:
    if Mark.MOST in rule.marks and Mark.LEAST not in rule.marks:
        return passage.has(Mark.LEAST) and not passage.has(Mark.MOST)
    if Mark.LEAST in rule.marks and Mark.MOST not in rule.marks:
        return passage.has(Mark.MOST) and not passage.has(Mark.LEAST)
    return False


def _opposite(rule: Rule, passage: Passage) -> bool:
    """Say whether one side of a pair stands where the rule has the other: inside for outside."""
    return any(
        own in rule.concepts and other not in rule.concepts and other in passage.concepts and own not in passage.concepts
        for pair in _OPPOSITES
        for own, other in (pair, pair[::-1])
    )


def _told(rule: Rule, passage: Passage) -> _Found:
    """Look for a rule that is told from the past."""
    if passage.coverage < RESTATED or not passage.has(Mark.STORY) or passage.has(Mark.IN_FORCE):
        return None
    if rule.forbids and not passage.has(Mark.BAN, Mark.NEGATION, Mark.ONLY):
        return Retention.DROPPED, "absent"
    return Retention.WEAKENED, "story"


def _advised(rule: Rule, passage: Passage) -> _Found:
    """Look for advice, care or a wish in place of a rule."""
    if rule.advises or not passage.has(Mark.SOFT):
        return None
    is_caution = any(hit.mark is Mark.SOFT and _CAUTION.search(hit.text) for _, hit, _ in passage.hits)
    if rule.forbids and not (is_caution or rule.condition & passage.concepts or passage.has(Mark.BAN, Mark.NEGATION, Mark.ONLY)):
        return None  # advice to do what is banned
    return (Retention.WEAKENED, "advice") if passage.coverage >= (HINTED if is_caution else RELATED) else None


_CAUTION = re.compile(r"care|cautio|mindful|watch|谨慎|慎|小心|当心|留心|留意|注意|斟酌|三思")


def _narrowed(rule: Rule, passage: Passage) -> _Found:
    """Look for a condition the rule does not have, or fewer cases than it has."""
    if passage.coverage < RESTATED or rule.advises:
        return None
    if passage.has(Mark.NARROW):
        return Retention.WEAKENED, "narrowed"
    if passage.coverage >= WHOLE and passage.has(Mark.EXCEPT) and not passage.has(Mark.NO_EXCEPTION) and _is_new_condition(passage):
        return Retention.WEAKENED, "condition"
    return None


def _is_new_condition(passage: Passage) -> bool:
    """Say whether what follows a condition word (or stands before it, in Chinese) is nothing the rule speaks of."""
    for sentence, hit, span in passage.hits:
        if hit.mark is not Mark.EXCEPT:
            continue
        after = [token for token in sentence.tokens if hit.end <= token.start < span[1] and token.kind != "function"]
        before = [token for token in sentence.tokens if span[0] <= token.start < hit.start and token.kind != "function"]
        condition = after if hit.text[0] < "\u2fff" or hit.text in _CONDITION_FIRST else before
        if condition and sum(passage.is_of_rule(token) for token in condition) * 2 < len(condition):
            return True
    return False


_CONDITION_FIRST = frozenset({"除非", "除了", "如果", "若", "如", "倘若", "假如", "只要", "涉及"})


_PAST = words_in("sent told said gave given spoke spoken wrote written made paid spent bought sold left kept held took taken shown read")
_PASSIVE = re.compile(r"\b(?:is|are|be|being|get|gets)\s+(?:\w+ly\s+)?\Z")
_REVERSED = (Retention.CONTRADICTED, "reversed")
_DENIALS = (Mark.BAN, Mark.NEGATION, Mark.ONLY, Mark.WITHOUT, Mark.MOST)


def _unbanned(rule: Rule, passage: Passage) -> _Found:
    """Look for what a rule bans, told to be done."""
    if not rule.forbids or passage.has(*_DENIALS):
        return None
    if passage.has(Mark.STORY, Mark.ASKED) or _was_done(rule, passage):
        return Retention.DROPPED, "absent"
    if rule.marks & {Mark.BEFORE, Mark.WITHOUT} and passage.has(Mark.DUTY) and passage.has(Mark.BEFORE):
        return None  # no release without approval: approval must come first
    names_it = rule.banned in passage.concepts
    is_bare = not passage.extra or passage.has(Mark.ORDER, Mark.DUTY)
    if passage.coverage >= RESTATED and names_it and is_bare:
        return _REVERSED
    is_like_it = len(passage.extra) <= max(3, len(rule.content))
    return _REVERSED if passage.coverage >= UNMARKED and (names_it or rule.banned is None) and is_like_it else None


def _was_done(rule: Rule, passage: Passage) -> bool:
    """Say whether what a rule bans is only reported as done: `the customer called twice`."""
    acts = [(sentence, token) for sentence in passage.sentences for token in sentence.tokens if token.concept == rule.banned]
    return bool(acts) and all(
        (token.text.endswith("ed") or token.text in _PAST) and not _PASSIVE.search(sentence.folded, 0, token.start) for sentence, token in acts
    )


def _denied(rule: Rule, passage: Passage) -> _Found:
    """Look for a duty that is banned, done with what it is to be done without, or put in the other order."""
    if passage.coverage < RESTATED or (rule.forbids and not passage.has(*_DENIALS)):
        return None
    if rule.withheld in passage.concepts and not passage.has(*_DENIALS):
        return _REVERSED
    if is_order_turned(rule.sentences, passage.sentences):
        return _REVERSED
    if rule.forbids or rule.limits or rule.confines or passage.has(Mark.BEFORE, Mark.WITHOUT, Mark.EXCEPT, Mark.ONLY):
        return None
    actions = {token.concept for token in rule.content if is_action(token.concept)}
    return _REVERSED if any(concept in actions for concept in passage.after(Mark.BAN)[:2]) else None


def _cut(rule: Rule, passage: Passage) -> _Found:
    """Look for a part of the rule that is gone with nothing in its place."""
    if passage.coverage < RESTATED or passage.is_other_language:
        return None
    denies = passage.has(Mark.BAN, Mark.NEGATION, Mark.ONLY, Mark.WITHOUT)
    if rule.forbids and not denies and rule.banned in passage.concepts:
        return None
    if any(token.amount is not None or token.kind == "name" for token in passage.missing):
        return Retention.WEAKENED, "part_missing"
    missing = set(passage.missing)
    if any(part and missing.issuperset(part) and len(passage.extra) < len(part) for part in rule.clauses):
        return Retention.WEAKENED, "part_missing"
    if not passage.joins and any(set(one) <= missing and not missing & set(other) for pair in rule.joined for one, other in (pair, pair[::-1])):
        return Retention.WEAKENED, "part_missing"
    return None


def _restated(rule: Rule, passage: Passage) -> Verdict:
    has_force = passage.has(Mark.BAN, Mark.DUTY, Mark.ONLY, Mark.MOST, Mark.LEAST) or (rule.forbids and passage.has(Mark.NEGATION))
    if passage.coverage < (RESTATED if has_force else UNMARKED):
        return ABSENT._replace(coverage=passage.coverage)
    if rule.forbids and not passage.has(Mark.BAN, Mark.ONLY, Mark.NEGATION, Mark.DUTY, Mark.MOST, Mark.WITHOUT):
        return ABSENT._replace(coverage=passage.coverage)
    if any(token.amount is not None or token.kind == "name" for token in passage.missing):
        return Verdict(Retention.WEAKENED, "part_missing", passage.coverage)
    return Verdict(Retention.PARAPHRASED, "restated", passage.coverage)
