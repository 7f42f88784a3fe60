"""What a look at somebody else's compaction came to: content-free, so it can be kept when the content is erased."""

from __future__ import annotations

from enum import StrEnum

from langchain_ctxguard.domain.control import ChangeKind, FieldKind
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.version import FaultKind


class VerificationOutcome(StrEnum):
    """What was done about a compaction."""

    HELD = "held"
    """Nothing to put right."""

    REPAIRED = "repaired"
    """What was missing is sent along with the compacted view."""

    ROLLED_BACK = "rolled_back"
    """The model sees what it would have seen without the compaction."""

    WARNED = "warned"
    """Sent as the compactor left it; the findings are only on record."""

    APPROVED = "approved"
    """A person saw the findings and let the compaction stand."""


class FieldMark(Value):
    """A field in a record: which one and of what kind, no word of the conversation."""

    mark: str
    """Kind and a digest of the field's id in the ledger, as `core.verify_context.mark_of_field` makes it."""

    kind: FieldKind
    how: ChangeKind | None = None
    """How the value differs; `None`: gone without a trace."""


class VerificationRecord(Value):
    """One look at a compaction, in numbers and names."""

    outcome: VerificationOutcome
    gone_messages: int = 0
    """Messages that left the view, or were emptied in it. 0 where the list before was no longer known."""

    summaries: int = 0
    """Messages the compactor put in their place."""

    lost: tuple[FieldMark, ...] = ()
    """Critical fields that are gone."""

    changed: tuple[FieldMark, ...] = ()
    """Critical fields with another value in their place."""

    minor: int = 0
    """Fields whose loss only warns: not critical, uncertain, or flipping."""

    carried: int = 0
    """Values put back."""

    remaining: int = 0
    """Critical fields the model still does not see as they were said."""

    rules_missing: tuple[str, ...] = ()
    """Ids of rules that stood in the conversation and no longer do."""

    rules_distorted: tuple[str, ...] = ()
    """Ids of rules the compactor's text weakens, contradicts or changes."""

    faults: tuple[FaultKind, ...] = ()
    """Tool calls and results the compactor tore apart."""

    request_missing: bool = False
    """The current request did not stand verbatim in the compacted view."""

    is_stated_by_person: bool = False
    """The outcome is a person's answer."""
