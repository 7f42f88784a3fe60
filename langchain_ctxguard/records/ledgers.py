"""Answers what a call's flow asks of the records: consents, approvals, budgets, contents, audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, assert_never

from langchain_ctxguard.core.effects import (
    ConsultWork,
    Exceeded,
    GetContent,
    NoteCall,
    NoteReplaced,
    NoteWork,
    Overtaken,
    PutContent,
    ReadBudgets,
    ReadCalls,
    ReadConsents,
    ReadStanding,
    Reserve,
    Reserved,
    SettleBudgets,
    ToolAnswer,
    WriteCalls,
)
from langchain_ctxguard.domain.budget import Budgets, Usage
from langchain_ctxguard.errors import LogConflictError
from langchain_ctxguard.ports import ConsentReading, WorkRecord
from langchain_ctxguard.records.approvals import ApprovalLog
from langchain_ctxguard.records.budgets import BudgetLog
from langchain_ctxguard.records.call_records import CallRecords
from langchain_ctxguard.records.standing import StandingLog

LedgerEffect = (
    ReadConsents
    | ReadStanding
    | NoteReplaced
    | ReadCalls
    | WriteCalls
    | ReadBudgets
    | Reserve
    | SettleBudgets
    | PutContent
    | GetContent
    | NoteCall
    | ConsultWork
    | NoteWork
)

Period = Literal["thread", "run", "day"]
CountUsage = Callable[[tuple[str, ...]], dict[Period, Usage]]
"""Says what the models have used: by thread, run or day."""


@dataclass(frozen=True, slots=True)
class CallLedgers:
    """The records a call is judged by. What they raise is told to the flow by the driver."""

    approvals: ApprovalLog
    budgets: BudgetLog
    records: CallRecords
    consents: ConsentReading | None = None
    standing: StandingLog | None = None
    work: WorkRecord | None = None
    """Of what an agent's work came to; `None`: nobody keeps one."""

    blocks: bool = False
    """Whether asking them may wait for a database."""

    def answer(self, effect: LedgerEffect, usage: CountUsage) -> ToolAnswer:  # noqa: C901, PLR0911, PLR0912 - one line for each effect
        """Return what a flow asked for.

        Raises:
            StoreError: a store cannot be read or written.
        """
        match effect:
            case ReadConsents():
                return None if self.consents is None or effect.subject is None else self.consents.read(effect.subject, thread=effect.thread)
            case ReadStanding():
                return None if self.standing is None else self.standing.read(effect.thread)
            case NoteReplaced():
                if self.standing is not None:
                    self.standing.replace(effect.thread, effect.tool, effect.digest, by_digest=effect.by_digest, call_id=effect.call_id, by=effect.by)
                return None
            case ReadCalls():
                return self.approvals.read(effect.thread)
            case WriteCalls():
                try:
                    return self.approvals.append(effect.thread, effect.events, expected=effect.expected)
                except LogConflictError:
                    return Overtaken()
            case ReadBudgets():
                return Budgets(states={key: self.budgets.state(key) for key in effect.keys}, usage=usage(effect.usage) if effect.usage else {})
            case Reserve():
                found = self.budgets.reserve(effect.charges, effect.reservation)
                return Reserved(found) if isinstance(found, dict) else Exceeded(*found)
            case SettleBudgets():
                self.budgets.settle(dict(effect.reserved.reservations), as_used=effect.as_used)
                return None
            case PutContent():
                return self.records.keep(effect.thread, effect.content, is_needed=effect.is_needed)
            case GetContent():
                return self.records.content(effect.thread, effect.address)
            case NoteCall():
                self.records.note(effect.record)
                return None
            case ConsultWork():
                return None if self.work is None else self.work.before(effect.call)
            case NoteWork():
                if self.work is not None:
                    self.work.after(effect.call, effect.ran)
                return None
            case _:
                assert_never(effect)
