"""A question for somebody's consent, and what became of an answer to it."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.consent import Consent
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.value import Value, digest_of


class ConsentQuestion(Value):
    """What somebody is asked, where it was asked, and what was on record by then. Its digest covers all of it."""

    schema_version: Literal[1] = 1
    nonce: str = Field(min_length=16)
    """Random: two questions of the same words are two, and the digest tells nothing once the question is erased."""

    subject: str = Field(min_length=1)
    field: str = Field(min_length=1)
    text: str = Field(min_length=1)
    purpose: str = ""
    options: tuple[RawJson, ...] = ()
    """What may be answered; empty: any value."""

    thread: str | None = None
    """Where the answer will hold; `None`: in all threads of the subject."""

    asked_in: str = ""
    """The task that asks: one of a graph is the same when its node runs again, and another one on a branch."""

    checkpoint: str = ""
    """The checkpoint the graph stood at."""

    seq: int = Field(default=0, ge=0)
    """Number of the subject's last entry when it was asked. A later word on the field makes the question stale."""

    at: AwareDatetime
    expires_at: AwareDatetime | None = None


RefusedBecause = Literal["unknown", "wrong_subject", "not_an_option", "no_json", "second", "stale", "expired"]
"""Why an answer changed nothing: no such question, somebody else's, not what was asked, or too late."""


class ConsentAnswer(Value):
    """What became of an answer."""

    question: str
    """Digest of the question."""

    consent: Consent | None = None
    """What is on record now; `None`: the answer changed nothing."""

    refused: RefusedBecause | None = None

    @property
    def is_taken(self) -> bool:
        """Say whether the answer is on record as the subject's word."""
        return self.refused is None


def question_ref(digest: str) -> str:
    """Return the name under which everything about a question is to be found: the question, its answer, answers that were refused."""
    return f"consent-question/{digest}"


def asked_ref(subject: str, asked_in: str, field: str, text: str) -> str:
    """Return the name under which the question of a task is to be found again when its node runs from the start."""
    return f"consent-asked/{digest_of(chr(0).join((subject, asked_in, field, text)))}"
