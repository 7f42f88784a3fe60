"""`LangSmithTracer`: the hook that shows compactions and tool calls in LangSmith. Ids, counts and digests; text only where that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from langchain_ctxguard.backends.feedback import FeedbackQueue
from langchain_ctxguard.backends.langsmith_run import OpenRun, innermost, own_hook_run, run_named
from langchain_ctxguard.core.scores import scores_of
from langchain_ctxguard.core.told import attributes_of, fact_shown, name_of, named
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Fact

if TYPE_CHECKING:
    from langsmith import Client
    from langsmith.run_trees import RunTree

Content = Literal["counts", "full"]
_OFF: AbstractContextManager[None] = nullcontext()
_CALLS = ("ctxguard.tool_call", "ctxguard.tool_questions")


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
            content: `counts`: ids, counts and digests. `full`: what leaves the view, the summary before and after, drafts, control fields and the
                words of events as well, redacted as the client is told to.
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
        return self._run(name, facts)

    def record(self, fact: Fact) -> None:
        """Put what happened on the run it happened in; what happened outside of one gets a run of its own."""
        if not _is_on():
            return
        if isinstance(fact, PrefixReport):
            # One for each model call would drown the others: it stands on the run of the guard's own hook, where there is one.
            run = own_hook_run()
            if run is not None:
                run.add_metadata(attributes_of(fact))
            return
        inside = run_named("ctxguard.compaction") if isinstance(fact, CompactionRecord) else None
        inside = run_named(*_CALLS) if isinstance(fact, CallRecord) else inside
        if inside is not None:
            self._settle(inside, fact)
            return
        with self._run(name_of(fact), {}) as run:
            self._settle(run, fact)

    @property
    def wants_texts(self) -> bool:
        """Say whether words are sent: `content` is "full" and tracing is on."""
        return self._content == "full" and _is_on()

    def show(self, texts: CompactionTexts) -> None:
        """Send words: what leaves the view as the inputs of a run of its own, a draft and what it came to on the runs they were made in."""
        if not self.wants_texts:
            return
        if texts.evicted is not None:
            messages = [{"id": one.message_id, "role": one.role, "content": one.text} for one in texts.evicted]
            with self._run("leaving", {}, texts={"messages": messages, "summary": texts.summary_before}):
                pass
        if texts.draft is not None and (run := innermost()) is not None:
            run.add_outputs({"draft": dict(texts.draft)})
        if texts.summary_after is not None and (run := run_named("ctxguard.compaction")) is not None:
            fields = [one.model_dump(mode="json") for one in texts.fields or ()]
            run.add_outputs({"summary": texts.summary_after, "control_fields": fields})

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until the feedback so far was handed to the client, and say whether that came about in time."""
        return self._feedback is None or self._feedback.flush(timeout_s)

    def _settle(self, run: RunTree, fact: Fact) -> None:
        attributes = attributes_of(fact)
        run.add_metadata(attributes)
        run.add_outputs(fact_shown(fact, has_words=self._content == "full"))
        for key in ("outcome", "decision"):
            if f"ctxguard_{key}" in attributes:
                run.add_tags([f"{key}:{attributes[f'ctxguard_{key}']}"])
        if isinstance(fact, CallRecord):
            run.add_event({"name": name_of(fact), "time": fact.at.isoformat(), "kwargs": attributes})
            if fact.step == "ran" and fact.error is not None:
                run.error = fact.error
        if isinstance(fact, CompactionRecord) and self._feedback is not None and fact.outcome is not Outcome.SKIPPED:
            self._feedback.put(run, scores_of(fact))

    def _run(self, name: str, facts: Mapping[str, Any], *, texts: Mapping[str, Any] | None = None) -> OpenRun:
        from langsmith import trace

        metadata = {**self._metadata, **named(facts), "ctxguard_package": _version()}
        opened = trace(
            f"ctxguard.{name}",
            run_type="chain",
            inputs={**facts, **(texts or {})},
            project_name=self._project,
            tags=list(self._tags),
            metadata=dict(metadata),
            client=self._client,
        )
        return OpenRun(opened, metadata)


@cache
def _version() -> str:
    return version("langchain-ctxguard")


def _is_on() -> bool:
    from langsmith.utils import tracing_is_enabled

    return bool(tracing_is_enabled())
