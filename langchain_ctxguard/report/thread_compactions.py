"""The compactions of a stored thread: what each took, what it made of it, what became of what mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit import Trail
from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.roles import calls_of
from langchain_ctxguard.domain.audit import Audit
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import Attempt, ContextPlace, ContextVersion
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.version import CompactionRecord, FieldNote, Outcome, field_digest
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.records.archive import Archive
from langchain_ctxguard.records.versions import VersionLog
from langchain_ctxguard.report.messages import erased, shown
from langchain_ctxguard.report.story import Compaction, Fate, Message
from langchain_ctxguard.report.words import how_words


class Taken(NamedTuple):
    """What a version took out of the view, as far as it is kept."""

    messages: tuple[Message, ...]
    originals: tuple[BaseMessage, ...]
    """Empty where one of them is gone: what is not whole is not audited."""

    note: str = ""


class Kept(NamedTuple):
    """Messages by their position in the conversation, as far as anybody has them."""

    by_position: Mapping[int, BaseMessage]

    def after(self, cut: int, count: int) -> list[BaseMessage] | None:
        """Return the messages that stayed in sight, `None` where some of them are not to be had."""
        found = [self.by_position.get(position) for position in range(cut, cut + count)]
        return None if None in found else [message for message in found if message is not None]

    def calls(self) -> dict[str, str]:
        """Return the arguments of the calls that messages make, by the id of the call."""
        return {call.call_id: call.arguments_text for message in self.by_position.values() for call in calls_of(message) if call.call_id}


class Contexts:
    """The contents of a place's versions, and what each took out of the view; what is gone is told, not raised."""

    def __init__(self, log: VersionLog, archive: Archive, place: ContextPlace, *, is_purged: bool, has_key: bool = False) -> None:
        """Bind the record of a place; `has_key`: the archive can read what is encrypted."""
        self._log = log
        self._archive = archive
        self._place = place
        self._is_purged = is_purged
        self._has_key = has_key
        self._heads: dict[int, ContextHead | str] = {}
        self._taken: dict[int, Taken] = {}

    def head(self, version: ContextVersion) -> ContextHead | str:
        """Return the content of a version, or why it is not there."""
        if version.number not in self._heads:
            self._heads[version.number] = self._read(version)
        return self._heads[version.number]

    def taken(self, version: ContextVersion) -> Taken:
        """Return what a version took out of the view."""
        if version.number not in self._taken:
            self._taken[version.number] = self._read_taken(version)
        return self._taken[version.number]

    def _read_taken(self, version: ContextVersion) -> Taken:
        if version.restores is not None or not version.replaced:
            return Taken((), ())
        if not version.archive:
            return Taken((), (), "The messages it took out of the view were not archived.")
        if version.archive.startswith("keyed:") and not self._has_key and not self._is_purged:
            return Taken((), (), "The messages it took out of the view are encrypted, and their key is the application's.")
        stop = version.archived_from + version.archived
        try:
            found = [one for one in self._archive.messages(self._place, version=version.number, start=version.archived_from) if one.position < stop]
        except BlobMissingError:
            return self._what_is_left(version, stop)
        except Exception as error:  # noqa: BLE001 - encrypted content, or of a type that is not installed here
            return Taken((), (), f"The messages it took out of the view cannot be read here ({type(error).__name__}).")
        return Taken(tuple(shown(one.message, position=one.position, key=one.key) for one in found), tuple(one.message for one in found))

    def _what_is_left(self, version: ContextVersion, stop: int) -> Taken:
        gone = f"The {version.archived:,} messages it took out of the view were erased; their number is on record."
        try:
            rows = [row for row in self._archive.rows(self._place, version=version.number, start=version.archived_from) if row[0] < stop]
        except StoreError:
            return Taken((), (), gone)
        messages = [self._one(position, row.key, row.address) for position, row in rows]
        lost = sum(message.is_erased for message in messages)
        return Taken((), (), gone) if lost == len(messages) else Taken(tuple(messages), (), f"{lost:,} of these messages were erased.")

    def _one(self, position: int, key: str, address: str) -> Message:
        try:
            return shown(self._archive.read(self._place, [address])[address], position=position, key=key)
        except StoreError:
            return erased(position, key)

    def _read(self, version: ContextVersion) -> ContextHead | str:
        try:
            return self._log.head_of(version)
        except BlobMissingError:
            if self._is_purged:
                return "The content of this version was erased; its record stays."
            return "The content of this version is not kept any more: a store keeps that of the newest versions only."
        except StoreError as error:
            return str(error)


def compactions_of(attempts: Sequence[Attempt], versions: Sequence[ContextVersion], contexts: Contexts, kept: Kept) -> list[Compaction]:
    """Return every attempt on record, oldest first."""
    by_number = {version.number: version for version in versions}
    audits = _audits(attempts, by_number, contexts, kept)
    return [_told(number, attempt, by_number.get(attempt.version or 0), contexts, audits) for number, attempt in enumerate(attempts, 1)]


