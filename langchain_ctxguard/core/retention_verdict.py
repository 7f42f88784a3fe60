"""One rule against one passage: what the passage makes of the rule. Structure decides: force, values, coverage, alignment; no rule has words of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import NamedTuple

from langchain_ctxguard.core.numerals import Amount
from langchain_ctxguard.core.retention_marks import Hit, Mark, clauses_of, marks_in, points_back
from langchain_ctxguard.core.retention_text import Sentence, Token, rule_sentences
from langchain_ctxguard.core.retention_words import alternatives_line, concept_of, is_action
from langchain_ctxguard.domain.retention import Retention

RELATED = 0.4
"""Share of a rule's content below which a passage is about something else."""

RESTATED = 0.5
"""Share that a sentence of full force must cover to be the rule in other words."""

UNMARKED = 0.7
"""Share that a sentence without any word of force must cover."""

_HALF = 0.5
_RELATIONS = frozenset({"#before", "#after", "#inside", "#outside", "#every", "#other", "#above", "#below", "#whole", "#prior", "#directly", "#immediate", "#time"})
_OPPOSITES = (("#inside", "#outside"), ("#above", "#below"), ("#before", "#after"))
_ALIGNED = 0.55


class Verdict(NamedTuple):
    """What a passage makes of a rule."""

    retention: Retention
    reason: str
    coverage: float = 0.0


class Masked(NamedTuple):
    """A mark that the rule has as well, about the same thing, says nothing new."""

    mark: Mark
    about: str


@dataclass(frozen=True)
class Rule:
    """A rule taken apart once."""

    text: str
    sentences: tuple[Sentence, ...]

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All its tokens."""
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """The tokens that carry content."""
        return tuple(token for token in self.tokens if token.kind != "function")

    @cached_property
    def marks(self) -> frozenset[Mark]:
        """The marks of force in it."""
        return frozenset(hit.mark for hit in self.hits)

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """The same where they stand, sentence after sentence."""
        return tuple(hit for sentence in self.sentences for hit in marks_in(sentence.folded))

    @cached_property
    def masked(self) -> frozenset[Masked]:
        """Marks that are news only if the rule does not have them."""
        return frozenset(masked for sentence in self.sentences for hit in marks_in(sentence.folded) for masked in _as_masked(sentence, hit))

    @cached_property
    def forbids(self) -> bool:
        """Say whether it is a ban."""
        return Mark.BAN in self.marks and not self._is_limit

    @cached_property
    def _is_limit(self) -> bool:
        return bool(self.marks & {Mark.MOST, Mark.LEAST})

    @property
    def limits(self) -> bool:
        """Say whether it sets a highest or lowest value."""
        return self._is_limit

    @cached_property
    def confines(self) -> bool:
        """Say whether it allows something in one case alone."""
        return Mark.ONLY in self.marks

    @cached_property
    def grants(self) -> bool:
        """Say whether it is itself a permission."""
        return Mark.PERMIT in self.marks and not self.marks & {Mark.BAN, Mark.ONLY, Mark.DUTY, Mark.MOST, Mark.LEAST}

    @cached_property
    def advises(self) -> bool:
        """Say whether it is itself only advice."""
        return Mark.SOFT in self.marks and not self.marks & {Mark.BAN, Mark.ONLY, Mark.DUTY}

    @cached_property
    def concepts(self) -> frozenset[str]:
        """The meanings in it."""
        return frozenset().union(*(sentence.concepts for sentence in self.sentences)) if self.sentences else frozenset()

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Its pairs of Chinese characters."""
        return frozenset().union(*(sentence.pairs for sentence in self.sentences)) if self.sentences else frozenset()

    @cached_property
    def has_han(self) -> bool:
        """Say whether it is Chinese, at least in part."""
        return any(sentence.has_han for sentence in self.sentences)

    @cached_property
    def banned(self) -> str | None:
        """The action a ban is about: the first one after the ban, in its clause, else the last one before it."""
        for sentence in self.sentences:
            for hit in marks_in(sentence.folded):
                if hit.mark is Mark.BAN:
                    after = [token.concept for token in sentence.tokens if token.start >= hit.start and is_action(token.concept)]
                    before = [token.concept for token in sentence.tokens if token.end <= hit.start and is_action(token.concept)]
                    return after[0] if after else before[-1] if before else None
        return None


