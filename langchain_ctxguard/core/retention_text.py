"""Text -> sentences of tokens that can be compared: words by their meaning, numbers by their value, names and paths as they are. Linear in the text."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise

from langchain_ctxguard.core.lexicon import without_invisible
from langchain_ctxguard.core.numerals import (
    LONGEST_ZH_UNIT,
    UNITS,
    WORD_NUMBERS,
    ZH_CLASSIFIERS,
    ZH_NO_NUMERALS,
    ZH_NUMERALS,
    Amount,
    amount,
    clock,
    plain_number,
    scaled,
    word_number,
    zh_number,
)
from langchain_ctxguard.core.retention_words import LONGEST_HAN, concept_of, han_words

LONGEST_SENTENCE = 400
"""Characters of a sentence; what runs on is cut, so that one sentence never costs more than another."""

_HAN = "\u3400-\u9fff\uf900-\ufaff"
_PIECE = re.compile(
    rf"[{_HAN}]+"
    r"|(?<![a-z0-9_.])\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?(?![a-z0-9_])"
    r"|[a-z0-9_]+(?:[-.'/@:\\]+[a-z0-9_]+)*/?"
    r"|[$€£¥%°℃℉<>≤≥=~]"
    r"|[^\W\d_]+",
)
_SPELLED = re.compile(
    rf"[{_HAN}]|(?<![a-z0-9_.])[-−](?=\d)|\d{{1,3}}(?:[,'’]\d{{3}})+(?:\.\d+)?(?![a-z0-9_])|[a-z0-9]+(?:[-.'/@:\\_]+[a-z0-9]+)*|[$€£¥%°℃℉<>≤≥=]|[^\W\d_]"
)
_MOST_PLACES = 16
_SIGNED = re.compile(r"(?:^|[\s(（:：])[-−]$")
_END = re.compile(r"[。！？!?；;]+[\"'”’」』）)*_`]*|\.[\"'”’）)*_`]*(?=\s|$)|\n\s*(?=[-*•·>#|]|\d{1,2}[.)、])|\n\s*\n|(?<=[。.!?！？])\n|\n(?=\s*[（(]\d)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|mr|mrs|ms|dr|no|vs|approx|prof|inc|st|a\.m|p\.m)|\b[a-z])\.$")
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|h|d|mg|g|kg|mm|cm|km|m|l|ml|kb|mb|gb|tb|k|am|pm|bn|x|th|st|nd|rd|usd|eur|gbp|chf|cny)$")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)$")
_MONTHS = {name: number for number, name in enumerate("january february march april may june july august september october november december".split(), 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()}
_IS_PLAIN = re.compile(r"\d+(?:[.,'’]\d+)*$(?<!\.\d\.)")
_JOINED_UNIT = re.compile(r"(\d{1,9})-([a-z]+)$")
_ORDINAL = frozenset({"th", "st", "nd", "rd"})
_PLAIN_HYPHEN = re.compile(r"[a-z]+(?:-[a-z]+)+$")
_PLAIN_SLASH = re.compile(r"[a-z]+/[a-z]+$")
_POSSESSIVE = re.compile(r"'s?$")


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a sentence."""

    text: str
    kind: str
    """`word`, `function`, `number`, `name` (an identifier, path or version), `han` (a character of no known word)."""

    concept: str
    """What it is compared by; empty for a function word."""

    start: int
    end: int
    amount: Amount | None = None
    is_capital: bool = False
    """A proper name, as far as a capital inside a sentence shows it."""


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

    follows: int = 0
    """Its number in the whole."""

    @cached_property
    def concepts(self) -> frozenset[str]:
        """The meanings in it."""
        return frozenset(token.concept for token in self.tokens if token.kind in ("word", "name") and token.concept)

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Each two Chinese characters that stand side by side."""
        return frozenset(first + second for first, second in pairwise(self.folded) if first > "\u2fff" and second > "\u2fff")

    @cached_property
    def words(self) -> frozenset[str]:
        """Every token as it is written."""
        return frozenset(token.text for token in self.tokens)

    @cached_property
    def line(self) -> str:
        """Its words as they are written, one blank between them and around each Chinese character: punctuation, markup and layout are gone."""
        return " ".join(_SPELLED.findall(self.folded))

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
    return bare.lower() if bare.isascii() else unicodedata.normalize("NFKC", bare).lower()


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


def tokens_of(low: str, original: str = "") -> tuple[Token, ...]:
    """Return the tokens of folded text; `original` tells which words were capitals."""
    has_case = len(original) == len(low)
    tokens: list[Token] = []
    for match in _PIECE.finditer(low):
        word, start = match[0], match.start()
        if word[0] > "\u2fff":
            tokens += _han_tokens(word, start)
        elif word[0] in "$€£¥%°℃℉<>≤≥=~":
            tokens.append(Token(word, "function", "", start, match.end()))
        elif word[0].isdigit() or word[0] in "-−":
            tokens.append(_number_token(word, start, is_negative=_is_signed(low, start)))
        else:
            is_capital = has_case and bool(tokens) and original[start].isupper()
            tokens += _latin_tokens(word, start, is_capital=is_capital)
    return tuple(_with_amounts(tokens))


def _is_signed(low: str, start: int) -> bool:
    return start > 0 and _SIGNED.search(low[max(0, start - 2) : start]) is not None


def _number_token(word: str, start: int, *, is_negative: bool) -> Token:
    end = start + len(word)
    number = plain_number(word) if _IS_PLAIN.match(word) else None
    if number is not None:
        return Token(word, "number", "", start, end, Amount(-number if is_negative else number))
    if time := _CLOCK.match(word):
        return Token(word, "number", "", start, end, clock(time[1], time[2]))
    if (with_unit := _WITH_UNIT.match(word)) and (number := plain_number(with_unit[1])) is not None:
        return Token(word, "number", "", start, end, _of_suffix(-number if is_negative else number, with_unit[2]))
    if (joined := _JOINED_UNIT.match(word)) and joined[2] in UNITS:
        return Token(word, "number", "", start, end, amount(Decimal(joined[1]), joined[2]))
    name = word.strip("/_.:")
    return Token(name, "name", name, start, end)


def _of_suffix(number: Decimal, suffix: str) -> Amount:
    if suffix in _ORDINAL or suffix == "x":
        return Amount(number)
    if suffix in ("k", "bn"):
        return Amount(scaled(number, suffix) or number)
    return amount(number, "metre" if suffix == "m" else suffix)


def _latin_tokens(word: str, start: int, *, is_capital: bool) -> list[Token]:
    end = start + len(word)
    word = _POSSESSIVE.sub("", word.strip("_"))
    if not word:
        return []
    if _PLAIN_HYPHEN.match(word) or _PLAIN_SLASH.match(word):
        whole = concept_of(word)
        if whole is not None and whole[0] in "!#=":
            return [Token(word, "word", whole, start, end)]
        parts = re.split(r"[-/]", word)
        return [_word_token(part, start, end, is_capital=is_capital) for part in parts]
    if re.search(r"[0-9_/@.\\:]", word):
        name = word.strip("/.:\\")
        return [Token(name, "name", name, start, end)]
    return [_word_token(word, start, end, is_capital=is_capital)]


def _word_token(word: str, start: int, end: int, *, is_capital: bool) -> Token:
    concept = concept_of(word.replace("'", ""))
    return Token(word, "function" if concept is None else "word", concept or "", start, end, None, is_capital)


def _han_tokens(run: str, offset: int) -> list[Token]:
    """Cut Chinese by the longest known word at each place; numerals are numbers, the rest single characters."""
    known = han_words()
    tokens: list[Token] = []
    at, length = 0, len(run)
    while at < length:
        size, number = _numeral_at(run, at)
        if number is not None:
            tokens.append(Token(run[at : at + size], "number", "", offset + at, offset + at + size, number))
            at += size
            continue
        for size in range(min(LONGEST_HAN, length - at), 0, -1):
            word = run[at : at + size]
            if word in known:
                concept = known[word]
                tokens.append(Token(word, "function" if concept is None else "word", concept or "", offset + at, offset + at + size))
                break
            if word in ZH_NO_NUMERALS:
                tokens.append(Token(word, "function", "", offset + at, offset + at + size))
                break
        else:
            size = 1
            tokens.append(Token(run[at], "han", run[at], offset + at, offset + at + 1))
        at += size
    return tokens


def _numeral_at(run: str, at: int) -> tuple[int, Amount | None]:
    """Return how long the numeral at a place is, with its unit if that stands in the same run, and what it amounts to."""
    is_share = run.startswith("百分之", at)
    start = at + 3 if is_share else at
    if start >= len(run) or run[start] not in ZH_NUMERALS or (at > 0 and run[at - 1] in "第几数"):
        return 0, None
    end = start
    while end < len(run) and run[end] in ZH_NUMERALS:
        end += 1
    if not is_share and any(run[start : start + size] in ZH_NO_NUMERALS for size in (4, 3, 2)):
        return 0, None
    number = zh_number(run[start:end])
    if end < len(run) - 1 and run[end] == "点" and run[end + 1] in ZH_NUMERALS and is_share:
        end += 2
    if number is None:
        return 0, None
    if is_share:
        return end - at, amount(number, "%")
    taken, unit = _zh_unit(run, end)
    return end + taken - at, amount(number, unit)


def _zh_unit(run: str, at: int) -> tuple[int, str]:
    """Return the unit at a place and its length; 个 before a unit is passed over, and so are 摄氏 and 多."""
    skip = 0
    while at + skip < len(run) and run[at + skip] in ("个", "多", "余", "来"):
        skip += 1
    for size in range(min(LONGEST_ZH_UNIT, len(run) - at - skip), 0, -1):
        if run[at + skip : at + skip + size] in UNITS:
            return skip + size, run[at + skip : at + skip + size]
    if at < len(run) and run[at] in ZH_CLASSIFIERS:
        return 1, ""
    return 0, ""


def _with_amounts(tokens: list[Token]) -> list[Token]:
    """Join numbers with the scales and units around them, and spelled-out numbers into one."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind != "number" and token.text in WORD_NUMBERS and token.text not in ("once", "twice", "half"):
            found = word_number([later.text for later in tokens[at : at + 8]])
            if found is not None and not (token.text == "one" and not _counts(tokens, at)):
                number, taken = found
                token = Token(token.text, "number", "", token.start, tokens[at + taken - 1].end, Amount(number))
                at += taken - 1
        elif token.text in _MONTHS and token.kind != "number" and _is_beside_number(tokens, at):
            token = Token(token.text, "number", "", token.start, token.end, amount(Decimal(_MONTHS[token.text]), "month"))
        if token.kind == "number" and token.amount is not None and not token.amount.dimension:
            token, at = _measured(tokens, at, token, result)
        result.append(token)
        at += 1
    return result


