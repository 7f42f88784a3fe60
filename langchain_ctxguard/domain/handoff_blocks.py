"""What a hand-over holds: six blocks and the decisions. How it is written and read is in `handoff.py`."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field, NonNegativeInt

from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.worklog import SaidBy

HandoffReason = Literal["compaction", "phase", "asked"]
"""Why it was made: before a compaction, at the end of a stage, or because somebody asked for it."""


class HandoffItem(Value):
    """One thing that is done, or is to be done."""

    text: str = Field(min_length=1)
    places: tuple[CodePlace, ...] = ()
    trace: NonNegativeInt | None = None
    """Number of the entry of the work log that says so; `None`: no entry does."""

    is_blocked: bool = False
    said_by: SaidBy = "harness"


class Anchor(Value):
    """A place to go back to, and what is there."""

    place: CodePlace
    what: str = ""


class Prohibition(Value):
    """What must not be done, in the words it was said in."""

    text: str = Field(min_length=1)
    why: str = ""
    trace: NonNegativeInt | None = None


class HandoffBlocks(Value):
    """Six blocks and the decisions. History, not instruction: it grants no permission and yields to what is said later."""

    schema_version: Literal[1] = 1
    number: NonNegativeInt = 0
    """From 1 within a thread; 0: not written yet."""

    thread: str = ""
    namespace: str = ""
    made_at: AwareDatetime
    made_by: SaidBy = "harness"
    reason: HandoffReason = "compaction"
    trace: NonNegativeInt = 0
    """Number of the last entry of the work log it knows of."""

    goal: str = ""
    done: tuple[HandoffItem, ...] = ()
    not_done: tuple[HandoffItem, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    do_not: tuple[Prohibition, ...] = ()
    next_action: str = ""
    decisions: tuple[Decision, ...] = ()
    """What was chosen, and what was turned down for it, each with its reason."""

    @property
    def is_empty(self) -> bool:
        """Say whether it tells nothing."""
        return not any((self.goal, self.done, self.not_done, self.anchors, self.do_not, self.next_action, self.decisions))
