"""Why an action was allowed: what a gate read, on which records that rests, and what carried them there."""

from __future__ import annotations

from typing import Any

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.citation import ConsentCitation, GateReading
from langchain_ctxguard.domain.consent import Consent
from langchain_ctxguard.domain.value import Value


class RecordLink(Value):
    """One entry of a log in the chain."""

    kind: str
    """Of its stream: `audit`, `versions`."""

    key: str
    seq: int
    hash: str
    at: AwareDatetime
    says: dict[str, Any] = Field(default_factory=dict)
    """Its words, numbers and names at the top level; nothing nested."""


class ConsentChain(Value):
    """What a cited consent rests on."""

    cited: ConsentCitation
    grant: Consent | None = None
    """As it is on record; `None`: there is no such record."""

    carried: tuple[RecordLink, ...] = ()
    """The compactions of the thread that carried it from the grant to the reading, oldest first."""

    faults: tuple[str, ...] = ()
    """Why this chain does not hold; empty: it does."""


class Explanation(Value):
    """The chain behind one action."""

    action: str
    thread: str | None = None
    records: tuple[RecordLink, ...] = ()
    """Everything on record about the action, oldest first."""

    readings: tuple[GateReading, ...] = ()
    """What gates read when they judged it, oldest first."""

    chains: tuple[ConsentChain, ...] = ()
    """One for each consent that a reading cites."""

    faults: tuple[str, ...] = ()
    """What is missing at the top of the chain."""

    @property
    def holds(self) -> bool:
        """Say whether every link is on record, unaltered, and was in force when it was read. An action that needed no consent has no chain."""
        return not self.faults and not any(chain.faults for chain in self.chains)
