"""Contents a process read or wrote lately, so that a turn of a running process fetches and decodes only what is new. Losing them costs time.

What is kept could hide that the store lost or altered it. So it holds only as long as nothing was removed from the thread's space, as the store says;
each read holds some of it against the store, the next ones each time; and a new process reads everything from the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.backends.message_state import State

Content = State | bytes
"""A message as its state, anything else as its bytes."""

_LARGEST = 64 * 2**20
"""Bytes kept over all threads, as stored."""

_BESIDE = 600
"""Bytes an entry takes beside its content, about."""

_CHECKED = 8
"""Contents that each read holds against the store."""


class Place(NamedTuple):
    """Where digests hold: a thread's space, as long as nothing was removed from it."""

    thread: str
    epoch: int
    key: bytes


class _Space:
    """What is kept of one thread."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.contents: dict[bytes, Content] = {}
        # Apart: a pair for each of thousands would keep the garbage collector busy.
        self.sizes: dict[bytes, int] = {}
        self.size = 0
        self.checked = 0
        """Where in the list the next look at the store begins."""


class RecentContents:
    """Contents by thread and digest. Safe under threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._spaces: OrderedDict[str, _Space] = OrderedDict()
        self._size = 0
        self._lock = ForkSafeLock()

    def of(self, names: Sequence[bytes], place: Place) -> dict[bytes, Content]:
        """Return those of these contents that are kept."""
        with self._lock:
            space = self._at(place)
            kept = {} if space is None else space.contents
            return {name: found for name in names if (found := kept.get(name)) is not None}

    def to_check(self, names: Sequence[bytes], place: Place) -> list[bytes]:
        """Return which of these contents, all of them kept, are to be held against the store now."""
        with self._lock:
            space = self._at(place)
            if space is None or len(names) <= _CHECKED:
                return list(names)
            start = space.checked % len(names)
            space.checked = start + _CHECKED
            return [*names[start : start + _CHECKED], *names[: max(0, start + _CHECKED - len(names))]]

    def keep(self, contents: Mapping[bytes, Content], sizes: Sequence[int], place: Place, needed: Sequence[bytes] = ()) -> None:
        """Keep contents.

        Args:
            contents: By digest.
            sizes: How many bytes each has, in their order.
            place: Where they are stored; it was asked for before they were.
            needed: What else of the thread is needed still, where not all of it fits.
        """
        with self._lock:
            space = self._at(place)
            if space is None:
                self._drop(place.thread)
                space = self._spaces[place.thread] = _Space(place)
            self._spaces.move_to_end(place.thread)
            new = [(name, size) for name, size in zip(contents, sizes, strict=True) if name not in space.contents]
            if space.size + sum(size + _BESIDE for _, size in new) > _LARGEST:
                self._only(space, needed)
            for name, size in new:
                if space.size + size + _BESIDE > _LARGEST:
                    break
                space.contents[name] = contents[name]
                space.sizes[name] = size
                space.size += size + _BESIDE
                self._size += size + _BESIDE
            while self._size > _LARGEST:
                self._drop(next(iter(self._spaces)))

    def forget(self, thread: str) -> None:
        """Forget the contents of a thread."""
        with self._lock:
            self._drop(thread)

    def _at(self, place: Place) -> _Space | None:
        space = self._spaces.get(place.thread)
        return space if space is not None and space.place == place else None

    def _only(self, space: _Space, names: Sequence[bytes]) -> None:
        was = space.size
        space.contents = {name: found for name in names if (found := space.contents.get(name)) is not None}
        space.sizes = {name: space.sizes[name] for name in space.contents}
        space.size = sum(size + _BESIDE for size in space.sizes.values())
        self._size += space.size - was

    def _drop(self, thread: str) -> None:
        space = self._spaces.pop(thread, None)
        self._size -= 0 if space is None else space.size