@lru_cache(maxsize=2_048)
def rule_of(text: str) -> Rule:
    """Return a rule taken apart."""
    return Rule(text, rule_sentences(text))


class Passage:
    """One or two sentences, seen from one rule."""

    def __init__(self, rule: Rule, sentences: Sequence[Sentence]) -> None:
        self.rule = rule
        self.sentences = sentences
        self.tokens = [token for sentence in sentences for token in sentence.tokens]
        self.concepts = frozenset().union(*(sentence.concepts for sentence in sentences))
        self.pairs = frozenset().union(*(sentence.pairs for sentence in sentences))
        self.words = frozenset().union(*(sentence.words for sentence in sentences))
        self.amounts = [token.amount for token in self.tokens if token.amount is not None]
        self.is_other_language = rule.has_han != any(sentence.has_han for sentence in sentences)
        self.coverage, self.missing = self._covered()

    def _covered(self) -> tuple[float, list[Token]]:
        """Return which share of the rule's content stands here, and what does not."""
        total = covered = 0.0
        missing: list[Token] = []
        for place, token in enumerate(self.rule.content):
            weight, share = self._weight(token), self._share(token, place)
            total += weight
            covered += weight * share
            if share < _HALF:
                missing += [] if token.concept in _RELATIONS else [token]
        return (covered / total if total else 0.0), missing

    def _weight(self, token: Token) -> float:
        if token.kind == "han":
            return 0.5
        if token.kind == "word" and self.is_other_language and token.concept[:1] not in "!#=":
            return 0.2  # a word the table cannot translate
        if token.kind == "name":
            return 1.5
        return 0.5 if token.concept in _RELATIONS else 1.0

    def _share(self, token: Token, place: int) -> float:
        if token.amount is not None:
            return float(any(token.amount.is_same(other) for other in self.amounts))
        if token.kind == "han":
            around = [
                self.rule.content[first].text + self.rule.content[first + 1].text
                for first in (place - 1, place)
                if 0 <= first < len(self.rule.content) - 1 and self.rule.content[first].end == self.rule.content[first + 1].start
            ]
            lone = all(self.rule.content[beside].kind != "han" for beside in (place - 1, place + 1) if 0 <= beside < len(self.rule.content))
            return float(any(pair[:2] in self.pairs or pair[-2:] in self.pairs for pair in around) or (lone and token.text in self.words))
        if token.concept in self.concepts or token.text in self.words:
            return 1.0
        if token.text[0] > "\u2fff" and len(token.text) > 1:
            pairs = [token.text[at : at + 2] for at in range(len(token.text) - 1)]
            return sum(pair in self.pairs for pair in pairs) / len(pairs)
        return 0.0

    @cached_property
    def extra(self) -> list[Token]:
        """Content of its relevant clauses that the rule does not have."""
        return [token for token in self._near_tokens if token.kind != "function" and not self._is_of_rule(token)]

    def _is_of_rule(self, token: Token) -> bool:
        if token.amount is not None:
            return any(token.amount.is_same(other.amount) for other in self.rule.content if other.amount is not None)
        if token.concept in self.rule.concepts or any(token.text == other.text for other in self.rule.content):
            return True
        if token.text[0] > "\u2fff":
            return any(token.text in pair for pair in self.rule.pairs) if len(token.text) == 1 else token.text in self.rule.text
        return False

    @cached_property
    def _near_tokens(self) -> list[Token]:
        return [token for sentence, (start, end) in self.near for token in sentence.tokens if start <= token.start < end]

    @cached_property
    def near(self) -> list[tuple[Sentence, tuple[int, int]]]:
        """The clauses that are about the rule: they share content with it, speak of it, or only set the force."""
        found = []
        for sentence in self.sentences:
            was_near = False
            for start, end in clauses_of(sentence.folded):
                inside = [token for token in sentence.tokens if start <= token.start < end]
                content = [token for token in inside if token.kind != "function"]
                is_near = not content or any(self._is_of_rule(token) for token in content)
                if is_near or (was_near and points_back(sentence.folded[start:end])):
                    found.append((sentence, (start, end)))
                    was_near = True
                else:
                    was_near = False
        return found

    @cached_property
    def hits(self) -> list[tuple[Sentence, Hit, tuple[int, int]]]:
        """The marks of the clauses that are about the rule; what the rule has as well is left out where it is no news."""
        found = []
        for sentence in self.sentences:
            spans = [span for owner, span in self.near if owner is sentence]
            for hit in marks_in(sentence.folded):
                span = next((span for span in spans if span[0] <= hit.start < span[1]), None)
                if span is not None and not self._is_no_news(sentence, hit):
                    found.append((sentence, hit, span))
        return found

    def _is_no_news(self, sentence: Sentence, hit: Hit) -> bool:
        return hit.mark in _NEWS and any(masked in self.rule.masked for masked in _as_masked(sentence, hit))

    @cached_property
    def marks(self) -> frozenset[Mark]:
        """The marks of the clauses that are about the rule."""
        found = {hit.mark for _, hit, _ in self.hits if hit.mark is not Mark.PERMIT}
        if any(self._permits(sentence, hit, span) for sentence, hit, span in self.hits if hit.mark is Mark.PERMIT):
            found.add(Mark.PERMIT)
        return frozenset(found)

    def _permits(self, sentence: Sentence, hit: Hit, span: tuple[int, int]) -> bool:
        """Say whether a permission is given: nothing before it in its clause denies or asks it."""
        for owner, other, _ in self.hits:
            if owner is sentence and span[0] <= other.start <= hit.start and other.mark in (Mark.BAN, Mark.ASKED, Mark.ONLY):
                return False
        return True

    def has(self, *marks: Mark) -> bool:
        """Say whether one of the marks is there."""
        return any(mark in self.marks for mark in marks)

    def after(self, mark: Mark) -> list[str]:
        """Return the concepts that follow a mark in its clause."""
        return [
            token.concept or token.text
            for sentence, hit, span in self.hits
            if hit.mark is mark
            for token in sentence.tokens
            if hit.end <= token.start < span[1] and token.kind != "function"
        ]


