"""Control fields before and after: lost, changed, added; typed, so that 5万元 is 50,000 CNY and ORD-1 is not in ORD-12."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter

from langchain_ctxguard.core.field_text import folded, sentences_of
from langchain_ctxguard.core.labels import is_same_label
from langchain_ctxguard.core.normalize import comparable, group_of, is_same_value, key_of
from langchain_ctxguard.domain.control import IDENTIFIERS, KEY, STATEMENTS, ChangeKind, ControlField, FieldChange, FieldDiff, FieldEvent, FieldKind

SameText = Callable[[str, str], bool]
"""Says whether a statement before is still told by a statement after; for a comparator of the application's own."""

Glossary = Mapping[str, str]
"""House terms and the term each stands for: `{"B 端客户": "企业客户"}`."""

_VAGUE: tuple[tuple[frozenset[FieldKind], re.Pattern[str]], ...] = (
    (
        frozenset({FieldKind.DATE, FieldKind.TIME, FieldKind.DATETIME}),
        re.compile(
            r"近期|不久|近日|日后|尽快|稍后|届时|到时候|某天|某日|某个时间|月内|年内|过几天|这几天|最近|下个月|本月|月初|月中|(?<![A-Za-z])(?:soon"
            r"|shortly|in the near future|in due course|at "
            r"some point|some day|one day"
            r"|sometime|later|recently|in the coming (?:days|weeks|months)|next month|this month|a few days)(?![A-Za-z])",
            re.IGNORECASE,
        ),
    ),
    (
        frozenset({FieldKind.AMOUNT}),
        re.compile(
            r"一笔(?:预算|钱|款项?|费用|金额)?|一定(?:的)?(?:金额|费用|预算)|若干|一些钱|相应(?:的)?(?:金额|费用)|部分(?:款项|金额)|数万|几万|上万"
            r"|(?<![A-Za-z])(?:a (?:certain )?(?:sum"
            r"|budget|amount|fee|price)|some (?:money|budget|amount)"
            r"|a large sum|the agreed (?:sum|amount|price)|several (?:thousand|hundred)|an amount)(?![A-Za-z])",
            re.IGNORECASE,
        ),
    ),
    (
        frozenset({FieldKind.PERCENTAGE, FieldKind.QUANTITY, FieldKind.TEMPERATURE}),
        re.compile(
            (
                r"一些|若干|少量|大量|多个|几个|部分|一定(?:比例|数量)|适量|低温|高温|(?<![A-Za-z])(?:some|several|many|a few|a number of|a share"
                r"|a portion|part of|most|low"
                r"|high|cold|warm)(?![A-Za-z])"
            ),
            re.IGNORECASE,
        ),
    ),
    (
        frozenset({FieldKind.DURATION}),
        re.compile(
            (
                r"一段时间|一阵|片刻|较短|较长|很快|几天|几周|数天|一会儿|(?<![A-Za-z])(?:a while|some time|a few (?:days|weeks|hours|minutes)|for "
                r"a time|briefly|a short "
                r"time|a long time)(?![A-Za-z])"
            ),
            re.IGNORECASE,
        ),
    ),
    (
        # "The invoice" blurs a number, and neither a date nor a sum.
        frozenset(FieldKind)
        - STATEMENTS
        - {FieldKind.DATE, FieldKind.TIME, FieldKind.DATETIME, FieldKind.DURATION, FieldKind.AMOUNT}
        - {FieldKind.PERCENTAGE, FieldKind.QUANTITY, FieldKind.TEMPERATURE},
        re.compile(
            r"某个?|一个?(?:订单|发票|工单|提交|编号|电话|邮箱|链接|文件|版本|地址)|该(?:订单|发票|工单|编号)|(?<![A-Za-z])(?:an?|the|some) "
            r"(?:order|invoice|ticket|commit|phone "
            r"number|email(?: address)?|link|file|version|server"
            r"|address|id|number|account|error|code|payment term)(?![A-Za-z])",
            re.IGNORECASE,
        ),
    ),
)
_NEGATIONS = re.compile(
    r"\b(?:not|never|no|don['’]t|do not|doesn['’]t|does not|mustn['’]t|must not|cannot|can['’]t|won['’]t|shouldn['’]t|isn['’]t|aren['’]t|without"
    r"|nobody|nothing|none|under no circumstances)\b"
    r"|不要|不能|不得|不可|不准|不许|不应|不会|禁止|严禁|切勿|请勿|勿|别|没有|没|无|不",
    re.IGNORECASE,
)
_CN_DIGIT = "零〇一二两三四五六七八九十百千万亿"
_WORDS = re.compile(r"[a-z0-9_]+|[\u3040-\u9fff]")
_REMINDERS = re.compile(r"\b(?:don['’]t|do not|never) forget|别忘|不要忘|勿忘|别搞错|不要搞错|(?:don['’]t|do not) mix up", re.IGNORECASE)
_ALIKE = 0.6
_TURNED = 0.75
_NUMBERED = frozenset({FieldKind.AMOUNT, FieldKind.PERCENTAGE, FieldKind.QUANTITY, FieldKind.TEMPERATURE})
_MOMENTS = frozenset({FieldKind.DATE, FieldKind.TIME, FieldKind.DATETIME})


