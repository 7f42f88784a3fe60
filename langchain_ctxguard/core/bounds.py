"""Keeps the summary and the evidence within their token bounds, round after round: what is newest stays, the rest is dropped or counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.evidence import done_files, is_changed, is_refused_change
from langchain_ctxguard.core.left_out import kind_of, with_dropped
from langchain_ctxguard.core.noted import is_noted
from langchain_ctxguard.core.render import (
    open_inferred,
    render_action,
    render_artifact,
    render_decision,
    render_evidence,
    render_fact,
    render_files,
    render_inferred_rule,
    render_item,
    render_left_out,
    render_references,
    render_summary,
)
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.summary import Decision, Fact, LeftOut, PendingItem, StructuredSummary

Item = TypeVar("Item")
_GOAL_SHARE = 0.25
_EARLIER_SHARE = 0.1
_LISTED_SHARE = 0.2
_REFERENCES_SHARE = 0.2
_COUNTS = 48
"""Tokens of the lines that count what is not listed, beside quotes that must have room."""

_REFUSED_FIRST = 6
"""So many attempts at changes that failed have the first claim on the room for actions, the newest."""

_BRIEF = 60
_FILES_SHARE = 0.35
_ASKED_SHARE = 0.4
_WEIGHTY_SHARE = 0.75
"""Part of the room for facts that weighty ones may claim before newer ones."""

_COUNTED = 6
"""Room this many times the line that counts what is dropped has room for it."""


def text_tokens(count: CountTokens, text: str) -> int:
    """Return what `text` costs as a message of its own."""
    return count([HumanMessage(text)])


def bounded_summary(summary: StructuredSummary, *, version: int, max_tokens: int, count: CountTokens, files: Sequence[str] = ()) -> StructuredSummary:
    """Return `summary` within `max_tokens` as rendered. Goals first; of each kind of item the newest stay, and no kind starves another.

    Of facts what people noted down, what went wrong and what was put right stay before others.
    """
    if text_tokens(count, render_summary(summary, version=version, files=files)) <= max_tokens:
        return summary
    frame = text_tokens(count, render_summary(StructuredSummary(), version=version, files=files))
    room = max_tokens - frame
    empty = StructuredSummary(language=summary.language)
    if room <= 0:
        return empty

    no_text = text_tokens(count, "")

    def cost(line: str) -> int:
        # A line is no message: what a message costs besides its text is paid once, by the frame.
        return text_tokens(count, f"- {line}\n") - no_text + 1

    goal = _shortened(summary.original_goal, int(room * _GOAL_SHARE), cost)
    latest, *earlier = (*summary.user_intent, "")
    latest = goal if latest == summary.original_goal else _shortened(latest, int(room * _GOAL_SHARE), cost)
    if with_dropped(summary.left_out, summary.facts, ()) is not None:
        # What is dropped of these is counted, in a line of its own; where that would take the place of what it counts, it comes last.
        line = text_tokens(count, render_left_out(LeftOut(errors=100, corrections=100, amounts=100))) - no_text
        room -= line if room > _COUNTED * line else 0
    room -= cost(goal) + (cost(latest) if latest != goal else 0) + 12
    kept, left = _newest([text for text in reversed(earlier) if text], int(room * _EARLIER_SHARE), cost)
    room -= int(room * _EARLIER_SHARE) - left
    still_open, closed = summary.open_items, tuple(item for item in summary.pending_items if item.state != "open")
    kinds = (
        _Kind("open", still_open, 0.3, lambda item: cost(render_item(item)), lambda item, limit: _shorter_item(item, limit, cost)),
        _Kind(
            *("decisions", summary.decisions, 0.18),
            lambda item: cost(render_decision(item)),
            lambda item, limit: _shorter_decision(item, limit, cost),
        ),
        _Kind("open_questions", summary.open_questions, 0.08, cost, lambda item, limit: _shortened(item, limit, cost)),
        _Kind("open_risks", summary.open_risks, 0.06, cost, lambda item, limit: _shortened(item, limit, cost)),
        _Kind(
            *("facts", summary.facts, 0.32),
            lambda item: cost(render_fact(item)),
            lambda item, limit: _shorter_fact(item, limit, cost),
            is_weighty=is_weighty,
        ),
        _Kind("closed", closed, 0.06, lambda item: cost(f"[cancelled] {item.text}"), lambda _item, _limit: ""),
    )
    lists = _shared(kinds, room)
    intents = tuple(text for text in (latest, *reversed(kept)) if text)
    pending = (*lists.pop("closed"), *lists.pop("open"))
    left_out = with_dropped(summary.left_out, summary.facts, lists["facts"])
    bounded = summary.model_copy(update={"original_goal": goal, "user_intent": intents, "pending_items": pending, "left_out": left_out, **lists})
    return _trimmed(bounded, version=version, max_tokens=max_tokens, count=count, files=files)


def is_weighty(fact: Fact) -> bool:
    """Say whether a fact is missed more than newer talk: a person noted it down or put it right, or it reports an error."""
    is_note = fact.said_by == "user" and is_noted(fact.statement)
    return is_note or kind_of(fact.statement, fact.said_by) in ("errors", "corrections")


def with_files_listed(evidence: Evidence, *, max_tokens: int, count: CountTokens) -> Evidence:
    """Return `evidence` with how many of its finished files the summary has room to name: the newest, within a share of its bound."""
    files = done_files(evidence)
    listed = len(files)
    while listed and text_tokens(count, render_files(files[-listed:])) > max_tokens * _LISTED_SHARE:
        listed = listed * 3 // 4
    return evidence.model_copy(update={"files_listed": None if listed == len(files) else listed})


@dataclass(frozen=True, slots=True)
class _Kind(Generic[Item]):
    """One list of a summary, its share of the room, what an item of it costs, and how an item is made to fit."""

    name: str
    items: tuple[Item, ...]
    share: float
    cost: Callable[[Item], int]
    shorter: Callable[[Item, int], Item | Literal[""]]
    is_weighty: Callable[[Item], bool] | None = None
    """What of it stays before what is newer; `None` where nothing does."""

    def kept(self, room: int) -> tuple[tuple[Item, ...], int]:
        """Return what has room, in order, and the room that is left."""
        if self.is_weighty is None:
            return _newest(self.items, room, self.cost)
        weighty = [(place, item) for place, item in enumerate(self.items) if self.is_weighty(item)]
        first, left = _newest(weighty, int(room * _WEIGHTY_SHARE), lambda pair: self.cost(pair[1]))
        taken = {place for place, _ in first}
        others = [(place, item) for place, item in enumerate(self.items) if place not in taken]
        rest, left = _newest(others, left + room - int(room * _WEIGHTY_SHARE), lambda pair: self.cost(pair[1]))
        return tuple(item for _, item in sorted((*first, *rest), key=lambda pair: pair[0])), left


def _shared(kinds: Sequence[_Kind[Any]], room: int) -> dict[str, tuple[Any, ...]]:
    """Share `room` out: each kind its part first, then one item of each that has none, then what is left over in the same order."""
    kept: dict[str, tuple[Any, ...]] = {}
    spent: dict[str, int] = {}
    whole = room
    for kind in kinds:
        part = min(room, int(whole * kind.share))
        kept[kind.name], left = kind.kept(part)
        spent[kind.name] = part - left
        room -= part - left
    for kind in kinds:
        # The newest of a kind comes before more of another.
        if kind.items and not kept[kind.name] and (price := kind.cost(kind.items[-1])) <= room:
            kept[kind.name], spent[kind.name] = kind.items[-1:], price
            room -= price
    for kind in kinds:
        if len(kept[kind.name]) < len(kind.items):
            kept[kind.name], room = kind.kept(room + spent[kind.name])
            # What any room of this size would be too small for is told in part; of the rest the whole or nothing.
            is_long = not kept[kind.name] and kind.cost(kind.items[-1]) > whole
            if is_long and (short := kind.shorter(kind.items[-1], room)):
                kept[kind.name] = (short,)
                room -= kind.cost(short)
    return kept


def _shorter_item(item: PendingItem, limit: int, cost: Callable[[str], int]) -> PendingItem | Literal[""]:
    text = _shortened(item.text, limit, lambda text: cost(render_item(item.model_copy(update={"text": text}))))
    return item.model_copy(update={"text": text}) if text else ""


def _shorter_fact(fact: Fact, limit: int, cost: Callable[[str], int]) -> Fact | Literal[""]:
    statement = _shortened(fact.statement, limit, lambda text: cost(render_fact(fact.model_copy(update={"statement": text}))))
    return fact.model_copy(update={"statement": statement}) if statement else ""


def _shorter_decision(decision: Decision, limit: int, cost: Callable[[str], int]) -> Decision | Literal[""]:
    chosen = _shortened(decision.chosen, limit, cost)
    return decision.model_copy(update={"chosen": chosen, "rejected": (), "why": ""}) if chosen else ""


def _trimmed(summary: StructuredSummary, *, version: int, max_tokens: int, count: CountTokens, files: Sequence[str]) -> StructuredSummary:
    """Drop what the line-by-line estimate let through: counters need not be additive."""
    lists: tuple[str, ...] = ("facts", "open_risks", "open_questions", "decisions", "pending_items")
    while text_tokens(count, render_summary(summary, version=version, files=files)) > max_tokens:
        longest = next((name for name in lists if getattr(summary, name)), None)
        if longest is not None:
            items = getattr(summary, longest)
            fewer = _fewer(items, is_weighty) if longest == "facts" else items[max(1, len(items) // 8) :]
            summary = summary.model_copy(update={longest: fewer})
            if longest == "facts":
                summary = summary.model_copy(update={"left_out": with_dropped(summary.left_out, items, fewer)})
        elif len(summary.user_intent) > 1:
            summary = summary.model_copy(update={"user_intent": summary.user_intent[:-1]})
        elif summary.user_intent or summary.original_goal:
            goal, intents = _halved(summary.original_goal), tuple(filter(None, map(_halved, summary.user_intent)))
            summary = summary.model_copy(update={"original_goal": goal, "user_intent": intents})
        else:
            return summary
    return summary


def _halved(text: str) -> str:
    shorter = clipped(text, len(text) // 2)
    return "" if len(shorter) < 8 else shorter  # noqa: PLR2004 - less says nothing


def _shortened(text: str, max_tokens: int, cost: Callable[[str], int]) -> str:
    while text and cost(text) > max_tokens:
        shorter = clipped(text, int(len(text) * 0.8))
        if len(shorter) < 8:  # noqa: PLR2004 - less says nothing
            return ""
        text = shorter
    return text


def _newest(items: Sequence[Item], room: int, cost: Callable[[Item], int]) -> tuple[tuple[Item, ...], int]:
    kept: list[Item] = []
    for item in reversed(items):
        price = cost(item)
        if price > room:
            break
        room -= price
        kept.append(item)
    return tuple(reversed(kept)), room


def _weighty_first(
    items: Sequence[Item], room: int, cost: Callable[[Item], int], is_weighty: Callable[[Item], bool], *, most: int | None = None
) -> tuple[Item, ...]:
    """Return what has room, in order: the newest of the weighty ones, at most `most`, then the newest of the others."""
    weighty = [(place, item) for place, item in enumerate(items) if is_weighty(item)]
    first, left = _newest(weighty if most is None else weighty[-most:], room, lambda pair: cost(pair[1]))
    taken = {place for place, _ in first}
    rest, _ = _newest([(place, item) for place, item in enumerate(items) if place not in taken], left, lambda pair: cost(pair[1]))
    return tuple(item for _, item in sorted((*first, *rest), key=lambda pair: pair[0]))


def _shorter_refused(actions: tuple[Action, ...], room: int, cost: Callable[[Action], int]) -> tuple[Action, ...]:
    """Return actions, the newest attempts that failed told more briefly where all of them have no room: each of them is worth a line."""
    refused = {place for place, item in [pair for pair in enumerate(actions) if is_refused_change(pair[1])][-_REFUSED_FIRST:]}
    if sum(cost(actions[place]) for place in refused) <= room:
        return actions
    briefly = (_brief(item) if place in refused else item for place, item in enumerate(actions))
    return tuple(briefly)


def _brief(action: Action) -> Action:
    return action.model_copy(update={"arguments": clipped(action.arguments, _BRIEF), "result": clipped(action.result, _BRIEF)})


def _fewer(items: tuple[Item, ...], is_weighty: Callable[[Item], bool]) -> tuple[Item, ...]:
    """Return an eighth fewer: the oldest that weigh little, then the oldest."""
    light = [place for place, item in enumerate(items) if not is_weighty(item)]
    gone = set((light or list(range(len(items))))[: max(1, len(items) // 8)])
    return tuple(item for place, item in enumerate(items) if place not in gone)


def bounded_evidence(evidence: Evidence, *, max_tokens: int, count: CountTokens, carried_tokens: int = 0, quoted_tokens: int = 0) -> Evidence:
    """Return `evidence` within `max_tokens` as rendered; the oldest actions and files become a count.

    Carried fields have the first claim, and `carried_tokens` whatever else there is: with their sentences, else without, else the weightiest. What
    people asked for along the way has `quoted_tokens` whatever else there is.
    """
    if not evidence.carried:
        return _bounded_record(evidence, max_tokens=max(max_tokens, quoted_tokens), count=count, quoted=quoted_tokens)
    carried = _bounded_carried(evidence, max(carried_tokens, max_tokens), count)
    used = text_tokens(count, render_evidence(carried)) if carried.carried else 0
    left = max(quoted_tokens, min(max_tokens, max(carried_tokens, max_tokens) - used))
    rest = _bounded_record(evidence.model_copy(update={"carried": ()}), max_tokens=max(0, left), count=count, quoted=quoted_tokens)
    return rest.model_copy(update={"carried": carried.carried, "carried_bare": carried.carried_bare})


def _bounded_carried(evidence: Evidence, room: int, count: CountTokens) -> Evidence:
    """Return the carried fields alone, as many as have room; they come in the order of their weight."""
    alone = Evidence(fields=evidence.fields, carried=evidence.carried, carried_bare=evidence.carried_bare, retold=evidence.retold)
    if alone.carried_bare or text_tokens(count, render_evidence(alone)) > room:
        alone = alone.model_copy(update={"carried_bare": True})
    while alone.carried and text_tokens(count, render_evidence(alone)) > room:
        alone = alone.model_copy(update={"carried": alone.carried[: -max(1, len(alone.carried) // 8)]})
    return alone


def _bounded_record(evidence: Evidence, *, max_tokens: int, count: CountTokens, quoted: int) -> Evidence:
    if evidence.is_empty or text_tokens(count, render_evidence(evidence)) <= max_tokens:
        return evidence
    max_tokens = max(max_tokens, quoted + _COUNTS) if quoted else max_tokens
    nothing = {"actions": (), "artifacts": (), "references": (), "inferred_shown": 0}
    not_listed = {
        "omitted_references": evidence.omitted_references + len(evidence.references),
        "omitted_actions": evidence.omitted_actions + len(evidence.actions),
        "omitted_artifacts": evidence.omitted_artifacts + len(evidence.artifacts),
    }
    # What is known but not shown stays known.
    counted = evidence.model_copy(update=nothing | not_listed)
    room = max_tokens - text_tokens(count, render_evidence(counted)) - 16
    named, _ = _newest(evidence.references, int(room * _REFERENCES_SHARE), lambda item: text_tokens(count, render_references([item])))
    counted = counted.model_copy(update={"references": named, "omitted_references": counted.omitted_references - len(named)})
    room = max_tokens - text_tokens(count, render_evidence(counted)) - 16

    def cost_of(action: Action) -> int:
        return text_tokens(count, f"- {render_action(action)}\n")

    def cost_of_file(artifact: Artifact) -> int:
        return text_tokens(count, f"- {render_artifact(artifact)}\n")

    # An attempt that failed shows nowhere else: it has the first claim on what the quotes leave.
    recorded = max(0, room - quoted)
    shown = _shorter_refused(evidence.actions, recorded // 2, cost_of)
    claimed = min(recorded * 6 // 10, sum(cost_of(item) for item in [one for one in shown if is_refused_change(one)][-_REFUSED_FIRST:]))
    waiting = open_inferred(evidence.inferred)[-evidence.inferred_shown :] if evidence.inferred_shown else ()
    told_of = partial(render_inferred_rule, retold=evidence.retold, is_bare=evidence.inferred_bare)
    share = max(int((recorded - claimed) * _ASKED_SHARE), min(room, quoted))
    asked, _ = _newest(waiting, share, lambda item: text_tokens(count, f"- {told_of(item)}\n"))
    counted = counted.model_copy(update={"inferred_shown": len(asked)})
    room = max_tokens - text_tokens(count, render_evidence(counted)) - 16
    # A file that was only looked at can be looked at again, and what was done with success shows in its file.
    artifacts = _weighty_first(evidence.artifacts, int(room * _FILES_SHARE), cost_of_file, is_changed)
    room -= sum(map(cost_of_file, artifacts))
    actions = _weighty_first(shown, room, cost_of, is_refused_change, most=_REFUSED_FIRST)
    left = room - sum(map(cost_of, actions))
    if left > 0 and len(asked) < len(waiting):
        # What actions and files leave free is for what people asked: it is said once, and nobody repeats it.
        more, _ = _newest(waiting[: len(waiting) - len(asked)], left, lambda item: text_tokens(count, f"- {told_of(item)}\n"))
        counted = counted.model_copy(update={"inferred_shown": len(asked) + len(more)})
    bounded = counted
    while actions or artifacts:
        bounded = counted.model_copy(
            update={
                "actions": actions,
                "artifacts": artifacts,
                "omitted_actions": counted.omitted_actions - len(actions),
                "omitted_artifacts": counted.omitted_artifacts - len(artifacts),
            }
        )
        if text_tokens(count, render_evidence(bounded)) <= max_tokens:
            return bounded
        actions, artifacts = _fewer(actions, is_refused_change), _fewer(artifacts, is_changed)
    if counted.references and text_tokens(count, render_evidence(counted)) > max_tokens:
        omitted = counted.omitted_references + len(counted.references)
        counted = counted.model_copy(update={"references": (), "omitted_references": omitted})
    while counted.inferred_shown and text_tokens(count, render_evidence(counted)) > max_tokens:
        counted = counted.model_copy(update={"inferred_shown": counted.inferred_shown - 1})
    return counted
