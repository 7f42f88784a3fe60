"""The work log, hand-overs and reconciliations of a stored thread; no workspace is looked at, and what was erased is told as erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.render import render_decision
from langchain_ctxguard.core.status_text import contradiction_line
from langchain_ctxguard.core.work_metrics import measured
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.reconcile import (
    Began,
    Checked,
    CheckSeen,
    Confirmed,
    Contradiction,
    Held,
    Noticed,
    ReconcileEvent,
    SearchSeen,
    Stated,
    Waived,
)
from langchain_ctxguard.domain.work_metrics import WorkMetrics
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records import handoffs, reconcile, worklog
from langchain_ctxguard.records.recoveries import RecoveryLog
from langchain_ctxguard.records.versions import HasLog
from langchain_ctxguard.report.story_work import HandedOver, Reconciled, Work, WorkStep
from langchain_ctxguard.report.words import count, listed

_NAMED = 12
_WAIVED = {"contradictions": "the contradictions", "check": "the failing check", "all": "contradictions and check"}


def work_of(
    store: HasLog,
    place: ContextPlace,
    messages: Mapping[int, BaseMessage],
    *,
    has_state: bool,
) -> Work | None:
    """Return what is on record of the work in a context, `None` where nothing is.

    Args:
        store: A `GuardStore`.
        place: The context.
        messages: Those that are to be had, by their position in the conversation.
        has_state: Whether the messages still in sight are among them.
    """
    try:
        steps = worklog.WorkLog(store).on_record(place.thread)
        given = handoffs.HandoffLog(store).on_record(place.thread, place.namespace)
        log = reconcile.ReconcileLog(store)
        events = log.on_record(place)
        recoveries = [one for one in RecoveryLog(store).all(place.thread) if one.namespace == place.namespace]
        told = tuple(_reconciled(log, place, one) for one in events)
    except StoreError as error:
        return Work(note=f"The record of the work cannot be read: {error}", is_counted_in_messages=False)
    if not (steps or given or events or recoveries):
        return None
    entries = [one.entry for one in steps if one.entry is not None and one.entry.namespace == place.namespace]
    said = _said(messages)
    metrics = measured(said, entries, recoveries, [one.handoff for one in given if one.handoff is not None])
    is_erased = any(one.entry is None for one in steps) or any(one.handoff is None for one in given)
    return Work(
        steps=tuple(map(_step, steps)),
        handed_over=tuple(map(_handed_over, given)),
        reconciled=told,
        metrics=metrics,
        metrics_note=_note(metrics, said, has_state=has_state, is_erased=is_erased),
        is_counted_in_messages=bool(said),
    )


def _said(messages: Mapping[int, BaseMessage]) -> list[BaseMessage]:
    """Return the conversation from its first message on, as far as no message is missing in it."""
    found: list[BaseMessage] = []
    while len(found) in messages:
        found.append(messages[len(found)])
    return found


def _note(metrics: WorkMetrics, said: Sequence[BaseMessage], *, has_state: bool, is_erased: bool) -> str:
    parts = []
    if is_erased:
        parts.append("Words of the work were erased: what is counted in them is counted in what is left.")
    if not said:
        parts.append(
            "No message of this thread is to be had from its first on, so steps, repetitions and the way back after a compaction are not known."
        )
    elif not has_state:
        parts.append(f"Counted in the {count(len(said), 'archived message')}: what came later rests with the checkpointer; name it to count it too.")
    if not metrics.recoveries:
        parts.append("No compacted context of this thread was held against a hand-over.")
    return " ".join(parts)


def _step(one: worklog.Recorded) -> WorkStep:
    entry = one.entry
    if entry is None:
        return WorkStep(number=one.number, state=one.state, at=one.at, call_id=one.call)
    places = tuple(str(place) for place in entry.places)
    return WorkStep(
        number=one.number,
        state=one.state,
        text=entry.text,
        places=places,
        said_by=entry.said_by,
        namespace=entry.namespace,
        at=one.at,
        call_id=one.call,
    )


def _handed_over(one: handoffs.Recorded) -> HandedOver:
    given = one.handoff
    if given is None:
        return HandedOver(number=one.number, at=one.at, is_erased=True)
    return HandedOver(
        number=one.number,
        at=one.at,
        reason=given.reason,
        made_by=given.made_by,
        trace=given.trace,
        goal=given.goal,
        done=len(given.done),
        not_done=tuple(item.text for item in given.not_done),
        anchors=len(given.anchors),
        do_not=tuple(ban.text for ban in given.do_not),
        decisions=tuple(map(render_decision, given.decisions)),
        next_action=given.next_action,
    )


def _reconciled(log: reconcile.ReconcileLog, place: ContextPlace, one: reconcile.Recorded) -> Reconciled:
    event = one.event
    if event is None:
        return Reconciled(number=one.number, kind=one.type, is_erased=True)
    text, found = _told(log, place, event)
    is_against = bool(found) or (isinstance(event, Stated | Checked) and event.is_blamed)
    return Reconciled(
        number=one.number,
        kind=event.type,
        at=event.at,
        text=text,
        contradictions=tuple(map(contradiction_line, found)),
        is_against=is_against,
        waived_by=event.by if isinstance(event, Waived) else "",
    )


def _told(log: reconcile.ReconcileLog, place: ContextPlace, event: ReconcileEvent) -> tuple[str, Sequence[Contradiction]]:  # noqa: PLR0911 - one case each
    match event:
        case Began():
            return f"The workspace was looked at for the first time.{_check(event.check)}", ()
        case Noticed():
            return f"Compaction to version {event.version} was noticed.", ()
        case Stated():
            status = log.status(place, event.status)
            if status is None:
                return f"Version {event.version} was held against the workspace; the status was erased.{_check(event.check)}", ()
            numbers = f"{count(len(status.in_effect), 'step')} in effect, {len(status.not_in_effect):,} open or undone"
            outside = f", {count(len(status.outside), 'file')} changed outside" if status.outside else ""
            blamed = " It passed before." if event.is_blamed else ""
            return f"Version {event.version} was held against the workspace: {numbers}{outside}.{_check(event.check)}{blamed}", status.contradictions
        case Confirmed():
            return "At the first change the files were as the status says.", ()
        case Held():
            return f"{count(len(event.calls), 'call').capitalize()} held once: {listed(event.calls[:_NAMED])}.", event.contradictions
        case Checked():
            return f"The check ran again.{_check(event.check)}", ()
        case Waived():
            return f"{event.by} waived {_WAIVED[event.what]}: {event.reason}", ()
        case SearchSeen():
            return f"A search was kept that found {count(len(event.found), 'line')} in {count(len(event.files), 'file')}.", ()
        case _:
            assert_never(event)


def _check(check: CheckSeen | None) -> str:
    if check is None:
        return ""
    code = f" (exit code {check.exit_code})" if check.exit_code else ""
    named = f", naming {listed(check.files[:_NAMED])}" if check.files and check.outcome != "passed" else ""
    return f" The check {check.outcome.replace('_', ' ')}{code}{named}."