def diff_fields(
    before: Sequence[ControlField],
    after: Sequence[ControlField],
    *,
    text: str = "",
    glossary: Glossary | None = None,
    same_text: SameText | None = None,
) -> FieldDiff:
    """Return what became of the fields `before` among the fields `after`.

    Args:
        before: Fields that should still be there; closed ones are passed over.
        after: Fields found, by the same extractor, in what is there now.
        text: What `after` was found in. A value that stands in it as written is there, whatever the extractor made of it; and vague words in it show
            what a value was blurred to.
        glossary: House terms that mean the same.
        same_text: Compares statements the rules find different.

    >>> before = [ControlField(kind="amount", raw="5万元", value="50000 CNY")]
    >>> diff_fields(before, [ControlField(kind="amount", raw="¥50,000", value="50000 CNY")]).is_clean
    True
    >>> [change.how for change in diff_fields(before, [ControlField(kind="amount", raw="5万美元", value="50000 USD")])]
    ['unit']
    """
    known, there = _keys(before), _keys(after)
    if known == there:
        return FieldDiff.model_construct(lost=(), changed=(), added=(), kept=len(before))
    missing = [field for field in before if key_of(field) not in there and not field.is_closed] if not known <= there else []
    return _Comparison(before, after, text, glossary or {}, same_text).diff(missing)


_ATTRIBUTES, _KEY = attrgetter("__dict__"), itemgetter(KEY)


def _keys(fields: Sequence[ControlField]) -> set[str]:
    """Return the keys of fields; where all were compared before, without a line of Python for each."""
    try:
        return set(map(_KEY, map(_ATTRIBUTES, fields)))
    except KeyError:
        return set(map(key_of, fields))


