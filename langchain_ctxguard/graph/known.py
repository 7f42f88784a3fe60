"""What a process knows about stored values: which object has which digest, and which digests are stored. Losing it costs time, never a byte.

Messages can be changed in place. So an object is known by its class and by each of its fields: a copy of them, down to the texts in its lists, is
kept here and compared before its digest is used again. Texts are the same objects as a rule, so to compare them is to look at them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.backends.message_state import State
from langchain_ctxguard.graph.recent_contents import Place, RecentContents
from langchain_ctxguard.graph.stored_digests import StoredDigests
from langchain_ctxguard.records.bounded import Bounded

_FEW = 16
"""What a manifest of more items leads to is kept in mind."""

_THREADS = 256
"""Threads whose newest manifests are kept in mind."""

_TURNS = 32
"""Locks for storing, shared by all threads."""

_LISTS = 4
"""Lists of objects kept in mind for one thread: a run has one for each of its subgraphs."""


class Listed(NamedTuple):
    """What a manifest leads to."""

    items: Sequence[bytes]
    nodes: Sequence[bytes]


class Snapshot:
    """Objects as they were when they were read or written, in columns: an object for each of thousands would burden the garbage collector."""

    def __init__(self, place: Place) -> None:
        """Begin with none."""
        self.place = place
        self.is_watched = False
        self._index: dict[int, int] = {}
        self._kinds: list[type[Any]] = []
        self._fields: list[dict[str, Any]] = []
        self._extras: list[dict[str, Any] | None] = []
        self._names: list[bytes] = []
        self._lock = ForkSafeLock()

    def __len__(self) -> int:
        """Return how many objects were added."""
        return len(self._names)

    def add(self, objects: Sequence[tuple[Any, bytes, State]]) -> None:
        """Keep the digests of objects, and their states as they were when they were written."""
        with self._lock:
            at = len(self._names)
            self._kinds += [state.kind for _, _, state in objects]
            self._fields += [state.fields for _, _, state in objects]
            self._extras += [state.extra for _, _, state in objects]
            self._names += [name for _, name, _ in objects]
            # Last, so that nobody finds half of it.
            self._index.update({id(value): number for number, (value, _, _) in enumerate(objects, at)})

    def names_of(self, values: Sequence[Any]) -> list[bytes | None]:
        """Return the digest of each object that is here and was not changed since."""
        found = list(map(self._index.get, map(id, values)))
        try:
            return self._same(values, found)
        except RecursionError:
            # One of them holds itself.
            return [self._same_or_none(value, at) for value, at in zip(values, found, strict=True)]

    def _same(self, values: Sequence[Any], found: Sequence[int | None]) -> list[bytes | None]:
        kinds, fields, extras, names = self._kinds, self._fields, self._extras, self._names
        return [
            names[at]
            if at is not None and type(value) is kinds[at] and value.__dict__ == fields[at] and value.__pydantic_extra__ == extras[at]
            else None
            for value, at in zip(values, found, strict=True)
        ]

    def _same_or_none(self, value: Any, at: int | None) -> bytes | None:
        try:
            return self._same([value], [at])[0]
        except RecursionError:
            return None


class Known:
    """Digests of objects, and digests that are stored. Safe under threads."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._snapshots: dict[str, list[Snapshot]] = {}
        self.stored = StoredDigests()
        """Which digests are stored."""

        self._turns = [ForkSafeLock() for _ in range(_TURNS)]
        self._lists: Bounded[dict[tuple[Place, bytes], Listed]] = Bounded(_THREADS)
        self._places: Bounded[tuple[float, Place]] = Bounded(1_024)
        self.contents = RecentContents()
        """Contents this process read or wrote lately."""

        self._lock = ForkSafeLock()

    def place_of(self, thread: str) -> tuple[float, Place] | None:
        """Return where digests of a thread held when it was last asked, and when that was."""
        return self._places.get(thread)

    def keep_place(self, place: Place, asked: float) -> None:
        """Keep where digests of a thread hold, and when the store was asked."""
        self._places.put(place.thread, (asked, place))

    def listed(self, data: bytes, place: Place) -> Listed | None:
        """Return what a manifest leads to, if it was written or read lately."""
        return (self._lists.get(place.thread) or {}).get((place, data))

    def keep_list(self, data: bytes, listed: Listed, place: Place) -> None:
        """Keep what a manifest leads to: it never leads to anything else."""
        if len(listed.items) <= _FEW:
            return
        others = [one for one in (self._lists.get(place.thread) or {}).items() if one[0] != (place, data)]
        self._lists.put(place.thread, dict([*others[1 - _LISTS :], ((place, data), listed)]))

    def names_of(self, values: Sequence[Any], place: Place) -> list[bytes | None]:
        """Return the digest of each object that is known there and was not changed since, else `None`."""
        found: list[bytes | None] = [None] * len(values)
        left: Sequence[int] = range(len(values))
        # The longest first: as a rule it has all but the newest.
        for snapshot in sorted(self._snapshots.get(place.thread, ()), key=len, reverse=True):
            if snapshot.place == place and left:
                here = snapshot.names_of(values if len(left) == len(values) else [values[index] for index in left])
                for index, name in zip(left, here, strict=True):
                    found[index] = name
                left = [index for index in left if found[index] is None]
        return found

    def remember(self, objects: Iterable[tuple[Any, bytes, State | None]], place: Place, *, is_read: bool = False) -> None:
        """Keep the digests of objects, as long as the last of them lives.

        Args:
            objects: Each with its digest, and with its state as it was when it was written or read.
            place: Where their content is stored.
            is_read: They were read just now, so that nobody has them yet: they get a list of their own.
        """
        known = [(value, name, state) for value, name, state in objects if state is not None]
        if not known:
            return
        snapshot = self._snapshot(place, is_new=is_read)
        snapshot.add(known)
        if not snapshot.is_watched:
            snapshot.is_watched = True
            self._watch(known[-1][0], place.thread, snapshot)

    def _snapshot(self, place: Place, *, is_new: bool) -> Snapshot:
        with self._lock:
            lists = [one for one in self._snapshots.get(place.thread, ()) if one.place == place]
            if lists and not is_new:
                return lists[0]
            snapshot = Snapshot(place)
            self._snapshots[place.thread] = [snapshot, *lists][:_LISTS]
        return snapshot

    def _watch(self, value: Any, thread: str, snapshot: Snapshot) -> None:
        def gone() -> None:
            left = [one for one in self._snapshots.get(thread, ()) if one is not snapshot]
            if left:
                self._snapshots[thread] = left
            else:
                self._snapshots.pop(thread, None)

        weakref.finalize(value, gone).atexit = False

    def turn(self, thread: str) -> ForkSafeLock:
        """Return what makes those who store contents of a thread go one after the other: the second need not store what the first just did."""
        return self._turns[hash(thread) % len(self._turns)]

    def forget(self, thread: str) -> None:
        """Forget what is stored of a thread."""
        self._places.drop(thread)
        self._lists.drop(thread)
        self.contents.forget(thread)
        self.stored.forget(thread)
