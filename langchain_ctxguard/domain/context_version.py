"""A version of a thread's context, as a commit: what it stands for, what it was made from, where its content rests. No text of the conversation."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from langchain_ctxguard.domain.value import Value, canonical_json
from langchain_ctxguard.domain.version import CompactionRecord, Outcome


def outer_namespace(namespace: str) -> str:
    """Return the namespace a step of a graph belongs to: the last segment of its own is new for every step.

    >>> outer_namespace("research:1|tools:2"), outer_namespace("tools:2")
    ('research:1', '')
    """
    return namespace.rpartition("|")[0]


class ContextPlace(Value):
    """Which context is meant: sub-agents and subgraphs share a thread and differ by namespace."""

    thread: str = Field(min_length=1)
    namespace: str = ""

    @classmethod
    def of_step(cls, thread: str, namespace: str) -> ContextPlace:
        """Return the place that a step of a graph belongs to."""
        return cls(thread=thread, namespace=outer_namespace(namespace))

    @property
    def key(self) -> str:
        """Key of its streams."""
        return canonical_json([self.thread, self.namespace])

    def space(self, number: int) -> str:
        """Return where the content of a version rests: a space for each, so that one can be thinned and the others stay."""
        return canonical_json(["version", self.thread, self.namespace, number])


class ContextVersion(Value):
    """One version. Numbers grow by one in each place and are never used twice."""

    schema_version: Literal[1] = 1
    number: int = Field(ge=1)
    place: ContextPlace
    parent: int = Field(default=0, ge=0)
    """Number of the version it was made from, 0 for none."""

    parent_digest: str = ""
    """Digest of the head it was made from, empty for none: two branches of one thread have different ones."""

    replaces: str = ""
    """Digest of the keys of the messages it stands for and its parent does not."""

    replaced: int = Field(default=0, ge=0)
    """How many messages these are."""

    archive: str = ""
    """Address of the list of messages it took out of the view, in the space of its thread; empty where none were kept."""

    archived_from: int = Field(default=0, ge=0)
    """Position of the first of them in the original conversation."""

    archived: int = Field(default=0, ge=0)
    """How many they are."""

    left_state: bool = False
    """They may leave the state: what is missing there before the cut is to be had here."""

    head: str = ""
    """Address of the head in its space of the blob store."""

    head_digest: str = ""
    rules_fingerprint: str = ""
    fields_fingerprint: str = ""
    """Fingerprint of the field ledger."""

    consent_head: int | None = None
    """Number of the last entry of the consent ledger it was made under; `None` where there is none."""

    tokens: int = Field(default=0, ge=0)
    """Tokens of the view."""

    created_at: AwareDatetime
    reason: str = ""
    """What started the compaction, or why a person rolled back."""

    outcome: Outcome = Outcome.ACCEPTED
    strategy: str = ""
    restores: int | None = None
    """The version whose content it has again: a rollback is a new version."""

    lost: int = Field(default=0, ge=0)
    """Critical control fields it does not tell although they were in force."""

    is_marked: bool = False
    """The first one made after consents changed: its content is never thinned, and later records name it."""

    copied_from: str = ""
    """The thread it was made in, where that was copied; empty where it was made here."""

    @property
    def is_stable(self) -> bool:
        """Say whether nothing critical was lost on the way to it."""
        return self.lost == 0


class Attempt(Value):
    """A compaction attempt as the audit stream keeps it."""

    schema_version: Literal[1] = 1
    place: ContextPlace
    at: AwareDatetime
    record: CompactionRecord
    version: int | None = None
    """The version it made, `None` for none."""

    error: str | None = None
    """Name of the error it ended with."""
