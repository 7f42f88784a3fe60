"""A lock that a forked child can take, whoever held it in the parent."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakSet


class ForkSafeLock:
    """A lock that is free again in a forked child: the thread that held it at the fork is not there to release it."""

    def __init__(self) -> None:
        """Begin free."""
        self._lock = threading.Lock()
        _ALL.add(self)

    def __enter__(self) -> None:
        """Take it."""
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Release it."""
        self._lock.release()

    def renew(self) -> None:
        """Be free."""
        self._lock = threading.Lock()


_ALL: WeakSet[ForkSafeLock] = WeakSet()


def _renew_all() -> None:
    for lock in list(_ALL):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
