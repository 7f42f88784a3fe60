"""Which digests are stored, as far as a process saw: bounded, also for one thread that never ends. Losing it costs time, never a byte."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.core.manifest import is_node
from langchain_ctxguard.graph.recent_contents import Place

Found = TypeVar("Found")

_LARGEST = 64 * 2**20
"""Bytes kept over all threads, about."""

_YOUNG = 16 * 2**20
"""Bytes after which what a thread was not asked for since is forgotten, about."""

_DIGEST = 170
"""Bytes a digest takes."""

_NODE = 150
"""Bytes a node takes beside its digest and its content."""


class NodeNames:
    """Digests of nodes by their content."""

    def __init__(self, young: Mapping[bytes, bytes], old: Mapping[bytes, bytes]) -> None:
        """Take what was named lately, and what was before that."""
        self._young, self._old = young, old

    def get(self, content: bytes) -> bytes | None:
        """Return the digest of a node, if it is known: to look here costs less than to make one."""
        return self._young.get(content) or self._old.get(content)


class _Space:
    """What is stored of one thread: what was named lately, and what was before that and is forgotten unless it is asked for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._young: dict[bytes, bytes | None] = {}
        self._old: dict[bytes, bytes | None] = {}
        self._young_names: dict[bytes, bytes] = {}
        self._old_names: dict[bytes, bytes] = {}
        self._young_size = 0
        self._old_size = 0

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        return self._young_size + self._old_size

    @property
    def names(self) -> NodeNames:
        """The digests of its nodes."""
        return NodeNames(self._young_names, self._old_names)

    def has(self, name: bytes) -> bool:
        """Say whether a digest is known to be stored."""
        if name in self._young:
            return True
        if name not in self._old:
            return False
        self._put(name, self._old[name])
        return True

    def node(self, name: bytes) -> bytes | None:
        """Return a node by its digest."""
        return (self._young.get(name) or self._old.get(name)) if self.has(name) else None

    def add(self, contents: Mapping[bytes, bytes]) -> None:
        """Keep in mind that contents are stored, and the nodes among them."""
        for name, content in contents.items():
            if name not in self._young:
                self._put(name, content if is_node(content) else None)

    def _put(self, name: bytes, node: bytes | None) -> None:
        self._young[name] = node
        self._young_size += _DIGEST
        if node is not None:
            self._young_names[node] = name
            self._young_size += _NODE + len(node)
        if self._young_size > _YOUNG:
            self._old, self._old_names, self._old_size = self._young, self._young_names, self._young_size
            self._young, self._young_names, self._young_size = {}, {}, 0


class StoredDigests:
    """Digests by thread. Safe under threads."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._spaces: OrderedDict[str, _Space] = OrderedDict()
        self._size = 0
        self._lock = ForkSafeLock()

    def absent(self, names: Iterable[bytes], place: Place) -> list[bytes]:
        """Return which of these digests are not known to be stored, each once, in order."""
        with self._lock:
            wanted = list(dict.fromkeys(names))
            space = self._at(place)
            return wanted if space is None else self._counted(space, lambda: [name for name in wanted if not space.has(name)])

    def nodes(self, names: Iterable[bytes], place: Place) -> dict[bytes, bytes]:
        """Return the nodes of these that are known: they hold digests, and what has a digest never changes."""
        with self._lock:
            space = self._at(place)
            if space is None:
                return {}
            return self._counted(space, lambda: {name: node for name in names if (node := space.node(name)) is not None})

    def add(self, contents: Mapping[bytes, bytes], place: Place) -> None:
        """Keep in mind that contents are stored, and the nodes among them. `place` was asked for before they were."""
        with self._lock:
            space = self._at(place)
            if space is None:
                self._drop(place.thread)
                space = self._spaces[place.thread] = _Space(place)
            self._counted(space, lambda: space.add(contents))
            self._spaces.move_to_end(place.thread)
            while self._size > _LARGEST and len(self._spaces) > 1:
                self._drop(next(iter(self._spaces)))

    def node_names(self, place: Place) -> NodeNames:
        """Return the digests of known nodes."""
        with self._lock:
            space = self._at(place)
            return NodeNames({}, {}) if space is None else space.names

    def forget(self, thread: str) -> None:
        """Forget what is stored of a thread."""
        with self._lock:
            self._drop(thread)

    def _counted(self, space: _Space, work: Callable[[], Found]) -> Found:
        """Do something that may change how much a thread takes: also who asks does, since what is asked for stays longer."""
        was = space.size
        found = work()
        self._size += space.size - was
        return found

    def _at(self, place: Place) -> _Space | None:
        space = self._spaces.get(place.thread)
        return space if space is not None and space.place == place else None

    def _drop(self, thread: str) -> None:
        space = self._spaces.pop(thread, None)
        self._size -= 0 if space is None else space.size
