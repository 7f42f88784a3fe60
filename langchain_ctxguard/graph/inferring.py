"""Rules said in a conversation: those that nobody decided on yet, and a person's word on them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal

from langchain_ctxguard.core.settle import as_constraint, inferred_in, settled
from langchain_ctxguard.domain.constraint import Constraint, Scope
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.inferred import SimilarRules
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.state import CHANNEL
from langchain_ctxguard.records.constraint_writer import ConstraintWriter


class Inferring:
    """What is done with rules that were said. It never makes one hold: a writer does, for a person."""

    mode: Literal["pin", "ask", "off"]
    """What is done with one that is found."""

    similar: SimilarRules
    """What becomes of one that is said again about another thing."""

    def __init__(self, mode: Literal["pin", "ask", "off"], record: Callable[[ContextEvent], None], *, similar: SimilarRules = "keep") -> None:
        """Bind the settings, and who is told."""
        self.mode = mode
        self.similar = similar
        self._record = record

    def settle(
        self,
        head: ContextHead,
        *,
        writer: ConstraintWriter,
        reason: str,
        confirm: Collection[str],
        drop: Collection[str],
        thread: str | None,
        rules: Callable[[], tuple[Constraint, ...]],
    ) -> dict[str, Any]:
        """Put a person's word on inferred rules on record; return the update of the state."""
        waiting = {rule.inferred_id: rule for rule in inferred_in(head)}
        unknown = [name for name in (*confirm, *drop) if name not in waiting]
        if unknown:
            names = ", ".join(map(repr, unknown))
            msg = f"No open inferred rule is called {names}. Nothing was changed; `guard.inferred(state)` lists those there are."
            raise ConfigurationError(msg)
        scope = Scope() if thread is None else Scope(kind="thread", value=thread)
        for name in confirm:
            writer.confirm(as_constraint(waiting[name], scope=scope), reason)
        if drop:
            self._record(ContextEvent(kind="inferred_dropped", detail=f"{writer.by} dropped {len(drop)} inferred rules: {reason}"))
        return {CHANNEL: settled(head, confirmed=confirm, dropped=drop, rules=rules()).to_dict()}

    def disable(self, head: ContextHead, rules: tuple[Constraint, ...]) -> dict[str, Any]:
        """Look for no more rules; return the update of the state that forgets those of a thread."""
        self.mode = "off"
        return {CHANNEL: settled(head, dropped=[rule.inferred_id for rule in inferred_in(head)], rules=rules).to_dict()}

    def note(self, before: ContextHead, after: ContextHead) -> None:
        """Put new inferred rules on record, by number: their words are the conversation's."""
        known = {rule.inferred_id for rule in inferred_in(before)}
        new = [rule for rule in inferred_in(after) if rule.inferred_id not in known]
        if new and self.mode != "off":
            waits = "quoted as evidence" if self.mode == "pin" else "kept for a person to confirm"
            detail = f"{len(new)} rules said in the conversation were found and are {waits}."
            self._record(ContextEvent(kind="inferred_found", detail=detail, version=after.version))
