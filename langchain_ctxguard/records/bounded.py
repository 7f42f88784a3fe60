"""A small cache that forgets what was used longest ago."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class Bounded(Generic[Kept]):
    """A small cache that forgets what was used longest ago. Safe under threads."""

    def __init__(self, size: int) -> None:
        """Hold at most `size` entries."""
        self._size = size
        self._entries: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Kept | None:
        """Return the entry of `key`, if it is still there."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: Hashable, value: Kept) -> None:
        """Keep `value`."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Forget the entry of `key`, if there is one."""
        with self._lock:
            self._entries.pop(key, None)

    def drop_where(self, is_meant: Callable[[Hashable], bool]) -> None:
        """Forget the entries whose key is meant."""
        with self._lock:
            for key in [key for key in self._entries if is_meant(key)]:
                del self._entries[key]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
