"""Values of a thread in and out of its space: what is new is stored, what is named is read. Synchronous; nothing here knows a saver."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.backends.message_state import State, state_of
from langchain_ctxguard.core import manifest as trees
from langchain_ctxguard.core.manifest import Manifest, is_node
from langchain_ctxguard.core.message_blob import digest
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.envelope import CARRIERS, INSIDE, MARK, has_messages, is_long, is_marked, opened, replaced
from langchain_ctxguard.graph.known import Known, Listed
from langchain_ctxguard.graph.reading_contents import Reading, kept_form
from langchain_ctxguard.graph.recent_contents import Place
from langchain_ctxguard.records.collected import Collections

_SMALL = 512
"""A single value of fewer bytes stays where it is."""

FRESH_S = 0.5
"""How long the answer is good whether anything of a thread was removed: the steps of a turn ask once."""

_OPEN = 4
"""As many nodes stand in the checkpoint itself before they are stored, if nothing else is to be stored."""


class Manifests:
    """Turns values into manifests and back, for any thread of a store. Safe under threads."""

    def __init__(
        self, store: Any, *, serde: SerializerProtocol, channels: Iterable[str], known: Known | None = None, file: str | None = None
    ) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore`.
            serde: The saver's.
            channels: Whose values are stored apart.
            known: What this process knows already; shared with a clone that has another serializer.
            file: The SQLite file the checkpoints are written to, if they are.
        """
        self.store, self.file = store, file
        self.collections = Collections(store)
        contents = store.blobs.followed(file) if file and hasattr(store.blobs, "followed") else store.blobs
        self.blobs = MessageBlobs(contents, serde=serde, give_back=self.collections.give_back)
        self.channels = frozenset(channels)
        self.known = known or Known()

    def values(self, thread: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a checkpoint as they are to be stored; what they name is durable."""
        writing = _Writing(self, thread)
        done = {channel: writing.stands_for(channel, value) for channel, value in values.items()}
        writing.finish()
        return done

    def writes(self, thread: str, writes: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Return pending writes as they are to be stored; what they name is durable."""
        writing = _Writing(self, thread)
        done = [(channel, writing.stands_for(channel, value)) for channel, value in writes]
        writing.finish()
        return done

    def concerns(self, writes: Sequence[tuple[str, Any]]) -> bool:
        """Say whether there may be anything in these writes to be stored."""
        return any(channel in self.channels or channel in CARRIERS or is_marked(value) for channel, value in writes)

    def read(self, thread: str, values: Sequence[Any]) -> list[Any]:
        """Return what stored values stand for, read in as few questions as the deepest tree has levels.

        Raises:
            BlobMissingError: something they name is gone or altered.
            StoreError: a manifest cannot be read.
        """
        named = [data for value in values for data in manifests_in(value)]
        if not named:
            return list(values)
        contents = Reading(self, thread, {data: self.manifest(thread, data) for data in named})
        return [opened(value, contents.value) for value in values]

    def manifest(self, thread: str, data: Any) -> Manifest:
        """Return a manifest.

        Raises:
            StoreError: it cannot be read.
        """
        try:
            return trees.unpacked(data)
        except (ValueError, TypeError) as error:
            msg = f"A manifest of thread '{thread}' {error}. Nothing was returned; restore the checkpoint."
            raise StoreError(msg) from error

    def place(self, thread: str) -> Place:
        """Return where digests of the thread hold: as the store says now, or said a moment ago."""
        asked, known = time.monotonic(), self.known.place_of(thread)
        if known is not None and asked - known[0] < FRESH_S:
            return known[1]
        epoch = self.collections.epoch(thread)
        if known is not None and known[1].epoch == epoch:
            place = known[1]
        else:
            place = Place(thread, epoch, self.blobs.key_of(thread) if self.blobs.is_keyed else b"")
        self.known.keep_place(place, asked)
        return place


class _Writing:
    """What one checkpoint, or one set of writes, stores."""

    def __init__(self, manifests: Manifests, thread: str) -> None:
        self._manifests = manifests
        self._thread = thread
        self._contents: dict[bytes, bytes] = {}
        self._objects: list[tuple[Any, bytes, State | None]] = []
        self._lists: list[tuple[bytes, Listed]] = []
        self._at: Place | None = None

    def stands_for(self, channel: str, value: Any) -> Any:
        """Return what is stored in place of the value of a channel."""
        channels = self._manifests.channels
        if channel in channels:
            return self._named(value)
        if channel in CARRIERS:
            return self._inside(value, lambda part, key: has_messages(part) or (key in channels and is_long(part)))
        return self._one(value) if is_marked(value) else value

    def finish(self) -> None:
        """Store what is not there yet."""
        if self._at is None:
            return
        blobs, known = self._manifests.blobs, self._manifests.known
        with known.turn(self._thread):
            absent = known.stored.absent(self._contents, self._at)
            if absent:
                blobs.put_contents(self._thread, {name: self._contents[name] for name in absent}, self._at.key)
            known.stored.add({name: self._contents[name] for name in absent}, self._at)
        items = {name: self._contents[name] for name in absent if not is_node(self._contents[name])}
        known.contents.keep(kept_form(blobs, items), [len(content) for content in items.values()], self._at)
        known.remember(self._objects, self._at)
        for data, listed in self._lists:
            known.keep_list(data, listed, self._at)

    @property
    def _place(self) -> Place:
        # Asked before anything is stored, and only where something is: what is removed afterwards moves it.
        if self._at is None:
            self._at = self._manifests.place(self._thread)
        return self._at

    def _named(self, value: Any) -> Any:
        if isinstance(value, _DeltaSnapshot):
            return _DeltaSnapshot(self._named(value.value))
        if is_long(value):
            return self._list(value)
        if isinstance(value, BaseMessage):
            return self._one(value)
        inside = self._inside(value, lambda part, _key: has_messages(part))
        if inside is not value or value is None or isinstance(value, int | float) or (isinstance(value, str | bytes) and len(value) < _SMALL):
            return inside
        name, content = self._content(value)
        if len(content) < _SMALL:
            return value
        self._contents[name] = content
        return self._marked(trees.of_one(name, is_keyed=self._manifests.blobs.is_keyed))

    def _inside(self, value: Any, wanted: Any) -> Any:
        if is_marked(value) or wanted(value, None):
            return self._part(value)
        new = replaced(value, self._part, wanted)
        return value if new is value else {INSIDE: new}

    def _part(self, value: Any) -> dict[str, bytes]:
        return self._list(value) if is_long(value) else self._one(value)

    def _list(self, values: list[Any]) -> dict[str, bytes]:
        place, keyed = self._place, self._manifests.blobs.is_keyed
        names = self._names(values)
        known = self._manifests.known.stored.node_names(place)
        tree, nodes = trees.of_list(names, lambda content: known.get(content) or digest(content, place.key), is_keyed=keyed)
        absent = {name: nodes[name] for name in self._manifests.known.stored.absent(nodes, place)}
        fresh = frozenset(absent)
        if not self._contents and len(absent) <= _OPEN:
            tree = trees.with_open_ends(tree, absent)
        self._contents |= absent
        marked = self._marked(tree)
        self._lists.append((marked[MARK], Listed(names, [name for name in nodes if name not in fresh or name in absent])))
        return marked

    def _one(self, value: Any) -> dict[str, bytes]:
        return self._marked(trees.of_one(self._names([value])[0], is_keyed=self._manifests.blobs.is_keyed))

    def _names(self, values: list[Any]) -> list[bytes]:
        known = self._manifests.known.names_of(values, self._place)
        return [name if name is not None else self._new(value) for name, value in zip(known, values, strict=True)]

    def _new(self, value: Any) -> bytes:
        # Its state before its content: if somebody changes it in between, the one no longer fits the other, and it is written again.
        state = state_of(value)
        name, content = self._content(value)
        self._contents[name] = content
        self._objects.append((value, name, state))
        return name

    def _content(self, value: Any) -> tuple[bytes, bytes]:
        return self._manifests.blobs.content_of(value, self._place.key)

    def _marked(self, tree: Manifest) -> dict[str, bytes]:
        return {MARK: trees.packed(tree)}


def manifests_in(value: Any) -> list[bytes]:
    """Return the manifests that stand in a stored value."""
    found: list[bytes] = []
    opened(value, found.append)
    return found
