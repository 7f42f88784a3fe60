"""A rule let rest for a while, by somebody who may."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.constraint import Authority, Constraint, Place, Scope
from langchain_ctxguard.domain.value import Value


class Exemption(Value):
    """One rule does not hold until a moment, and why."""

    constraint_id: str
    version: int | None = Field(default=None, ge=1)
    """The version that rests: a newer one was exempted by nobody. `None`: whatever its version."""

    by: str = Field(min_length=1)
    """Who granted it."""

    authority: Authority
    """Of the one who granted it; it takes at least that of the rule."""

    reason: str
    until: AwareDatetime
    """The rule holds again from this moment on."""

    scope: Scope | None = None
    """Where the rule rests; `None`: wherever it holds."""

    def is_for(self, constraint: Constraint) -> bool:
        """Say whether it speaks of this rule, in this version."""
        return self.constraint_id == constraint.constraint_id and self.version in {None, constraint.version}

    def is_active(self, place: Place, now: datetime) -> bool:
        """Say whether it covers this place at this moment."""
        return now < self.until and (self.scope is None or place.is_in(self.scope))