def _as_masked(sentence: Sentence, hit: Hit) -> list[Masked]:
    """Return what a mark is known by: a permission or advice by what it is about, other marks by their words."""
    if hit.mark not in (Mark.PERMIT, Mark.SOFT, Mark.ORDER):
        return [Masked(hit.mark, hit.text)]
    about = next((token.concept or token.text for token in sentence.tokens if token.start >= hit.end and token.kind != "function"), "")
    return [Masked(hit.mark, about)]


_NEWS = frozenset({Mark.SOFT, Mark.PERMIT, Mark.RELEASE, Mark.LIFT, Mark.STORY, Mark.EXCEPT, Mark.NARROW, Mark.WITHOUT, Mark.ORDER, Mark.ASKED})
ABSENT = Verdict(Retention.DROPPED, "absent")


def judge(rule: Rule, sentences: Sequence[Sentence]) -> Verdict:
    """Return what a passage makes of a rule that does not stand in it word for word."""
    passage = Passage(rule, sentences)
    if passage.coverage < RELATED - 0.1 or not rule.content or sentences[-1].is_question:
        return ABSENT._replace(coverage=passage.coverage)
    for step in (_opened, _changed_value, _told, _softened, _reversed, _substituted, _cut):
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
        return Retention.CONTRADICTED, "released"
    if not rule.forbids and passage.has(Mark.WITHOUT) and not passage.has(Mark.BAN, Mark.NEGATION, Mark.STORY) and Mark.WITHOUT not in rule.marks:
        return Retention.CONTRADICTED, "released"
    if passage.has(Mark.PERMIT) and not passage.has(Mark.STORY):
        return _permitted(rule, passage)
    return None


def _permitted(rule: Rule, passage: Passage) -> _Found:
    follows = passage.after(Mark.PERMIT)
    if rule.forbids or rule.confines:
        if passage.has(Mark.ONLY) or (passage.has(Mark.BAN) and rule.banned not in follows):
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
    if passage.coverage < RELATED - 0.1:
        return None
    others = [amount for amount in passage.amounts if not any(amount.is_same(token.amount) for token in rule.content if token.amount)]
    for token in passage.missing:
        if token.amount is not None and any(_could_replace(token.amount, other) for other in others):
            return Retention.MUTATED, "value"
    names = [token for token in passage.tokens if token.kind == "name" and not any(token.text == other.text for other in rule.content)]
    if any(token.kind == "name" for token in passage.missing) and names and passage.coverage >= RELATED:
        return Retention.MUTATED, "name"
    if _other_alternative(rule, passage) or _other_proper_name(rule, passage):
        return Retention.MUTATED, "name"
    if passage.coverage >= RESTATED and _turned(rule, passage):
        return Retention.MUTATED, "direction"
    return None


