"""What streams add up to: only what was added is read again, and nothing counts that is not as it was written."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from langchain_ctxguard.domain.log import Entry, Stream, verify
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import LogTamperedError
from langchain_ctxguard.ports import Log

Sum = TypeVar("Sum")

_STREAMS = 1_024


class _Known(NamedTuple, Generic[Sum]):
    last: Entry | None
    sum: Sum


class Folds(Generic[Sum]):
    """The sums of the streams read last. Losing one costs a reading. Safe under threads."""

    def __init__(self, log: Log, add: Callable[[Sequence[Entry], Sum], Sum], empty: Sum) -> None:
        """Bind a log.

        Args:
            log: Where the streams are.
            add: Returns a sum with further entries.
            empty: The sum of none.
        """
        self._log = log
        self._add = add
        self._empty = empty
        self._known: OrderedDict[Stream, _Known[Sum]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, stream: Stream) -> tuple[int, Sum]:
        """Return the number of the last entry and what the stream adds up to: one cheap question where nothing was added.

        Raises:
            StoreError: it cannot be read, was altered, or entries are gone.
        """
        with self._lock:
            known = self._known.get(stream) or _Known(None, self._empty)
        seq = 0 if known.last is None else known.last.seq
        head = self._log.heads([stream])[0]
        if head == seq:
            return seq, known.sum
        if head < seq:
            raise LogTamperedError(stream, seq=head, reason=f"it ended at entry {seq} before, and ends at {head} now")
        return self.added(stream, self._log.read(stream, seq), known)

    def added(self, stream: Stream, entries: Sequence[Entry], known: _Known[Sum] | None = None) -> tuple[int, Sum]:
        """Return what the stream adds up to with entries that follow those known; where others came between, it is read anew.

        Raises:
            StoreError: as `read`.
        """
        if known is None:
            with self._lock:
                known = self._known.get(stream)
            seq = 0 if known is None or known.last is None else known.last.seq
            if not entries or entries[0].seq != seq + 1:
                return self.read(stream)
            known = known or _Known(None, self._empty)
        broken = verify(entries, after=known.last, stream=stream)
        if broken is not None:
            raise LogTamperedError(stream, seq=broken, reason="it does not match its chain")
        if not entries:
            return (0 if known.last is None else known.last.seq), known.sum
        found = _Known(entries[-1], self._add(entries, known.sum))
        with self._lock:
            kept = self._known.get(stream)
            if kept is None or kept.last is None or kept.last.seq < entries[-1].seq:
                self._known[stream] = found
                self._known.move_to_end(stream)
            while len(self._known) > _STREAMS:
                self._known.popitem(last=False)
        return entries[-1].seq, found.sum


def sealed(data: Mapping[str, Any]) -> bytes:
    """Return the body of an entry, made of data as pydantic writes it in JSON mode."""
    # Names, digests and moments: nothing in it needs the exact encoder, which takes five times as long.
    return canonical_json({"schema_version": 1, **data}).encode("utf-8", "backslashreplace")


def opened(entry: Entry) -> dict[str, Any]:
    """Return what the body of an entry holds.

    Raises:
        ValueError: nothing of this version.
    """
    data = json.loads(entry.body)
    if not isinstance(data, dict) or data.pop("schema_version", None) != 1:
        msg = "it is of another version"
        raise ValueError(msg)
    return data
