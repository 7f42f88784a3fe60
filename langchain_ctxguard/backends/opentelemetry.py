"""`OpenTelemetryTracer`: the hook that makes compactions and tool calls spans. It needs the API alone (extra `otel`); exporting is not its matter."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from langchain_ctxguard.backends.stream import is_pause
from langchain_ctxguard.core.told import PREFIX, attributes_of, name_of, named
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Fact

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

_open: contextvars.ContextVar[tuple[tuple[str, Span], ...]] = contextvars.ContextVar("ctxguard_spans", default=())


class OpenTelemetryTracer:
    """Makes each compaction a span `ctxguard.compaction` with one for each of its steps below it, and each guarded call a span `ctxguard.tool_call`.

    Attributes have the names that `LangSmithTracer` gives its metadata (`ctxguard_outcome`, `ctxguard_tokens_before`): ids, counts and digests, never
    text. Spans stand below the one that is current, so they nest in the application's own.
    """

    def __init__(self, *, tracer_provider: TracerProvider | None = None) -> None:
        """Take a tracer.

        Args:
            tracer_provider: Whose; `None`: the global one, asked now. Where none is set up, nothing is recorded.

        Raises:
            ConfigurationError: OpenTelemetry is not installed.
        """
        try:
            from opentelemetry import trace
        except ImportError as error:
            msg = "OpenTelemetry is not installed. Run `pip install 'langchain-ctxguard[otel]'`."
            raise ConfigurationError(msg) from error
        self._tracer: Tracer = trace.get_tracer("langchain_ctxguard", _version(), tracer_provider)

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Wrap a step in a span."""
        return self._span(f"ctxguard.{name}", facts)

    def record(self, fact: Fact) -> None:
        """Put what happened on the span it happened in; what happened outside of ours is an event of the current span, or a span of its own."""
        attributes = attributes_of(fact)
        span = _around(fact)
        if span is not None:
            span.set_attributes(attributes)
            if isinstance(fact, CallRecord):
                span.add_event(f"ctxguard.{name_of(fact)}", attributes)
                if fact.step == "ran" and fact.error is not None:
                    _mark(span, fact.error)
            return
        current = _current()
        if current.is_recording():
            current.add_event(f"ctxguard.{name_of(fact)}", attributes)
            return
        if not isinstance(fact, PrefixReport):
            with self._span(f"ctxguard.{name_of(fact)}", {}) as own:
                own.set_attributes(attributes)

    @contextmanager
    def _span(self, name: str, facts: Mapping[str, Any]) -> Iterator[Span]:
        attributes = {**named(facts), f"{PREFIX}package": _version()}
        # Its own way to record errors would send their words, which may be words of the conversation.
        with self._tracer.start_as_current_span(name, attributes=attributes, record_exception=False, set_status_on_exception=False) as span:
            token = _open.set((*_open.get(), (name, span)))
            try:
                yield span
            except BaseException as error:
                if is_pause(type(error)):
                    span.set_attribute(f"{PREFIX}paused", value=True)
                else:
                    _mark(span, type(error).__name__)
                raise
            finally:
                _open.reset(token)


def _around(fact: Fact) -> Span | None:
    """Return the open span a record belongs to."""
    match fact:
        case CompactionRecord():
            names: tuple[str, ...] = ("ctxguard.compaction",)
        case CallRecord():
            names = ("ctxguard.tool_call", "ctxguard.tool_questions")
        case _:
            return None
    return next((span for name, span in reversed(_open.get()) if name in names), None)


def _mark(span: Span, error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, error))
    span.set_attribute("error.type", error)


def _current() -> Span:
    from opentelemetry import trace

    return trace.get_current_span()


@cache
def _version() -> str:
    return version("langchain-ctxguard")
