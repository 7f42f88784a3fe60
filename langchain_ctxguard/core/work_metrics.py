"""Steps of a conversation and what is on record of them -> how well the work came through. Nothing here asks a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.core.commands import reads_only
from langchain_ctxguard.core.evidence import effect_of
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.results import results_in
from langchain_ctxguard.core.roles import calls_of
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.core.steps import ABOUT_WORK
from langchain_ctxguard.core.terms import fold
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import HandoffItem
from langchain_ctxguard.domain.reconcile import RECONCILE_RULE
from langchain_ctxguard.domain.work_metrics import Recovery, WorkMetrics
from langchain_ctxguard.domain.worklog import WorkEntry, WorkState

_NOT_RUN = ("denied", "held")


@dataclass(frozen=True, slots=True)
class _Step:
    at: int
    """Index of the message that makes the call."""

    call_id: str
    tool: str
    effect: str
    is_change: bool
    is_failed: bool
    said: str
    """What the guard did with it: `denied`, `held`, `answered`, ...; empty: the tool ran."""


def measured(
    messages: Sequence[BaseMessage], entries: Sequence[WorkEntry] = (), recoveries: Sequence[Recovery] = (), handoffs: Sequence[Handoff] = ()
) -> WorkMetrics:
    """Return the numbers of a thread.

    Args:
        messages: The whole conversation, oldest first.
        entries: The work log.
        recoveries: What each compaction showed; they say where the compactions lie.
        handoffs: The hand-overs, oldest first.
    """
    steps = _steps(messages)
    ends = [one.at_message for one in recoveries]
    edits, searches = _repeated(steps, entries)
    turned_down = {step.call_id for step in steps if step.said == "answered"} - edits - searches
    reopened = turned_down | {entry.tool_call_id for entry in _reopening(entries)}
    breaks = {step.call_id for step in steps if step.said == "denied"}
    held = {step.call_id for step in steps if step.said == "held"}
    failed = {step.call_id for step in steps if step.is_failed and step.said not in _NOT_RUN}
    wasted = failed | breaks | held | edits | searches | turned_down
    first = next((step.at for step in steps if step.call_id in wasted), None)
    return WorkMetrics(
        steps=len(steps),
        compactions=len(ends),
        recoveries=tuple(recoveries),
        constraint_breaks=len(breaks),
        repeated_edits=len(edits),
        repeated_searches=len(searches),
        reopened_decisions=len(reopened),
        finished_called_open=_called_open(handoffs, entries),
        failed_steps=len(failed),
        wasted_steps=len(wasted),
        first_failure=None if first is None else sum(end <= first for end in ends),
        steps_to_first_correct=tuple(_to_first_correct(steps, wasted, end) for end in ends),
    )


def _steps(messages: Sequence[BaseMessage]) -> list[_Step]:
    results = {result.call_id: result for message in messages for result in results_in(message)}
    said = {message.tool_call_id: _said(message) for message in messages if isinstance(message, ToolMessage)}
    found = []
    for at, message in enumerate(messages):
        for call in calls_of(message):
            if call.name in ABOUT_WORK or not call.call_id or call.call_id not in results:
                continue
            arguments: Mapping[str, Any] = call.arguments if isinstance(call.arguments, Mapping) else {}
            command = command_in(arguments, tool=call.name)
            is_change = not reads_only(command) if command is not None else effect_of(call.name) in ("written", "removed")
            digest = effect_digest(call.name, arguments)
            found.append(_Step(at, call.call_id, call.name, digest, is_change, results[call.call_id].is_failed, said.get(call.call_id, "")))
    return found


def _said(message: ToolMessage) -> str:
    artifact = message.artifact
    about = artifact.get("ctxguard") if isinstance(artifact, Mapping) else None
    if not isinstance(about, Mapping):
        return ""
    # What a contradiction held runs when it comes again: no rule spoke against it.
    return "held" if about.get("kind") == "denied" and list(about.get("rules") or ()) == [RECONCILE_RULE] else str(about.get("kind", ""))


def _repeated(steps: Sequence[_Step], entries: Sequence[WorkEntry]) -> tuple[set[str], set[str]]:
    """Return the calls that did, or would have done, again what was done, and those that looked again for what nothing had changed."""
    by_call = {entry.tool_call_id: entry for entry in entries if entry.state is WorkState.DONE and entry.tool_call_id}
    done: dict[str, _Step] = {}
    seen: set[str] = set()
    edits: set[str] = set()
    searches: set[str] = set()
    for step in steps:
        if step.said in _NOT_RUN:
            continue
        if not step.is_change:
            if not step.is_failed and step.effect in seen:
                searches.add(step.call_id)
            seen.add(step.effect)
            continue
        before = done.get(step.effect)
        if before is not None and not _was_undone(by_call.get(before.call_id), by_call.get(step.call_id), entries):
            edits.add(step.call_id)
        if not step.is_failed and step.said != "answered":
            done[step.effect] = step
            seen.clear()
    return edits, searches


def _was_undone(first: WorkEntry | None, again: WorkEntry | None, entries: Sequence[WorkEntry]) -> bool:
    """Say whether the files were, when a step came again, as they had been before it came first: then it had to be done again."""
    if first is None or again is None or not first.files:
        return False
    return all((known := _before(first, state.path, entries)) is not None and known == _before(again, state.path, entries) for state in first.files)


def _before(entry: WorkEntry, path: str, entries: Sequence[WorkEntry]) -> str | None:
    """Return what a file held before a step, by the log: the digest, `absent`, or `None` where the log does not say."""
    left = [state for one in entries if 0 < one.number < entry.number for state in one.files if state.path == path]
    return None if not left else left[-1].sha256 or "absent"


def _reopening(entries: Sequence[WorkEntry]) -> list[WorkEntry]:
    """Return decisions of the agent for what it or somebody had turned down before."""
    turned_down: set[str] = set()
    found = []
    for entry in entries:
        if entry.decision is None:
            continue
        if fold(entry.decision.chosen).strip() in turned_down and entry.said_by == "agent":
            found.append(entry)
        turned_down |= {fold(option.option).strip() for option in entry.decision.rejected}
    return found


def _called_open(handoffs: Sequence[Handoff], entries: Sequence[WorkEntry]) -> int:
    """Count the items that hand-overs call open though the log they knew has them finished."""
    return sum(_is_finished(item, [entry for entry in entries if entry.number <= handoff.trace]) for handoff in handoffs for item in handoff.not_done)


def _is_finished(item: HandoffItem, entries: Sequence[WorkEntry]) -> bool:
    """Say whether the log has an item finished: an entry closes it, or a later step stands at each of its places or says the same words.

    Of an item that no entry of the log says, nobody knows whether a step came before it or after: it is not counted. Words that are only alike do not
    count either, for a step that speaks of the same thing need not have finished it.
    """
    if item.trace is None:
        return False
    later = [entry for entry in entries if entry.number > item.trace]
    if any(item.trace in entry.closes for entry in later):
        return True
    done = [entry for entry in later if entry.state is WorkState.DONE]
    places = {str(place) for place in item.places}
    is_there = bool(places) and places <= {str(place) for entry in done for place in entry.places}
    return is_there or _label(item.text) in {_label(entry.text) for entry in done}


def _label(text: str) -> str:
    """Return words as open items are told apart by, see `core.items.item_of`; neither a capital letter nor a full stop makes another one."""
    return fold(folded(text)).strip(" .。!！")


def _to_first_correct(steps: Sequence[_Step], wasted: set[str], end: int) -> int | None:
    after = [step for step in steps if step.at >= end]
    return next((count for count, step in enumerate(after, start=1) if step.call_id not in wasted), None)
