"""What a report tells of a coding agent's work, as values: the log, hand-overs, reconciliations, and what they add up to."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.work_metrics import WorkMetrics
from langchain_ctxguard.domain.worklog import WorkState


class WorkStep(Value):
    """One line of the work log."""

    number: int
    state: WorkState
    text: str | None = None
    """`None`: its words were erased."""

    places: tuple[str, ...] = ()
    said_by: str = ""
    namespace: str = ""
    at: AwareDatetime
    call_id: str = ""


class HandedOver(Value):
    """One hand-over. Where it was erased, its number and moment are all there is."""

    number: int
    at: AwareDatetime
    is_erased: bool = False
    reason: str = ""
    made_by: str = ""
    trace: int = 0
    """The last line of the log that it knew."""

    goal: str = ""
    done: int = 0
    not_done: tuple[str, ...] = ()
    anchors: int = 0
    do_not: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    next_action: str = ""


ReconcileKind = Literal["began", "noticed", "stated", "confirmed", "held", "checked", "waived", "search_seen"]


class Reconciled(Value):
    """One event of a reconciliation, in words."""

    number: int
    kind: str
    """A `ReconcileKind`, or what a later version of this package writes."""

    at: AwareDatetime | None = None
    """`None`: its words were erased."""

    is_erased: bool = False
    text: str = ""
    contradictions: tuple[str, ...] = ()
    """Which files are not as the log says, a sentence each."""

    is_against: bool = False
    """Something was found that held a call, or would have."""

    waived_by: str = ""


class Work(Value):
    """The work of a thread as it is on record."""

    steps: tuple[WorkStep, ...] = ()
    handed_over: tuple[HandedOver, ...] = ()
    reconciled: tuple[Reconciled, ...] = ()
    metrics: WorkMetrics | None = None
    """`None`: what it would be counted in cannot be read."""

    metrics_note: str = ""
    """What has to be known of the numbers."""

    is_counted_in_messages: bool = True
    """Whether messages were there to count steps in; where not, the numbers of steps say nothing."""

    note: str = ""
    """Why nothing can be told, where nothing can."""
