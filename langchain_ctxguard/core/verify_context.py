"""Is what a compactor left still true to what went in? Known fields, rules and a view -> findings -> the view put right.

Pure: no model is asked, and the same input gives the same bytes. What is put back is decided once for each compaction; until the next one the same
message stands at the same place, so that a provider's cached prefix holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.carried import carried, carried_message, is_carried_message
from langchain_ctxguard.core.compile import Compiled, leading_system
from langchain_ctxguard.core.diff import diff_fields, stands_whole
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.known_fields import Extraction, edited_fields, restored
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.replaced import Replaced, is_made, is_said, mark_of
from langchain_ctxguard.core.retention import offending_sentences
from langchain_ctxguard.core.roles import calls_of, is_foreign_summary, last_request, text_of
from langchain_ctxguard.core.units import as_note, repair
from langchain_ctxguard.domain.carried import CarriedField
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.control import ControlField, FieldChange
from langchain_ctxguard.domain.retention import Retention
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.domain.verification import FieldMark, VerificationOutcome, VerificationRecord
from langchain_ctxguard.domain.verified import HeldRequest, VerifiedHead
from langchain_ctxguard.domain.version import Fault

CARRIED_SHARE = 0.15
"""Share of the window that carried fields may take."""

_LISTED = "system_message_in_list"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a compaction did that it should not have done."""

    lost: tuple[FieldChange, ...] = ()
    """Critical fields that are gone; the weak and the closed are left out."""

    changed: tuple[FieldChange, ...] = ()
    """Critical fields with another value in their place."""

    minor: int = 0
    """Other losses, which only warn."""

    rules_missing: tuple[str, ...] = ()
    distorted: tuple[tuple[str, str, Retention], ...] = ()
    """Sentence of the compactor's, id of the rule, what it does to it."""

    faults: tuple[Fault, ...] = ()
    request: HeldRequest | None = None
    """The current request, where it is gone and can be put back."""

    request_missing: bool = False

    @property
    def has_loss(self) -> bool:
        """Say whether something is gone, torn or weakened; a changed value is asked for apart."""
        return bool(self.lost or self.rules_missing or self.distorted or self.faults or self.request_missing)

    @property
    def is_clean(self) -> bool:
        """Say whether there is nothing to put right."""
        return not (self.has_loss or self.changed)


@dataclass(frozen=True, slots=True)
class Given:
    """A compaction, as far as it is known."""

    head: VerifiedHead
    """What was known before it."""

    replaced: Replaced
    view: Compiled
    """What would reach the model."""

    before: Sequence[BaseMessage] | None = None
    """The messages before it, where they are at hand."""

    state: Sequence[BaseMessage] = ()
    """The state's messages now: a message somebody edited stands there as edited."""

    rules: tuple[Constraint, ...] = ()


def findings_of(given: Given, extraction: Extraction) -> Findings:
    """Return what is missing from a view, changed in it, or torn apart."""
    head, view = given.head, given.view
    edited = edited_fields(head, given.state, view.messages)
    live = [field for field in head.ledger if not field.is_closed and field.field_id not in edited]
    gone = absent(live, view, extraction)
    # What stands in a field's place stands in what the compactor wrote; another value in a message that was kept is another matter.
    written = (*given.replaced.made, *given.replaced.emptied)
    made_text = "\n".join(map(text_of, written))
    found = extract_fields(list(written), patterns=extraction.patterns, timezone=extraction.timezone)
    diff = diff_fields(gone, found, text=made_text)
    critical = {id(change) for change in diff.critical}
    lost = tuple(change for change in diff.lost if id(change) in critical)
    changed = tuple(change for change in diff.changed if id(change) in critical)
    request, is_missing = _missing_request(given)
    return Findings(
        lost=lost,
        changed=changed,
        minor=len(diff.lost) + len(diff.changed) - len(lost) - len(changed),
        rules_missing=_missing_rules(given),
        distorted=tuple(offending_sentences(given.rules, made_text)) if given.rules and made_text else (),
        faults=_new_faults(given),
        request=request,
        request_missing=is_missing,
    )


def absent(fields: Sequence[ControlField], view: Compiled, extraction: Extraction) -> list[ControlField]:
    """Return the fields a view does not show, as written or as the same value in another form."""
    text = folded(visible_text(view))
    missing = [field for field in fields if not stands_whole(folded(field.raw), text)]
    if not missing:
        return []
    found = extract_fields(view.messages, patterns=extraction.patterns, timezone=extraction.timezone)
    return [change.before for change in diff_fields(missing, found)]


def visible_text(view: Compiled) -> str:
    """Return everything a model reads in a view: texts, and the arguments of calls."""
    parts = [] if view.system is None else [text_of(view.system)]
    for message in view.messages:
        parts.append(text_of(message))
        parts += [call.arguments_text for call in calls_of(message)]
    return "\n".join(parts)


