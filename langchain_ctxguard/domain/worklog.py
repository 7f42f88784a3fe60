"""The work log of a coding agent: what took effect and where, what comes next, what is in the way, what was decided. One line each."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal, Self

from pydantic import AwareDatetime, Field, NonNegativeInt, model_validator

from langchain_ctxguard.domain.code_place import CodePlace, read_places, written_places
from langchain_ctxguard.domain.one_line import from_one_line, on_one_line
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.value import Value

SaidBy = Literal["harness", "agent", "person"]
"""Who answers for a line: the harness has seen it happen; an agent or a person says so."""

_LINE = re.compile(r"\[TRACE-(?P<number>\d+)\] (?P<state>done|next|blocked|decided): (?P<text>.*?)(?: @ (?P<places>.*))?")


class WorkState(StrEnum):
    """What a line of the work log says."""

    DONE = "done"
    """It took effect."""

    NEXT = "next"
    """It is to be done."""

    BLOCKED = "blocked"
    """It cannot be done for now."""

    DECIDED = "decided"
    """Something was chosen, and something else was not."""


class FileState(Value):
    """A file as it was after a step."""

    path: str = Field(min_length=1)
    """Relative to the workspace where it lies in it, with `/`."""

    sha256: str | None = None
    """Of its bytes, in hexadecimal; `None`: there was no such file."""

    @property
    def is_absent(self) -> bool:
        """Say whether there was no such file."""
        return self.sha256 is None


class WorkLine(Value):
    """What a line of the work log shows, and no more: `[TRACE-014] done: rename total() @ src/cart.py::total`."""

    number: NonNegativeInt
    state: WorkState
    text: str = Field(min_length=1)
    places: tuple[CodePlace, ...] = ()

    def __str__(self) -> str:
        """Write it; whatever is in the text, it is one line and reads back."""
        where = f" @ {written_places(self.places)}" if self.places else ""
        return f"[TRACE-{self.number:03d}] {self.state}: {on_one_line(self.text)}{where}"

    @classmethod
    def read(cls, line: str) -> WorkLine:
        """Return what a line says.

        >>> WorkLine.read("[TRACE-014] done: rename total() @ src/cart.py::total").places[0].symbol
        'total'

        Raises:
            ValueError: it is no line of a work log.
        """
        found = _LINE.fullmatch(line)
        if found is None:
            msg = f"'{line}' is no line of a work log; one reads '[TRACE-014] done: what @ path::symbol'."
            raise ValueError(msg)
        return cls(
            number=int(found["number"]),
            state=WorkState(found["state"]),
            text=from_one_line(found["text"]),
            places=read_places(found["places"] or ""),
        )


class WorkEntry(Value):
    """One entry of the work log, with what it rests on."""

    number: NonNegativeInt = 0
    """From 1, without gaps, within a thread; 0: not on record yet."""

    state: WorkState
    text: str = Field(min_length=1)
    places: tuple[CodePlace, ...] = ()
    files: tuple[FileState, ...] = ()
    """The files it changed, as they were then; a file nobody could read is not among them."""

    effect_digest: str = ""
    """Equal for two calls that do the same; empty where no call stands behind it."""

    tool: str = ""
    tool_call_id: str = ""
    message_id: str = ""
    """The message that holds the call or the words."""

    namespace: str = ""
    """That of the sub-agent it happened in; empty: the agent of the thread."""

    said_by: SaidBy = "harness"
    decision: Decision | None = None
    closes: tuple[int, ...] = ()
    """Numbers of entries that said `next` or `blocked` and say so no more."""

    at: AwareDatetime

    @model_validator(mode="after")
    def _is_vouched_for(self) -> Self:
        # The reason this log exists: what an agent says it did is no evidence that it did.
        if self.state is WorkState.DONE and self.said_by == "agent":
            msg = "an agent cannot say 'done': the harness writes it when it sees the effect; say 'next', 'blocked' or 'decided'"
            raise ValueError(msg)
        if (self.decision is not None) != (self.state is WorkState.DECIDED):
            msg = "a `decision` goes with 'decided', and with nothing else"
            raise ValueError(msg)
        return self

    @property
    def line(self) -> WorkLine:
        """What its line shows."""
        return WorkLine(number=self.number, state=self.state, text=self.text, places=self.places)

    @property
    def name(self) -> str:
        """What it is called: `TRACE-014`."""
        return trace_name(self.number)


def trace_name(number: int) -> str:
    """Return what an entry is called.

    >>> trace_name(14)
    'TRACE-014'
    """
    return f"TRACE-{number:03d}"


def decision_text(decision: Decision) -> str:
    """Return a decision in one sentence: what was chosen, what was not, and why.

    >>> decision_text(Decision(chosen="httpx", rejected=({"option": "requests", "why": "no async"},), why="async"))
    'httpx (async), not requests (no async)'
    """
    turned_down = [f"not {option.option}" + (f" ({option.why})" if option.why else "") for option in decision.rejected]
    chosen = decision.chosen + (f" ({decision.why})" if decision.why else "")
    return ", ".join([chosen, *turned_down])
