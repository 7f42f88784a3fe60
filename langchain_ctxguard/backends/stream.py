"""`StreamEvents`: the hook that tells `stream_mode="custom"` of compactions, verdicts and rollbacks. The one place they are sent from."""

from __future__ import annotations

import contextvars
import sys
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, get_args

from langchain_ctxguard.core.stream_events import Happened, broken_off_event, event_of, started_event
from langchain_ctxguard.domain.context_version import outer_namespace
from langchain_ctxguard.domain.stream_event import EventType, StreamEvent
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Clock, Fact

_NOTHING: AbstractContextManager[None] = nullcontext()


@dataclass(slots=True)
class _Attempt:
    name: str
    trigger: str
    is_over: bool = False


_attempt: contextvars.ContextVar[_Attempt | None] = contextvars.ContextVar("ctxguard_attempt", default=None)


class StreamEvents:
    """Tells `stream_mode="custom"` what happens, in dictionaries of names and numbers; outside of a graph it does nothing.

    Every guard has one. To be told of less, put one among the guard's hooks: `StreamEvents(only=["compaction.started"])`, or `only=()` for nothing.
    """

    def __init__(self, *, only: Collection[EventType] | None = None, clock: Clock | None = None) -> None:
        """Choose what is told.

        Args:
            only: Types of events; `None`: all of them.
            clock: Says what time it is: an aware datetime. `None`: the system's, in UTC.

        Raises:
            ConfigurationError: there is no event of such a type.
        """
        unknown = [] if only is None else [name for name in only if name not in get_args(EventType)]
        if unknown:
            msg = f"There is no event {', '.join(map(repr, unknown))}. There are: {', '.join(get_args(EventType))}."
            raise ConfigurationError(msg)
        self._only = None if only is None else frozenset(only)
        self._clock = clock or _now

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Tell of a compaction that begins, and of one that ends without a word of its own."""
        if name != "compaction" or "is_repeat" in facts or self._only == frozenset() or _writer() is None:
            return _NOTHING
        return _Span(self, facts)

    def record(self, fact: Fact) -> None:
        """Tell of what happened."""
        if self._only == frozenset() or (write := _writer()) is None:
            return
        attempt = _attempt.get()
        if isinstance(fact, CompactionRecord) and attempt is not None:
            attempt.is_over = True
        event = event_of(fact, attempt=uuid.uuid4().hex if attempt is None else attempt.name, when=self.now())
        if event is not None:
            self._send(write, event)

    def send(self, event: StreamEvent) -> None:
        """Send an event to the stream of the running graph, if there is one."""
        if (write := _writer()) is not None:
            self._send(write, event)

    def now(self) -> Happened:
        """Return when and where something happens that happens now."""
        configurable = _config().get("configurable", {})
        namespace = outer_namespace(str(configurable.get("checkpoint_ns") or ""))
        thread = configurable.get("thread_id")
        return Happened(self._clock(), None if thread is None else str(thread), namespace)

    def _send(self, write: Callable[[Any], None], event: StreamEvent) -> None:
        if self._only is None or event.type in self._only:
            write(event.model_dump(mode="json"))


class _Span:
    """A compaction that runs."""

    def __init__(self, events: StreamEvents, facts: Mapping[str, Any]) -> None:
        self._events = events
        self._parent = facts.get("parent")
        self._attempt = _Attempt(uuid.uuid4().hex, str(facts.get("trigger") or ""))
        self._token: contextvars.Token[_Attempt | None] | None = None

    def __enter__(self) -> None:
        self._token = _attempt.set(self._attempt)
        parent = self._parent if isinstance(self._parent, int) else 0
        self._tell(lambda: started_event(self._attempt.name, trigger=self._attempt.trigger, parent=parent, when=self._events.now()))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._token is not None:
            _attempt.reset(self._token)
        if self._attempt.is_over or kind is None:
            return
        name = None if is_pause(kind) else kind.__name__
        self._events.send(broken_off_event(self._attempt.name, trigger=self._attempt.trigger, error=name, when=self._events.now()))

    def _tell(self, event: Callable[[], StreamEvent]) -> None:
        try:
            self._events.send(event())
        except BaseException:
            # Whoever entered it sees the failure and never leaves what it did not enter.
            if self._token is not None:
                _attempt.reset(self._token)
            raise


def is_pause(kind: type[BaseException]) -> bool:
    """Say whether an exception is LangGraph's way to wait for a person, or to go elsewhere: no error."""
    return any(base.__name__ == "GraphBubbleUp" and base.__module__.startswith("langgraph") for base in kind.__mro__)


def _config() -> Mapping[str, Any]:
    """Return the configuration of the running graph; empty outside of one. LangGraph is not loaded to find out."""
    found = sys.modules.get("langgraph.config")
    if found is None:
        return {}
    try:
        config: Mapping[str, Any] = found.get_config()
    except RuntimeError:
        return {}
    return config


def _writer() -> Callable[[Any], None] | None:
    """Return what writes to the stream of the running graph, `None` outside of one."""
    found = sys.modules.get("langgraph.config")
    if found is None:
        return None
    try:
        writer: Callable[[Any], None] = found.get_stream_writer()
    except (RuntimeError, KeyError, AttributeError):
        # No graph runs: nothing at all, or another Runnable of LangChain.
        return None
    return writer


def _now() -> datetime:
    return datetime.now(UTC)
