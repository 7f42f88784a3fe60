"""How much a sentence would be missed if a summary left it out. A number to rank by; what it means is only more or less than another."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from langchain_ctxguard.core.noted import is_noted
from langchain_ctxguard.core.sentences import Sign, has_amount, has_name, has_value, is_listing, reports_error
from langchain_ctxguard.domain.origin import Origin

MUST_KEEP = 1_000.0
ERROR = 130.0
URGENT = 76.0
"""From here on a fact comes before everything else: who does not know of an error or a correction makes the mistake again."""

PENDING = 80.0
STRESSED = 65.0
QUESTION = 55.0
ANSWER = 8.0
"""What the first sentence of an answer is worth more than the others."""

ACCEPTED = 10.0
"""What a sentence is worth more once the user agreed to it."""

ANSWERED = 10.0
"""What a request is worth less once it was answered: what came of it is told too."""

SETTLED = 24.0
"""What a question is worth less once it was answered: the answer tells what it was about."""

_BASE: dict[Origin, float] = {"user": 30, "system": 20, "registry": 20, "ai": 8, "tool": 2}
_REPLY = 14
_SHORT_REPLY = 6
_OUTCOME = 4
_OUTCOMES = frozenset([Sign.OUTCOME, Sign.DONE])
_PASTED = 18
_PEOPLE = ("user", "ai")
_CHOICE = {"user": 75.0, "ai": 50.0}


class Standing(NamedTuple):
    """Where a sentence stands."""

    speaker: Origin
    is_reply: bool = False
    """In an answer that ends a turn, or to what the assistant asked: it is told to somebody, not thought aloud on the way."""

    is_pasted: bool = False
    """One of so many that nobody typed them: a document, a listing."""

    is_item: bool = False
    """A line of a list in a long text: what it says of the whole is told before or after it."""

    is_brief: bool = False
    """In a result or an answer of few words: all of it is the outcome."""

    is_form: bool = False
    """In a message whose labels are those of a form, a header or a log: they say nothing."""

    follows_note: bool = False
    """Behind a sentence with a label, in the same line: it says more of the same."""


_ITEM = 8
_NOTED = 0.85
_FOLLOWS_NOTE = 0.4
"""Part of the way to what is stressed by which something a person noted down is worth more than talk: it keeps its order and is never urgent."""

_AMOUNT = 4


def worth(text: str, shown: AbstractSet[Sign], standing: Standing) -> float:  # noqa: C901 - a sum of cases
    """Return how much a sentence would be missed. Stress counts only in the user's mouth: tools and models give no orders."""
    speaker = standing.speaker
    # Bytes, because a letter of some scripts costs as much as a word of others.
    score = _BASE[speaker] - len(text.encode("utf-8", "replace")) / 10
    score += _REPLY * (standing.is_reply and (speaker == "ai" or standing.is_brief)) - _PASTED * standing.is_pasted
    if standing.is_reply and speaker == "ai":
        score += _SHORT_REPLY * standing.is_brief + _OUTCOME * bool(shown & _OUTCOMES)
    score -= _ITEM * standing.is_item
    if is_listing(text):
        return score - 30
    if has_value(text):
        score += 26 if speaker in _PEOPLE else 22
    if has_amount(text):
        score += _AMOUNT
    if has_name(text):
        score += 8
    if Sign.TIME in shown:
        score += 8
    if Sign.ERROR in shown:
        score += 40 if speaker == "tool" else 6
    if speaker == "user" and not standing.is_pasted:
        score += 40 * (Sign.EMPHASIS in shown) + 50 * (Sign.CORRECTION in shown) + 30 * (Sign.PREFERENCE in shown and Sign.EMPHASIS not in shown)
        score += max(0.0, STRESSED - score) * _noted(text, standing)
    if speaker == "ai" and Sign.NARRATION in shown:
        score -= 12
    if len(text) < 6 and not has_value(text) and not standing.is_reply:  # noqa: PLR2004 - "Thanks", 好的
        score -= 30
    if reports_error(text) or (standing.is_brief and speaker == "tool" and Sign.ERROR in shown):
        return max(score, ERROR - 20 * (speaker == "ai"))
    return score


def _noted(text: str, standing: Standing) -> float:
    return _NOTED if is_noted(text, is_form=standing.is_form) else _FOLLOWS_NOTE * standing.follows_note


def choice_worth(speaker: Origin) -> float:
    """Return how much a decision would be missed."""
    return _CHOICE.get(speaker, 50.0)
