"""Questions for consent on record, written before anybody is asked. Asking grants nothing, so whoever runs an agent may write here."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pydantic import ValidationError

from langchain_ctxguard.domain.consent_question import ConsentQuestion, asked_ref, question_ref
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, Clock, Log
from langchain_ctxguard.records.versions import HasLog

KIND = "consent_questions"


class ConsentQuestions:
    """Puts questions on record and finds them again by their digest."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))

    def ask(self, question: ConsentQuestion) -> str:
        """Put a question on record and return its digest: an answer must name it.

        Raises:
            StoreError: it cannot be written. Nobody must be asked then.
        """
        content = encode_json(question.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
        (digest,) = self._blobs.put(question_space(question.subject), [content])
        body = {"schema_version": 1, "type": "asked", "question": digest, "field": question.field, "at": question.at.isoformat()}
        refs = [question_ref(digest), asked_ref(question.subject, question.asked_in, question.field, question.text)]
        self._log.append(self._stream(question.subject), [encode_json(body)], refs=refs)
        return digest

    def get(self, digest: str) -> ConsentQuestion | None:
        """Return the question of a digest; `None`: it was never asked, or was erased.

        Raises:
            StoreError: it cannot be read.
        """
        for subject, named in self._found(question_ref(digest)):
            if named == digest:
                return self._read(subject, digest)
        return None

    def asked(self, subject: str, asked_in: str, field: str, text: str) -> tuple[str, ConsentQuestion] | None:
        """Return the question a task put on record before, with its digest; `None`: it did not yet."""
        for owner, digest in reversed(self._found(asked_ref(subject, asked_in, field, text))):
            question = self._read(owner, digest)
            if question is not None and (question.subject, question.asked_in, question.field, question.text) == (subject, asked_in, field, text):
                return digest, question
        return None

    def of(self, subject: str) -> list[tuple[str, ConsentQuestion]]:
        """Return every question a subject was asked that was not erased, oldest first, with its digest."""
        digests = [_digest(entry.body) for entry in self._log.read(self._stream(subject))]
        read = [(digest, self._read(subject, digest)) for digest in digests if digest]
        return [(digest, question) for digest, question in read if question is not None]

    def purge(self, subject: str) -> int:
        """Erase the texts of all questions a subject was asked, and return how many there were."""
        return self._blobs.purge_space(question_space(subject))

    def _found(self, ref: str) -> list[tuple[str, str]]:
        entries = [entry for entry in self._log.find(ref) if entry.stream.tenant == self._tenant and entry.stream.kind == KIND]
        return [(entry.stream.key, digest) for entry in entries if (digest := _digest(entry.body))]

    def _read(self, subject: str, digest: str) -> ConsentQuestion | None:
        content = self._blobs.get(question_space(subject), [digest]).get(digest)
        if content is None:
            return None
        try:
            question = ConsentQuestion.model_validate_json(content)
        except ValidationError as error:
            msg = f"Question {digest[:16]} for the consent of '{subject}' cannot be read. It counts as never asked; nothing was changed."
            raise StoreError(msg) from error
        # Whoever writes questions may write them anywhere: one that names somebody else is none of theirs.
        return question if question.subject == subject else None

    def _stream(self, subject: str) -> Stream:
        return Stream(tenant=self._tenant, kind=KIND, key=subject)


def question_space(subject: str) -> str:
    """Return where the questions of a subject rest."""
    return canonical_json([KIND, subject])


def _digest(body: bytes) -> str:
    try:
        data = json.loads(body)
    except ValueError:
        return ""
    found = data.get("question") if isinstance(data, dict) and data.get("schema_version") == 1 else None
    return found if isinstance(found, str) else ""
