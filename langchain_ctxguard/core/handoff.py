"""A hand-over from evidence: the work log, what was derived of the conversation, and the rules in force. Nothing is described anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.items import Steps
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import is_request
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.steps import code_place
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.core.worklog import decisions_in, open_entries
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import Anchor, HandoffItem, HandoffReason, Prohibition
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.summary import Decision, StructuredSummary
from langchain_ctxguard.domain.worklog import SaidBy, WorkEntry, WorkState

STEPS_LISTED = 60
"""Steps a hand-over lists, newest; of older ones the last on each file. The work log holds them all."""

_ANCHORS = 40
_OPEN = 40
_DECISIONS = 30
_BANS = 60
_TEXT = 2_000
_LINE = 400


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the work when a hand-over is made."""

    messages: Sequence[BaseMessage]
    """The conversation, oldest first."""

    summary: StructuredSummary
    """What it adds up to, with actions, files and open items."""

    inferred: tuple[InferredConstraint, ...] = ()
    """Rules people said, also in messages that stay in view."""

    rules: tuple[Constraint, ...] = ()
    entries: tuple[WorkEntry, ...] = ()
    todos: Steps | None = None
    """The todo list of the state, where it keeps one."""


def handoff_from(
    known: Known, *, thread: str, namespace: str, at: datetime, reason: HandoffReason = "compaction", by: SaidBy = "harness", next_action: str = ""
) -> Handoff:
    """Return the hand-over that what is known makes.

    Args:
        known: What is known.
        thread: Whose work.
        namespace: That of a sub-agent.
        at: The moment.
        reason: Why it is made.
        by: Who asks for it.
        next_action: What comes next, in the agent's words; empty: told from what is open.
    """
    open_items = _not_done(known)
    return Handoff(
        thread=thread,
        namespace=namespace,
        made_at=at,
        made_by=by,
        reason=reason,
        trace=max((entry.number for entry in known.entries), default=0),
        goal=_goal(known),
        done=_done(known.entries),
        not_done=open_items,
        anchors=_anchors(known, open_items),
        do_not=_do_not(known),
        next_action=clipped(next_action.strip(), _TEXT) or _next(known, open_items),
        decisions=_decisions(known),
    )


def _goal(known: Known) -> str:
    """Return the first request and, where it is another one, the last: verbatim, as far as there is room."""
    asked = [own_words(message).strip() for message in known.messages if is_request(message)]
    first = known.summary.original_goal or (asked[0] if asked else "")
    last = asked[-1] if asked else next(iter(known.summary.user_intent), "")
    first, last = clipped(_printable(first), _TEXT), clipped(_printable(last), _TEXT)
    if not last or last == first or first.startswith(last):
        return first
    return f"{first}\n\nAsked last: {last}" if first else last


def _done(entries: Sequence[WorkEntry]) -> tuple[HandoffItem, ...]:
    done = [entry for entry in entries if entry.state is WorkState.DONE]
    newest = {entry.number for entry in done[-STEPS_LISTED:]}
    last_on = {state.path: entry.number for entry in done for state in entry.files}
    return tuple(_item(entry) for entry in done if entry.number in newest or entry.number in set(last_on.values()))


def _not_done(known: Known) -> tuple[HandoffItem, ...]:
    said = [_item(entry) for entry in open_entries(known.entries)]
    planned = [text for text, state in known.todos or () if state == "open"]
    # The list a tool keeps says better than messages what is open of it.
    asked = [item for item in known.summary.open_items if not (known.todos is not None and item.in_plan)]
    items = [*said, *(HandoffItem(text=clipped(readable(text), _LINE), said_by="agent") for text in planned if readable(text))]
    for item in asked:
        text = clipped(readable(item.text), _LINE)
        if text:
            items.append(HandoffItem(text=text, said_by="person" if item.asked_by == "user" else "agent"))
    current = readable(next((own_words(message) for message in reversed(known.messages) if is_request(message)), ""))
    if current and not any(item.text.startswith(current[: _LINE - 1]) for item in items):
        # Nobody compacts in the middle of a request that is done with.
        items.append(HandoffItem(text=clipped(current, _LINE), said_by="person"))
    # The same words about other places are other work.
    return tuple({(item.text, item.places): item for item in items}.values())[:_OPEN]


def _item(entry: WorkEntry) -> HandoffItem:
    return HandoffItem(
        text=clipped(_printable(entry.text), _LINE),
        places=entry.places,
        trace=entry.number or None,
        is_blocked=entry.state is WorkState.BLOCKED,
        said_by=entry.said_by,
    )


def _anchors(known: Known, open_items: Iterable[HandoffItem]) -> tuple[Anchor, ...]:
    """Return the places to go back to: of open items and of steps, newest first, then of files that were looked at."""
    found: dict[str, Anchor] = {}
    for item in open_items:
        for place in item.places:
            found.setdefault(str(place), Anchor(place=place, what=clipped(item.text, _LINE)))
    for entry in reversed(known.entries):
        for place in entry.places:
            found.setdefault(str(place), Anchor(place=place, what=clipped(f"{entry.state}: {_printable(entry.text)}", _LINE)))
    for artifact in reversed(known.summary.artifacts):
        place = code_place(artifact.path, artifact.anchor)
        found.setdefault(str(place), Anchor(place=place, what=f"{artifact.last_tool}, {artifact.last_status}"))
    return tuple(found.values())[:_ANCHORS]


def _do_not(known: Known) -> tuple[Prohibition, ...]:
    bans = [Prohibition(text=clipped(_printable(rule.text), _LINE), why=f"rule {rule.reference}") for rule in known.rules if _forbids(rule.text)]
    said = [rule for rule in known.inferred if rule.status != "dropped" and (rule.kind in ("ban", "only") or _forbids(rule.text))]
    bans += [Prohibition(text=clipped(readable(rule.text), _LINE), why="a person said so") for rule in said if readable(rule.text)]
    return tuple({ban.text: ban for ban in reversed(bans)}.values())[::-1][-_BANS:]


def _forbids(text: str) -> bool:
    found = rule_in(text)
    return found is not None and found.kind in ("ban", "only")


def _next(known: Known, open_items: Sequence[HandoffItem]) -> str:
    """Return what comes next: what the agent said last that it would do, else the first of what is open."""
    said = [entry for entry in open_entries(known.entries) if entry.state is WorkState.NEXT]
    if said:
        return clipped(_printable(said[-1].text), _TEXT)
    return next((item.text for item in open_items if not item.is_blocked), "")


def _decisions(known: Known) -> tuple[Decision, ...]:
    both = [*known.summary.decisions, *decisions_in(known.entries)]
    return tuple({decision.chosen: decision for decision in both}.values())[-_DECISIONS:]


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
