"""What became of a rule, and the port of a judge that may be asked about it offline."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

from langchain_ctxguard.domain.value import Value

Where = Literal["pinned", "system", "summary", "tail"]
"""Where a rule stands: in the pinned block, elsewhere in a system message, in a summary, or only in ordinary messages."""


class Retention(StrEnum):
    """What became of one rule in a later text."""

    PRESERVED = "preserved"
    """Stands there word for word, up to case, width, white space and markup."""

    PARAPHRASED = "paraphrased"
    """Same force, scope and values in other words, as far as words can tell."""

    WEAKENED = "weakened"
    """Less force, a new condition, a missing part, or told as history."""

    CONTRADICTED = "contradicted"
    """The opposite is stated, a permission is claimed, or the rule is said to be lifted."""

    MUTATED = "mutated"
    """A value, unit, name or direction differs."""

    DROPPED = "dropped"
    """Neither the rule nor its content is there."""

    @property
    def is_kept(self) -> bool:
        """Say whether the rule still says what it said."""
        return self in (Retention.PRESERVED, Retention.PARAPHRASED)


class RetentionFinding(Value):
    """One rule, what became of it, and where."""

    constraint_id: str
    text: str
    """The rule as declared."""

    retention: Retention
    reason: str
    """One word for what decided: `verbatim`, `restated`, `permission`, `released`, `lifted`, `reversed`, `advice`, `story`, `condition`, `narrowed`,
    `part_missing`, `value`, `name`, `direction`, `absent`, `judge`."""

    where: Where | None = None
    """`None` where no trace of the rule was found, or where one bare text was given instead of messages."""

    sentence: str | None = None
    """The sentence that decided."""

    message_index: int | None = None
    message_id: str | None = None

    @property
    def is_at_risk(self) -> bool:
        """Say whether the rule is there only as long as an ordinary message is: the next compaction may take it."""
        return self.where == "tail" and self.retention.is_kept


@runtime_checkable
class SemanticJudge(Protocol):
    """Gives an opinion on what became of a rule, for offline runs. In line the words decide, and nobody is asked."""

    def __call__(self, constraint: str, before: str, after: str) -> Retention | None:
        """Return a verdict, or `None` to leave it to the words."""
        ...
