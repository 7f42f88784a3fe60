"""A rule taken apart once: what it bans, asks for and limits, and the words that carry its content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import dropwhile, pairwise, takewhile
from typing import NamedTuple

from langchain_ctxguard.core.retention_marks import Hit
from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_text import Sentence, rule_sentences
from langchain_ctxguard.core.retention_tokens import Token
from langchain_ctxguard.core.retention_words import is_action

_CLAUSES = re.compile(r"[;；，]|[,:：](?=\D)")
JOINTS = re.compile(r"\b(?:and|or|nor)\b|和|或者?|及|以及|与|、|且|并且")
RELATIONS = frozenset(
    {"#before", "#after", "#inside", "#outside", "#every", "#other", "#above", "#below", "#whole", "#prior", "#directly", "#immediate", "#time"}
)


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
        return tuple(hit for sentence in self.sentences for hit in sentence.hits)

    @cached_property
    def masked(self) -> frozenset[Masked]:
        """Marks that are news only if the rule does not have them."""
        return frozenset(masked for sentence in self.sentences for hit in sentence.hits for masked in masked_as(sentence, hit))

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
        return Mark.PERMIT in self.marks and not self.marks & {Mark.BAN, Mark.ONLY, Mark.DUTY, Mark.MOST, Mark.LEAST, Mark.NEGATION}

    @cached_property
    def advises(self) -> bool:
        """Say whether it is itself only advice."""
        return Mark.SOFT in self.marks and not self.marks & {Mark.BAN, Mark.ONLY, Mark.DUTY}

    @cached_property
    def concepts(self) -> frozenset[str]:
        """The meanings in it."""
        return frozenset().union(*(sentence.concepts for sentence in self.sentences)) if self.sentences else frozenset()

    @cached_property
    def words(self) -> frozenset[str]:
        """Its tokens as they are written."""
        return frozenset(token.text for token in self.tokens)

    @cached_property
    def characters(self) -> frozenset[str]:
        """The Chinese characters that stand beside another one in it."""
        return frozenset("".join(self.pairs))

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Its pairs of Chinese characters."""
        return frozenset().union(*(sentence.pairs for sentence in self.sentences)) if self.sentences else frozenset()

    @cached_property
    def has_han(self) -> bool:
        """Say whether it is Chinese, at least in part."""
        return any(sentence.has_han for sentence in self.sentences)

    @cached_property
    def clauses(self) -> list[list[Token]]:
        """Its content clause by clause."""
        parts = [part for sentence in self.sentences for part in _parts(sentence, _CLAUSES)]
        times = Counter(concept for part in parts for concept in {token.concept for token in part})
        return [[token for token in part if times[token.concept] == 1] for part in parts]

    @cached_property
    def joined(self) -> list[tuple[list[Token], list[Token]]]:
        """What `and` or `or` joins in it: the words right before and right after."""
        pairs = []
        for sentence in self.sentences:
            for clause in _CLAUSES.split(sentence.folded):
                start = sentence.folded.find(clause)
                for joint in JOINTS.finditer(sentence.folded, start, start + len(clause)):
                    before = [token for token in sentence.tokens if start <= token.start and token.end <= joint.start()]
                    after = [token for token in sentence.tokens if joint.end() <= token.start and token.end <= start + len(clause)]
                    one, other = _run(before[::-1]), _run(after)
                    if one and other:
                        pairs.append((one, other))
        return pairs

    @cached_property
    def condition(self) -> frozenset[str]:
        """What must be there before a ban is off: the meanings after `without`, `before`, `unless`, or those of the clause with 未经 or 除非."""
        found: set[str] = set()
        for sentence in self.sentences:
            for hit in sentence.hits:
                if hit.mark in (Mark.WITHOUT, Mark.BEFORE, Mark.EXCEPT):
                    start, end = next(((start, end) for start, end in sentence.clauses if start <= hit.start < end), (0, 0))
                    start = hit.end if hit.text.isascii() else start
                    found.update(token.concept for token in sentence.tokens if start <= token.start < end and token.concept)
        return frozenset(found)

    @cached_property
    def withheld(self) -> str | None:
        """What a duty is to be done without: `grade it without looking at the name`."""
        if self.forbids:
            return None
        for sentence in self.sentences:
            for hit in sentence.hits:
                if hit.mark is Mark.WITHOUT:
                    return next((token.concept for token in sentence.tokens if token.start >= hit.end and token.kind == "word"), None)
        return None

    @cached_property
    def banned(self) -> str | None:
        """The action a ban is about: the first one after the ban, in its clause, else the last one before it."""
        for sentence in self.sentences:
            for hit in sentence.hits:
                if hit.mark is Mark.BAN:
                    after = [token.concept for token in sentence.tokens if token.start >= hit.start and is_action(token.concept)]
                    before = [token.concept for token in sentence.tokens if token.end <= hit.start and is_action(token.concept)]
                    return after[0] if after else before[-1] if before else None
        return None


def _parts(sentence: Sentence, cut: re.Pattern[str]) -> list[list[Token]]:
    ends = [0, *(found.start() for found in cut.finditer(sentence.folded)), len(sentence.folded)]
    return [
        [token for token in sentence.tokens if start <= token.start < end and token.kind != "function" and token.concept not in RELATIONS]
        for start, end in pairwise(ends)
    ]


def _run(tokens: Sequence[Token]) -> list[Token]:
    """Return the one thing tokens begin with: a known word, or unknown characters that stand together."""
    content = list(dropwhile(lambda token: token.kind == "function", tokens))
    return list(takewhile(lambda token: token.kind == "han", content)) or content[:1]


@lru_cache(maxsize=2_048)
def rule_of(text: str) -> Rule:
    """Return a rule taken apart."""
    return Rule(text, rule_sentences(text))


def masked_as(sentence: Sentence, hit: Hit) -> list[Masked]:
    """Return what a mark is known by: a permission or advice by what it is about, other marks by their words."""
    if hit.mark not in (Mark.PERMIT, Mark.SOFT, Mark.ORDER):
        return [Masked(hit.mark, hit.text)]
    about = next((token.concept or token.text for token in sentence.tokens if token.start >= hit.end and token.kind != "function"), "")
    return [Masked(hit.mark, about)]
