"""How well a coding agent's work came through its compactions, in numbers. No text of the conversation."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field, NonNegativeInt

from langchain_ctxguard.domain.value import Value

Element = Literal["goal", "done", "pending", "anchors", "do_not"]
"""The five things an agent needs to go on: where am I going, what have I done, what not yet, where, and what must I not do."""

ELEMENTS: tuple[Element, ...] = ("goal", "done", "pending", "anchors", "do_not")


class Share(Value):
    """So many of so many."""

    found: NonNegativeInt = 0
    total: NonNegativeInt = 0

    @property
    def part(self) -> float:
        """The part that was found; of nothing, all."""
        return 1.0 if not self.total else self.found / self.total


class Recovery(Value):
    """What a compacted context shows of the hand-over that was made before it."""

    schema_version: Literal[1] = 1
    version: NonNegativeInt
    """Of the context."""

    handoff: NonNegativeInt
    """Number of the hand-over."""

    namespace: str = ""
    shown: dict[Element, Share] = Field(default_factory=dict)
    at_message: NonNegativeInt = 0
    """How many messages the conversation had: the compaction lies there."""

    at: AwareDatetime

    @property
    def score(self) -> float:
        """The sum over the five elements: 5.0 where all of each is shown."""
        return sum(self.shown.get(element, Share()).part for element in ELEMENTS)


class WorkMetrics(Value):
    """What a thread's steps and records add up to."""

    steps: NonNegativeInt = 0
    """Calls of tools, those for the work log and hand-overs left out."""

    compactions: NonNegativeInt = 0
    recoveries: tuple[Recovery, ...] = ()
    constraint_breaks: NonNegativeInt = 0
    """Calls that a rule of the policy refused: attempts at what must not be done. One that a contradiction held once is none."""

    repeated_edits: NonNegativeInt = 0
    """Calls that would do again what a call had done and nothing had undone: run, or answered with the evidence."""

    repeated_searches: NonNegativeInt = 0
    """The same look for the same thing with no change between."""

    reopened_decisions: NonNegativeInt = 0
    """Proposals and decisions for an option that was turned down before."""

    finished_called_open: NonNegativeInt = 0
    """What hand-overs call not done though the log has it finished: closed, or done later at the same places or in the same words."""

    failed_steps: NonNegativeInt = 0
    wasted_steps: NonNegativeInt = 0
    """Failed, refused or held, repeated or reopened, each counted once."""

    first_failure: int | None = None
    """Stage of the first wasted step: how many compactions lay before it. `None`: there was none."""

    steps_to_first_correct: tuple[int | None, ...] = ()
    """For each compaction, how many steps until the first that was not wasted, that one included; `None`: none came."""
