"""What was found in texts that were read before: an agent compacts again and again, and most messages are the same each time.

Kept are digests of texts, never the texts; places, values and labels of what stands in them. The oldest readings leave first.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import NamedTuple

from langchain_ctxguard.domain.control import FieldKind

CAPACITY = 64_000
"""Fields remembered, over all readings; a text without any counts as one."""

_LARGEST = CAPACITY // 8
"""A text with more fields than this would push out too many others."""


class Read(NamedTuple):
    """A field of a text, whoever says it in whatever message."""

    kind: FieldKind
    start: int
    stop: int
    label: str
    value: str | None
    confidence: float
    critical: bool
    key: str
    """What `normalize.key_of` gives for it."""


class Memo:
    """Readings by the text they are of and what else they hang on. Safe to share between threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Begin empty."""
        self._capacity = capacity
        self._held: OrderedDict[Hashable, tuple[Read, ...]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> tuple[Read, ...] | None:
        """Return a reading, which becomes the newest, or `None`."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: Hashable, reading: tuple[Read, ...]) -> None:
        """Remember a reading; the oldest others leave if they are too many now."""
        if len(reading) > _LARGEST:
            return
        with self._lock:
            if key in self._held:
                return
            self._held[key] = reading
            self._size += len(reading) + 1
            while self._size > self._capacity:
                _, old = self._held.popitem(last=False)
                self._size -= len(old) + 1

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._size = 0

    def __len__(self) -> int:
        """Return how many texts are remembered."""
        return len(self._held)


def digest(text: str) -> bytes:
    """Return what stands for a text: no two texts share it."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()
