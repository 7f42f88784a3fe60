"""Ways out for when the context itself is the trouble. Each takes a reason and puts it on record; none of them touches a rule in force."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Literal

from langchain_core.messages import SystemMessage

from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.state import CHANNEL, head_in
from langchain_ctxguard.records.bounded import Bounded

_THREADS = 1_024


class Hatches:
    """The escape hatches of one guard, in this process."""

    def __init__(self, record: Callable[[ContextEvent], None], whole: Callable[[Any, str | None], dict[str, Any]] | None = None) -> None:
        """Bind where events are told, and what brings messages back that left a state."""
        self._record = record
        self._bring_back = whole
        self._generation = 0
        self._whole: Bounded[int] = Bounded(_THREADS)
        self._rebuilt: Bounded[bool] = Bounded(_THREADS)
        self._lock = threading.Lock()

    def note(self, kind: Literal["inferred_off"], reason: str) -> None:
        """Put the opening of a hatch that lies elsewhere on record.

        Raises:
            ConfigurationError: no reason was given.
        """
        self._record(ContextEvent(kind=kind, detail=_given(reason)))

    def invalidate_prefix(self, *, reason: str) -> None:
        """Make every later call send another prefix, so that no provider answers from what it cached before.

        A mark is put behind the system prompt; it stays for the life of this guard.

        Raises:
            ConfigurationError: no reason was given.
        """
        with self._lock:
            self._generation += 1
        self._record(ContextEvent(kind="prefix_invalidated", detail=_given(reason)))

    def rebuild_context(self, state: Any, *, reason: str, thread: str | None = None) -> dict[str, Any]:
        """Return the update that drops a thread's summary and evidence: the next call shows the whole history, or compacts it anew.

            graph.update_state(config, guard.hatches.rebuild_context(graph.get_state(config).values, reason="summary is wrong"))

        Args:
            state: The values of the thread's state.
            reason: Why.
            thread: Its id, so that the next prefix report says `rebuild`; needed where messages leave the state, which are brought back.

        Raises:
            ConfigurationError: no reason was given, or the thread is needed and not named.
            BlobMissingError: messages that left the state were erased; nothing was changed.
        """
        back = {} if self._bring_back is None else self._bring_back(state, thread)
        found = head_in(state.get(CHANNEL) if isinstance(state, dict) else getattr(state, CHANNEL, None))
        version = found.version if isinstance(found, ContextHead) else 0
        self._record(ContextEvent(kind="context_rebuilt", detail=_given(reason), version=version))
        self._rebuilt.put(thread, value=True)
        return {CHANNEL: ContextHead(version=version + 1).to_dict(), **back}

    def full_evidence(self, thread: str | None, *, reason: str, calls: int = 1) -> None:
        """Send the whole history instead of summary and evidence for the next calls of a thread; what does not fit is compacted as ever.

        Args:
            thread: The thread's id.
            reason: Why.
            calls: For how many model calls.

        Raises:
            ConfigurationError: no reason, or fewer calls than one.
        """
        if calls < 1:
            msg = f"`calls` is {calls}; name at least one call that is to see the whole history."
            raise ConfigurationError(msg)
        self._record(ContextEvent(kind="full_evidence", detail=_given(reason)))
        self._whole.put(thread, calls)

    def shows_all(self, thread: Hashable) -> bool:
        """Say whether this call is to see the whole history, and count it."""
        name = thread[0] if isinstance(thread, tuple) else thread
        with self._lock:
            left = self._whole.get(name) or 0
            if left:
                self._whole.put(name, left - 1)
            return bool(left)

    def was_rebuilt(self, thread: Hashable) -> bool:
        """Say, once, whether the thread's context was dropped since its last call."""
        name = thread[0] if isinstance(thread, tuple) else thread
        with self._lock:
            found = bool(self._rebuilt.get(name))
            if found:
                self._rebuilt.put(name, value=False)
            return found

    def system(self, given: SystemMessage | None) -> SystemMessage | None:
        """Return the system message with the mark of the present generation; the same object before the first invalidation."""
        if not self._generation:
            return given
        mark = {"type": "text", "text": f'\n\n<context_prefix generation="{self._generation}"/>'}
        if given is None:
            return SystemMessage([mark])
        blocks: list[Any] = [{"type": "text", "text": given.content}] if isinstance(given.content, str) else list(given.content)
        return given.model_copy(update={"content": [*blocks, mark]})


def _given(reason: str) -> str:
    if not reason.strip():
        msg = "An escape hatch takes a reason: it is all a later reader of the record has."
        raise ConfigurationError(msg)
    return reason