def _missing_rules(given: Given) -> tuple[str, ...]:
    """Return the rules that stood in the conversation and stand nowhere now. Those in the system prompt are not a compactor's to lose."""
    if not given.rules or not given.before:
        return ()
    gone = "\n".join(text_of(message) for message in given.replaced.gone)
    text = visible_text(given.view)
    return tuple(rule.constraint_id for rule in given.rules if rule.text in gone and rule.text not in text)


def _missing_request(given: Given) -> tuple[HeldRequest | None, bool]:
    """Return the current request to put back, and whether it is missing."""
    known = given.head.request
    asked: BaseMessage | None = None if known is None else restored(known)
    if asked is None and given.before is not None:
        index = last_request(list(given.before))
        asked = given.before[index] if index is not None and is_said(given.before[index], given.head.made) else None
    if asked is None or any(mark_of(message) == mark_of(asked) or message.content == asked.content for message in _human(given.view)):
        return None, False
    return known, True


def _human(view: Compiled) -> list[HumanMessage]:
    return [message for message in view.messages if isinstance(message, HumanMessage)]


def _new_faults(given: Given) -> tuple[Fault, ...]:
    """Return the calls and results that are torn apart now and were not before."""
    faults = [fault for fault in repair(given.view.messages).faults if fault.kind != _LISTED]
    if not faults:
        return ()
    old = set() if given.before is None else {(fault.kind, fault.call_id) for fault in repair(given.before).faults}
    return tuple(fault for fault in faults if (fault.kind, fault.call_id) not in old)


def settled(given: Given, findings: Findings, outcome: VerificationOutcome, *, room: Callable[[HumanMessage], bool]) -> VerifiedHead:
    """Return the head after a compaction was judged: what is put back until the next one, if it is put right.

    Args:
        given: The compaction.
        findings: What was found.
        outcome: What is done about it.
        room: Says whether a message with carried fields is small enough.
    """
    head = given.head
    shown: tuple[CarriedField, ...] = ()
    omitted = 0
    if outcome is VerificationOutcome.REPAIRED:
        shown, omitted = _fitting(carried_of(findings, head.sentences), room)
    return head.model_copy(
        update={
            "number": head.number + 1,
            "first": mark_of(given.state[0]) if given.state else head.first,
            "basis": given.replaced.basis,
            "outcome": outcome,
            "carried": shown,
            "uncarried": omitted,
            "restored": findings.request if outcome is VerificationOutcome.REPAIRED else None,
        }
    )


def carried_of(findings: Findings, sentences: Mapping[str, str]) -> list[CarriedField]:
    """Return the fields to put back, in the order they were said, with what stands in their place."""
    changes = sorted((*findings.lost, *findings.changed), key=lambda change: _said_at(change.before))
    return [carried(change.before, sentences.get(change.before.field_id, ""), instead=_instead(change)) for change in changes]


def _instead(change: FieldChange) -> str | None:
    """Return the wrong value that stands in a field's place; a vague word is none."""
    if change.after is not None:
        return change.after.raw
    return None if change.how == "blurred" else change.found


def _said_at(field: ControlField) -> tuple[int, int, str]:
    return (-1 if field.source_turn is None else field.source_turn, field.start, field.field_id)


def _fitting(fields: Sequence[CarriedField], room: Callable[[HumanMessage], bool]) -> tuple[tuple[CarriedField, ...], int]:
    """Return what there is room for, and how many fields there is not: sentences go first, then the oldest values."""
    if not fields or room(carried_message(fields)):
        return tuple(fields), 0
    bare = [field.model_copy(update={"sentence": ""}) for field in fields]
    for dropped in range(len(bare)):
        rest = bare[dropped:]
        if room(carried_message(rest, omitted=dropped)):
            return tuple(rest), dropped
    return (), len(bare)


