"""Folded text -> tokens: words by their meaning, numbers by their value with the unit they are written with, names as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

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

HAN = "\u3400-\u9fff\uf900-\ufaff"
_PIECE = re.compile(
    rf"[{HAN}]+"
    r"|(?<![a-z0-9_.])\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?(?![a-z0-9_])"
    r"|(?<![a-z0-9_.,])\d+,\d{1,2}(?![a-z0-9_,.])"
    r"|[a-z0-9_]+(?:[-.'/@:\\]+[a-z0-9_]+)*/?"
    r"|[$€£¥%°℃℉<>≤≥=~]"
    r"|[^\W\d_]+",
)
_SIGNED = re.compile(r"(?:^|[\s(（:：])[-−]$")
_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|h|d|mg|g|kg|mm|cm|km|m|l|ml|kb|mb|gb|tb|k|am|pm|bn|x|th|st|nd|rd|usd|eur|gbp|chf|cny)$")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)$")
_MONTH_NAMES = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()}
_IS_PLAIN = re.compile(r"\d+(?:[.,'’]\d+)*$(?<!\.\d\.)")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$")
_JOINED_UNIT = re.compile(r"(\d{1,9})-([a-z]+)$")
_ORDINAL = frozenset({"th", "st", "nd", "rd"})
_PLAIN_HYPHEN = re.compile(r"[a-z]+(?:-[a-z]+)+$")
_PLAIN_SLASH = re.compile(r"[a-z]+/[a-z]+$")
_NAMING = re.compile(r"[0-9_/@.\\:]")
_POSSESSIVE = re.compile(r"'s?$")


class Token(NamedTuple):
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
            if word.isalpha():
                tokens.append(_word_token(word, start, match.end(), is_capital=is_capital))
            else:
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
    if date := _DATE.match(word):
        day = Amount(Decimal(date[3]), "time", "day")
        return Token(word, "number", f"{date[1]}-{int(date[2])}", start, end, day)
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
    if _NAMING.search(word):
        name = word.strip("/.:\\")
        return [Token(name, "name", name, start, end)]
    return [_word_token(word, start, end, is_capital=is_capital)]


def _word_token(word: str, start: int, end: int, *, is_capital: bool) -> Token:
    concept = concept_of(word)
    if "'" in word:
        # I'd, they've, don't: what is short for two function words carries no content.
        base = word.partition("'")[0]
        concept = None if word.endswith("n't") else concept_of(base)
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
    if number is None:
        return 0, None
    end, number = _zh_decimal(run, end, number, is_share=is_share)
    if is_share:
        return end - at, amount(number, "%")
    taken, unit = _zh_unit(run, end)
    if unit == "点":
        return _zh_clock(run, at, end + taken, number)
    return end + taken - at, amount(number, unit)


def _zh_decimal(run: str, at: int, number: Decimal, *, is_share: bool) -> tuple[int, Decimal]:
    """Return where a number with a decimal part ends, and what it is; 九点半 and 七点零四分 are times of day, not decimals."""
    end = at + 1
    while end < len(run) and run[end] in _ZH_PLAIN:
        end += 1
    if run[at : at + 1] != "点" or end == at + 1 or not (is_share or _zh_unit(run, end)[1]) or run[end : end + 1] == "分":
        return at, number
    part = zh_number(run[at + 1 : end])
    return (at, number) if part is None else (end, number + part.scaleb(-(end - at - 1)))


def _zh_clock(run: str, at: int, end: int, hour: Decimal) -> tuple[int, Amount]:
    """Return a time of day: 晚上十点半 is 22:30."""
    is_late = run[max(0, at - 2) : at] in _EVENINGS and hour < 12  # noqa: PLR2004 - half a day
    half = 30 if run.startswith("半", end) else 0
    return end + (1 if half else 0) - at, Amount((hour + (12 if is_late else 0)) * 60 + half, "clock", "clock")


_ZH_PLAIN = frozenset("零〇一二三四五六七八九")
_EVENINGS = frozenset({"晚上", "夜间", "夜里", "下午", "傍晚", "夜晚", "晚间", "当晚", "每晚"})


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
    unit, taken = "", 0
    if following < len(tokens) and tokens[following].text != "m" and (more := scaled(number, tokens[following].text)) is not None:
        number, following = more, following + 1
    elif following < len(tokens) and tokens[following].start == token.end and (more := scaled(number, tokens[following].text[:1])) is not None:
        # 2.5万元: the scale and the unit came as one numeral.
        rest = tokens[following].text[1:]
        number, following, unit = more, following + 1, rest if rest in UNITS else ""
    if not unit:
        unit, taken = _unit_after(tokens, following)
    if unit == "点" and before and before[-1].text in _EVENINGS:
        unit = "pm"
    if (
        not unit
        and before
        and before[-1].text in UNITS
        and before[-1].text in ("$", "€", "£", "¥", "usd", "eur", "gbp", "chf", "cny", "rmb", "hkd", "jpy")
    ):
        unit = before[-1].text
    return Token(token.text, "number", "", token.start, tokens[following + taken - 1].end, amount(number, unit)), following + taken - 1


_DEGREES = {"celsius": "celsius", "c": "celsius", "fahrenheit": "fahrenheit", "f": "fahrenheit"}
_TWO_WORD_UNITS = {
    ("per", "cent"): "percent",
    **{(kind, word): "working_day" for kind in ("working", "business") for word in ("day", "days")},
    **{("calendar", word): "day" for word in ("day", "days")},
    **{(sign, scale): unit for sign in ("degree", "degrees", "°") for scale, unit in _DEGREES.items()},
}


def _unit_after(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    if at >= len(tokens):
        return "", 0
    text = tokens[at].text
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if (unit := _TWO_WORD_UNITS.get((text, following))) is not None:
        return unit, 2
    if text in UNITS:
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
