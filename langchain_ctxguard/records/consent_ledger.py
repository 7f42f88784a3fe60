"""Who writes consents: the surface where a person says so. No guard, node or tool holds a ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from langchain_ctxguard.domain.consent import Consent, ConsentEvent, ConsentStatus
from langchain_ctxguard.domain.consent_question import ConsentAnswer, ConsentQuestion, RefusedBecause, question_ref
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.errors import ConfigurationError, LogConflictError, StoreError
from langchain_ctxguard.ports import BlobStore, Clock, Log
from langchain_ctxguard.records.consent_events import encode, new_event, raw, refs_of, sealed
from langchain_ctxguard.records.consent_questions import ConsentQuestions
from langchain_ctxguard.records.consent_streams import KIND, ConsentStreams, Fold, Word, consent_of, space_of
from langchain_ctxguard.records.consents import ConsentReader, require_store
from langchain_ctxguard.records.versions import HasLog

ANSWERS = "consent_answers"
"""Answers that changed nothing: a stream apart, so that they move nobody's consents."""

_TRIES = 16


class ConsentLedger:
    """Writes what subjects allow, refuse and take back. Safe under threads and processes; what was returned is durable.

    Whoever holds a ledger can grant anything to anybody: give it to the application's consent surface and to nothing else.
    """

    def __init__(self, store: HasLog, *, surface: str = "", clock: Clock | None = None) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore` that the application opened; an agent's view of one (`guard.store`) is refused.
            surface: Through what consents are recorded: `settings page`, `phone`.
            clock: Says what time it is; `None`: the system's, in UTC.

        Raises:
            ConfigurationError: `store` is no store, or may not write consents.
        """
        require_store(store, "ConsentLedger")
        if KIND in getattr(store, "refuses", ()):
            msg = "This is an agent's view of a store, and no agent writes consents. Open a GuardStore of the consent surface's own."
            raise ConfigurationError(msg)
        self._store = store
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._clock = clock
        self._streams = ConsentStreams(store, clock=clock)
        self._questions = ConsentQuestions(store, clock=clock)
        self.surface = surface

    def reader(self) -> ConsentReader:
        """Return what reads the same consents and can write none."""
        return ConsentReader(self._store, clock=self._clock)

    def grant(
        self,
        field: str,
        value: Any,
        *,
        subject: str,
        basis: str,
        recorded_by: str,
        thread: str | None = None,
        purpose: str = "",
        evidence_ref: str = "",
        at: datetime | None = None,
        expires_at: datetime | None = None,
        expected: int | None = None,
    ) -> Consent:
        """Record that a subject allows something, and return it as it is on record.

        Args:
            field: What: `consent.cross_session_memory`, `retain_code`.
            value: `bytes` and `RawJson` stay byte for byte; anything else is written as JSON once. Only the literal `true` is a plain yes.
            subject: Who allows it.
            basis: Why this may be done: `consent`, `contract`, the wording agreed to.
            recorded_by: Who wrote it down.
            thread: Where it holds; `None`: in all threads.
            purpose: What for.
            evidence_ref: Where the proof is to be found.
            at: When it was said; `None`: now. In the future: it begins then.
            expires_at: When it is over, without anybody writing so.
            expected: Number of the last entry the writer saw (`Consents.head.seq`); `None`: whatever there is.

        Raises:
            LogConflictError: somebody wrote since; a grant is not laid over a word its writer did not see.
            StoreError: a value that is no JSON, no basis, over before it began, or the store cannot be written. Nothing was written.
        """
        event = self._event(
            ConsentStatus.GRANTED,
            field,
            thread=thread,
            basis=basis,
            recorded_by=recorded_by,
            purpose=purpose,
            evidence_ref=evidence_ref,
            at=at,
            expires_at=expires_at,
        )
        seen = self._streams.fold(_named(subject)).head.seq if expected is None else expected
        return self._written(subject, event, raw(value), lambda: seen)

    def deny(
        self,
        field: str,
        value: Any = None,
        *,
        subject: str,
        basis: str,
        recorded_by: str,
        thread: str | None = None,
        purpose: str = "",
        evidence_ref: str = "",
        at: datetime | None = None,
    ) -> Consent:
        """Record that a subject refuses something; written whatever came in between. See `grant`."""
        event = self._event(
            ConsentStatus.DENIED, field, thread=thread, basis=basis, recorded_by=recorded_by, purpose=purpose, evidence_ref=evidence_ref, at=at
        )
        return self._written(subject, event, _maybe(value), None)

    def revoke(
        self,
        field: str,
        value: Any = None,
        *,
        subject: str,
        basis: str,
        recorded_by: str,
        thread: str | None = None,
        purpose: str = "",
        evidence_ref: str = "",
        at: datetime | None = None,
    ) -> Consent:
        """Record that a subject takes a grant back, whatever its value: without a thread, those of all threads too.

        It is written whatever came in between, and it holds at once, whatever `at` says. See `grant`.
        """
        event = self._event(
            ConsentStatus.REVOKED, field, thread=thread, basis=basis, recorded_by=recorded_by, purpose=purpose, evidence_ref=evidence_ref, at=at
        )
        return self._written(subject, event, _maybe(value), None)

    def expire(
        self,
        field: str,
        value: Any = None,
        *,
        subject: str,
        basis: str,
        recorded_by: str,
        thread: str | None = None,
        purpose: str = "",
        evidence_ref: str = "",
        at: datetime | None = None,
    ) -> Consent:
        """Record that a grant is over. No reader needs it where a grant has an `expires_at`: the clock is enough. See `revoke`."""
        event = self._event(
            ConsentStatus.EXPIRED, field, thread=thread, basis=basis, recorded_by=recorded_by, purpose=purpose, evidence_ref=evidence_ref, at=at
        )
        return self._written(subject, event, _maybe(value), None)

    def question(self, digest: str) -> ConsentQuestion | None:
        """Return the question of a digest: show this one to the person, not what an agent says it was."""
        return self._questions.get(digest)

    def open_questions(self, subject: str) -> tuple[tuple[str, ConsentQuestion], ...]:
        """Return the questions a subject can still answer, oldest first, each behind its digest."""
        fold = self._streams.fold(_named(subject))
        asked = self._questions.of(subject)
        return tuple((digest, question) for digest, question in asked if self._too_late(digest, question, fold, asked) is None)

    def answer(
        self,
        question: str,
        value: Any,
        *,
        recorded_by: str,
        basis: str = "consent",
        subject: str | None = None,
        expires_at: datetime | None = None,
    ) -> ConsentAnswer:
        """Record a person's answer to a question that was asked, and say what became of it.

        `false` and `null` are a refusal, anything else a grant of that value. An answer to no question, to somebody else's, to one that was
        answered, is over, or was overtaken by a later word on its field changes nothing, and that it came is recorded. Then let the agent go on:
        it reads the ledger, not what its run is resumed with.

        Args:
            question: The digest that was asked with.
            value: The answer, as for `grant`.
            recorded_by: Who answers, or who wrote it down.
            basis: Why this may be done.
            subject: Who answers, as the surface knows it: must be who was asked. `None`: the surface does not know.
            expires_at: When a grant is over.

        Raises:
            StoreError: the store cannot be read or written; nothing was changed.
        """
        try:
            given = raw(value)
        except StoreError:
            return self._refused(question, subject, "no_json", recorded_by)
        for _ in range(_TRIES):
            asked = self._questions.get(question)
            if asked is None:
                return self._refused(question, subject, "unknown", recorded_by)
            fold = self._streams.fold(asked.subject)
            because = self._unfit(asked, given, subject) or self._too_late(question, asked, fold, self._questions.of(asked.subject))
            if because is not None:
                return self._refused(question, asked.subject, because, recorded_by)
            is_no = given.value is None or given.value is False
            status = ConsentStatus.DENIED if is_no else ConsentStatus.GRANTED
            until = None if is_no else expires_at
            event = self._event(
                status,
                asked.field,
                thread=asked.thread,
                basis=basis,
                recorded_by=recorded_by,
                purpose=asked.purpose,
                evidence_ref=question_ref(question),
                expires_at=until,
            )
            try:
                consent = self._written(asked.subject, event, given, lambda seen=fold.head.seq: seen, question_ref(question))  # type: ignore[misc]  # mypy infers no lambda with a default
            except LogConflictError:
                continue
            return ConsentAnswer(question=question, consent=consent)
        msg = (
            f"The consents of question {question[:16]} are written by so many at once that the answer found no place in {_TRIES} attempts. Try again."
        )
        raise StoreError(msg)

    def erase(self, subject: str, *, basis: str, recorded_by: str) -> int:
        """End every grant of a subject, erase all values and questions for good, and return how many texts that were.

        That something was said, when and on what basis stays on record; what it was does not.
        """
        fold = self._streams.fold(_named(subject))
        for (field, thread), word in fold.words.items():
            if word.event.type is ConsentStatus.GRANTED:
                self.revoke(field, subject=subject, thread=thread, basis=basis, recorded_by=recorded_by)
        return self._blobs.purge_space(space_of(subject)) + self._questions.purge(subject)

    def _event(self, status: ConsentStatus, field: str, **said: Any) -> ConsentEvent:
        return new_event(status, field, now=self._streams.now(), surface=self.surface, **said)

    def _written(self, subject: str, event: ConsentEvent, value: RawJson | None, seen: Callable[[], int] | None, *refs: str) -> Consent:
        """Write an event, behind entry `seen()` and nowhere else; `None`: wherever the stream ends."""
        stream = self._streams.stream(_named(subject))
        values: dict[str, RawJson] = {}
        if value is not None:
            (address,) = self._blobs.put(space_of(subject), [sealed(value)])
            event = event.model_copy(update={"value": address})
            values = {address: value}
        (entry,) = self._log.append(stream, [encode(event)], expected=None if seen is None else seen(), refs=refs_of(event, *refs))
        return consent_of(Word(entry, event), values)

    def _unfit(self, asked: ConsentQuestion, given: RawJson, subject: str | None) -> RefusedBecause | None:
        if subject is not None and subject != asked.subject:
            return "wrong_subject"
        return "not_an_option" if asked.options and not any(given.equals(option) for option in asked.options) else None

    def _too_late(self, digest: str, asked: ConsentQuestion, fold: Fold, questions: Sequence[tuple[str, ConsentQuestion]]) -> RefusedBecause | None:
        if self._streams.find(question_ref(digest)):
            return "second"
        if asked.expires_at is not None and asked.expires_at <= self._streams.now():
            return "expired"
        scopes = {asked.thread, None}
        is_overtaken = any(word.entry.seq > asked.seq for (name, thread), word in fold.words.items() if name == asked.field and thread in scopes)
        return "stale" if is_overtaken or _is_asked_otherwise(digest, asked, questions) else None

    def _refused(self, digest: str, subject: str | None, because: RefusedBecause, recorded_by: str) -> ConsentAnswer:
        body = {"schema_version": 1, "type": "refused", "question": digest, "because": because, "recorded_by": recorded_by, "surface": self.surface}
        stream = Stream(tenant=self._streams.tenant, kind=ANSWERS, key=subject or "")
        self._log.append(stream, [encode_json(body)], refs=[question_ref(digest)])
        return ConsentAnswer(question=digest, refused=because)


def _is_asked_otherwise(digest: str, asked: ConsentQuestion, questions: Sequence[tuple[str, ConsentQuestion]]) -> bool:
    """Say whether the same was asked in other words since: a yes to the older ones would be one to what the person does not see."""
    position = next((number for number, (known, _) in enumerate(questions) if known == digest), len(questions))
    return any(
        (other.field, other.thread) == (asked.field, asked.thread)
        and (other.text, other.purpose, other.options) != (asked.text, asked.purpose, asked.options)
        for _, other in questions[position + 1 :]
    )


def _maybe(value: Any) -> RawJson | None:
    return None if value is None else raw(value)


def _named(subject: str) -> str:
    if not subject:
        msg = "A consent is that of a subject, and none is named. Nothing was written."
        raise StoreError(msg)
    return subject