def placed(
    head: VerifiedHead,
    view: Compiled,
    rules: Sequence[Constraint],
    *,
    pins: str | None = None,
    is_lifted: bool = False,
    is_paired: bool = False,
) -> Compiled:
    """Return the view put right as the head says: rules pinned, fields and request put back, summaries out of the system role.

    Args:
        head: What was decided at the last compaction.
        view: What would reach the model.
        rules: In force.
        pins: The rules as `render_rules` gives them, where that is at hand.
        is_lifted: The system messages at the front become part of the leading one; else they stay where they are.
        is_paired: The messages of the view are known to be whole: every call has its result, every result its call.
    """
    is_put_right = head.outcome in {VerificationOutcome.REPAIRED, VerificationOutcome.HELD}
    front, rest = _parted(head, view.messages) if is_put_right or is_lifted else ([], view.messages)
    leads: list[SystemMessage] = [] if view.system is None else [view.system]
    if is_lifted:
        leads, front = [*leads, *front], []
    stands = "\n".join(map(text_of, leads))
    is_pinned = all(rule.text in stands for rule in rules)
    system = leading_system(leads, "" if is_pinned else render_rules(rules) if pins is None else pins)
    if head.outcome is not VerificationOutcome.REPAIRED:
        return Compiled(system, [*front, *rest] if is_put_right or is_lifted else rest)
    body: list[BaseMessage] = rest
    if head.restored is not None and not any(mark_of(message) == head.restored.key for message in rest):
        behind = next((index for index, message in enumerate(rest) if is_said(message, head.made)), len(rest))
        body = [*rest[:behind], restored(head.restored), *rest[behind:]]
    if not is_paired:
        repaired = repair(body)
        body = repaired.messages if any(fault.kind != _LISTED for fault in repaired.faults) else body
    lead = [carried_message(head.carried, omitted=head.uncarried)] if head.carried or head.uncarried else []
    return Compiled(system, [*front, *lead, *body])


def _parted(head: VerifiedHead, messages: Sequence[BaseMessage]) -> tuple[list[SystemMessage], list[BaseMessage]]:
    """Return the application's system messages at the front, and the rest, in which no summary is a system message any more."""
    made = set(head.made)
    front: list[SystemMessage] = []
    rest: list[BaseMessage] = []
    is_front = True
    for message in messages:
        if not isinstance(message, SystemMessage):
            is_front = False
            rest.append(message)
        elif is_foreign_summary(message) or is_made(message, made):
            rest.append(as_note(message, source="summary"))
        elif is_front:
            front.append(message)
        else:
            rest.append(message)
    return front, rest


def without_ours(messages: Sequence[BaseMessage], rules: Sequence[Constraint], system: SystemMessage | None) -> list[BaseMessage]:
    """Return a list without what was put in when it was put right: one that is given back is read as the compactor left it.

    Args:
        messages: The list.
        rules: In force.
        system: The system prompt that is put in front of it.
    """
    pins = render_rules(rules)
    rest = [message for message in messages if not is_carried_message(message)]
    if not rest or not isinstance(rest[0], SystemMessage) or is_foreign_summary(rest[0]):
        return rest
    blocks = [text for text in _texts(rest[0]) if text != pins]
    if blocks == ([] if system is None else _texts(system)):
        return rest[1:]
    if pins and len(blocks) < len(_texts(rest[0])):
        content: list[str | dict[str, str]] = [{"type": "text", "text": text} for text in blocks]
        return [SystemMessage(content, id=rest[0].id), *rest[1:]]
    return rest


def _texts(message: SystemMessage) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [block if isinstance(block, str) else str(block.get("text", "")) for block in message.content]


def remaining(findings: Findings, view: Compiled, extraction: Extraction) -> int:
    """Return how many critical fields a view that was put right still does not show."""
    return len(absent([change.before for change in (*findings.lost, *findings.changed)], view, extraction))


def record_of(
    given: Given, findings: Findings, head: VerifiedHead, view: Compiled, extraction: Extraction, *, by_person: bool = False
) -> VerificationRecord:
    """Return what a look at a compaction came to, without a word of the conversation.

    Args:
        given: The compaction.
        findings: What was found.
        head: What `settled` made of it.
        view: What is sent.
        extraction: How fields are found.
        by_person: A person decided.
    """
    return VerificationRecord(
        outcome=head.outcome or VerificationOutcome.HELD,
        gone_messages=given.replaced.count,
        summaries=len(given.replaced.made),
        lost=tuple(_marked(change) for change in findings.lost),
        changed=tuple(_marked(change) for change in findings.changed),
        minor=findings.minor,
        carried=len(head.carried),
        remaining=remaining(findings, view, extraction),
        rules_missing=findings.rules_missing,
        rules_distorted=tuple(dict.fromkeys(rule for _, rule, _ in findings.distorted)),
        faults=tuple(fault.kind for fault in findings.faults),
        request_missing=findings.request_missing,
        is_stated_by_person=by_person,
    )


def mark_of_field(field: ControlField) -> str:
    """Return what a record calls a field: its kind and a digest, because its id may hold words of the conversation.

    >>> mark_of_field(ControlField(field_id="date:deadline", kind="date", raw="2026-12-15"))
    'date:8251ea8184c3'
    """
    return f"{field.kind.value}:{digest_of(field.field_id)[:12]}"


def _marked(change: FieldChange) -> FieldMark:
    return FieldMark(mark=mark_of_field(change.before), kind=change.before.kind, how=change.how)
