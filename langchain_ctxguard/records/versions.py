"""The versions of a context on record: appended before the state knows them, found again after a crash, restored by appending."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import ValidationError

from langchain_ctxguard.core.restore import fields_fingerprint, head_digest, renumbered
from langchain_ctxguard.domain.anchor import Anchor
from langchain_ctxguard.domain.archive import ArchivedPart
from langchain_ctxguard.domain.citation import carried_ref
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import Attempt, ContextPlace, ContextVersion
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.errors import BlobMissingError, LogConflictError, StoreError, VersionNotFoundError
from langchain_ctxguard.ports import BlobStore, Clock, Log
from langchain_ctxguard.records.bounded import Bounded

VERSIONS = "versions"
AUDIT = "audit"
KEPT = 10
"""Versions of a place whose full context is kept."""

_TRIES = 8


class HasLog(Protocol):
    """What a `GuardStore` has, as far as versions need it."""

    log: Any
    blobs: Any
    tenant: str


class VersionLog:
    """Reads and writes the versions of every place of a store. Safe under threads: it remembers last answers only."""

    def __init__(self, store: HasLog, *, kept: int = KEPT, clock: Clock | None = None) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore`.
            kept: Of how many of the newest versions the full context is kept; of older ones the record stays.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self._kept = kept
        self._clock: Clock = clock or (lambda: datetime.now(UTC))
        self._known: Bounded[tuple[int, ContextVersion | None]] = Bounded(_REMEMBERED)
        self._marked: Bounded[tuple[int, int | None, tuple[int, ...]]] = Bounded(_REMEMBERED)

    def newest(self, place: ContextPlace) -> ContextVersion | None:
        """Return the last version on record, `None` where there is none; one cheap question where nothing moved."""
        return self._newest(place)[1]

    def _newest(self, place: ContextPlace) -> tuple[int, ContextVersion | None]:
        """Return where the stream of a place ends, and the version there: from one look, so that they belong together in any thread."""
        stream = self._stream(VERSIONS, place)
        head = self._log.heads([stream])[0]
        known = self._known.get(place)
        if known is not None and known[0] == head:
            return known
        entries = self._log.read(stream, since=head - 1) if head else []
        version = _decoded(entries[-1]) if entries else None
        self._known.put(place, (head, version))
        return head, version

    def all(self, place: ContextPlace) -> list[ContextVersion]:
        """Return the versions of a place, oldest first."""
        return [_decoded(entry) for entry in self._log.read(self._stream(VERSIONS, place))]

    def after(self, place: ContextPlace, seen: int) -> list[ContextVersion]:
        """Return the versions of a place behind the first `seen` entries of its stream, oldest first: for whoever has read those."""
        return [_decoded(entry) for entry in self._log.read(self._stream(VERSIONS, place), since=seen)]

    def attempts(self, place: ContextPlace) -> list[Attempt]:
        """Return the compaction attempts of a place, oldest first."""
        found = []
        for entry in self._log.read(self._stream(AUDIT, place)):
            try:
                found.append(Attempt.model_validate_json(entry.body))
            except ValidationError:
                # A note of another kind, or of a later version: what can be read is read.
                continue
        return found

    def get(self, place: ContextPlace, number: int) -> ContextVersion:
        """Return a version.

        Raises:
            VersionNotFoundError: there is none of that number.
        """
        versions = self.all(place)
        for version in versions:
            if version.number == number:
                return version
        raise _not_found(place, number, versions)

    def head_of(self, version: ContextVersion) -> ContextHead:
        """Return the full context of a version.

        Raises:
            BlobMissingError: it was thinned or purged; the record of it stays.
            StoreError: it is there and cannot be read.
        """
        space = version.place.space(version.number)
        content = self._blobs.get(space, [version.head]).get(version.head)
        if content is None:
            msg = (
                f"The full context of version {version.number} of thread '{version.place.thread}' is gone: a guard keeps that of the newest "
                "`versions_kept` only, and a purge erases all. Its record is still there; nothing was changed. Choose a later version."
            )
            raise BlobMissingError(msg, space=space, address=version.head)
        head = read_head(_parsed(content))
        if not isinstance(head, ContextHead):
            msg = f"The stored context of version {version.number} of thread '{version.place.thread}' cannot be read ({head}). Nothing was changed."
            raise StoreError(msg)
        return head

    def commit(
        self,
        place: ContextPlace,
        before: ContextHead,
        after: ContextHead,
        record: CompactionRecord,
        *,
        replaced: Sequence[str],
        archived: ArchivedPart | None = None,
    ) -> ContextHead:
        """Put a new version on record and return the head to store in the state; another number if that one was taken meanwhile.

        Content first, then the version, then the attempt: what stops in between leaves nothing that names what is not there.

        Args:
            place: Where.
            before: The head it was made from.
            after: The head it made.
            record: The attempt.
            replaced: Keys of the messages it stands for and its parent does not.
            archived: Where these messages are kept.

        Raises:
            StoreError: the store cannot be reached.
        """
        body = after.body
        parent = {"parent": before.version, "parent_digest": head_digest(before)}
        about: dict[str, Any] = {
            **parent,
            **({} if archived is None else archived.model_dump()),
            "replaces": digest_of(canonical_json(list(replaced)))[:32],
            "replaced": len(replaced),
            "rules_fingerprint": "" if body is None else body.rules_fingerprint,
            "fields_fingerprint": "" if body is None else fields_fingerprint(body.evidence.fields),
            "tokens": record.tokens_after,
            "reason": record.trigger,
            "outcome": record.outcome,
            "strategy": record.strategy,
            "lost": record.fields.lost,
            "consent_head": None if record.copied is None else record.copied.consent_head,
            "is_marked": record.copied is not None and record.copied.is_consent_change,
        }
        head = self._appended(place, after, about)
        self.note(place, _numbered(record, head.version), version=head.version)
        self._thin(place, head.version)
        return head

    def checkpoints(self, place: ContextPlace) -> tuple[int | None, tuple[int, ...]]:
        """Return the consent entry the newest version was made under, and the numbers of the marked versions: those made at a change of consents."""
        seen, head, marked = self._marked.get(place) or (0, None, ())
        if fresh := self.after(place, seen):
            head = fresh[-1].consent_head
            marked += tuple(version.number for version in fresh if version.is_marked)
            self._marked.put(place, (seen + len(fresh), head, marked))
        return head, marked

    def note(self, place: ContextPlace, record: CompactionRecord, *, version: int | None = None, error: str | None = None) -> None:
        """Put an attempt on record."""
        attempt = Attempt(place=place, at=self._clock(), record=record, version=version, error=error)
        data = encode_json(attempt.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
        refs = [carried_ref(one.reference, place.thread) for one in record.consents] if version is not None else []
        self._log.append(self._stream(AUDIT, place), [data], refs=refs)

    def restore(
        self, place: ContextPlace, to: int | Literal["stable"], *, current: ContextHead | None = None, reason: str = ""
    ) -> tuple[ContextVersion, ContextHead]:
        """Append a version that has the content of an earlier one again, and return both. Nothing is replayed, and no authority travels back.

        Args:
            place: Where.
            to: Number of a version, or `"stable"`: the newest of which nothing critical was lost, the present one left out.
            current: The head the state has; `None`: the newest version on record.
            reason: Why, for the record.

        Raises:
            VersionNotFoundError: there is no such version.
            BlobMissingError: its content was thinned or purged.
        """
        newest, target = self._to_restore(place, to)
        head = self.head_of(target)
        if current is not None and current.version >= newest.number:
            parent = {"parent": current.version, "parent_digest": head_digest(current)}
        else:
            parent = {"parent": newest.number, "parent_digest": newest.head_digest}
        about = {
            **parent,
            "rules_fingerprint": target.rules_fingerprint,
            "fields_fingerprint": target.fields_fingerprint,
            "tokens": target.tokens,
            "reason": reason or f"rollback to version {target.number}",
            "outcome": target.outcome,
            "strategy": target.strategy,
            "restores": target.number,
            "lost": target.lost,
            # Consents do not travel back: what was on record before the rollback still is.
            "consent_head": newest.consent_head,
        }
        at_least = max(newest.number, 0 if current is None else current.version) + 1
        restored = self._appended(place, renumbered(head, at_least), about)
        self._thin(place, restored.version)
        return self.get(place, restored.version), restored

    def head_to_restore(self, place: ContextPlace, to: int | Literal["stable"]) -> ContextHead:
        """Return the context that `restore` would bring back.

        Raises:
            VersionNotFoundError: there is no such version.
            BlobMissingError: its content was thinned or purged.
        """
        return self.head_of(self._to_restore(place, to)[1])

    def _to_restore(self, place: ContextPlace, to: int | Literal["stable"]) -> tuple[ContextVersion, ContextVersion]:
        """Return the newest version and the one that is meant."""
        versions = self.all(place)
        if to == "stable":
            target = next((version for version in reversed(versions[:-1]) if version.is_stable), None)
        else:
            target = next((version for version in versions if version.number == to), None)
        if target is None:
            raise _not_found(place, to, versions)
        return versions[-1], target

    def adoptable(self, place: ContextPlace, head: ContextHead) -> ContextVersion | None:
        """Return the newest version on record if the state's head leads to it: one that a crash kept from the state, or a rollback from outside."""
        newest = self.newest(place)
        if newest is None or newest.number <= head.version:
            return None
        step = newest
        if step.parent != head.version:
            by_number = {version.number: version for version in self.all(place)}
            while step.parent > head.version and step.parent in by_number:
                step = by_number[step.parent]
        if step.parent != head.version or (step.parent_digest or "") != head_digest(head):
            return None
        return newest

    def not_copied(self, source: ContextPlace, target: ContextPlace) -> list[ContextVersion]:
        """Return the versions of a place that its copy has not, oldest first.

        Raises:
            StoreError: the other place has versions that are no copies of these.
        """
        mine, there = self.all(source), self.all(target)
        if [_moved(version, target) for version in mine[: len(there)]] != there:
            msg = (
                f"Thread '{target.thread}' has context versions of its own, so it cannot be the copy of thread '{source.thread}'. "
                "Nothing was copied; copy to a new thread."
            )
            raise StoreError(msg)
        return mine[len(there) :]

    def copy(self, version: ContextVersion, target: ContextPlace) -> None:
        """Put a version of one place on record in another, the next one there.

        Raises:
            StoreError: somebody else wrote a version there meanwhile.
        """
        seen, newest = self._newest(target)
        if newest is not None and newest.number >= version.number:
            msg = f"Thread '{target.thread}' got a version of its own while it was being copied. It is not whole; copy to a new thread."
            raise StoreError(msg)
        self._blobs.copy_space(version.place.space(version.number), target.space(version.number))
        data = encode_json(_moved(version, target).model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
        self._log.append(self._stream(VERSIONS, target), [data], expected=seen, refs=[f"version:{target.key}:{version.number}"])
        self._known.drop(target)

    def purge(self, place: ContextPlace) -> int:
        """Erase the content of every version of a place, and return how many texts that were. The records and their chain stay."""
        erased = sum(self._blobs.purge_space(place.space(version.number)) for version in self.all(place))
        note = {"schema_version": 1, "purged": True, "erased": erased, "at": self._clock().isoformat()}
        self._log.append(self._stream(AUDIT, place), [encode_json(note)])
        return erased

    def places_of(self, thread: str) -> list[ContextPlace]:
        """Return the places of a thread that have versions: its own and those of its sub-agents."""
        heads = self._log.anchor().heads if isinstance(self._log, _Anchored) else ()
        keys = [head.stream.key for head in heads if head.stream.kind == VERSIONS and head.stream.tenant == self._tenant]
        return [ContextPlace(thread=name, namespace=namespace) for name, namespace in map(json.loads, keys) if name == thread]

    def purge_thread(self, thread: str) -> int:
        """Erase the content of every version of a thread, sub-agents included, and return how many texts that were."""
        return sum(map(self.purge, self.places_of(thread)))

    def _appended(self, place: ContextPlace, head: ContextHead, about: dict[str, Any]) -> ContextHead:
        stream = self._stream(VERSIONS, place)
        for _ in range(_TRIES):
            seen, newest = self._newest(place)
            number = max(head.version, 1 if newest is None else newest.number + 1)
            if number != head.version:
                head = renumbered(head, number)
            content = encode_json(head.to_dict())
            (address,) = self._blobs.put(place.space(number), [content])
            version = ContextVersion(number=number, place=place, head=address, head_digest=head_digest(head), created_at=self._clock(), **about)
            data = encode_json(version.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1})
            try:
                self._log.append(stream, [data], expected=seen, refs=[f"version:{place.key}:{number}"])
            except LogConflictError:
                continue
            self._known.drop(place)
            return head
        msg = f"Thread '{place.thread}' is written by so many at once that version {head.version} found no number in {_TRIES} attempts. Try again."
        raise StoreError(msg)

    def _thin(self, place: ContextPlace, number: int) -> None:
        """Erase the content of the versions that are too old to be kept, unless one is marked."""
        if number <= self._kept:
            return
        newest = self._log.heads([self._stream(VERSIONS, place)])[0]
        old = self.after(place, max(0, newest - self._kept - 2))[: -self._kept]
        for version in (version for version in old if not version.is_marked):
            self._blobs.purge_space(place.space(version.number))

    def _stream(self, kind: str, place: ContextPlace) -> Stream:
        return Stream(tenant=self._tenant, kind=kind, key=place.key)


