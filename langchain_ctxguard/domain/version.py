"""What a compaction attempt came to: content-free, so it can be kept when the content is erased."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from langchain_ctxguard.domain.citation import ConsentCitation
from langchain_ctxguard.domain.control import ChangeKind, FieldKind
from langchain_ctxguard.domain.copied import CopyRecord
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.provider_compaction import ProviderCompaction
from langchain_ctxguard.domain.value import Value, digest_of


class Outcome(StrEnum):
    """The last deciding step of a compaction attempt."""

    ACCEPTED = "accepted"
    REPAIRED = "repaired"
    RETRIED = "retried"
    FELL_BACK = "fell_back"
    REJECTED = "rejected"
    SKIPPED = "skipped"


class ZoneTokens(Value):
    """Tokens of each zone of the view after the attempt."""

    rules: int = 0
    """System prompt, pins and tool contracts."""

    evidence: int = 0
    summary: int = 0
    working_set: int = 0
    """The carried request and the kept messages."""


FaultKind = Literal[
    "missing_result",
    "orphan_result",
    "duplicate_result",
    "moved_result",
    "duplicate_call",
    "call_without_id",
    "system_message_in_list",
]


class Fault(Value):
    """One defect of the input, by the message it was found in."""

    kind: FaultKind
    message_id: str
    """Identity of the message, as `core.identity` gives it."""

    call_id: str | None = None


class FieldCounts(Value):
    """What an attempt did to the control fields of what it evicted, in numbers: critical ones unless it says otherwise."""

    before: int = 0
    kept: int = 0
    """Still told by the summary, the evidence or a message that stays."""

    repaired: int = 0
    """Missing or changed in the draft, and carried verbatim."""

    lost: int = 0
    """Missing from the view after the attempt."""

    changed: int = 0
    """The draft told another value."""

    weak: int = 0
    """Uncertain or unsettled ones that are missing: not mended."""

    added: int = 0
    """Values of the draft that no message says."""

    other_lost: int = 0
    """Non-critical ones of this part of the conversation that the view no longer tells."""

    stale_replaced: int = 0
    """Mentions of superseded values in the summary that were marked with the value that holds."""

    demoted: int = 0
    """Ranked non-critical, because more than `critical_cap` were critical."""

    aged_out: int = 0
    """Non-critical ones no longer remembered; their messages stay where they are."""

    carried: int = 0
    carried_tokens: int = 0


class FieldNote(Value):
    """One critical control field that a draft lost or changed: which one, where it was said, what became of it. Not its value."""

    field: str
    """`field_digest` of its id: whoever holds the context of the version finds the value by it."""

    kind: FieldKind
    origin: Origin = "user"
    message: str | None = None
    """Key of the message that said it."""

    is_changed: bool = False
    """The draft told another value; otherwise it told none."""

    how: ChangeKind | None = None
    is_carried: bool = False
    """It stands in the new view word for word; otherwise the view does not tell it as it was."""


def field_digest(field_id: str) -> str:
    """Return by what a record names a control field: its id holds words of the conversation."""
    return digest_of(field_id)[:24]


class CompactionRecord(Value):
    """One attempt, in numbers and names. No text of the conversation."""

    outcome: Outcome
    reason: str
    """One sentence: why this outcome."""

    trigger: str
    """What started the attempt: `tokens`, `messages`, `fraction`, `requested`, `overflow`, `full`."""

    version: int
    """The version in force after the attempt."""

    strategy: str = ""
    """Name of the summarizer whose draft was used; empty where none was."""

    attempts: int = 0
    """How many times a summarizer was asked."""

    failures: tuple[str, ...] = ()
    """Why a summarizer's answer was refused, one entry each; names and reasons, never its words."""

    summarizer_calls: int = 0
    """Calls of a model that the summaries took, failed ones and those of refused answers included."""

    summarizer_tokens_in: int = 0
    """Tokens those calls were charged for reading, as the provider reports them; 0 where it does not."""

    summarizer_tokens_out: int = 0
    summarizer_seconds: float = 0.0
    """How long the calls took, pauses between them included."""

    summarizer_remarks: tuple[str, ...] = ()
    """What to know of the answers that were taken: `wrong_language`, `truncated`, `no_structured_output`, `must_keep_copied`."""

    tokens_before: int = 0
    tokens_after: int = 0
    budget: int | None = None
    evicted_messages: int = 0
    evicted_tokens: int = 0
    kept_messages: int = 0
    zones: ZoneTokens = ZoneTokens()
    fields: FieldCounts = FieldCounts()
    field_notes: tuple[FieldNote, ...] = ()
    """The critical ones that were repaired, lost or changed, one by one; of very many the first 100."""

    head_fault: str | None = None
    """Why a head that was given counted for nothing and the whole history was the view."""

    rules_in_force: int = 0
    rules_missing_before: tuple[str, ...] = ()
    """Ids of rules a view given back by the caller no longer held; they were put back."""

    rules_missing_after: tuple[str, ...] = ()
    dropped_keys: int = 0
    removed_sentences: int = 0
    downgraded_facts: int = 0
    distorted_sentences: int = 0
    """Sentences of the draft that weakened, contradicted or changed a rule in force; they were removed."""

    restored_items: int = 0
    """Items and facts of the previous summary that the draft had left out and that were put back."""

    merged_summaries: int = 0
    """Summaries of other tools in the evicted part; each was taken over."""

    facts_claimed: int = 0
    facts_confirmed: int = 0
    """Facts of the summary by their standing."""

    invariants: tuple[str, ...] = ()
    """What was looked for in the new view and holds, in order: `rules`, `calls`, `request`, `fields`, `texts`, `budget`, `gain`, `copy`; then the
    invariants of the settings, by name."""

    broken: tuple[str, ...] = ()
    """Names of the invariants that the refused candidate broke."""

    consents: tuple[ConsentCitation, ...] = ()
    """The consents in force when it was made, each with its basis: what crossed, and what a later reader finds the compaction by."""

    copied: CopyRecord | None = None
    """What crossed by being copied; `None` where there was nothing of the kind."""

    seconds: float = 0.0
    """How long the attempt took in an agent or graph, the summarizer's calls included; 0 where nobody measured."""

    elided_results: int = 0
    faults: tuple[Fault, ...] = ()