class _Comparison:
    """One comparison, for the fields that are not simply there."""

    def __init__(
        self, before: Sequence[ControlField], after: Sequence[ControlField], text: str, glossary: Glossary, same_text: SameText | None
    ) -> None:
        known = {key_of(field) for field in before}
        self.before = before
        self.known = "\0".join(dict.fromkeys(folded(field.raw) for field in before))
        self.after = after
        self.extra = [field for field in after if key_of(field) not in known]
        self.text = folded(text)
        self.plain = _plain(self.text)
        self.fold = _folder(glossary)
        self.same_text = same_text
        self.statements = [field for field in after if field.kind in STATEMENTS]
        self.by_group: dict[str, list[ControlField]] = {}
        for field in self.extra:
            self.by_group.setdefault(group_of(field.kind), []).append(field)
        # Many fields may be gone, and the text long: what is looked for in it is looked for once.
        self._vague_words: dict[int, str | None] = {}
        self._strangers: dict[re.Pattern[str], str | None] = {}

    def diff(self, missing: list[ControlField]) -> FieldDiff:
        """Sort the missing fields into kept in other words, changed and lost."""
        gone = [field for field in missing if not self._is_there(field)]
        used: set[int] = set()
        lost, changed = [], []
        for field in gone:
            short = self._without_year(field)
            if short is not None:
                lost.append(FieldChange(before=field, how="blurred", found=short.raw))
                continue
            twin = self._instead(field, used)
            if twin is not None:
                used.add(id(twin))
                changed.append(FieldChange(before=field, after=twin, how=how_changed(field, twin)))
                continue
            how, left = self._how_gone(field)
            word = None if how else self._vague(field)
            lost.append(FieldChange(before=field, how="blurred" if word else how, found=word or left))
        twins = {id(field) for field in self.extra if any(self._is_same(old, field) for old in missing)} if missing else set()
        added = tuple(field for field in self.extra if id(field) not in used and id(field) not in twins)
        return FieldDiff(lost=tuple(lost), changed=tuple(changed), added=added, kept=len(self.before) - len(gone))

    def _is_there(self, field: ControlField) -> bool:
        if field.kind in STATEMENTS:
            return self._is_told(field)
        if any(self._is_same(field, other) for other in self.by_group.get(group_of(field.kind), ())):
            return True
        if self.text and stands_whole(folded(field.raw), self.text):
            return True
        return bool(self.text) and field.kind is FieldKind.NAME and _plain(self.fold(field.raw)) in _plain(self.fold(self.text))

    def _is_same(self, field: ControlField, other: ControlField) -> bool:
        if group_of(field.kind) != group_of(other.kind):
            return False
        if _is_shorter_date(field, other):
            return False
        if field.value is not None and other.value is not None and field.kind == other.kind and is_same_value(field.kind, field.value, other.value):
            return True
        if field.kind is FieldKind.DATETIME and other.kind is FieldKind.DATE:
            return False
        return self.fold(folded(field.raw)) == self.fold(folded(other.raw)) or (
            field.value is not None and other.value is not None and field.kind == other.kind and self.fold(field.value) == self.fold(other.value)
        )

    def _without_year(self, field: ControlField) -> ControlField | None:
        """Return the same day without its year, where that is all that is left of a date: 30 June says less than 2026-06-30."""
        return next((other for other in self.by_group.get(group_of(field.kind), ()) if _is_shorter_date(field, other)), None)

    def _is_told(self, field: ControlField) -> bool:
        """Say whether a statement still stands: word for word, or in the words of another statement with the same negations."""
        mine = _plain(self.fold(folded(field.raw)))
        if mine and mine in (self.plain if self.fold is _unchanged else _plain(self.fold(self.text))):
            return True
        for other in self.statements:
            theirs = _plain(self.fold(folded(other.raw)))
            if mine and theirs and (mine in theirs or mine == theirs):
                return True
            if self.same_text is not None and self.same_text(field.raw, other.raw):
                return True
        return self.same_text is not None and not self.statements and bool(self.text) and self.same_text(field.raw, self.text)

    def _instead(self, field: ControlField, used: set[int]) -> ControlField | None:
        """Return the field that stands where `field` stood: the same label, or the likest new value of its group."""
        pool = [other for other in self.by_group.get(group_of(field.kind), ()) if id(other) not in used]
        if field.kind in STATEMENTS:
            pool = [
                other
                for other in self.extra
                if other.kind in STATEMENTS and id(other) not in used and (other.kind is FieldKind.EMPHASIS) == (field.kind is FieldKind.EMPHASIS)
            ]
            best = max(pool, key=lambda other: _likeness(field.raw, other.raw), default=None)
            return best if best is not None and _likeness(field.raw, best.raw) >= _ALIKE else None
        named = [other for other in pool if field.label and (other.label == field.label or is_same_label(other.label, field.label))]
        if named:
            return named[0]
        unlabelled = [other for other in pool if not (field.label and other.label)]
        close = [other for other in unlabelled if _is_close(field, other)]
        return (
            close[0]
            if close
            else unlabelled[0]
            if len(unlabelled) == 1 and field.kind not in IDENTIFIERS and field.kind == unlabelled[0].kind
            else None
        )

    def _vague(self, field: ControlField) -> str | None:
        """Return the vague word that stands near the field's label, or anywhere if it has none."""
        if not self.text or field.kind in STATEMENTS:
            return None
        for index, (kinds, pattern) in enumerate(_VAGUE):
            if field.kind in kinds:
                if index not in self._vague_words:
                    found = pattern.search(self.text)
                    self._vague_words[index] = None if found is None else found.group()
                if (word := self._vague_words[index]) is not None:
                    return word
        return None

    def _how_gone(self, field: ControlField) -> tuple[ChangeKind | None, str | None]:
        """Return how a value differs from what is left of it, and that: an identifier that goes on, other digits, a sentence turned round."""
        if not self.text:
            return None, None
        raw = folded(field.raw)
        if field.kind in STATEMENTS:
            return self._turned(raw)
        if raw in self.text:
            return "extended", None
        if any(character.isdigit() for character in raw) and not raw.isdecimal():
            stranger = self._stranger(_same_digits(raw))
            if stranger is not None:
                return ("shifted" if field.kind in _MOMENTS else "digit"), stranger
        return None, None

    def _stranger(self, shape: re.Pattern[str]) -> str | None:
        """Return the first span of a shape that is no value known before, nor a part of one."""
        if shape not in self._strangers:
            self._strangers[shape] = next((span for found in shape.finditer(self.text) if (span := found.group()) not in self.known), None)
        return self._strangers[shape]

    def _turned(self, raw: str) -> tuple[ChangeKind | None, str | None]:
        """Return the sentence that says the same with other negations."""
        best, words = 0.0, ""
        for start, stop in sentences_of(self.text):
            likeness = _likeness(raw, self.text[start:stop])
            if likeness > best:
                best, words = likeness, self.text[start:stop]
        if best < _TURNED or _polarity(raw) == _polarity(words):
            return None, None
        return "negated", words


