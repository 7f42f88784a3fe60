"""How near a compaction is, as the model calls of a thread tell: far from one, nothing is looked at, run or put on record."""

from __future__ import annotations

from langchain_ctxguard.records.bounded import Bounded

_THREADS = 256


class Nearness:
    """Of the threads of this process. Where no model call has told, a compaction counts as near."""

    def __init__(self) -> None:
        """Begin without threads."""
        self._far: Bounded[bool] = Bounded(_THREADS)

    def note(self, thread: str, *, is_near: bool) -> None:
        """Take notice of a model call of a thread, of its agent or of a sub-agent. What was near once stays so."""
        if is_near or self._far.get(thread) is None:
            self._far.put(thread, value=not is_near)

    def is_far(self, thread: str) -> bool:
        """Say whether no compaction is near."""
        return bool(self._far.get(thread))
