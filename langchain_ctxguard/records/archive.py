"""Every message that left a view, kept in the space of its thread: listed by the versions that took it out, found by its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from langchain_ctxguard.core.recalled import indexed_text, shown_id
from langchain_ctxguard.core.search_terms import index_terms, query_terms, ranked
from langchain_ctxguard.domain.archive import Archived, ArchivedPart, Manifest, handle_of
from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
from langchain_ctxguard.domain.hit import Hit
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.ports import TextIndex
from langchain_ctxguard.records.archived_names import Answer, NameSearch
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.collected import Collections
from langchain_ctxguard.records.kept import KeptContent
from langchain_ctxguard.records.spans import outside, with_stretch
from langchain_ctxguard.records.versions import VersionLog

_MANIFESTS = 256
_PLACES = 256
_ANSWERS = 16_384
_AT_ONCE = 500
"""Texts indexed in one transaction: others write in between."""


class Contents(Protocol):
    """What `MessageBlobs` has, as far as an archive needs it."""

    is_keyed: bool

    def put(self, thread: str, values: Sequence[Any]) -> list[str]:
        """Store values and return their addresses once they are durable."""

    def get(self, thread: str, addresses: Sequence[str]) -> list[Any]:
        """Return the values at these addresses."""


class HasIndex(Protocol):
    """What a `GuardStore` has, as far as an archive needs it."""

    log: Any
    blobs: Any
    index: TextIndex
    tenant: str


class ArchivedMessage(NamedTuple):
    """A message as it was when it left the view."""

    position: int
    """Where it stood in the original conversation."""

    key: str
    address: str
    message: BaseMessage

    @property
    def handle(self) -> str:
        """The short name a model knows it by."""
        return handle_of(self.position, self.address)


class _Step(NamedTuple):
    """What the archive needs of a version: that of every one is kept in memory, so it is little."""

    number: int
    parent: int
    manifest: str
    first: int
    stop: int
    highest: int
    """Position behind the last that this version or one it was made from took out."""

    has_left: bool
    """What this version or one it was made from took out may have left the state too."""


class _Span(NamedTuple):
    """Positions a version is asked for: of what several took out, the newest counts."""

    first: int
    stop: int
    step: _Step


class Archive:
    """The archive of a store's threads. Safe under threads: what it keeps in memory is content that never changes."""

    def __init__(
        self, store: HasIndex, contents: Contents, versions: VersionLog, *, shown: Callable[[BaseMessage], BaseMessage] | None = None
    ) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore`.
            contents: Stores messages in it.
            versions: Its versions.
            shown: What of a message may be found by its words, e.g. as a redactor leaves it; `None`: all of it.
        """
        self._shown = shown
        self._contents = contents
        self._index = store.index
        self._kept = KeptContent(store)
        self._collections = Collections(store)
        self._versions = versions
        self._manifests: Bounded[Manifest] = Bounded(_MANIFESTS)
        self._steps: Bounded[tuple[int, dict[int, _Step]]] = Bounded(_PLACES)
        self._answers: Bounded[Answer] = Bounded(_ANSWERS)

    def put(
        self,
        place: ContextPlace,
        messages: Sequence[tuple[str, str, BaseMessage]],
        *,
        first: int,
        offloaded: Mapping[int, tuple[str, str, BaseMessage]],
    ) -> ArchivedPart:
        """Keep what a version takes out of the view, before the version is on record. To do it twice is to do it once.

        Content first, then the note that it must stay, then the words: what stops in between leaves nothing that names what is not there.

        Args:
            place: Where.
            messages: Key, id of the call it answers, and message, in order.
            first: Position of the first of them.
            offloaded: Tool results that stay in the conversation and are shown in part, by position.

        Raises:
            StoreError: the store cannot be reached.
            TypeError: a message holds what has no written form.
        """
        if not messages and not offloaded:
            return ArchivedPart()
        everything = [*messages, *offloaded.values()]
        addresses = self._contents.put(place.thread, [message for _, _, message in everything])
        rows = [Archived(key, address, call_id) for (key, call_id, _), address in zip(everything, addresses, strict=True)]
        aside = dict(zip(offloaded, rows[len(messages) :], strict=True))
        manifest = Manifest(first=first, messages=tuple(rows[: len(messages)]), offloaded=aside)
        (where,) = self._contents.put(place.thread, [manifest.model_dump(mode="json")])
        self._kept.keep(place.thread, [*addresses, where])
        positions = [*range(first, first + len(messages)), *offloaded]
        if not self._contents.is_keyed:
            self._put_words(place, positions, addresses, [message for _, _, message in everything])
        return ArchivedPart(archive=where, archived_from=first, archived=len(messages))

    def _put_words(self, place: ContextPlace, positions: Sequence[int], addresses: Sequence[str], messages: Sequence[BaseMessage]) -> None:
        texts = {
            _index_key(position, address): text
            for position, address, message in zip(positions, addresses, messages, strict=True)
            if (text := self._words_of(message))
        }
        keys = list(texts)
        for start in range(0, len(keys), _AT_ONCE):
            self._index.put(index_space(place), {key: texts[key] for key in keys[start : start + _AT_ONCE]})

    def _words_of(self, message: BaseMessage) -> str:
        return indexed_text(message if self._shown is None else self._shown(message))

    def rows(self, place: ContextPlace, *, version: int | None = None, start: int = 0) -> list[tuple[int, Archived]]:
        """Return what the versions up to one took out of the view, oldest first, with positions.

        Args:
            place: Where.
            version: The version in force; what a branch that does not lead to it took out is not in the answer. `None`: the newest.
            start: Position from which on.
        """
        parts: list[tuple[int, Sequence[Archived]]] = []
        for span in self._spans(place, version, start=start):
            manifest = self._manifest(place, span.step)
            parts.append((span.first, manifest.messages[span.first - manifest.first : span.stop - manifest.first]))
        return [row for first, rows in sorted(parts, key=itemgetter(0)) for row in enumerate(rows, first)]

    def messages(self, place: ContextPlace, *, version: int | None = None, start: int = 0) -> Iterator[ArchivedMessage]:
        """Yield the archived messages of a place, oldest first; see `rows`.

        Raises:
            BlobMissingError: one is gone or altered.
        """
        rows = self.rows(place, version=version, start=start)
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            read = self._get(place.thread, [row.address for _, row in some])
            yield from (ArchivedMessage(position, row.key, row.address, message) for (position, row), message in zip(some, read, strict=True))

    def since(self, place: ContextPlace, seen: int) -> tuple[int, Iterable[ArchivedMessage]]:
        """Return the number of the newest version, and what the versions that lead to it took out and those that lead to `seen` did not.

        A branch made since then holds other messages at positions that were read before.

        Args:
            place: Where.
            seen: Number of the version up to which everything is known; 0: nothing is.

        Raises:
            BlobMissingError: a message is gone or altered.
        """
        steps = self._all(place)
        newest = next(reversed(steps), 0)
        fresh = [step.first for step in _beyond(steps, newest, seen) if step.manifest]
        return newest, self.messages(place, version=newest, start=min(fresh)) if fresh else ()

    def read(self, place: ContextPlace, addresses: Sequence[str]) -> dict[str, BaseMessage]:
        """Return messages by address.

        Raises:
            BlobMissingError: one is gone or altered.
        """
        wanted = list(dict.fromkeys(addresses))
        return dict(zip(wanted, self._get(place.thread, wanted), strict=True))

    def holding(self, place: ContextPlace, names: Sequence[str], *, version: int | None = None) -> dict[str, set[str]]:
        """Return under which addresses messages were archived, by `name_of`; of several versions that did, the newest counts.

        What was asked before is remembered: then only what was archived since is looked through.
        """
        answers = {name: answer for name in names if (answer := self._answers.get((place, name))) is not None}
        search = NameSearch(names, answers)
        newest = 0
        for step in self._line(place, version):
            newest = newest or step.number
            search.recall(step.number)
            if not search.wanted:
                break
            if step.manifest:
                search.look(self._manifest(place, step))
        if search.looked > 1 or answers:
            for name in names:
                self._answers.put((place, name), Answer(newest, frozenset(search.found.get(name, ()))))
        return search.found

    def find(self, place: ContextPlace, wanted: str, *, version: int | None = None) -> ArchivedMessage | None:
        """Return the message a name means: a handle, the id of a message, or that of a call it answers. `None` where there is none.

        Raises:
            BlobMissingError: it was archived and is gone.
        """
        position = wanted.partition("-")[0]
        if position.isdigit() and len(position) <= _DIGITS:
            named = self._at(place, int(position), version)
            if named is not None and handle_of(position=named[0], address=named[1].address) == wanted:
                return self._loaded(place, *named)
        for step in self._taken(place, version) if wanted else ():
            manifest = self._manifest(place, step)
            for at, row in [*manifest.offloaded.items(), *reversed([*enumerate(manifest.messages, manifest.first)])]:
                if wanted in (row.key, row.call_id) or (row.call_id and wanted == shown_id(row.call_id)):
                    return self._loaded(place, at, row)
        return None

    def search(self, place: ContextPlace, query: str, *, limit: int, version: int | None = None) -> list[Hit]:
        """Return the archived messages that share most with `query`, best first; the key of each is what `located` takes.

        Where content is encrypted there is no index of its words: every archived message is read.
        """
        if self._contents.is_keyed:
            return self._search_all(place, query, limit=limit, version=version)
        return self._index.search(index_space(place), query, limit=limit)

    def located(self, place: ContextPlace, hits: Sequence[Hit], *, version: int | None = None) -> list[tuple[int, Archived]]:
        """Return what hits stand for, in their order; one of a branch that does not lead to `version` is left out."""
        located = []
        for hit in hits:
            position, _, address = hit.key.partition(":")
            found = self._at(place, int(position), version) if position.isdigit() else None
            if found is not None and found[1].address == address:
                located.append(found)
        return located

    def has_left(self, place: ContextPlace, *, version: int | None = None) -> bool:
        """Say whether messages may have left the state: then what is missing there is missing because of that."""
        return any(step.has_left for step in islice(self._line(place, version), 1))

    def count(self, place: ContextPlace, *, version: int | None = None) -> int:
        """Return how many messages are archived."""
        return sum(span.stop - span.first for span in self._spans(place, version))

    def purge(self, thread: str, places: Sequence[ContextPlace]) -> int:
        """Erase all content of a thread and the words of its places, and return how many contents that were.

        What a `ContextCheckpointer` stored of the thread rests there as well, and goes too.
        """
        for place in places:
            self._index.purge(index_space(place))
        self._answers.clear()
        self._manifests.clear()
        return self._collections.purge(thread)

    def _get(self, thread: str, addresses: Sequence[str]) -> list[Any]:
        """Return content, also where a collection has set it aside between its being stored and its being put on record."""
        try:
            return self._contents.get(thread, addresses)
        except BlobMissingError:
            self._collections.give_back(thread, addresses)
            return self._contents.get(thread, addresses)

    def _search_all(self, place: ContextPlace, query: str, *, limit: int, version: int | None) -> list[Hit]:
        asked, beginnings = query_terms(query)
        matches: dict[str, dict[str, int]] = {}
        total = 0
        for one in self.messages(place, version=version):
            total += 1
            counts = index_terms(self._words_of(one.message))
            found = {term: counts[term] for term in asked if counts.get(term)}
            for beginning in beginnings:
                if count := sum(many for term, many in counts.items() if term.startswith(beginning)):
                    found[beginning] = count
            if found:
                matches[_index_key(one.position, one.address)] = found
        return [Hit(key=key, score=score) for key, score in ranked(matches, texts=total, limit=limit)]

    def _at(self, place: ContextPlace, position: int, version: int | None) -> tuple[int, Archived] | None:
        for step in self._taken(place, version):
            if step.first <= position < step.stop:
                return position, self._manifest(place, step).messages[position - step.first]
            if position >= step.stop and (aside := self._manifest(place, step).offloaded.get(position)) is not None:
                return position, aside
        return None

    def _loaded(self, place: ContextPlace, position: int, row: Archived) -> ArchivedMessage:
        (message,) = self._get(place.thread, [row.address])
        return ArchivedMessage(position, row.key, row.address, message)

    def _spans(self, place: ContextPlace, version: int | None, *, start: int = 0) -> Iterator[_Span]:
        """Yield what each version that leads to `version` took out from position `start` on, newest first and no position twice.

        A rollback brings messages back, and the version after it may take out fewer: the rest is still to be had of the older one.
        """
        covered: list[tuple[int, int]] = []
        for step in self._taken(place, version):
            if not any(outside(start, step.highest, covered)):
                return
            for first, stop in outside(max(start, step.first), step.stop, covered):
                yield _Span(first, stop, step)
            covered = with_stretch(covered, step.first, step.stop)

    def _taken(self, place: ContextPlace, version: int | None) -> Iterator[_Step]:
        """Yield the versions that lead to `version` and took something out, newest first."""
        return (step for step in self._line(place, version) if step.manifest)

    def _line(self, place: ContextPlace, version: int | None) -> Iterator[_Step]:
        """Yield the versions that lead to one, newest first."""
        steps = self._all(place)
        at = steps.get(version) if version is not None else None
        if at is None:
            # A state may be ahead of its record, or the record of its state.
            at = next((steps[number] for number in reversed(steps) if version is None or number <= version), None)
        while at is not None:
            yield at
            at = _before(steps, at)

    def _all(self, place: ContextPlace) -> dict[int, _Step]:
        """Return what is to be known of the versions of a place, by number, oldest first; those that were read before never change."""
        seen, steps = self._steps.get(place) or (0, {})
        fresh = self._versions.after(place, seen)
        if not fresh:
            return steps
        steps = dict(steps)  # another thread may be reading the old one
        for one in fresh:
            steps[one.number] = _step_of(one, steps)
        self._steps.put(place, (seen + len(fresh), steps))
        return steps

    def _manifest(self, place: ContextPlace, step: _Step) -> Manifest:
        name = (place.thread, step.manifest)
        if (known := self._manifests.get(name)) is not None:
            return known
        (data,) = self._get(place.thread, [step.manifest])
        try:
            manifest = Manifest.model_validate(data)
        except ValidationError as error:
            msg = (
                f"The list of messages that version {step.number} of thread '{place.thread}' archived cannot be read. Nothing was changed; "
                "upgrade langchain-ctxguard if a later version wrote it."
            )
            raise StoreError(msg) from error
        self._manifests.put(name, manifest)
        return manifest


_DIGITS = 15


def _index_key(position: int, address: str) -> str:
    return f"{position}:{address}"


def index_space(place: ContextPlace) -> str:
    """Return the space of the words of a place's archive."""
    return canonical_json(["archive", place.thread, place.namespace])


def _step_of(version: ContextVersion, steps: Mapping[int, _Step]) -> _Step:
    before = steps.get(version.parent) if version.parent < version.number else None
    stop = version.archived_from + version.archived if version.archive else 0
    highest = max(stop, 0 if before is None else before.highest)
    has_left = version.left_state or (before is not None and before.has_left)
    return _Step(version.number, version.parent, version.archive, version.archived_from, stop, highest, has_left)


def _before(steps: Mapping[int, _Step], step: _Step | None) -> _Step | None:
    """Return the version one was made from."""
    return None if step is None or step.parent >= step.number else steps.get(step.parent)


def _beyond(steps: Mapping[int, _Step], number: int, other: int) -> Iterator[_Step]:
    """Yield the versions that lead to one and not to the other, newest first."""
    at, known = steps.get(number), steps.get(other)
    while at is not None:
        while known is not None and known.number > at.number:
            known = _before(steps, known)
        if known is not None and known.number == at.number:
            return
        yield at
        at = _before(steps, at)
