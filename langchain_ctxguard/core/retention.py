"""Is a rule still in the model's input, verbatim? Retention only: whether the model obeys is another question."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import SystemMessage

from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.constraint import Constraint


def missing_rules(rules: Sequence[Constraint], system: SystemMessage | None) -> tuple[str, ...]:
    """Return the ids of the rules whose text does not stand byte for byte in the system message: elsewhere it would be no rule."""
    if not rules:
        return ()
    text = "" if system is None else text_of(system)
    return tuple(rule.constraint_id for rule in rules if rule.text not in text)
