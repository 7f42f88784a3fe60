"""Every message that left a view, kept in the space of its thread: listed by the versions that took it out, found by its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from langchain_ctxguard.core.identity import name_in
from langchain_ctxguard.core.recalled import indexed_text, shown_id
from langchain_ctxguard.core.search_terms import index_terms, query_terms, ranked
from langchain_ctxguard.domain.archive import Archived, ArchivedPart, Manifest, handle_of
from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
from langchain_ctxguard.domain.hit import Hit
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.ports import TextIndex
from langchain_ctxguard.records.collected import Collections
from langchain_ctxguard.records.kept import KeptContent
from langchain_ctxguard.records.versions import VersionLog

_MANIFESTS = 1_024
_PLACES = 64
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


class _Span(NamedTuple):
    """The positions a version is asked for: of what several took out, the newest counts."""

    first: int
    stop: int
    version: ContextVersion


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
        self._manifests: dict[tuple[str, str], Manifest] = {}
        self._lines: dict[ContextPlace, tuple[ContextVersion, ...]] = {}

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
        found: list[tuple[int, Archived]] = []
        for span in self._spans(place, version):
            if span.stop <= start:
                break
            manifest = self._manifest(place, span.version)
            rows = manifest.messages[max(start, span.first) - manifest.first : span.stop - manifest.first]
            found += reversed([*enumerate(rows, max(start, span.first))])
        return found[::-1]

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
        every = self._all(place)
        newest = every[-1].number if every else 0
        if newest == seen:
            return newest, ()
        by_number = {one.number: one for one in every}
        known = {one.number for one in _line(by_number, seen)}
        fresh = [one.archived_from for one in _line(by_number, newest) if one.archive and one.number not in known]
        return newest, self.messages(place, version=newest, start=min(fresh)) if fresh else ()

    def read(self, place: ContextPlace, addresses: Sequence[str]) -> dict[str, BaseMessage]:
        """Return messages by address.

        Raises:
            BlobMissingError: one is gone or altered.
        """
        wanted = list(dict.fromkeys(addresses))
        return dict(zip(wanted, self._get(place.thread, wanted), strict=True))

    def holding(self, place: ContextPlace, names: Sequence[str], *, version: int | None = None) -> dict[str, set[str]]:
        """Return under which addresses messages were archived, by `name_of`; looks only as far back as it must."""
        wanted = set(names)
        found: dict[str, set[str]] = {}
        for span in self._spans(place, version):
            if not wanted:
                break
            for row in self._manifest(place, span.version).messages:
                name = name_in(row.key)
                if name in wanted or name in found:
                    found.setdefault(name, set()).add(row.address)
            wanted -= found.keys()
        return found

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
        for span in self._spans(place, version) if wanted else ():
            manifest = self._manifest(place, span.version)
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
        return any(span.version.left_state for span in self._spans(place, version))

    def count(self, place: ContextPlace, *, version: int | None = None) -> int:
        """Return how many messages are archived."""
        return sum(span.stop - span.first for span in self._spans(place, version))

    def purge(self, thread: str, places: Sequence[ContextPlace]) -> int:
        """Erase all content of a thread and the words of its places, and return how many contents that were.

        What a `ContextCheckpointer` stored of the thread rests there as well, and goes too.
        """
        for place in places:
            self._index.purge(index_space(place))
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
        for span in self._spans(place, version):
            if span.first <= position < span.stop:
                manifest = self._manifest(place, span.version)
                return position, manifest.messages[position - manifest.first]
            if position >= span.stop:
                aside = self._manifest(place, span.version).offloaded.get(position)
                if aside is not None:
                    return position, aside
        return None

    def _loaded(self, place: ContextPlace, position: int, row: Archived) -> ArchivedMessage:
        (message,) = self._get(place.thread, [row.address])
        return ArchivedMessage(position, row.key, row.address, message)

    def _spans(self, place: ContextPlace, version: int | None) -> Iterator[_Span]:
        """Yield what each version that leads to `version` took out, newest first and no position twice."""
        every = self._all(place)
        by_number = {one.number: one for one in every}
        at = by_number.get(version) if version is not None else None
        if at is None:
            # A state may be ahead of its record, or the record of its state.
            at = next((one for one in reversed(every) if version is None or one.number <= version), None)
        covered: int | None = None
        while at is not None:
            if at.archive:
                stop = at.archived_from + at.archived
                stop = stop if covered is None else min(stop, covered)
                yield _Span(min(at.archived_from, stop), stop, at)
                covered = min(at.archived_from, stop) if covered is None else min(covered, at.archived_from)
            at = by_number.get(at.parent) if at.parent < at.number else None

    def _all(self, place: ContextPlace) -> tuple[ContextVersion, ...]:
        """Return the versions of a place; those that were read before never change."""
        known = self._lines.get(place, ())
        fresh = self._versions.after(place, len(known))
        if not fresh:
            return known
        every = (*known, *fresh)
        if len(self._lines) >= _PLACES:
            self._lines.clear()
        self._lines[place] = every
        return every

    def _manifest(self, place: ContextPlace, version: ContextVersion) -> Manifest:
        name = (place.thread, version.archive)
        known = self._manifests.get(name)
        if known is not None:
            return known
        (data,) = self._get(place.thread, [version.archive])
        try:
            manifest = Manifest.model_validate(data)
        except ValidationError as error:
            msg = (
                f"The list of messages that version {version.number} of thread '{place.thread}' archived cannot be read. Nothing was changed; "
                "upgrade langchain-ctxguard if a later version wrote it."
            )
            raise StoreError(msg) from error
        if len(self._manifests) >= _MANIFESTS:
            self._manifests.clear()
        self._manifests[name] = manifest
        return manifest


_DIGITS = 15


def _index_key(position: int, address: str) -> str:
    return f"{position}:{address}"


def index_space(place: ContextPlace) -> str:
    """Return the space of the words of a place's archive."""
    return canonical_json(["archive", place.thread, place.namespace])


def _line(by_number: Mapping[int, ContextVersion], number: int) -> Iterator[ContextVersion]:
    """Yield the versions that lead to one, newest first."""
    at = by_number.get(number)
    while at is not None:
        yield at
        at = by_number.get(at.parent) if at.parent < at.number else None
