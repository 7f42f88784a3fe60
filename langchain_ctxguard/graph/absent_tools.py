"""Tools that an invariant wants absent while a consent says so: out of the model's sight, and refused where they are called all the same."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from langchain_ctxguard.core.invariants import absences, tools_made_absent
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.invariant import Invariant
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.reading import tool_name
from langchain_ctxguard.graph.whereabouts import Whereabouts
from langchain_ctxguard.ports import Clock, ConsentReading


class AbsentTools:
    """Says which tools are not to be available now. Without such an invariant it asks nothing."""

    def __init__(self, invariants: Sequence[Invariant], consents: ConsentReading | None, clock: Clock, *, blocks: bool) -> None:
        """Bind the invariants, and what reads consents; `blocks`: that may wait for a database."""
        self._absences = absences(invariants)
        self._consents = consents
        self._clock = clock
        self._blocks = blocks

    def among(self, tools: Sequence[Any], where: Whereabouts) -> Generator[Work, Any, Sequence[Any]]:
        """Return the tools that may be available in a call; the same list where that is all of them."""
        if not any(tool_name(tool) in self._absences for tool in tools):
            return tools
        gone: dict[str, str] = yield Work(lambda: self.now(where), self._blocks)
        return [tool for tool in tools if tool_name(tool) not in gone] if gone else tools

    def now(self, where: Whereabouts) -> dict[str, str]:
        """Return the tools that are to be absent, and what says so. What cannot be read is no consent."""
        if not self._absences:
            return {}
        found: Consents | None = None
        if self._consents is not None and where.subject is not None:
            try:
                found = self._consents.read(where.subject, thread=where.thread)
            except StoreError:
                return {tool: conditions[0].because for tool, conditions in self._absences.items()}
        return tools_made_absent(self._absences, found, self._clock())

    def refusal(self, tool: str, where: Whereabouts) -> str | None:
        """Return why a tool is not available now, `None` where nothing speaks against it."""
        return self.now(where).get(tool) if tool in self._absences else None
