"""What files held before an agent's first step on them: kept in this process as long as the workspace has not been looked at as a whole."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from langchain_ctxguard.domain.workspace import FileFact

_THREADS = 64
_MOST_OF_FILE = 2_000_000
_MOST_OF_THREAD = 16_000_000
"""Bytes that are kept; of a thread whose files are larger nobody knows what was."""

_MOST_IN_ALL = 64_000_000
"""Bytes that are kept of all threads: beyond it those seen longest ago are forgotten."""


class Readable(Protocol):
    """Files whose contents can be had."""

    def fact(self, path: str) -> FileFact:
        """Return what one named file holds."""

    def content(self, path: str) -> bytes:
        """Return the bytes of a named file.

        Raises:
            OSError: it cannot be read.
        """


@dataclass(slots=True)
class _First:
    began_ns: int
    contents: dict[str, bytes | None] = field(default_factory=dict)
    size: int = 0
    is_whole: bool = True


class FirstContents:
    """Remembers files before they are changed. Losing it costs what a check said then, never a decision."""

    def __init__(self, files: Readable, *, is_new: Callable[[str], bool] = lambda _: True, keeps_contents: bool = True) -> None:
        """Bind the files.

        Args:
            files: The workspace.
            is_new: Says of a thread that no step of it is known: of one that took some before, nobody saw what was.
            keeps_contents: Whether anybody may have to ask what a file held; else it is kept alone when the first call came.
        """
        self._files = files
        self._is_new = is_new
        self._keeps_contents = keeps_contents
        self._threads: OrderedDict[str, _First] = OrderedDict()
        self._lock = threading.Lock()

    def see(self, thread: str, names: Iterable[str]) -> None:
        """Take notice of files that a call of a thread is about to touch."""
        with self._lock:
            first = self._threads.get(thread)
            if first is None:
                first = self._threads[thread] = _First(time.time_ns(), is_whole=self._keeps_contents and self._is_new(thread))
            self._threads.move_to_end(thread)
            for name in names:
                if first.is_whole and name not in first.contents:
                    self._keep(first, name)
            while len(self._threads) > 1 and (len(self._threads) > _THREADS or sum(one.size for one in self._threads.values()) > _MOST_IN_ALL):
                self._threads.popitem(last=False)

    def _keep(self, first: _First, name: str) -> None:
        fact = self._files.fact(name)
        size = fact.size or 0
        if fact.kind == "absent":
            first.contents[name] = None
            return
        if fact.kind == "file" and size <= _MOST_OF_FILE and first.size + size <= _MOST_OF_THREAD:
            try:
                first.contents[name] = self._files.content(name)
            except OSError:
                pass
            else:
                first.size += size
                return
        first.is_whole = False
        first.contents.clear()
        first.size = 0

    def of(self, thread: str, names: Collection[str]) -> Mapping[str, bytes | None] | None:
        """Return what files held before the thread's first step on each, `None` where that is not known of all of them."""
        with self._lock:
            first = self._threads.get(thread)
            if first is None or not first.is_whole or not set(names) <= first.contents.keys():
                return None
            return dict(first.contents)

    def began_ns(self, thread: str) -> int | None:
        """Return when the first call came that might change something, `None` where nobody saw it. In nanoseconds, as files have it."""
        with self._lock:
            first = self._threads.get(thread)
            return None if first is None else first.began_ns

    def forget(self, thread: str) -> None:
        """Forget a thread: nobody has to ask any more."""
        with self._lock:
            self._threads.pop(thread, None)