def _could_replace(old: Amount, new: Amount) -> bool:
    return old.group == new.group or (old.number == new.number and bool(old.group and new.group))


def _other_alternative(rule: Rule, passage: Passage) -> bool:
    missing = {line for token in passage.missing if (line := alternatives_line(token.concept)) is not None}
    own = {token.concept for token in rule.content}
    return bool(missing) and any(token.concept not in own and alternatives_line(token.concept) in missing for token in passage.tokens)


def _other_proper_name(rule: Rule, passage: Passage) -> bool:
    if passage.coverage < RESTATED or passage.is_other_language:
        return False
    lost = [token for token in passage.missing if token.is_capital]
    return bool(lost) and any(token.is_capital and not passage._is_of_rule(token) for token in passage.extra)  # noqa: SLF001 - same module


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
    if passage.coverage < RESTATED or not passage.has(Mark.STORY) or passage.has(Mark.IN_FORCE):
        return None
    if rule.forbids and not passage.has(Mark.BAN, Mark.NEGATION, Mark.ONLY):
        return Retention.DROPPED, "absent"
    return Retention.WEAKENED, "story"


def _softened(rule: Rule, passage: Passage) -> _Found:
    """Look for advice in place of a rule, a condition the rule does not have, or fewer cases than it has."""
    if rule.advises:
        return None
    if passage.coverage >= RELATED and passage.has(Mark.SOFT):
        return Retention.WEAKENED, "advice"
    if passage.coverage < RESTATED:
        return None
    if passage.has(Mark.NARROW):
        return Retention.WEAKENED, "narrowed"
    if passage.has(Mark.EXCEPT) and not passage.has(Mark.NO_EXCEPTION) and _is_new_condition(rule, passage):
        return Retention.WEAKENED, "condition"
    return None


def _is_new_condition(rule: Rule, passage: Passage) -> bool:
    """Say whether what follows a condition word (or stands before it, in Chinese) is nothing the rule speaks of."""
    for sentence, hit, span in passage.hits:
        if hit.mark is not Mark.EXCEPT:
            continue
        after = [token for token in sentence.tokens if hit.end <= token.start < span[1] and token.kind != "function"]
        before = [token for token in sentence.tokens if span[0] <= token.start < hit.start and token.kind != "function"]
        condition = after if hit.text[0] < "\u2fff" or hit.text in _CONDITION_FIRST else before
        if condition and sum(passage._is_of_rule(token) for token in condition) * 2 < len(condition):  # noqa: SLF001 - same module
            return True
    return False


_CONDITION_FIRST = frozenset({"除非", "除了", "如果", "若", "如", "倘若", "假如", "只要", "涉及"})


def _reversed(rule: Rule, passage: Passage) -> _Found:
    """Look for a ban without its negation, or a duty with one."""
    denies = passage.has(Mark.BAN, Mark.NEGATION, Mark.ONLY, Mark.WITHOUT, Mark.MOST)
    if rule.forbids and not denies:
        if passage.has(Mark.STORY, Mark.ASKED):
            return Retention.DROPPED, "absent"
        if passage.coverage >= UNMARKED and (rule.banned is None or rule.banned in passage.concepts) and len(passage.extra) <= max(3, len(rule.content)):
            return Retention.CONTRADICTED, "reversed"
        if passage.coverage >= RESTATED and rule.banned in passage.concepts and passage.has(Mark.ORDER, Mark.DUTY):
            return Retention.CONTRADICTED, "reversed"
        return None
    if rule.forbids or rule.limits or rule.confines or not passage.has(Mark.BAN) or passage.has(Mark.BEFORE, Mark.WITHOUT, Mark.EXCEPT, Mark.ONLY):
        return None
    actions = {token.concept for token in rule.content if is_action(token.concept)}
    if passage.coverage >= RESTATED and any(concept in actions for concept in passage.after(Mark.BAN)[:2]):
        return Retention.CONTRADICTED, "reversed"
    return None


