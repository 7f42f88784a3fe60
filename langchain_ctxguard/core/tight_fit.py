"""What stands in a tight record: all rules, then what people stated, then what was done and found out, then talk; the rest is counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary, text_tokens
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.people_said import STATED, Ranked, ranked
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.render import open_inferred, render_evidence, render_summary
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.core.tight import beside, is_restated, is_said, render_tight, shown_rule
from langchain_ctxguard.domain.context import TightForm
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import Fact, PendingItem, StructuredSummary

_BESIDE_SHARE = 0.25
"""Part of the room that what was done and found out has beside what people stated."""

_EVIDENCE_SHARE = 0.6
_MISSES = 16
"""Sentences that do not fit before the search for one that does ends."""

_REQUEST_KEPT = 300
"""Characters kept of a request that is known and not shown."""

_ITEMS_KEPT = 20


@dataclass(frozen=True, slots=True)
class Fitted:
    """A version's content in the tight form."""

    summary: StructuredSummary
    evidence: Evidence
    tight: TightForm


@dataclass(frozen=True, slots=True)
class TightRoom:
    """How large a tight record may be, measured in the view it will stand in."""

    goal: int
    tokens: Callable[[str], int]
    """Tokens of the whole view with a record of these words."""

    count: CountTokens
    version: int
    copy: Sequence[str] = ()
    critical: Collection[str] = ()
    """Values that must be told, folded."""

    wanted: Collection[str] = ()
    renewed: Collection[str] = ()
    """Values in force that took the place of others, folded."""

    is_least: bool = False
    """Nothing but what must stay."""


def fitted(summary: StructuredSummary, evidence: Evidence, room: TightRoom) -> Fitted:
    """Return what has room. Rules are shown whether or not they have it: whoever asked is told then how much they need."""
    rules = open_inferred(evidence.inferred)
    evidence = evidence.model_copy(update={"inferred_shown": len(rules) if evidence.inferred_shown else 0})
    shown = frozenset(folded(text) for rule in rules for text in (rule.text, shown_rule(rule, evidence))) if evidence.inferred_shown else frozenset()
    summary = summary.model_copy(update={"facts": _without_restated(summary.facts)})
    said = _Said(summary, shown, sum(is_said(fact) and folded(fact.statement) not in shown for fact in summary.facts))
    bare, nothing = _bare(evidence), summary.model_copy(update=_EMPTY)
    if room.is_least:
        return said.of((), nothing, bare)
    order = ranked(summary.facts, rules=shown, critical=room.critical, wanted=room.wanted, renewed=room.renewed)
    weighty = [one for one in order if one.score >= STATED]

    def fits(chosen: Collection[int], others: StructuredSummary, record: Evidence, limit: int) -> bool:
        made = said.of(chosen, others, record)
        return room.tokens(render_tight(made.summary, made.evidence, made.tight, copy=room.copy)) <= limit

    others = beside(summary)
    has_record = bool(evidence.actions or evidence.artifacts or evidence.references)
    is_alone = others.is_empty and not has_record
    least = room.goal - room.tokens(_text(said.of((), nothing, bare), room))
    reserved = 0 if is_alone else int(max(0, least) * _BESIDE_SHARE)
    chosen = _taken(weighty, frozenset(), lambda places: fits(places, nothing, bare, room.goal - reserved))
    if is_alone:
        others, record = nothing, bare
    else:
        free = room.goal - room.tokens(_text(said.of(chosen, nothing, bare), room))
        record = _narrow(evidence, int(free * _EVIDENCE_SHARE), bare, room) if has_record else bare
        free = room.goal - room.tokens(_text(said.of(chosen, nothing, record), room))
        others = _others(others, free, room)
    chosen = _taken(order, chosen, lambda places: fits(places, others, record, room.goal))
    return said.of(chosen, others, record)


def _without_restated(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return facts without what, its outdated value marked, says the same as another."""
    said = {folded(fact.statement) for fact in facts}
    return tuple(fact for fact in facts if not (is_said(fact) and is_restated(folded(fact.statement), said)))


_EMPTY = {"pending_items": (), "facts": (), "decisions": (), "open_questions": (), "open_risks": (), "left_out": None}


@dataclass(frozen=True, slots=True)
class _Said:
    """What people said, of which some is chosen by its place among the facts."""

    summary: StructuredSummary
    rules: frozenset[str]
    others: int
    """Sentences that are no rules."""

    @property
    def _asked(self) -> tuple[PendingItem, ...]:
        return tuple(item for item in self.summary.pending_items if item.asked_by == "user")

    def of(self, chosen: Collection[int], others: StructuredSummary, evidence: Evidence) -> Fitted:
        """Return the version that shows the rules, the chosen sentences and `others`."""
        facts = self.summary.facts
        said = [fact for place, fact in enumerate(facts) if is_said(fact) and (place in chosen or folded(fact.statement) in self.rules)]
        kept = {
            "original_goal": clipped(self.summary.original_goal, _REQUEST_KEPT),
            "user_intent": tuple(clipped(text, _REQUEST_KEPT) for text in self.summary.user_intent),
            "facts": (*others.facts, *said),
            # Not shown, but known: a later message may call it off or settle it.
            "pending_items": (*others.pending_items, *self._asked[-_ITEMS_KEPT:]),
        }
        return Fitted(others.model_copy(update=kept), evidence, TightForm(left_out=max(0, self.others - len(chosen))))


def _text(made: Fitted, room: TightRoom) -> str:
    return render_tight(made.summary, made.evidence, made.tight, copy=room.copy)


def _taken(order: Sequence[Ranked], chosen: frozenset[int], fits: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """Return the places of what has room, in the order given: as many as fit one after the other, then what is short enough behind them."""
    left = [one.place for one in order if one.place not in chosen]
    low, high = 0, len(left)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(chosen | set(left[:middle])) else (low, middle - 1)
    chosen |= set(left[:low])
    misses = 0
    for place in left[low:]:
        if fits(chosen | {place}):
            chosen |= {place}
        elif (misses := misses + 1) > _MISSES:
            break
    return chosen


def _bare(evidence: Evidence) -> Evidence:
    """Return the evidence with what was done only counted."""
    return evidence.model_copy(
        update={
            "actions": (),
            "artifacts": (),
            "references": (),
            "omitted_actions": evidence.omitted_actions + len(evidence.actions),
            "omitted_artifacts": evidence.omitted_artifacts + len(evidence.artifacts),
            "omitted_references": evidence.omitted_references + len(evidence.references),
        }
    )


def _narrow(evidence: Evidence, free: int, bare: Evidence, room: TightRoom) -> Evidence:
    """Return the evidence with as much of what was done as has room."""
    alone = evidence.model_copy(update={"inferred_shown": 0, "carried": ()})
    frame = text_tokens(room.count, render_evidence(bare.model_copy(update={"inferred_shown": 0, "carried": ()})))
    if free <= 0:
        return bare
    made = bounded_evidence(alone, max_tokens=frame + free, count=room.count)
    return made.model_copy(update={"inferred_shown": evidence.inferred_shown, "carried": evidence.carried, "carried_bare": True})


def _others(others: StructuredSummary, free: int, room: TightRoom) -> StructuredSummary:
    """Return as much of what was told beside the words of people as has room."""
    frame = text_tokens(room.count, render_summary(StructuredSummary(), version=room.version))
    if free <= 0 or others.is_empty:
        return others.model_copy(update=_EMPTY)
    return bounded_summary(others, version=room.version, max_tokens=frame + free, count=room.count)