def _counts(tokens: Sequence[Token], at: int) -> bool:
    """Say whether `one` counts something: it stands before a word and not before a verb of its own."""
    return at + 1 < len(tokens) and tokens[at + 1].kind == "word"


def _is_beside_number(tokens: Sequence[Token], at: int) -> bool:
    return any(0 <= beside < len(tokens) and tokens[beside].kind == "number" for beside in (at - 1, at + 1))


def _measured(tokens: Sequence[Token], at: int, token: Token, before: Sequence[Token]) -> tuple[Token, int]:
    """Return a number token with its scale and unit, and the place of the last token it took."""
    assert token.amount is not None  # noqa: S101 - the caller looked
    number = token.amount.number
    following = at + 1
    if following < len(tokens) and (more := scaled(number, tokens[following].text)) is not None and tokens[following].text not in ("m",):
        number, following = more, following + 1
    elif following < len(tokens) and tokens[following].start == token.end and tokens[following].text[:1] in "万亿":
        number, following = scaled(number, tokens[following].text[:1]) or number, following + 1
    unit, taken = _unit_after(tokens, following)
    if not unit and before and before[-1].text in UNITS and before[-1].text in ("$", "€", "£", "¥", "usd", "eur", "gbp", "chf", "cny", "rmb", "hkd", "jpy"):
        unit = before[-1].text
    return Token(token.text, "number", "", token.start, tokens[following + taken - 1].end, amount(number, unit)), following + taken - 1


