"""Decisions before a compaction and after it: what was chosen and what was turned down, and whether a text still has it so."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from langchain_ctxguard.core.diff import stands_whole
from langchain_ctxguard.core.field_text import clauses_of, folded
from langchain_ctxguard.domain.control import ControlField, FieldKind

Standing = Literal["kept", "unsaid", "reversed", "gone"]
"""`unsaid`: the thing turned down is named, and nothing says that it was turned down."""

_TAIL = re.compile(r"\s*(?:\binstead of\b|\brather than\b|\bbecause\b|\bsince\b|而不是|而非|因为|由于|[,，;；]).*", re.IGNORECASE | re.DOTALL)
_ARTICLE = re.compile(r"^(?:the|a|an|to|using|use|with)\s+", re.IGNORECASE)
_AGAINST_BEFORE = re.compile(
    r"(?:\b(?:not|no|never|don't|do not|won't|reject(?:s|ed|ing)?|rul(?:e|es|ed|ing) out|discard(?:s|ed)?|drop(?:s|ped)?|abandon(?:s|ed)?|instead of"
    r"|rather than|against|avoid(?:s|ed)?|without|excluded?|turned down|declined?)\b(?:(?! and | but | so )[^,.;，。；]){0,40}"
    r"|(?:不用|不选|不要|不采用|没选|没用|排除|放弃|否决|拒绝|弃用|而不是|而非|别用|不考虑|淘汰)(?:(?![并但而改])[^,.;，。；]){0,16})$",
    re.IGNORECASE,
)
_AGAINST_BEHIND = re.compile(
    r"^\W{0,3}(?:(?:was|were|is|are|has been|had been|got)\s+(?:\w+\s+)?)?"
    r"(?:rejected|ruled out|discarded|dropped|abandoned|declined|turned down|excluded|not (?:used|chosen|wanted|an option)|off the table)\b"
    r"|^\s+(?:and|or)\s+[\w.+#-]{1,30}\s+(?:were|are)\s+(?:both\s+|all\s+)?(?:rejected|ruled out|discarded|dropped|abandoned|declined|turned down)\b"
    r"|^(?:和|与|、)\w{1,20}?都?被?(?:否决|排除|放弃|拒绝|弃用|淘汰)"
    r"|^(?:方案|选项)?(?:被|已被|已经被|已)(?:否决|排除|放弃|拒绝|弃用|淘汰)|^(?:方案|选项)?(?:不用|不行|不考虑|不采用)",
    re.IGNORECASE,
)
_POINTING = re.compile(r"(?:it|that|this|them|those|these|one)\b|(?:the )?\w+ one$|[这那它]|第.个")
_SHORT = 3


def thing_of(choice: ControlField) -> str:
    """Return the bare name of what was chosen or turned down.

    >>> thing_of(ControlField(kind="choice_confirmed", raw="use Redis instead of Memcached", value="Redis instead of Memcached"))
    'Redis'
    """
    words = folded(choice.value or choice.raw).strip()
    return _ARTICLE.sub("", _TAIL.sub("", words).strip()) or words


def is_named(choice: ControlField) -> bool:
    """Say whether a choice names a thing at all: `it`, `the first one` and 这个 can be told any way."""
    thing = thing_of(choice).casefold()
    return bool(thing) and _POINTING.match(thing) is None


class Telling:
    """What is told after a compaction, cut into clauses once for all decisions."""

    def __init__(self, text: str, choices: Sequence[ControlField]) -> None:
        """Take a text, widths folded, and the decisions found in it."""
        self.text = text
        self.choices = choices
        lowered = text.casefold()
        # A few letters grow when they are folded; then only their own case is known by place.
        self._lowered = lowered if len(lowered) == len(text) else text.lower() if len(text.lower()) == len(text) else text
        self._bounds = clauses_of(text)
        self._starts = [start for start, _ in self._bounds]

    def mentions(self, thing: str) -> list[tuple[str, int]]:
        """Return the clauses that name a thing, each with its place in it; a name of a letter or two counts only in its own case."""
        is_short = len(thing) < _SHORT
        wanted, haystack = (thing, self.text) if is_short else (thing.casefold(), self._lowered)
        found = []
        at = haystack.find(wanted) if wanted else -1
        while at >= 0:
            index = bisect_right(self._starts, at) - 1
            if index >= 0 and at + len(wanted) <= self._bounds[index][1]:
                start, stop = self._bounds[index]
                if stands_whole(wanted, haystack[max(start, at - 2) : min(stop, at + len(wanted) + 2)]):
                    found.append((self.text[start:stop], at - start))
            at = haystack.find(wanted, at + len(wanted))
        return found


def standing_of(choice: ControlField, telling: Telling) -> Standing:
    """Return what became of a decision in what is told now."""
    if folded(choice.raw) in telling.text:
        return "kept"
    thing, is_chosen = thing_of(choice), choice.kind is FieldKind.CHOICE_CONFIRMED
    alike = [other for other in telling.choices if _is_same_thing(thing, thing_of(other))]
    if any(other.kind is choice.kind for other in alike):
        return "kept"
    said = [_is_against(clause, at, len(thing)) for clause, at in telling.mentions(thing)]
    if alike or (is_chosen and said and all(said)):
        return "reversed"
    if not said:
        return "gone"
    return "kept" if is_chosen or any(said) else "unsaid"


def _is_same_thing(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _is_against(clause: str, at: int, size: int) -> bool:
    return _AGAINST_BEFORE.search(clause[max(0, at - 60) : at]) is not None or _AGAINST_BEHIND.search(clause[at + size : at + size + 60]) is not None
