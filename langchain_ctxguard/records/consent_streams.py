"""The streams consents are written to, one for each subject, and what their entries add up to. Values rest apart and are read each time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from langchain_ctxguard.domain.consent import Consent, ConsentEvent, ConsentHead, stands
from langchain_ctxguard.domain.log import Entry, Stream, verify
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, Clock, LogReader
from langchain_ctxguard.records.consent_events import decode, opened
from langchain_ctxguard.records.versions import HasLog

KIND = "consents"
_KEPT_FOLDS = 4_096


@dataclass(frozen=True, slots=True)
class Word:
    """One event on record."""

    entry: Entry
    event: ConsentEvent


@dataclass(frozen=True, slots=True)
class Fold:
    """What the entries of one subject add up to."""

    stream: Stream
    last: Entry | None = None
    words: Mapping[tuple[str, str | None], Word] = field(default_factory=dict)
    """The newest word on each field, for each thread and for all."""

    @property
    def head(self) -> ConsentHead:
        """Where the stream ends."""
        return ConsentHead() if self.last is None else ConsentHead(seq=self.last.seq, hash=self.last.hash)

    def fields(self) -> list[str]:
        """Return every field somebody spoke of, by name."""
        return sorted({name for name, _ in self.words})


class ConsentStreams:
    """Reads the consents of one tenant. Safe under threads; what a subject's entries add up to is kept until there are more of them."""

    def __init__(self, store: HasLog, *, clock: Clock | None = None) -> None:
        """Read from `store`."""
        self._log: LogReader = store.log
        self._blobs: BlobStore = store.blobs
        self.tenant = store.tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))
        self._folds: OrderedDict[str, Fold] = OrderedDict()
        self._lock = threading.Lock()

    def stream(self, subject: str) -> Stream:
        """Return where the consents of a subject are written."""
        return Stream(tenant=self.tenant, kind=KIND, key=subject)

    def fold(self, subject: str) -> Fold:
        """Return what the entries of a subject add up to now; one question to the log where there are no more of them.

        Raises:
            StoreError: the log cannot be read, an entry is none, or was altered, or is gone.
        """
        known = self._known(subject)
        # The fold is looked up first: what another thread reads in between must not look like entries that are gone.
        (head,) = self._log.heads([known.stream])
        seq = known.head.seq
        if head == seq:
            return known
        if head < seq:
            msg = f"{known.stream} ended at entry {seq} before and ends at {head} now: entries are gone. No consent is read from it; restore the log."
            raise StoreError(msg)
        return self._read_on(known)

    def words(self, subject: str) -> list[Word]:
        """Return everything that ever happened to the consents of a subject, oldest first."""
        return self._checked(Fold(self.stream(subject)))

    def words_after(self, word: Word) -> list[Word]:
        """Return what happened to the consents of a subject after one word, oldest first."""
        return self._checked(Fold(word.entry.stream, word.entry))

    def consents(self, fold: Fold, thread: str | None, now: datetime) -> tuple[Consent, ...]:
        """Return the word that holds on each field, for a thread or for all, with values as they were given."""
        picked = [(name, fold.words.get((name, thread)) if thread is not None else None, fold.words.get((name, None))) for name in fold.fields()]
        values = self.values(fold.stream.key, [word for _, own, general in picked for word in (own, general) if word is not None])
        found = []
        for _, own, general in picked:
            one = None if own is None else consent_of(own, values)
            other = None if general is None else consent_of(general, values)
            if one is None or other is None:
                found += [given for given in (one, other) if given is not None]
            else:
                found.append(one if one.seq > other.seq else stands(one, other, now))
        return tuple(found)

    def values(self, subject: str, words: Iterable[Word]) -> dict[str, RawJson]:
        """Return the values that are there, by their address; what was erased is not among them.

        Raises:
            StoreError: one was altered.
        """
        addresses = [word.event.value for word in words if word.event.value is not None]
        if not addresses:
            return {}
        contents = self._blobs.get(space_of(subject), addresses)
        return {address: opened(content, subject) for address, content in contents.items()}

    def find(self, ref: str) -> list[Word]:
        """Return the consents on record under a name, oldest first."""
        # A ref is a name, not an address: an entry of another kind may carry it too.
        entries = [entry for entry in self._log.find(ref) if entry.stream.tenant == self.tenant and entry.stream.kind == KIND]
        for entry in entries:
            if not entry.is_intact():
                raise _altered(entry.stream, entry.seq)
        return [Word(entry, decode(entry)) for entry in entries]

    def _known(self, subject: str) -> Fold:
        with self._lock:
            if subject not in self._folds:
                return Fold(self.stream(subject))
            self._folds.move_to_end(subject)
            return self._folds[subject]

    def _checked(self, known: Fold) -> list[Word]:
        entries = self._log.read(known.stream, since=known.head.seq)
        if (broken := verify(entries, after=known.last, stream=known.stream)) is not None:
            raise _altered(known.stream, broken)
        return [Word(entry, decode(entry)) for entry in entries]

    def _read_on(self, known: Fold) -> Fold:
        words = self._checked(known)
        if not words:
            return known
        fold = after(known, words)
        with self._lock:
            kept = self._folds.get(known.stream.key)
            if kept is None or kept.head.seq < fold.head.seq:
                self._folds[known.stream.key] = fold
                self._folds.move_to_end(known.stream.key)
            while len(self._folds) > _KEPT_FOLDS:
                self._folds.popitem(last=False)
        return fold


def after(known: Fold, words: Sequence[Word]) -> Fold:
    """Return what a subject's entries add up to with more `words`."""
    if not words:
        return known
    newest = {(word.event.field, word.event.thread): word for word in words}
    return Fold(known.stream, words[-1].entry, {**known.words, **newest})


def consent_of(word: Word, values: Mapping[str, RawJson]) -> Consent:
    """Return an event as the consent it makes, with its value where that is still there."""
    event, entry = word.event, word.entry
    return Consent(
        field=event.field,
        status=event.type,
        value=None if event.value is None else values.get(event.value),
        subject=entry.stream.key,
        thread=event.thread,
        basis=event.basis,
        recorded_by=event.recorded_by,
        surface=event.surface,
        purpose=event.purpose,
        evidence_ref=event.evidence_ref,
        at=event.at,
        recorded_at=entry.at,
        expires_at=event.expires_at,
        record_id=event.record_id,
        seq=entry.seq,
        hash=entry.hash,
    )


def space_of(subject: str) -> str:
    """Return where the values of a subject rest: a space for each, so that one can be erased and no chain breaks."""
    return canonical_json([KIND, subject])


def _altered(stream: Stream, seq: int) -> StoreError:
    return StoreError(f"Entry {seq} of {stream} no longer matches its chain: the log was altered. No consent is read from it; restore the log.")
