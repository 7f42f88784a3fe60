"""The rules in force at a call: those of code and config together with those of the registry, resolved once for every state of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from langgraph.types import interrupt

from langchain_ctxguard.core.enforcement import check_enforcement, standing_of
from langchain_ctxguard.core.lexicon import permits
from langchain_ctxguard.core.opposites import opposites
from langchain_ctxguard.core.resolve import Conflict, Resolved, ShadowReason, check_conflicts, resolve
from langchain_ctxguard.domain.constraint import Authority, Constraint, Place
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConstraintConflictError
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.constraints import ConstraintReader, Heads

_PLACES = 512


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds at one place."""

    pinned: tuple[Constraint, ...]
    """In force, strongest first: these stand in every request."""

    inferred: tuple[Constraint, ...]
    """Of authority `inferred`: never pinned; each is put on record, to be superseded by somebody."""

    conflicts: tuple[Conflict, ...]
    unenforced: tuple[str, ...] = ()
    """`id@version` of rules declared since the start that promise more than anything keeps: shown like guidance, and put on record."""

    outranked: tuple[str, ...] = ()
    """Rules not in force because a stronger one says the opposite, as `id@version < id@version`: put on record, for words may mislead."""


@dataclass(frozen=True, slots=True)
class _Kept:
    rules: Rules
    heads: Heads
    changes_at: datetime | None
    asked_at: float


class RulesInForce:
    """Answers which rules hold, with one question to the registry per call and nothing else while it stands still."""

    def __init__(
        self,
        own: Sequence[Constraint],
        registry: ConstraintReader,
        *,
        clock: Callable[[], datetime],
        refresh: Literal["call"] | float = "call",
        validators: Collection[str] = (),
        enforced_by: Collection[str] = (),
        asked_by: Collection[str] = (),
    ) -> None:
        """Bind the sources and refuse what can be refused at once.

        Args:
            own: Rules of code and config.
            registry: Reads the rest.
            clock: Says what time it is.
            refresh: How often the registry is asked whether it moved: at every call, or every so many seconds. A relaxation: a security update
                waits that long.
            validators: Names of the registered validators.
            enforced_by: Ids of the rules that the tool policy enforces.
            asked_by: Ids of the rules for which it asks a person.

        Raises:
            ConstraintConflictError: two rules contradict each other and neither outranks the other.
            ConfigurationError: a rule promises more than anything keeps.
        """
        self._own = tuple(own)
        self._registry = registry
        self._clock = clock
        self._refresh = refresh
        self._standing = partial(standing_of, validators=validators, enforced_by=enforced_by, asked_by=asked_by)
        self._kept: Bounded[_Kept] = Bounded(_PLACES)
        resolved, _ = self._resolved(Place())
        rules = dict.fromkeys((*self._own, *resolved.in_force))
        check_enforcement(rules, validators=validators, enforced_by=enforced_by, asked_by=asked_by)
        check_conflicts(resolved)

    def at(self, place: Place) -> Rules:
        """Return the rules at `place`, now.

        Raises:
            StoreError: the registry cannot be read; without it nobody can say which rules hold.
        """
        kept = self._kept.get(place)
        moment = time.monotonic()
        if kept is not None and self._refresh != "call" and moment - kept.asked_at < self._refresh and not self._is_over(kept):
            return kept.rules
        if kept is not None and kept.heads == self._registry.heads(place) and not self._is_over(kept):
            if self._refresh != "call":
                self._kept.put(place, replace(kept, asked_at=moment))
            return kept.rules
        resolved, heads = self._resolved(place)
        pinned = tuple(rule for rule in resolved.in_force if rule.authority is not Authority.INFERRED)
        rules = Rules(
            pinned=pinned,
            inferred=tuple(rule for rule in resolved.in_force if rule.authority is Authority.INFERRED),
            conflicts=resolved.conflicts,
            outranked=tuple(
                f"{item.constraint.reference} < {item.by}"
                for item in resolved.shadowed
                if item.reason is ShadowReason.OUTRANKED and item.constraint.authority is not Authority.INFERRED
            ),
            unenforced=tuple(rule.reference for rule in pinned if self._standing(rule).kind == "unenforced"),
        )
        self._kept.put(place, _Kept(rules, heads, resolved.changes_at, moment))
        return rules

    def _is_over(self, kept: _Kept) -> bool:
        return kept.changes_at is not None and kept.changes_at <= self._clock()

    def _resolved(self, place: Place) -> tuple[Resolved, Heads]:
        record = self._registry.on_record(place)
        rules = (*self._own, *record.constraints)
        pairs = opposites(rule.text for rule in rules if rule.authority is not Authority.INFERRED)
        resolved = resolve(
            rules,
            place=place,
            now=self._clock(),
            exemptions=record.exemptions,
            contradicts=lambda first, second: (first, second) in pairs,
            permits=permits,
        )
        return resolved, record.heads


def settled_by_person(rules: Rules, record: Callable[[ContextEvent], None], *, may_pause: bool) -> Rules:
    """Ask a person which of two contradicting rules holds for this call; the other is left out of it.

    Asked with `interrupt()`, before anything else happened in the call. The answer is `{"keep": 1}` or `{"keep": 2}`.

    Raises:
        ConstraintConflictError: there is no graph to pause, nothing to resume it from (`may_pause`), or the answer names neither rule.
    """
    pinned = list(rules.pinned)
    for conflict in rules.conflicts:
        pair = (conflict.first, conflict.second)
        if not all(rule in pinned for rule in pair):
            continue
        if not may_pause:
            raise _conflict(conflict)
        shown = [
            {"option": number, "rule": rule.reference, "authority": str(rule.authority), "text": rule.text}
            for number, rule in enumerate(pair, start=1)
        ]
        try:
            answer = interrupt({"type": "constraint_conflict", "rules": shown, "answer_with": {"keep": "the option that holds for this call"}})
        except RuntimeError as error:
            raise _conflict(conflict) from error
        kept = answer.get("keep") if isinstance(answer, dict) else answer
        if kept not in (1, 2):
            raise _conflict(conflict)
        holds, loses = pair if kept == 1 else reversed(pair)
        pinned.remove(loses)
        by = "one text" if holds.reference == loses.reference else holds.reference
        record(ContextEvent(kind="conflict_asked", detail=f"A person let {by} hold over {loses.reference} for this call."))
    return replace(rules, pinned=tuple(pinned), conflicts=())


def _conflict(conflict: Conflict) -> ConstraintConflictError:
    first, second = conflict.first, conflict.second
    return ConstraintConflictError(
        f"Rules '{first.reference}' and '{second.reference}' contradict each other and neither outranks the other: "
        f"{first.text!r} and {second.text!r}. The model was not called. Revoke or supersede one in the registry, or answer the question with the "
        "option that holds.",
        first=first.constraint_id,
        second=second.constraint_id,
    )
