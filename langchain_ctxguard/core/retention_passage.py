"""One or two sentences seen from one rule: how much of it they hold, which of their clauses are about it, and what force those have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from langchain_ctxguard.core.numerals import Amount
from langchain_ctxguard.core.retention_marks import Hit, points_back
from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_rule import JOINTS, RELATIONS, Rule, masked_as
from langchain_ctxguard.core.retention_text import Sentence
from langchain_ctxguard.core.retention_tokens import Token
from langchain_ctxguard.core.retention_words import meaning_of

RELATED = 0.4
"""Share of a rule's content below which a passage is about something else."""

RESTATED = 0.5
"""Share that a sentence of full force must cover to be the rule in other words."""

UNMARKED = 0.7
"""Share that a sentence without any word of force must cover."""

WHOLE = 0.75
"""Share from which a condition that is not the rule's own is a new one."""

HINTED = 0.25
"""Share from which care is advised about what the rule is about."""

_HALF = 0.5


class Passage:
    """One or two sentences, seen from one rule."""

    def __init__(self, rule: Rule, sentences: Sequence[Sentence]) -> None:
        """Measure what they share; what sets their force is looked for when asked."""
        self.rule = rule
        self.sentences = sentences
        first = sentences[0]
        self.tokens: Sequence[Token] = first.tokens
        self.concepts, self.pairs, self.words = first.concepts, first.pairs, first.words
        for sentence in sentences[1:]:
            self.tokens = (*self.tokens, *sentence.tokens)
            self.concepts, self.pairs, self.words = self.concepts | sentence.concepts, self.pairs | sentence.pairs, self.words | sentence.words
        self.is_other_language = rule.has_han != any(sentence.has_han for sentence in sentences)
        self.coverage, self.subject, self.missing = self._covered()

    def _covered(self) -> tuple[float, float, list[Token]]:
        """Return which share of the rule's content stands here, with and without its amounts, and what does not."""
        total = covered = amounts = covered_amounts = 0.0
        missing: list[Token] = []
        for place, token in enumerate(self.rule.content):
            weight, share = self._weight(token), self._share(token, place)
            total, covered = total + weight, covered + weight * share
            if token.amount is not None:
                amounts, covered_amounts = amounts + weight, covered_amounts + weight * share
            if share < _HALF and token.concept not in RELATIONS:
                missing.append(token)
        rest = total - amounts
        return (covered / total if total else 0.0), ((covered - covered_amounts) / rest if rest else 1.0), missing

    def _weight(self, token: Token) -> float:
        if token.kind == "han":
            return 0.5
        if token.kind == "word" and self.is_other_language and token.concept[:1] not in "!#=":
            return 0.2  # a word the table cannot translate
        if token.kind == "name":
            return 1.5
        return 0.5 if token.concept in RELATIONS else 1.0

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
    def amounts(self) -> list[Amount]:
        """The amounts in it."""
        return [token.amount for token in self.tokens if token.amount is not None]

    @cached_property
    def joins(self) -> bool:
        """Say whether something is joined by `and` or `or` in the clauses about the rule."""
        return any(JOINTS.search(sentence.folded, start, end) for sentence, (start, end) in self.near)

    @cached_property
    def extra(self) -> list[Token]:
        """Content of its relevant clauses that the rule does not have."""
        return [token for token in self._near_tokens if token.kind != "function" and not self.is_of_rule(token)]

    def is_of_rule(self, token: Token) -> bool:
        """Say whether the rule has a token as well, by meaning, value or spelling."""
        if token.amount is not None:
            return any(token.amount.is_same(other.amount) for other in self.rule.content if other.amount is not None)
        if token.concept in self.rule.concepts or token.text in self.rule.words:
            return True
        if token.text[0] > "\u2fff":
            return token.text in self.rule.characters if len(token.text) == 1 else token.text in self.rule.text
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
            for start, end in sentence.clauses:
                inside = [token for token in sentence.tokens if start <= token.start < end]
                content = [token for token in inside if token.kind != "function"]
                is_near = not content or any(self.is_of_rule(token) for token in content)
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
            for hit in sentence.hits:
                span = next((span for span in spans if span[0] <= hit.start < span[1]), None)
                if span is not None and not self._is_no_news(sentence, hit):
                    found.append((sentence, hit, span))
        return found

    def _is_no_news(self, sentence: Sentence, hit: Hit) -> bool:
        if hit.mark is Mark.PERMIT and self.rule.confines:
            return False
        if hit.mark is Mark.SOFT and (meaning_of(hit.text) or "~") in self.rule.concepts:
            return True  # a rule on what to recommend
        return hit.mark in _NEWS and any(masked in self.rule.masked for masked in masked_as(sentence, hit))

    @cached_property
    def marks(self) -> frozenset[Mark]:
        """The marks of the clauses that are about the rule."""
        found: set[Mark] = {hit.mark for _, hit, _ in self.hits if hit.mark is not Mark.PERMIT}
        if any(self._permits(sentence, hit, span) for sentence, hit, span in self.hits if hit.mark is Mark.PERMIT):
            found.add(Mark.PERMIT)
        if any(hit.mark is Mark.SOFT and _DISSUADES.search(hit.text) for _, hit, _ in self.hits):
            found.add(Mark.NEGATION)
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


_DISSUADES = re.compile(r"not|n't|less|seldom|spar|rare|minimi|little|少|avoid|inadvis|discourag|reluct|hesit|frown|undesir|against|不")
_NEWS = frozenset({Mark.SOFT, Mark.PERMIT, Mark.RELEASE, Mark.LIFT, Mark.STORY, Mark.EXCEPT, Mark.NARROW, Mark.WITHOUT, Mark.ORDER, Mark.ASKED})
