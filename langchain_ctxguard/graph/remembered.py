"""What a guard remembers between calls of one process. Losing it costs time, never a decision."""

from __future__ import annotations

import threading
from typing import Any

from langchain_ctxguard.core.compaction import Compacted
from langchain_ctxguard.core.roles import last_request
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.reading import Call, content_digest
from langchain_ctxguard.records.bounded import Bounded


class Memory:
    """How often each run compacted, which views rest, which compaction waits for its model call, and what was said already."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._runs: Bounded[int] = Bounded(1_024)
        self._resting: Bounded[int] = Bounded(1_024)
        self._waiting: Bounded[tuple[Any, Compacted]] = Bounded(64)
        self._seen: Bounded[bool] = Bounded(1_024)
        self._lock = threading.Lock()

    def is_first(self, what: Any) -> bool:
        """Say whether this is asked for the first time."""
        with self._lock:
            if self._seen.get(what):
                return False
            self._seen.put(what, value=True)
            return True

    def runs_of(self, run: str | None, call: Call) -> int:
        """Return how many compactions the run of a call made."""
        return self._runs.get(_run_key(run, call)) or 0

    def count_run(self, run: str | None, call: Call) -> None:
        """Count one compaction more."""
        with self._lock:
            self._runs.put(_run_key(run, call), self.runs_of(run, call) + 1)

    def rest(self, call: Call, head: ContextHead, tokens: int) -> None:
        """Look at a view again when it holds this many tokens, in our own count."""
        self._resting.put(_rest_key(call, head), tokens)

    def resting_until(self, call: Call, head: ContextHead) -> int:
        """Return that number, 0 where nothing rests."""
        return self._resting.get(_rest_key(call, head)) or 0

    def keep_waiting(self, call: Call, head: ContextHead, why: str, result: Compacted) -> None:
        """Keep a result until its head is in the state: the model call it was made for may fail and come again."""
        self._waiting.put(call.thread, (_signature(call, head, why), result))

    def forget_waiting(self, call: Call) -> None:
        """Forget the result of a thread: it came to nothing."""
        self._waiting.drop(call.thread)

    def waiting(self, call: Call, head: ContextHead, why: str) -> Compacted | None:
        """Return the result that was made of this very state, if there is one."""
        found = self._waiting.get(call.thread)
        return found[1] if found is not None and found[0] == _signature(call, head, why) else None


def _rest_key(call: Call, head: ContextHead) -> Any:
    first = call.messages[0] if call.messages else None
    return call.thread, head.version, None if first is None else first.id or id(first)


def _run_key(run: str | None, call: Call) -> Any:
    """Return the run, or what comes nearest where nobody named it: the thread and its current request."""
    if run is not None:
        return run
    request = last_request(list(call.messages))
    return call.thread, None if request is None else call.messages[request].id


def _signature(call: Call, head: ContextHead, why: str) -> Any:
    """Return what a compaction rests on: the head, the reason, and every message with all it says, since any may be edited meanwhile."""
    return head.version, head.cut, why, content_digest(call.messages)