def _is_shorter_date(field: ControlField, other: ControlField) -> bool:
    if field.kind not in _MOMENTS or field.value is None or other.value is None or not other.value.startswith("--"):
        return False
    return not field.value.startswith("--") and field.value[5:] == other.value.removeprefix("--")


def _polarity(text: str) -> int:
    """Return how often a sentence says no; a "don't forget" asks to remember and says yes."""
    return len(_NEGATIONS.findall(_REMINDERS.sub("", text))) + 10 * len(_REMINDERS.findall(text))


@lru_cache(maxsize=1_024)
def _same_digits(raw: str) -> re.Pattern[str]:
    return re.compile(r"(?<![0-9A-Za-z.])" + re.sub("[0-9]+", lambda found: f"[0-9]{{{len(found.group())}}}", re.escape(raw)) + r"(?![0-9A-Za-z])")


def how_changed(before: ControlField, after: ControlField) -> ChangeKind:  # noqa: C901, PLR0911 - a list of cases
    """Return how one value differs from the other.

    >>> how_changed(ControlField(kind="order_id", raw="ORD-1", value="ORD-1"), ControlField(kind="order_id", raw="ORD-12", value="ORD-12"))
    'extended'
    """
    kind = before.kind
    if kind in STATEMENTS:
        return "negated" if _polarity(before.raw) != _polarity(after.raw) or before.kind is not after.kind else "value"
    one_value, other_value = before.value or folded(before.raw), after.value or folded(after.raw)
    if kind in _MOMENTS:
        return "shifted"
    if kind in _NUMBERED:
        number, _, unit = comparable(kind, one_value).partition(" ")
        other_number, _, other_unit = comparable(kind, other_value).partition(" ")
        plain_number, plain_other = one_value.partition(" ")[0], other_value.partition(" ")[0]
        if unit != other_unit and (number == other_number or plain_number == plain_other):
            return "unit"
        if plain_number == plain_other:
            return "unit"
        return "digit" if _differs_by_digits(plain_number, plain_other) else "value"
    if kind is FieldKind.DURATION:
        digits, other_digits = re.findall(r"[0-9.]+", one_value), re.findall(r"[0-9.]+", other_value)
        if digits == other_digits:
            return "unit"
        return "digit" if re.sub(r"[0-9.]+", "", one_value) == re.sub(r"[0-9.]+", "", other_value) else "value"
    if other_value.startswith(one_value) or other_value.endswith(one_value):
        return "extended"
    if one_value.startswith(other_value) or one_value.endswith(other_value):
        return "truncated"
    if _differs_by_digits(one_value, other_value):
        return "digit"
    return "renamed" if kind is FieldKind.NAME else "value"


def _differs_by_digits(one: str, other: str) -> bool:
    return re.sub("[0-9]", "0", one) == re.sub("[0-9]", "0", other)


