"""The last answers about streams, so that only what was added is read again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from langchain_ctxguard.domain.log import Stream

Kept = TypeVar("Kept")

_STREAMS = 1_024


class Newest(Generic[Kept]):
    """What streams added up to when they were last read. Losing it costs a reading."""

    def __init__(self, size: int = _STREAMS) -> None:
        """Remember at most `size` streams."""
        self._size = size
        self._entries: OrderedDict[Stream, tuple[int, Kept]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stream: Stream) -> Kept | None:
        """Return what is remembered."""
        with self._lock:
            found = self._entries.get(stream)
            return None if found is None else found[1]

    def put(self, stream: Stream, kept: Kept, seq: int) -> None:
        """Remember what a stream added up to at entry `seq`, unless something later is known."""
        with self._lock:
            known = self._entries.get(stream)
            if known is None or known[0] <= seq:
                self._entries[stream] = (seq, kept)
                self._entries.move_to_end(stream)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
