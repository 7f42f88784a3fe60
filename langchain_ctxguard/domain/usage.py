"""What model calls used, as it rests on a log: numbers by the id of the message, and what a thread came to on a day."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import AwareDatetime

from langchain_ctxguard.domain.value import Value


class Use(Value):
    """What one model call used."""

    message: str
    """Id of the message it made: the same message counts once, whoever puts it on record, and however often."""

    tokens: int
    cost: Decimal | None = None
    """`None`: no price is known for its model."""

    run: str = ""
    """Which run of the thread it belongs to; empty where that cannot be told."""

    at: AwareDatetime | None = None
    """When it was counted. `None`: it was there before anybody counted, and belongs to no day."""


class Used(Value):
    """One entry on a thread's stream: calls that were made since the last one."""

    type: Literal["used"] = "used"
    uses: tuple[Use, ...]


class DayTotal(Value):
    """One entry on a day's stream: all that a thread used on it, as of an entry of the thread's own stream. A later one takes its place."""

    type: Literal["day_total"] = "day_total"
    thread: str
    seq: int
    """Number of the entry of the thread's stream up to which it counts."""

    tokens: int
    cost: Decimal | None = None
