"""What somebody allowed, refused or took back: one answer, and what the answers of a subject add up to at a moment."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.log import GENESIS
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of

__all__ = ["CROSS_SESSION_MEMORY", "Consent", "ConsentEvent", "ConsentHead", "ConsentStatus", "Consents", "RawJson"]

CROSS_SESSION_MEMORY = "consent.cross_session_memory"
"""The field that must be `true` before anything is kept for other threads."""


class ConsentStatus(StrEnum):
    """What became of a field."""

    GRANTED = "granted"
    DENIED = "denied"
    REVOKED = "revoked"
    EXPIRED = "expired"
    """Ended by its time: by an event that says so, or by the clock alone."""


class ConsentEvent(Value):
    """One thing that happened to a consent, as it rests on a log: without its value, which rests apart so that it can be erased."""

    schema_version: Literal[1] = 1
    type: ConsentStatus
    record_id: str = Field(min_length=1)
    """Random. By `record_ref` of it a log finds the entry."""

    field: str = Field(min_length=1)
    """What is consented to: `consent.cross_session_memory`, `retain_code`."""

    thread: str | None = None
    """Where it holds; `None`: in all threads of the subject."""

    value: str | None = None
    """Address of the value in the subject's space; `None`: the event has none."""

    basis: str = Field(min_length=1)
    """Why this is allowed: `consent`, `contract`, the wording that was agreed to."""

    recorded_by: str = Field(min_length=1)
    surface: str = ""
    """Through what it was recorded: a settings page, the command line."""

    purpose: str = ""
    evidence_ref: str = ""
    """Where the proof is to be found: a form, a ticket, the digest of a question."""

    at: AwareDatetime
    """When it was said."""

    expires_at: AwareDatetime | None = None


class Consent(Value):
    """The word that holds for one field."""

    field: str
    status: ConsentStatus
    value: RawJson | None = None
    """Exactly as given; `None`: there is none, or it was erased."""

    subject: str
    thread: str | None = None
    """Where it was said to hold; `None`: in all threads."""

    basis: str
    recorded_by: str
    surface: str = ""
    purpose: str = ""
    evidence_ref: str = ""
    at: AwareDatetime
    """When it was said."""

    recorded_at: AwareDatetime
    """When the log took it."""

    expires_at: AwareDatetime | None = None
    record_id: str
    seq: int
    """Number of its entry in the subject's stream."""

    hash: str
    """Hash of that entry."""

    @property
    def ref(self) -> str:
        """The name by which a log finds the entry: what other records cite. It tells neither subject nor value."""
        return record_ref(self.record_id)

    def is_in_force(self, now: datetime) -> bool:
        """Say whether it is a grant whose value is there, whose time has begun and is not over."""
        is_granted = self.status is ConsentStatus.GRANTED and self.value is not None
        return is_granted and self.at <= now and (self.expires_at is None or now < self.expires_at)

    def is_true(self, now: datetime) -> bool:
        """Say whether it is in force and its value is `true`. A value that is anything else counts as a no."""
        return self.is_in_force(now) and self.value is not None and self.value.is_true


class ConsentHead(Value):
    """Where the subject's stream ended when it was read: what a gate reading cites."""

    seq: int = 0
    hash: str = GENESIS


class Consents(Value):
    """What holds for one subject, in one thread, at one moment: the newest word on each field."""

    subject: str
    thread: str | None = None
    at: AwareDatetime
    head: ConsentHead = ConsentHead()
    entries: tuple[Consent, ...] = ()
    """One for each field ever spoken of, by name; denied, revoked and expired ones among them."""

    def get(self, field: str) -> Consent | None:
        """Return the word on a field, whatever it says; `None`: nobody said anything."""
        return next((entry for entry in self.entries if entry.field == field), None)

    def in_force(self, now: datetime | None = None) -> tuple[Consent, ...]:
        """Return the grants in force, whatever their value, at the moment these were read for or at another."""
        return tuple(entry for entry in self.entries if entry.is_in_force(now or self.at))

    def value(self, field: str, now: datetime | None = None) -> RawJson | None:
        """Return the value of a grant in force; `None`: there is no such grant."""
        entry = self.get(field)
        return entry.value if entry is not None and entry.is_in_force(now or self.at) else None

    def is_true(self, field: str, now: datetime | None = None) -> bool:
        """Say whether a grant of the literal `true` is in force. Not `true` counts as a false consent."""
        entry = self.get(field)
        return entry is not None and entry.is_true(now or self.at)

    @property
    def digest(self) -> str:
        """One digest of what is in force, values byte for byte: equal before and after a compaction, or something changed."""
        return digest_of(canonical_json([[entry.field, entry.record_id, entry.hash, entry.value.digest] for entry in self.in_force() if entry.value]))


def record_ref(record_id: str) -> str:
    """Return the name by which a log finds the entry of a consent."""
    return f"consent/{record_id}"


def stands(own: Consent, after: Consent, now: datetime) -> Consent:
    """Return which of two words on one field holds in a thread: its `own`, or `after`, said later for all threads.

    A later word for all threads takes a grant of the thread away, or takes its place; but it does not give back what was refused in the thread:
    only a word in that thread does.
    """
    return own if _is_refused(own) and after.is_in_force(now) else after


def _is_refused(word: Consent) -> bool:
    """Say whether it is a no: one recorded as such, `false` and `null` however they are recorded, and what cannot be read any more."""
    if word.status is ConsentStatus.EXPIRED:
        return False
    return word.status is not ConsentStatus.GRANTED or word.value is None or word.value.value is None or word.value.value is False
