"""Budgets of tool calls: what a call would use, what became of reservations, and what that adds up to."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.tool_rule import BudgetRule
from langchain_ctxguard.domain.value import Value

LEASE_S = 600
"""How long a reservation without an outcome counts as running. After it the outcome is unknown, not free."""


class Charge(Value):
    """What one call takes from one budget."""

    rule: str
    """Id of the rule, for messages."""

    key: str
    """Which budget: rule and thread, run or day; the key of its stream."""

    limit: BudgetRule
    calls: int = 1
    sums: Mapping[str, Decimal] = Field(default_factory=dict)


class BudgetEvent(Value):
    """One entry on a budget's stream."""

    kind: Literal["reserved", "committed", "released"]
    reservation: str
    """Which call: the same reservation made twice counts once."""

    at: AwareDatetime
    calls: int = 0
    sums: Mapping[str, Decimal] = Field(default_factory=dict)
    lease_s: int = LEASE_S


class Held(Value):
    """What one reservation holds."""

    calls: int = 1
    sums: Mapping[str, Decimal] = Field(default_factory=dict)
    lease_until: AwareDatetime


class BudgetState(Value):
    """What a budget's stream adds up to at one moment."""

    calls: int = 0
    """Committed, running and unknown ones."""

    sums: Mapping[str, Decimal] = Field(default_factory=dict)
    """By argument, of the same."""

    held: Mapping[str, Held] = Field(default_factory=dict)
    """By reservation, those without an outcome."""

    unknown: tuple[str, ...] = ()
    """Those of them past their lease: nobody knows whether the tool ran, so they stay used until somebody says."""

    settled: Mapping[str, Held] = Field(default_factory=dict)
    """By reservation, those that ran."""


class Usage(Value):
    """What the models of a thread, run or day have used, from their usage metadata."""

    tokens: int = 0
    cost: Decimal | None = None
    """`None`: no price is known for what was used."""


class Budgets(Value):
    """What `authorize` is told of budgets."""

    states: Mapping[str, BudgetState] = Field(default_factory=dict)
    """By `Charge.key`; a key that is missing was never charged."""

    usage: Mapping[Literal["thread", "run", "day"], Usage] = Field(default_factory=dict)
