"""Text -> sentences that can be compared and found again by what they are about. Linear in the text."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import pairwise

from langchain_ctxguard.core.lexicon import without_invisible
from langchain_ctxguard.core.numerals import ZH_NUMERALS
from langchain_ctxguard.core.retention_marks import Hit, clauses_of, marks_in
from langchain_ctxguard.core.retention_tokens import HAN, Token, tokens_of

LONGEST_SENTENCE = 400
"""Characters of a sentence; what runs on is cut, so that one sentence never costs more than another."""

_SPELLED = re.compile(
    rf"[{HAN}]|(?<![a-z0-9_.])[-−](?=\d)|\d{{1,3}}(?:[,'’]\d{{3}})+(?:\.\d+)?(?![a-z0-9_])|[a-z0-9]+(?:[-.'/@:\\_]+[a-z0-9]+)*|[$€£¥%°℃℉<>≤≥=]|[^\W\d_]"
)
_MOST_PLACES = 16
_END = re.compile(
    r"[。！？!?；;]+[\"'”’」』）)*_`]*|\.[\"'”’）)*_`]*(?=\s|$)|\n\s*(?=[-*•·>#|]|\d{1,2}[.)、])|\n\s*\n|(?<=[。.!?！？])\n|\n(?=\s*[（(]\d)"
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|mr|mrs|ms|dr|no|vs|approx|prof|inc|st|a\.m|p\.m)|\b[a-z])\.$")


@dataclass(frozen=True)
class Sentence:
    """A stretch of text that says one thing, and where it stands."""

    text: str
    """As it is in the source."""

    folded: str
    """Lower case, half width, nothing invisible: what the offsets of its tokens count in."""

    tokens: tuple[Token, ...]
    part: int = 0
    """Which of the texts read together it is from."""

    number: int = 0
    """Which one it is in the whole."""

    @cached_property
    def concepts(self) -> frozenset[str]:
        """The meanings in it."""
        return frozenset(token.concept for token in self.tokens if token.kind in ("word", "name") and token.concept)

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Each two Chinese characters that stand side by side."""
        return frozenset(first + second for first, second in pairwise(self.folded) if first > "\u2fff" and second > "\u2fff")

    @cached_property
    def keys(self) -> frozenset[str]:
        """What it can be found by: its concepts, and pairs of Chinese characters of no known word."""
        unknown = (
            first.text + second.text for first, second in pairwise(self.tokens) if first.kind == second.kind == "han" and first.end == second.start
        )
        return self.concepts.union(unknown)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every token as it is written."""
        return frozenset(token.text for token in self.tokens)

    @cached_property
    def line(self) -> str:
        """Its words as they are written, one blank between them and around each Chinese character: punctuation, markup and layout are gone."""
        return " ".join(_SPELLED.findall(self.folded))

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """What sets its force."""
        return tuple(marks_in(self.folded))

    @cached_property
    def clauses(self) -> tuple[tuple[int, int], ...]:
        """Where its clauses begin and end."""
        return tuple(clauses_of(self.folded))

    @property
    def is_question(self) -> bool:
        """Say whether it asks."""
        return self.folded.rstrip("\"'”’」』）)*_` ").endswith("?")

    @cached_property
    def has_han(self) -> bool:
        """Say whether it is Chinese, at least in part."""
        return any(character > "\u2fff" for character in self.folded)


def folded(text: str) -> str:
    """Return `text` in lower case and half width, with nothing invisible in it."""
    bare = without_invisible(text)
    return bare.lower() if bare.isascii() else unicodedata.normalize("NFKC", bare).replace("’", "'").lower()


def sentences_of(text: str, *, part: int = 0, first: int = 0) -> list[Sentence]:
    """Return the sentences of `text` in order; what holds no word is left out."""
    found: list[Sentence] = []
    for piece in _pieces(text):
        low = folded(piece)
        tokens = tokens_of(low, piece)
        if tokens:
            found.append(Sentence(piece.strip(), low, tokens, part, first + len(found)))
    return found


def _pieces(text: str) -> Iterable[str]:
    start = 0
    for end in _END.finditer(text):
        if end[0].startswith(".") and _ABBREVIATION.search(text[max(0, end.start() - 8) : end.start() + 1].lower()):
            continue
        yield from _short(text[start : end.end()])
        start = end.end()
    yield from _short(text[start:])


def _short(piece: str) -> Iterable[str]:
    while len(piece) > LONGEST_SENTENCE:
        cut = max(piece.rfind(mark, LONGEST_SENTENCE // 2, LONGEST_SENTENCE) for mark in ("，", ", ", "\n", " ", "、"))
        cut = LONGEST_SENTENCE if cut < 0 else cut + 1
        yield piece[:cut]
        piece = piece[cut:]
    if piece.strip():
        yield piece


@dataclass
class Reading:
    """Texts read once, to be asked about many rules."""

    texts: tuple[str, ...]
    sentences: list[Sentence] = field(init=False)

    def __post_init__(self) -> None:
        """Cut the texts into sentences."""
        self.sentences = []
        for part, text in enumerate(self.texts):
            self.sentences += sentences_of(text, part=part, first=len(self.sentences))

    @cached_property
    def _lines(self) -> tuple[str, list[int]]:
        """All words in order, each between blanks, and where each sentence begins in that."""
        lines, offsets, at = [" "], [], 1
        for sentence in self.sentences:
            offsets.append(at)
            lines.append(sentence.line + " ")
            at += len(lines[-1])
        return "".join(lines), offsets

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for number, sentence in enumerate(self.sentences):
            for key in sentence.keys:
                index.setdefault(key, []).append(number)
        return index

    def verbatim(self, rule: Sequence[Sentence]) -> list[tuple[int, int]]:
        """Return where a rule stands word for word: the numbers of the sentences it begins and ends in."""
        words = f" {' '.join(sentence.line for sentence in rule)} "
        line, offsets = self._lines
        found: list[tuple[int, int]] = []
        at = line.find(words) if words.strip() else -1
        while at >= 0 and len(found) < _MOST_PLACES:
            end = at + len(words)
            if not (_is_cut_number(line, at, 1) or _is_cut_number(line, end - 1, -1)):
                found.append((bisect_right(offsets, at + 1) - 1, bisect_right(offsets, end - 2) - 1))
            at = line.find(words, at + 1)
        return found

    def nearest(self, rule: Sequence[Sentence], most: int, *, share: float = 0.0) -> list[int]:
        """Return the numbers of the sentences that have the most in common with a rule, best first.

        Args:
            rule: The sentences of the rule.
            most: How many to return.
            share: Leave out those that have less than this share of the rule's keys.
        """
        votes: Counter[int] = Counter()
        keys = {key for sentence in rule for key in sentence.keys}
        for key in keys:
            votes.update(self._index.get(key, ()))
        least = share * len(keys)
        return [-number for _, number in nlargest(most, [(count, -number) for number, count in votes.items() if count >= least])]


def _is_cut_number(line: str, blank: int, step: int) -> bool:
    """Say whether a blank of the line parts a Chinese numeral in two."""
    inside, outside = blank + step, blank - step
    return 0 <= outside < len(line) and line[inside] in ZH_NUMERALS and line[outside] in ZH_NUMERALS


@lru_cache(maxsize=2_048)
def rule_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a rule; rules are read again and again."""
    return tuple(sentences_of(text[:4_000]))