_REMEMBERED = 4_096


@runtime_checkable
class _Anchored(Protocol):
    """A log that can say which streams it has."""

    def anchor(self) -> Anchor:
        """Return where every stream ends."""


def _numbered(record: CompactionRecord, number: int) -> CompactionRecord:
    """Return the record of a version under the number it has on record; a checkpoint is named by it."""
    copied = record.copied
    if copied is not None and copied.is_consent_change:
        copied = copied.model_copy(update={"checkpoints": (*copied.checkpoints[:-1], number)})
    return record.model_copy(update={"version": number, "copied": copied})


def _moved(version: ContextVersion, target: ContextPlace) -> ContextVersion:
    return version.model_copy(update={"place": target, "copied_from": version.copied_from or version.place.thread})


def _decoded(entry: Entry) -> ContextVersion:
    try:
        return ContextVersion.model_validate_json(entry.body)
    except ValidationError as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no context version this package can read. Nothing was changed. "
            "Upgrade langchain-ctxguard if a later version wrote it; `ctxguard verify` says whether it was altered."
        )
        raise StoreError(msg) from error


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return "no JSON"


def _not_found(place: ContextPlace, number: int | str, versions: Sequence[ContextVersion]) -> VersionNotFoundError:
    there = f"it has versions {versions[0].number} to {versions[-1].number}" if versions else "it has no versions on record"
    wanted = "a stable version" if number == "stable" else f"version {number}"
    return VersionNotFoundError(f"Cannot find {wanted} of thread '{place.thread}': {there}. Nothing was changed.", version=number)
