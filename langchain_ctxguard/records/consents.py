"""What guards, gates and tools hold of the consent ledger: a reader. Who writes is in `consent_ledger.py`."""

from __future__ import annotations

from datetime import UTC, datetime

from langchain_ctxguard.domain.consent import Consent, Consents
from langchain_ctxguard.errors import ConfigurationError, StoreError
from langchain_ctxguard.ports import Clock
from langchain_ctxguard.records.consent_streams import ConsentStreams, Fold, after, consent_of
from langchain_ctxguard.records.versions import HasLog


class ConsentReader:
    """Reads consents; it can write none. Safe under threads; every reading asks the store whether anything moved."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Read from a store.

        Args:
            store: A `GuardStore`; best one of its own connection and role, since a reader needs no right to write.
            clock: Says what time it is; `None`: the system's, in UTC.

        Raises:
            ConfigurationError: `store` is no store.
        """
        require_store(store, "ConsentReader")
        self._streams = ConsentStreams(store, clock=clock)

    def read(self, subject: str, *, thread: str | None = None, at: datetime | None = None) -> Consents:
        """Return what holds for a subject: the newest word on each field.

        A grant is over at its `expires_at` without anybody writing so. Where a field has a word for the thread and one for all threads, the later
        one holds; but what was refused in the thread is not given back by a grant for all. A value that was erased counts as not granted.

        Args:
            subject: Who; from runtime context or configuration, never from a message.
            thread: Where; `None`: only what was said for all threads.
            at: The moment expiry is held against; `None`: now. Whatever is on record counts, also what was recorded after it.

        Raises:
            StoreError: the ledger cannot be read, or was altered: nothing may be taken for granted.
        """
        return self._answer(self._streams.fold(_named(subject)), thread, at)

    def as_of(self, subject: str, seq: int, *, thread: str | None = None, at: datetime | None = None) -> Consents:
        """Return what held when the subject's stream ended at entry `seq`: what a gate saw that cites it. Not for gates.

        Raises:
            StoreError: the ledger cannot be read or was altered, or never had that entry.
        """
        words = self._streams.words(_named(subject))
        if not 0 <= seq <= len(words):
            msg = f"The consents of '{subject}' have entries 1 to {len(words)}; nothing can be said about entry {seq}."
            raise StoreError(msg)
        return self._answer(after(Fold(self._streams.stream(subject)), words[:seq]), thread, at)

    def history(self, subject: str, field: str | None = None) -> tuple[Consent, ...]:
        """Return everything that was ever said, oldest first: about one field, or about all.

        Raises:
            StoreError: the ledger cannot be read, or was altered.
        """
        words = [word for word in self._streams.words(_named(subject)) if field in {None, word.event.field}]
        values = self._streams.values(subject, words)
        return tuple(consent_of(word, values) for word in words)

    def find(self, reference: str) -> Consent | None:
        """Return the consent another record cites by `Consent.ref`, as it was said; `None`: there is none of that name.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        for word in self._streams.find(reference):
            return consent_of(word, self._streams.values(word.entry.stream.key, [word]))
        return None

    def traced(self, reference: str, *, thread: str | None = None) -> tuple[Consent, Consent | None] | None:
        """Return a cited consent and the word that took its place since, `None` where it still stands; `None` alone: there is none of that name.

        Args:
            reference: `Consent.ref`.
            thread: Where it was used: a later word in that thread took its place there.

        Raises:
            StoreError: the ledger cannot be read, or was altered.
        """
        for word in self._streams.find(reference):
            scopes = {None, word.event.thread, thread}
            since = self._streams.words_after(word)
            later = [one for one in since if one.event.field == word.event.field and one.event.thread in scopes][:1]
            values = self._streams.values(word.entry.stream.key, [word, *later])
            return consent_of(word, values), consent_of(later[0], values) if later else None
        return None

    def _answer(self, fold: Fold, thread: str | None, at: datetime | None) -> Consents:
        moment = self._streams.now() if at is None else at
        if moment.utcoffset() is None:
            msg = f"'{moment}' names no time zone, so nobody can say what has expired by then. Nothing was read; give an aware datetime."
            raise StoreError(msg)
        moment = moment.astimezone(UTC)
        entries = self._streams.consents(fold, thread, moment)
        return Consents(subject=fold.stream.key, thread=thread, at=moment, head=fold.head, entries=entries)


def require_store(store: object, who: str) -> None:
    """Let only a store pass.

    Raises:
        ConfigurationError: it has no log or no blobs.
    """
    if not all(hasattr(store, part) for part in ("log", "blobs", "tenant")):
        kind = type(store).__name__
        msg = f"{who} takes a GuardStore, not a {kind}; open one: GuardStore.open('sqlite:///ctxguard.db')."
        raise ConfigurationError(msg)


def _named(subject: str) -> str:
    if not subject:
        msg = "Consents are those of a subject, and none is named. Nothing was read; take it from runtime context or configuration."
        raise StoreError(msg)
    return subject
