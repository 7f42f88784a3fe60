"""`LangSmithTracer`: the hook that shows compactions in LangSmith. Ids, counts and digests; text only where that was asked for."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from langchain_ctxguard.backends.feedback import FeedbackQueue
from langchain_ctxguard.core.scores import scores_of
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Fact

if TYPE_CHECKING:
    from langsmith import Client
    from langsmith.run_trees import RunTree

Content = Literal["counts", "full"]
_OFF: AbstractContextManager[None] = nullcontext()
_open: contextvars.ContextVar[tuple[RunTree, ...]] = contextvars.ContextVar("ctxguard_runs", default=())


class LangSmithTracer:
    """Makes each compaction a run named `ctxguard.compaction` below the run it happens in, with a child for each of its steps.

    It is on when LangSmith's own tracing is on, and asks each time: by environment, or by `langsmith.tracing_context`. LangSmith's redaction and
    sampling apply as they are set on the client. What it does never fails a run: the guard catches what a hook raises, and feedback is sent by a
    thread of its own, so an endpoint that does not answer holds up nothing.
    """

    def __init__(
        self,
        *,
        client: Client | None = None,
        content: Content = "counts",
        project: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        feedback: bool = True,
    ) -> None:
        """Prepare a tracer; nothing is sent before the first compaction.

        Args:
            client: The LangSmith client; `None`: the one LangSmith would use.
            content: `counts`: ids, counts and digests. `full`: the words of events as well.
            project: Where runs go that have no parent; `None`: where LangSmith sends them.
            tags: Beside `ctxguard` on each run.
            metadata: On each run, beside its own.
            feedback: Whether a compaction's run gets the scores of `core.scores` as feedback.

        Raises:
            ConfigurationError: `content` is neither of the two.
        """
        if content not in ("counts", "full"):
            msg = f"`content` is 'counts' or 'full', not {content!r}."
            raise ConfigurationError(msg)
        self._client = client
        self._content = content
        self._project = project
        self._tags = ["ctxguard", *tags]
        self._metadata = dict(metadata or {})
        self._feedback = FeedbackQueue() if feedback else None

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Wrap a step in a run; where tracing is off, in nothing."""
        if not _is_on():
            return _OFF
        return _Run(self, f"ctxguard.{name}", facts)

    def record(self, fact: Fact) -> None:
        """Put what happened on the run it happened in; what happened outside of one gets a run of its own."""
        if not _is_on():
            return
        shown = self._shown(fact)
        inside = _open.get()
        if isinstance(fact, CompactionRecord) and inside:
            self._settle(inside[0], fact, shown)
            return
        name = fact.kind if isinstance(fact, ContextEvent) else _NAMES.get(type(fact).__name__, type(fact).__name__.lower())
        with _Run(self, f"ctxguard.{name}", {}) as run:
            if isinstance(fact, CompactionRecord):
                self._settle(run, fact, shown)
            else:
                run.end(outputs=shown)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until the feedback so far was handed to the client, and say whether that came about in time."""
        return self._feedback is None or self._feedback.flush(timeout_s)

    def _settle(self, run: RunTree, record: CompactionRecord, shown: dict[str, Any]) -> None:
        run.add_metadata(
            {
                "ctxguard_version": record.version,
                "ctxguard_trigger": record.trigger,
                "ctxguard_strategy": record.strategy,
                "ctxguard_outcome": record.outcome.value,
                "ctxguard_tokens_before": record.tokens_before,
                "ctxguard_tokens_after": record.tokens_after,
            }
        )
        run.add_tags([f"outcome:{record.outcome.value}"])
        run.end(outputs=shown)
        if self._feedback is not None and record.outcome is not Outcome.SKIPPED:
            self._feedback.put(run, scores_of(record))

    def _shown(self, fact: Fact) -> dict[str, Any]:
        data: dict[str, Any] = fact.model_dump(mode="json")
        if self._content == "counts":
            # One sentence made of names and numbers; an event's may name what a person wrote as a reason.
            data.pop("detail", None)
        return data

    def trace(self, name: str, facts: Mapping[str, Any]) -> Any:
        """Return LangSmith's own context manager for a run."""
        from langsmith import trace

        return trace(
            name,
            run_type="chain",
            inputs=dict(facts),
            project_name=self._project,
            tags=list(self._tags),
            metadata={**self._metadata, **{f"ctxguard_{key}": value for key, value in facts.items()}, "ctxguard_package": _version()},
            client=self._client,
        )


_NAMES = {"VerificationRecord": "verification", "PrefixReport": "prefix", "CompactionRecord": "compaction"}


class _Run:
    """A run that is open: entered and left as a `with` block, below the one that is open already."""

    def __init__(self, tracer: LangSmithTracer, name: str, facts: Mapping[str, Any]) -> None:
        self._trace = tracer.trace(name, facts)
        self._token: contextvars.Token[tuple[RunTree, ...]] | None = None
        self._run: RunTree | None = None

    def __enter__(self) -> RunTree:
        run: RunTree = self._trace.__enter__()
        self._run = run
        self._token = _open.set((*_open.get(), run))
        return run

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._token is not None:
            _open.reset(self._token)
        if kind is not None and self._run is not None:
            # Its name alone: the words of an error may be words of the conversation.
            self._run.end(error=kind.__name__)
        self._trace.__exit__(None, None, None)


@cache
def _version() -> str:
    return version("langchain-ctxguard")


def _is_on() -> bool:
    from langsmith.utils import tracing_is_enabled

    return bool(tracing_is_enabled())