def _audits(
    attempts: Sequence[Attempt], versions: Mapping[int, ContextVersion], contexts: Contexts, kept: Kept
) -> dict[int, tuple[Audit | None, str]]:
    """Return the audit of each version by number: what one of them lost is not lost again by the next."""
    found: dict[int, tuple[Audit | None, str]] = {}
    trail, is_whole = Trail(), True
    left: dict[str, BaseMessage] = {}
    for attempt in attempts:
        version = versions.get(attempt.version or 0)
        if version is None or version.restores is not None:
            continue
        taken, head = contexts.taken(version), contexts.head(version)
        is_whole = is_whole and len(taken.originals) == version.archived
        if not is_whole:
            found[version.number] = (None, "The texts were not held against each other: not all messages up to here are kept.")
            continue
        trail.read(taken.originals, start=version.archived_from)
        left |= {message.key: original for message, original in zip(taken.messages, taken.originals, strict=True)}
        if isinstance(head, str) or head.body is None:
            found[version.number] = (None, "The texts were not held against each other: the context after it is not kept.")
            continue
        # A request before the cut stands in the view all the same, and is counted among what it keeps.
        request = left.get(head.body.request or "")
        stays = kept.after(head.cut.position, attempt.record.kept_messages - (request is not None))
        after = [*rendered(head.body, version=head.version), *([] if request is None else [request]), *(stays or ())]
        note = "" if stays is not None else "The messages that stayed in sight are not in this store: some of these may stand in them."
        found[version.number] = (trail.judge(after, messages_before=len(taken.originals)), note)
    return found


def _told(
    number: int, attempt: Attempt, version: ContextVersion | None, contexts: Contexts, audits: Mapping[int, tuple[Audit | None, str]]
) -> Compaction:
    record = attempt.record
    head = None if version is None else contexts.head(version)
    taken = Taken((), ()) if version is None else contexts.taken(version)
    audit, audit_note = audits.get(attempt.version or 0, (None, ""))
    positions = {message.key: message.position for message in taken.messages}
    return Compaction(
        number=number,
        version=attempt.version,
        at=attempt.at,
        outcome=record.outcome,
        trigger=record.trigger,
        reason=record.reason,
        strategy=record.strategy,
        error=attempt.error,
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        evicted=record.evicted_messages,
        kept=record.kept_messages,
        rules_in_force=record.rules_in_force,
        rules_put_back=record.rules_missing_before,
        rules_missing=record.rules_missing_after,
        counts=record.fields,
        notes=tuple(_notes(record)),
        fates=tuple(_fate(note, _fields(head), positions) for note in record.field_notes),
        fates_left_out=max(0, record.fields.repaired + record.fields.lost - len(record.field_notes)) if record.field_notes else 0,
        audit=() if audit is None else audit.findings,
        audit_note=audit_note,
        before=taken.messages,
        before_note=taken.note,
        after=_after(head),
        after_note=head if isinstance(head, str) else "",
        consents=tuple(dict.fromkeys(one.field for one in record.consents)),
    )


def _after(head: ContextHead | str | None) -> tuple[Message, ...]:
    if not isinstance(head, ContextHead) or head.body is None:
        return ()
    return tuple(shown(message).model_copy(update={"speaker": "told"}) for message in rendered(head.body, version=head.version))


def _fields(head: ContextHead | str | None) -> dict[str, ControlField]:
    if not isinstance(head, ContextHead) or head.body is None:
        return {}
    return {field_digest(field.field_id): field for field in head.body.evidence.fields}


def _fate(note: FieldNote, fields: Mapping[str, ControlField], positions: Mapping[str, int | None]) -> Fate:
    field = fields.get(note.field)
    return Fate(
        what="repaired" if note.is_carried else "changed" if note.is_changed else "lost",
        kind=note.kind.value.replace("_", " "),
        label="" if field is None else field.label,
        value=None if field is None else field.raw,
        how=how_words(note.how),
        said_by=note.origin,
        position=positions.get(note.message or "", None if field is None else field.source_turn),
        message=note.message,
        sentence="" if field is None else field.context,
    )


def _notes(record: CompactionRecord) -> list[str]:
    counted = (
        (record.removed_sentences, "sentences removed from the summary: they claimed authority or gave orders"),
        (record.distorted_sentences, "sentences removed from the summary: they weakened or contradicted a rule"),
        (record.downgraded_facts, "facts marked as claimed only: nothing in the messages confirms them"),
        (record.restored_items, "items of the summary before put back: the draft had left them out"),
        (record.fields.added, "values in the summary that no message says"),
        (record.fields.stale_replaced, "mentions of replaced values marked with the value that holds"),
        (record.fields.weak, "uncertain values missing; not mended"),
        (record.fields.other_lost, "values of no great weight that the view no longer tells"),
        (record.elided_results, "tool results shown in part"),
    )
    told = [f"{count:,} {words}" for count, words in counted if count]
    if record.summarizer_calls:
        seconds = f" in {record.summarizer_seconds:.1f} s" if record.summarizer_seconds else ""
        told.append(f"{record.summarizer_calls} model calls for the summary{seconds}")
    if record.invariants:
        told.append(f"held afterwards: {', '.join(record.invariants)}")
    if record.broken:
        told.append(f"broken by the draft: {', '.join(record.broken)}")
    if record.failures:
        told.append(f"answers refused: {'; '.join(record.failures)}")
    if record.outcome is Outcome.REJECTED and record.head_fault:
        told.append(f"the head in the state counted for nothing: {record.head_fault}")
    return told
