"""What a compaction did to what it should have carried over, as an audit finds it: whoever made the compaction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import Value

AUDIT_SCHEMA = 1
"""Version of the JSON that `ctxguard audit --json` prints."""

Subject = Literal["constraint", "field", "decision", "file", "pending", "must_keep"]
"""What a finding is about."""


class Loss(StrEnum):
    """What became of something that was there before."""

    LOST = "lost"
    """Nothing in the context says it any more."""

    WEAKENED = "weakened"
    """Less force, a part missing, or a vague word in the place of a value."""

    CONTRADICTED = "contradicted"
    """The opposite is said: a ban lifted, a choice turned round, an open item told as done."""

    CHANGED = "changed"
    """Another value stands in its place."""


class Level(StrEnum):
    """How bad a finding is, worst first."""

    CRITICAL = "critical"
    """A person or the application said it, and the run turns on it."""

    WARNING = "warning"
    """It may matter, or the words do not tell for certain."""

    NOTE = "note"
    """Only an assistant or a tool said it."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Level).index(self)


class AuditFinding(Value):
    """One thing that was there before a compaction and is not there as it was after it."""

    subject: Subject
    loss: Loss
    level: Level
    kind: str
    """What sort: a kind of field, `declared`, `stressed` or the kind of an inferred rule, `written` or `read`, `request`, `todo` or `deferred`."""

    text: str
    """What was said, as it was said; for a file its path."""

    label: str = ""
    """What a value is the value of; the id of a declared rule."""

    reason: str = ""
    """One word for what decided, as `RetentionFinding.reason` and `FieldChange.how` have it; empty where it is simply gone."""

    now: str | None = None
    """What stands in its place."""

    said_by: Origin | None = None
    message_index: int | None = None
    """Position of the message it came from, from 0."""

    message_id: str | None = None


class Audit(Value):
    """One compaction: what was held before it, and what is not there as it was after it."""

    findings: tuple[AuditFinding, ...] = ()
    """Worst first, then in the order they were said."""

    held: Mapping[Subject, int] = {}
    """How many things of each subject there were before."""

    messages_before: int = 0
    messages_after: int = 0

    @property
    def critical(self) -> tuple[AuditFinding, ...]:
        """The findings that should stop a release."""
        return self.of(Level.CRITICAL)

    def of(self, level: Level) -> tuple[AuditFinding, ...]:
        """Return the findings of one level."""
        return tuple(finding for finding in self.findings if finding.level is level)