EventKind = Literal[
    "head_refused",
    "second_compactor",
    "check_failed",
    "conflict_asked",
    "unenforced_rule",
    "inferred_waiting",
    "rule_outranked",
    "prefix_invalidated",
    "context_rebuilt",
    "full_evidence",
    "inferred_found",
    "inferred_dropped",
    "inferred_off",
    "fields_found_late",
    "fields_unverified",
    "version_adopted",
    "store_failed",
    "preparation_failed",
    "handoff_written",
    "handoff_kept_in_store",
    "worklog_unwritten",
    "phase_ended",
    "unguarded_tool",
    "consents_differ",
    "consents_unread",
    "standing_changed",
    "injected_turn",
    "arguments_replaced",
    "arguments_mismatch",
    "tool_denied",
    "update_refused",
    "archive_not_durable",
    "state_not_evicted",
    "not_archived",
    "messages_brought_back",
    "message_recalled",
    "rolled_back",
    "version_renumbered",
    "extension_failed",
    "reconciled",
    "call_held",
    "check_blocks",
    "waived",
    "repeat_answered",
    "turned_down_answered",
    "provider_compacted",
    "provider_may_drop_rules",
]
"""What there is besides compaction attempts."""


class ContextEvent(Value):
    """Something worth knowing that is no compaction attempt."""

    kind: EventKind
    detail: str
    version: int = 0
    restored: int | None = None
    """`rolled_back`: the earlier version whose content holds again."""

    tool: str | None = None
    """`tool_denied`: the tool."""

    compacted: ProviderCompaction | None = None
    """`provider_compacted`: what the provider's answer tells of it."""