def _unit_after(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    if at >= len(tokens):
        return "", 0
    text = tokens[at].text
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if text in ("working", "business") and following in ("day", "days"):
        return "working_day", 2
    if text in ("calendar",) and following in ("day", "days"):
        return "day", 2
    if text in ("degree", "degrees", "°") and following in ("celsius", "c", "fahrenheit", "f"):
        return {"c": "celsius", "f": "fahrenheit"}.get(following, following), 2
    if text == "per" and following == "cent":
        return "percent", 2
    if text in UNITS and text not in ("block", "second_"):
        return text, 1
    if text[0] > "\u2fff":
        return _han_unit_after(tokens, at)
    return "", 0


def _han_unit_after(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the Chinese unit that begins right after digits; tokens may have cut it in two."""
    run = "".join(token.text for token in tokens[at : at + 4] if token.text[0] > "\u2fff")
    size, unit = _zh_unit(run, 0)
    taken = covered = 0
    while covered < size and at + taken < len(tokens):
        covered += len(tokens[at + taken].text)
        taken += 1
    return (unit, taken) if covered == size else ("", 0)


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
            for key in keys_of(sentence):
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

    def nearest(self, rule: Sequence[Sentence], most: int) -> list[int]:
        """Return the numbers of the sentences that share the most with a rule, best first."""
        votes: Counter[int] = Counter()
        for key in {key for sentence in rule for key in keys_of(sentence)}:
            votes.update(self._index.get(key, ()))
        return [number for number, _ in votes.most_common(most)]


def _is_cut_number(line: str, blank: int, step: int) -> bool:
    """Say whether a blank of the line parts a Chinese numeral in two."""
    inside, outside = blank + step, blank - step
    return 0 <= outside < len(line) and line[inside] in ZH_NUMERALS and line[outside] in ZH_NUMERALS


def keys_of(sentence: Sentence) -> frozenset[str]:
    """Return what a sentence can be found by: its concepts, its pairs of Chinese characters, its numbers."""
    return sentence.concepts | sentence.pairs


@lru_cache(maxsize=2_048)
def rule_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a rule; rules are read again and again."""
    return tuple(sentences_of(text[:4_000]))
