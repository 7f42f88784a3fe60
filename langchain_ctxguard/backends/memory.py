"""A log in the memory of one process: for tests, for trying things out, and for rules that come from code anyway."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

from langchain_ctxguard.domain.log import Entry, Stream, chained
from langchain_ctxguard.errors import LogConflictError
from langchain_ctxguard.ports import Clock


class MemoryLog:
    """A `Log` that ends with its process. Safe under threads."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        """Begin empty.

        Args:
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._clock = clock or (lambda: datetime.now(UTC))
        self._entries: dict[Stream, list[Entry]] = {}
        self._refs: dict[str, list[Entry]] = {}
        self._lock = threading.Lock()

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one; see `ports.Log`."""
        with self._lock:
            entries = self._entries.get(stream, [])
            if expected is not None and expected != len(entries):
                raise LogConflictError(stream, expected=expected, found=len(entries))
            added: list[Entry] = []
            last = entries[-1] if entries else None
            for body in bodies:
                last = chained(stream, last, self._clock(), body, tuple(dict.fromkeys(refs)))
                added.append(last)
            # Nothing is kept unless all of it is.
            self._entries.setdefault(stream, entries).extend(added)
            for entry in added:
                for ref in entry.refs:
                    self._refs.setdefault(ref, []).append(entry)
            return added

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`."""
        with self._lock:
            return list(self._entries.get(stream, ())[max(since, 0) :])

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one."""
        with self._lock:
            return [len(self._entries.get(stream, ())) for stream in streams]

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first."""
        with self._lock:
            return list(self._refs.get(ref, ()))