def _substituted(rule: Rule, passage: Passage) -> _Found:
    """Look for one word exchanged, or one stretch put in or left out, in a text that is otherwise the rule's."""
    if passage.coverage < RESTATED or passage.is_other_language:
        return None
    ours, theirs = _aligned(rule.tokens), _aligned(passage.tokens)
    if len(ours) > 80 or len(theirs) > 160:  # noqa: PLR2004 - no rule a sentence could restate
        return None
    codes = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    matched = [code for code in codes if code[0] == "equal"]
    if not matched:
        return None
    kept = sum(code[2] - code[1] for code in matched)
    if kept < _ALIGNED * len(ours):
        return None
    changes = _changes(codes, len(ours))
    lost = [code for code in changes if code[0] in ("replace", "delete")]
    put_in = [code for code in changes if code[0] == "insert"]
    if len(lost) == 1 and not put_in and lost[0][0] == "replace":
        _, first, last, start, end = lost[0]
        return _exchange(rule, ours[first:last], theirs[start:end])
    if not lost and any(word[0] != "~" and word not in _RELATIONS for _, _, _, start, end in put_in for word in theirs[start:end]):
        return Retention.WEAKENED, "narrowed"
    return None


def _aligned(tokens: Sequence[Token]) -> list[str]:
    """Return the tokens in the form two texts are laid side by side in: content by its meaning, words of force by themselves."""
    result = []
    for token in tokens:
        if token.amount is not None:
            result.append(f"{token.amount.number.normalize()}{token.amount.dimension}")
        elif token.kind == "function":
            if token.text not in _SMALL_WORDS:
                result.append(f"~{token.text}")
        else:
            result.append(token.concept)
    return result


_SMALL_WORDS = frozenset("a an the to of is are be been was were 的 了 地 得 着 在 将 把 被 也 都 其 该".split())


def _changes(codes: Sequence[tuple[str, int, int, int, int]], length: int) -> list[tuple[str, int, int, int, int]]:
    """Return what differs between the first and the last thing in common, and at the rule's own ends."""
    first = next(at for at, code in enumerate(codes) if code[0] == "equal")
    last = len(codes) - 1 - next(at for at, code in enumerate(reversed(codes)) if code[0] == "equal")
    inside = [code for code in codes[first : last + 1] if code[0] != "equal"]
    outside = [code for code in (*codes[:first], *codes[last + 1 :]) if code[1] < code[2] <= length]
    return inside + outside


def _exchange(rule: Rule, ours: Sequence[str], theirs: Sequence[str]) -> _Found:
    old, new = [word for word in ours if word[0] != "~"], [word for word in theirs if word[0] != "~"]
    if not old or not new or len(new) > len(old) + 3 or any(is_action(word) for word in new):
        return None
    if rule.banned in old or (is_action(old[0]) and any(word[0] == "~" for word in ours)):
        return None
    return Retention.MUTATED, "name"


def _cut(rule: Rule, passage: Passage) -> _Found:
    """Look for a part of the rule that is gone with nothing in its place."""
    if passage.coverage < RESTATED or passage.is_other_language:
        return None
    if any(token.amount is not None or token.kind == "name" for token in passage.missing):
        return Retention.WEAKENED, "part_missing"
    if passage.missing and not passage.extra:
        return Retention.WEAKENED, "part_missing"
    return None


def _restated(rule: Rule, passage: Passage) -> Verdict:
    has_force = passage.has(Mark.BAN, Mark.DUTY, Mark.ONLY, Mark.MOST, Mark.LEAST) or (rule.forbids and passage.has(Mark.NEGATION))
    if passage.coverage < (RESTATED if has_force else UNMARKED):
        return ABSENT._replace(coverage=passage.coverage)
    if rule.forbids and not passage.has(Mark.BAN, Mark.ONLY, Mark.NEGATION, Mark.DUTY, Mark.MOST, Mark.WITHOUT):
        return ABSENT._replace(coverage=passage.coverage)
    return Verdict(Retention.PARAPHRASED, "restated", passage.coverage)
