"""A sentence that decides something, split into what was chosen, what was turned down and why; each part verbatim."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from langchain_ctxguard.backends.extractive.lines import signs_in
from langchain_ctxguard.core.lexicon import is_acknowledgement
from langchain_ctxguard.core.sentences import Sentence, Sign, parts_of
from langchain_ctxguard.domain.summary import Decision, Rejected

_REJECTED_FOR = (" instead of ", " rather than ", "而不是", "而非")
_BECAUSE = (" because ", " since ", "因为", "由于")


def decision_of(piece: Sentence) -> Decision:
    """Split a sentence into what was chosen, what was turned down and why; each part verbatim."""
    text, why = piece.text, ""
    rejected: tuple[str, ...] = ()
    halves = parts_of(text, _BECAUSE)
    if halves is not None and halves[0].strip():
        text, why = halves
    elif halves is not None and "，" in halves[1]:
        why, _, text = halves[1].partition("，")
    sides = parts_of(text, _REJECTED_FOR)
    if sides is not None and sides[0].strip() and sides[1].strip():
        text, rejected = sides[0], (_bare(sides[1]),)
    return Decision(chosen=_bare(text), rejected=tuple(Rejected(option=option) for option in rejected), why=_bare(why))


def decided_in(piece: Sentence, signs: AbstractSet[Sign], *, asks: bool) -> Sentence | None:
    """Return what of a sentence decides something: all of it, or what stands before a question about it."""
    if not signs & {Sign.DECISION, Sign.CHOICE}:
        return None
    if not asks:
        return piece
    at = max(piece.text.rfind(mark) for mark in (", ", "，"))
    first = piece._replace(text=piece.text[:at].rstrip(), goes_on=False)
    if at > 0 and not is_acknowledgement(first.text) and Sign.CHOICE in signs_in(first.text):
        return first
    # "Could you cancel it and book the other one instead?" is no question.
    return piece if Sign.REQUEST in signs else None


def _bare(text: str) -> str:
    return text.strip(" ,，.。;；")
