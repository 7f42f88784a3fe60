"""Control fields and decisions before a compaction and after it, each with how bad its loss is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.audit_choices import Telling, is_named, standing_of
from langchain_ctxguard.core.audit_told import is_told
from langchain_ctxguard.core.diff import diff_fields
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import folded, sentence_at
from langchain_ctxguard.core.ledger import Said, merge_fields
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.core.roles import is_request, speaker_of, text_of
from langchain_ctxguard.core.sentences import sentences
from langchain_ctxguard.core.terms import terms
from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss
from langchain_ctxguard.domain.control import IDENTIFIERS, STATEMENTS, ChangeKind, ControlField, FieldChange, FieldKind
from langchain_ctxguard.domain.origin import Origin

Voice = Literal["people", "ai", "tool"]
"""Who said a value: a person or the application, an assistant, a tool."""

_MANY = 1_000_000
_CHOICES = frozenset({FieldKind.CHOICE_CONFIRMED, FieldKind.CHOICE_REJECTED})
_LEVELS: dict[ChangeKind | None, Loss] = {"blurred": Loss.WEAKENED, "negated": Loss.CONTRADICTED, None: Loss.LOST}


class Fields:
    """The control fields so far, while a run is read."""

    def __init__(self) -> None:
        """Begin with none."""
        self._ledger: tuple[ControlField, ...] = ()
        self._voices: dict[str, set[Voice]] = {}
        self._origins: dict[str | None, Origin] = {}
        self._contexts: dict[str, frozenset[str]] = {}
        self._spans: set[str] = set()

    @property
    def values(self) -> list[ControlField]:
        """The values held now."""
        return [field for field in self._ledger if field.kind not in STATEMENTS and not field.is_closed]

    @property
    def choices(self) -> list[ControlField]:
        """The decisions held now."""
        return [field for field in self._ledger if field.kind in _CHOICES and not field.is_closed]

    @property
    def stressed(self) -> list[ControlField]:
        """The sentences a person or the application stressed."""
        return [field for field in self._ledger if field.kind is FieldKind.EMPHASIS and not field.is_closed]

    def read(self, messages: Sequence[BaseMessage], keys: Sequence[str], must_keep: Sequence[str], *, start: int) -> None:
        """Take in further messages."""
        found = extract_fields(messages, start=start)
        voices = {key: _voice_of(message) for key, message in zip(keys, messages, strict=True)}
        self._spans.update(folded(field.raw) for field in found)
        for field in found:
            self._voices.setdefault(key_of(field), set()).add(voices[field.message_id or ""])
        said = {key: Said(speaker_of(message), text_of(message)) for key, message in zip(keys, messages, strict=True)}
        for field in found:
            if field.kind not in STATEMENTS and voices[field.message_id or ""] == "people":
                self._contexts[key_of(field)] = _around(field, folded(said[field.message_id or ""].text))
        self._ledger = merge_fields(self._ledger, found, said=said, must_keep=must_keep, cap=_MANY).fields
        known = {field.message_id for field in self._ledger}
        self._origins.update({key: speaker for key, (speaker, _) in said.items() if key in known})

    def changes(self, seen: Seen) -> list[FieldChange]:
        """Return the values that are not there as they were."""
        after = [field for field in seen.fields if field.kind not in STATEMENTS]
        found = list(diff_fields(self.values, after, text=seen.text))
        told = [(piece.text, terms(piece.text)) for piece in sentences(seen.summary)]
        return [self._judged(change, told) for change in found]

    def _judged(self, change: FieldChange, told: Sequence[tuple[str, frozenset[str]]]) -> FieldChange:
        """Return a change as it is, and a value as simply gone where what seems to stand in its place does so for another one.

        A long text has many vague words and many values of one shape: a vague word counts where the summary says it of the same matter, other digits
        where nobody said them before.
        """
        if change.after is not None or change.found is None:
            return change
        if change.how != "blurred":
            return FieldChange(before=change.before) if change.found in self._spans else change
        context = self._contexts.get(key_of(change.before), frozenset())
        words = "\n".join(text for text, found in told if context & found)
        again = next(iter(diff_fields([change.before], (), text=words)), None)
        return again if again is not None and again.how == "blurred" else FieldChange(before=change.before)

    def forget(self, field_ids: set[str]) -> None:
        """Let go of fields that are there no longer: they are lost once."""
        self._ledger = tuple(field for field in self._ledger if field.field_id not in field_ids)

    def level_of(self, field: ControlField) -> Level:
        """Return how bad it is to lose a field."""
        voices = self._voices.get(key_of(field), set())
        if "people" in voices:
            return Level.CRITICAL if field.critical and not field.is_weak else Level.WARNING
        if field.critical and field.kind in IDENTIFIERS and voices == {"ai", "tool"}:
            # A tool gave a thing its name and the assistant told it: the run goes by that name.
            return Level.WARNING if field.is_weak else Level.CRITICAL
        return Level.WARNING if field.critical and not field.is_weak else Level.NOTE

    def said_by(self, field: ControlField) -> Origin:
        """Return who said a field first: its origin is the highest who ever did."""
        return self._origins.get(field.message_id, field.origin)


def _around(field: ControlField, text: str) -> frozenset[str]:
    """Return the words of the sentence a value stands in, without its own."""
    start, stop = sentence_at(text, field.start, field.stop)
    return terms(f"{text[start : field.start]} {text[field.stop : stop]}")


def _voice_of(message: BaseMessage) -> Voice:
    speaker = speaker_of(message)
    if is_told(message):
        # What it carries over was somebody's word once; who said it is not there any more.
        return "people"
    if speaker == "system" or (is_request(message) and not message.additional_kwargs.get("is_meta")):
        return "people"
    return "ai" if speaker == "ai" else "tool"


class Seen(NamedTuple):
    """What a context says after a compaction, read once for all comparisons."""

    messages: tuple[BaseMessage, ...]
    text: str
    """All of it, widths folded."""

    summary: str
    """The summaries in it, as they are."""

    fields: tuple[ControlField, ...]

    @property
    def choices(self) -> list[ControlField]:
        """The decisions it tells."""
        return [field for field in self.fields if field.kind in _CHOICES]


def seen_in(messages: Sequence[BaseMessage]) -> Seen:
    """Return what a context says. A summary is read as if a person spoke, whatever role it has: what it decides and stresses is what it tells."""
    read = [HumanMessage(text_of(message)) if is_told(message) else message for message in messages]
    summary = "\n".join(text_of(message) for message in messages if is_told(message))
    text = folded("\n".join(text_of(message) for message in messages))
    return Seen(tuple(messages), text, summary, tuple(extract_fields(read)))


def lost_values(fields: Fields, changes: Sequence[FieldChange]) -> Iterator[AuditFinding]:
    """Yield a finding for each value that changed or is gone."""
    for change in sorted(changes, key=lambda change: change.before.start):
        before = change.before
        now = change.found if change.after is None else change.after.raw
        loss = _LEVELS.get(change.how, Loss.CHANGED)
        yield _finding("field", before, loss, fields.level_of(before), fields.said_by(before), change.how or "", now)


def lost_choices(fields: Fields, seen: Seen) -> Iterator[tuple[ControlField, AuditFinding]]:
    """Yield the decisions that are told no longer, or the other way round."""
    held = fields.choices
    telling = Telling(seen.text if held else "", seen.choices)
    for choice in held:
        standing = standing_of(choice, telling)
        if standing == "kept" or not is_named(choice):
            continue
        level = Level.WARNING if choice.is_weak or standing == "unsaid" else Level.CRITICAL
        loss: Mapping[str, Loss] = {"gone": Loss.LOST, "unsaid": Loss.WEAKENED, "reversed": Loss.CONTRADICTED}
        yield choice, _finding("decision", choice, loss[standing], level, fields.said_by(choice), "" if standing == "gone" else standing, None)


def _finding(  # noqa: PLR0917 - a finding is that many things
    subject: Literal["field", "decision"],
    field: ControlField,
    loss: Loss,
    level: Level,
    said_by: Origin,
    reason: str,
    now: str | None,
) -> AuditFinding:
    return AuditFinding(
        subject=subject, loss=loss, level=level, kind=field.kind.value, text=field.raw, label=field.label, reason=reason, now=now,
        said_by=said_by, message_index=field.source_turn, message_id=field.message_id,
    )  # fmt: skip
