"""What a summary had no room for: errors, corrections, amounts and dates are counted, so that nobody takes silence for absence."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Literal

from langchain_ctxguard.core.sentences import Sentence, Sign, has_amount, reports_error, signs_of
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Fact, LeftOut

Kind = Literal["errors", "corrections", "amounts"]


def kind_of(statement: str, said_by: Origin | None) -> Kind | None:
    """Return what a statement is counted as where it is left out; `None` where it can be missed.

    >>> kind_of("Error: no seat left", "tool"), kind_of("No, I meant Oslo.", "user"), kind_of("It costs 12 EUR.", "ai"), kind_of("Fine.", "ai")
    ('errors', 'corrections', 'amounts', None)
    """
    wanted = (Sign.CORRECTION,) if said_by == "user" else ()
    return kind_shown(statement, said_by, signs_of(statement, [Sentence(statement, 0)], wanted)[0])


def kind_shown(statement: str, said_by: Origin | None, shown: AbstractSet[Sign]) -> Kind | None:
    """Return the same of a sentence whose signs are known."""
    if reports_error(statement):
        return "errors"
    if said_by == "user" and Sign.CORRECTION in shown:
        return "corrections"
    return "amounts" if has_amount(statement) else None


def counted(kinds: Iterable[Kind | None]) -> LeftOut | None:
    """Return how many of each kind there are, `None` where there is none."""
    found = {"errors": 0, "corrections": 0, "amounts": 0}
    for kind in kinds:
        if kind is not None:
            found[kind] += 1
    return LeftOut(**found) if any(found.values()) else None


def with_dropped(known: LeftOut | None, before: Iterable[Fact], after: Iterable[Fact]) -> LeftOut | None:
    """Return the count with the facts of `before` that are not among `after` any more."""
    kept = {fact.statement for fact in after}
    return together(known, counted(kind_of(fact.statement, fact.said_by) for fact in before if fact.statement not in kept))


def together(one: LeftOut | None, other: LeftOut | None) -> LeftOut | None:
    """Return two counts as one."""
    if one is None or other is None:
        return one or other
    return LeftOut(errors=one.errors + other.errors, corrections=one.corrections + other.corrections, amounts=one.amounts + other.amounts)
