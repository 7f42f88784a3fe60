"""A log in memory that is bounded: whole streams are forgotten, those that were used longest ago first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.ports import Clock


class RecentStreams:
    """A `Log` for what a process keeps of threads without a store. Safe under threads."""

    def __init__(self, *, size: int = 8_192, clock: Clock | None = None) -> None:
        """Keep at most `size` streams."""
        self._size = size
        self._clock = clock
        self._logs: OrderedDict[Stream, MemoryLog] = OrderedDict()
        self._lock = threading.Lock()

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one; see `ports.Log`."""
        with self._lock:
            log = self._logs.setdefault(stream, MemoryLog(clock=self._clock))
            self._logs.move_to_end(stream)
            while len(self._logs) > self._size:
                self._logs.popitem(last=False)
        return log.append(stream, bodies, expected=expected, refs=refs)

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`."""
        log = self._used(stream)
        return [] if log is None else log.read(stream, since)

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one."""
        return [0 if (log := self._used(stream)) is None else log.heads([stream])[0] for stream in streams]

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`."""
        with self._lock:
            logs = list(self._logs.values())
        return [entry for log in logs for entry in log.find(ref)]

    def _used(self, stream: Stream) -> MemoryLog | None:
        with self._lock:
            found = self._logs.get(stream)
            if found is not None:
                self._logs.move_to_end(stream)
            return found