def _is_close(field: ControlField, other: ControlField) -> bool:
    """Say whether a new value looks like the old one gone wrong."""
    one, two = field.value or folded(field.raw), other.value or folded(other.raw)
    if field.kind in IDENTIFIERS or group_of(field.kind) not in {"date", "time", "amount", "percentage", "quantity", "temperature", "duration"}:
        return one.startswith(two) or two.startswith(one) or one.endswith(two) or two.endswith(one) or _distance(one, two) <= max(1, len(one) // 6)
    if field.kind != other.kind:
        return False
    return how_changed(field, other) in {"digit", "unit", "shifted"} or _likeness(one, two) >= _ALIKE


def _distance(one: str, other: str) -> int:
    """Return how many characters differ, for texts of one length; else a large number."""
    return sum(left != right for left, right in zip(one, other, strict=True)) if len(one) == len(other) else 99


@lru_cache(maxsize=4_096)
def _plain(text: str) -> str:
    """Return a text without what says nothing: space, punctuation, case."""
    return re.sub(r"[\W_]+", "", folded(text)).casefold()


def _likeness(one: str, other: str) -> float:
    left, right = set(_WORDS.findall(folded(one).casefold())), set(_WORDS.findall(folded(other).casefold()))
    return len(left & right) / max(1, min(len(left), len(right)))


def _unchanged(text: str) -> str:
    return text


def _folder(glossary: Glossary) -> Callable[[str], str]:
    """Return what replaces every house term by the one it stands for, longest terms first."""
    if not glossary:
        return _unchanged
    terms = {_squeezed(term): _squeezed(meaning) for term, meaning in glossary.items() if term.strip()}
    if not terms:
        return _unchanged
    pattern = re.compile("|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True)))
    return lambda text: pattern.sub(lambda found: terms[found.group()], _squeezed(text))


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", folded(text)).casefold()


def stands_whole(value: str, text: str) -> bool:
    """Say whether a value stands in a text as a whole: no letter, digit or numeral goes on at either edge.

    >>> stands_whole("ORD-1", "ORD-12 and ORD-1-2"), stands_whole("5万元", "15万元"), stands_whole("ORD-1", "see ORD-1.")
    (False, False, True)
    """
    at = text.find(value) if value else -1
    while at >= 0:
        if not _goes_on(text, at, -1, value[0]) and not _goes_on(text, at + len(value) - 1, 1, value[-1]):
            return True
        at = text.find(value, at + 1)
    return False


def _goes_on(text: str, edge: int, step: int, character: str) -> bool:  # noqa: PLR0911 - a list of cases
    beside = edge + step
    if not 0 <= beside < len(text):
        return False
    neighbour, further = text[beside], text[beside + step] if 0 <= beside + step < len(text) else " "
    if character in _CN_DIGIT or character.isdigit():
        if neighbour in _CN_DIGIT or neighbour.isdigit():
            return True
        if neighbour in ".," and further.isdigit():
            return True
        if step > 0 and neighbour in "%％‰":
            return True
    if character.isalnum() and character.isascii():
        if neighbour.isascii() and (neighbour.isalnum() or neighbour == "_"):
            return True
        return neighbour in "-./@:" and further.isascii() and further.isalnum()
    return False


def stale_mentions(found: Iterable[ControlField], ledger: Sequence[ControlField]) -> list[tuple[ControlField, ControlField, FieldEvent]]:
    """Return the values found that a later one replaced: what was found, the field it once was, and the event that ended it.

    A value that another live field has is not stale.
    """
    live = {key_of(field) for field in ledger if not field.is_closed}
    ended: dict[str, tuple[ControlField, FieldEvent]] = {}
    for field in ledger:
        for event in field.history:
            if event.reason in {"superseded", "corrected", "closed"}:
                ended[key_of(ControlField(kind=field.kind, raw=event.raw, value=event.value))] = (field, event)
    return [(item, *ended[key_of(item)]) for item in found if key_of(item) in ended and key_of(item) not in live and item.kind not in STATEMENTS]


def without_stale(text: str, found: Iterable[ControlField], ledger: Sequence[ControlField]) -> str:
    """Return `text` with every replaced value put right, and the values of ended matters left as they are.

    `found` are the fields of this very text, as `extract_fields(text)` gives them.
    """
    for item, field, event in sorted(stale_mentions(found, ledger), key=lambda stale: stale[0].start, reverse=True):
        if event.reason != "closed" and not field.is_closed and text[item.start : item.stop] == item.raw:
            text = text[: item.start] + field.raw + text[item.stop :]
    return text
