"""What becomes of each kind of information: who may change it, and what a compaction may do to it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from langchain_ctxguard.domain.value import Value


class InformationKind(StrEnum):
    """The kinds of information a context is made of, the most protected first."""

    SECURITY_POLICY = "security_policy"
    USER_APPROVED_CONSTRAINT = "user_approved_constraint"
    TOOL_CONTRACT = "tool_contract"
    DECISION_AND_EVIDENCE = "decision_and_evidence"
    WORKING_SET = "working_set"
    RAW_TOOL_OUTPUT = "raw_tool_output"
    DISCUSSION = "discussion"


class Compaction(StrEnum):
    """What a compaction may do to a kind of information."""

    NEVER = "never"
    """It stands verbatim in every call."""

    COPIED = "copied"
    """It leaves its message and is carried over by code, never by a summarizer."""

    BY_AGE = "by_age"
    """The current request and what is kept stay verbatim; the rest may be summarized."""

    FREELY = "freely"
    """It may be summarized or dropped; the original stays where it was recorded."""


class Lifecycle(Value):
    """The life of one kind of information."""

    kind: InformationKind
    changed_by: str
    """Who may change it."""

    takes_effect: str
    """When a change takes effect."""

    compaction: Compaction
    """Whether it may be compacted."""

    expires: str
    audited: str
    restored: str
    zone: Literal["stable rules", "evidence", "working set", "external index"]
    """Where it stands in a call."""


LIFECYCLES: tuple[Lifecycle, ...] = (
    Lifecycle(
        kind=InformationKind.SECURITY_POLICY,
        changed_by="a registry writer of authority system or organization, or the config",
        takes_effect="at the very next call, whatever the cache",
        compaction=Compaction.NEVER,
        expires="when revoked, superseded, or at `expires_at`",
        audited="each change in the constraints log, with its reason",
        restored="put back, or the run is stopped, where it is missing; a rollback of the context does not touch it",
        zone="stable rules",
    ),
    Lifecycle(
        kind=InformationKind.USER_APPROVED_CONSTRAINT,
        changed_by="a registry writer of authority task or user, or one above",
        takes_effect="at the next call after it was declared or confirmed",
        compaction=Compaction.NEVER,
        expires="when revoked, superseded, or at `expires_at`; what was only inferred, with its task",
        audited="each change in the constraints log, with its reason and, if inferred, its source",
        restored="as a security policy",
        zone="stable rules",
    ),
    Lifecycle(
        kind=InformationKind.TOOL_CONTRACT,
        changed_by="the application",
        takes_effect="at the next call that binds the tools",
        compaction=Compaction.NEVER,
        expires="when the tool is no longer bound",
        audited="as a change of the prefix: tool change, tool order or key order",
        restored="from the application, at each call",
        zone="stable rules",
    ),
    Lifecycle(
        kind=InformationKind.DECISION_AND_EVIDENCE,
        changed_by="code that reads calls and results; no summarizer",
        takes_effect="at the next compaction",
        compaction=Compaction.COPIED,
        expires="never; beyond its share of the window a count stands for the oldest",
        audited="in each context version and its compaction record",
        restored="with the context version, by a rollback; consents and approvals are read from their logs",
        zone="evidence",
    ),
    Lifecycle(
        kind=InformationKind.WORKING_SET,
        changed_by="the conversation; its summary by a summarizer, as a checked draft",
        takes_effect="at once; a summary when its compaction is accepted",
        compaction=Compaction.BY_AGE,
        expires="at the compaction that evicts it",
        audited="outcome, counts and digests in the compaction record",
        restored="with the context version, by a rollback; the messages themselves are in the state, or come back to it",
        zone="working set",
    ),
    Lifecycle(
        kind=InformationKind.RAW_TOOL_OUTPUT,
        changed_by="nobody; a newer result stands beside it",
        takes_effect="at once",
        compaction=Compaction.FREELY,
        expires="at the compaction that evicts its call; call and result leave together",
        audited="its call stays in the evidence",
        restored="from the state or the archive, whole; with a store by `recall_history` and `read_message`",
        zone="working set",
    ),
    Lifecycle(
        kind=InformationKind.DISCUSSION,
        changed_by="nobody; later messages answer earlier ones",
        takes_effect="at once",
        compaction=Compaction.FREELY,
        expires="at the compaction that evicts it",
        audited="counts and digests in the compaction record",
        restored="from the state or the archive, whole; with a store by `recall_history` and `read_message`",
        zone="working set",
    ),
)
"""One line for each kind, in its order."""

_MAY_COMPACT = {
    Compaction.NEVER: "never: verbatim in every call",
    Compaction.COPIED: "copied by code, never described",
    Compaction.BY_AGE: "by age; the current request and `keep` stay verbatim",
    Compaction.FREELY: "yes; the original stays in the state, or in the archive",
}
_HEADINGS = (
    "kind",
    "zone",
    "who may change it",
    "when it takes effect",
    "may it be compacted",
    "how it expires",
    "how it is audited",
    "how it is restored",
)


def lifecycle_of(kind: InformationKind) -> Lifecycle:
    """Return the life of one kind of information."""
    return next(lifecycle for lifecycle in LIFECYCLES if lifecycle.kind is kind)


def lifecycle_table() -> str:
    """Return the table as Markdown, one row for each kind."""
    rows = [_HEADINGS, ("---",) * len(_HEADINGS), *map(_cells, LIFECYCLES)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(life: Lifecycle) -> tuple[str, ...]:
    kind = life.kind.replace("_", " ")
    return kind, life.zone, life.changed_by, life.takes_effect, _MAY_COMPACT[life.compaction], life.expires, life.audited, life.restored
