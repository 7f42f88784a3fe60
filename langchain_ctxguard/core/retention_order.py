"""Which of two things comes first in a rule: `review before release`, 先审后发. And whether a passage says it the other way round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_text import Sentence

_BEFORE = re.compile(r"\b(?:before|until|ahead of|prior to)\b")
_AFTER = re.compile(r"\b(?:after|once)\b")
_THEN = re.compile(r"\b(?:and (?:only )?then|then|followed by|and only later|first)\b")
_ZH_THEN = re.compile(r"再|然后|之后|以后|后(?=再|才|,)")
_ZH_BEFORE = re.compile(r"之前|以前|(?<![目当提])前(?=[,必须先要不应])")


class _Order(NamedTuple):
    earlier: frozenset[str]
    later: frozenset[str]


def is_order_turned(rule: Sequence[Sentence], passage: Sequence[Sentence]) -> bool:
    """Say whether a passage puts last what the rule puts first, and the other way round."""
    ours = next((order for sentence in rule if (order := _order_of(sentence))), None)
    theirs = next((order for sentence in passage if (order := _order_of(sentence))), None)
    if ours is None or theirs is None:
        return False
    early, late = ours.earlier - ours.later, ours.later - ours.earlier
    straight = len(theirs.earlier & early), len(theirs.later & late)
    crossed = len(theirs.earlier & late), len(theirs.later & early)
    return min(crossed) > 0 and sum(crossed) > sum(straight) and min(straight) == 0


def _order_of(sentence: Sentence) -> _Order | None:
    text = sentence.folded
    if len(list(_BEFORE.finditer(text))) == 1:
        order = _parted(sentence, _BEFORE, is_later_right=True)
    elif len(list(_AFTER.finditer(text))) == 1:
        order = _parted(sentence, _AFTER, is_later_right=False)
    elif (found := _THEN.search(text, 1)) and sentence.folded[found.end() :].strip():
        order = _Order(_things(sentence, 0, found.start()), _things(sentence, found.end(), len(text)))
    elif found := _ZH_BEFORE.search(text):
        order = _Order(_things(sentence, found.end(), len(text)), _things(sentence, 0, found.start()))
    elif found := _ZH_THEN.search(text):
        order = _Order(_things(sentence, 0, found.start()), _things(sentence, found.end(), len(text)))
    else:
        return None
    if any(hit.mark is Mark.BAN for hit in sentence.hits):
        # No release before the review: what is banned comes later.
        order = _Order(order.later, order.earlier)
    return order if order.earlier and order.later else None


def _parted(sentence: Sentence, connector: re.Pattern[str], *, is_later_right: bool) -> _Order:
    """Cut at the connector; a sentence that begins with it has its two halves at the comma."""
    text = sentence.folded
    found = connector.search(text)
    assert found is not None  # noqa: S101 - the caller looked
    comma = text.find(",", found.end())
    if any(token.end <= found.start() for token in sentence.tokens) or comma < 0:
        left, right = _things(sentence, 0, found.start()), _things(sentence, found.end(), len(text))
    else:
        left, right = _things(sentence, comma, len(text)), _things(sentence, found.end(), comma)
    return _Order(left, right) if is_later_right else _Order(right, left)


def _things(sentence: Sentence, start: int, end: int) -> frozenset[str]:
    return frozenset(
        token.concept
        for token in sentence.tokens
        if start <= token.start < end and token.concept and not token.concept.startswith(("#before", "#after"))
    )
