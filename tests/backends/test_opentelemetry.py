"""Compactions and calls as spans: with the SDK's exporter in memory, and through LangSmith's own OpenTelemetry mode."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langsmith import Client, tracing_context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from langchain_ctxguard import ChatModelSummarizer, ContextGuard, GuardStore
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.tools import guard_tools
from langchain_ctxguard.testing.langsmith_server import langsmith_server
from langchain_ctxguard.tracing import LangSmithTracer, OpenTelemetryTracer
from tests.support.tool_calls import Ran, agent_with, approve, calls, thread

SAID = "the parcel for Zyxwvut stands in aisle nine"
NOTES = '{"user_intent": "find the Qqqq parcel", "facts": [{"statement": "The parcel stands in aisle nine."}]}'
POLICY = {"default": "deny", "rules": [{"tool": "look", "effect": "read"}, {"tool": "pay", "verdict": "ask"}]}


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        """Export to memory."""
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.hook = OpenTelemetryTracer(tracer_provider=self.provider)

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans of a name, in the order they ended."""
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def below(self, span: ReadableSpan) -> list[str]:
        """Return the names of the spans whose parent is `span`."""
        return [one.name for one in self.exporter.get_finished_spans() if one.parent is not None and one.parent.span_id == span.context.span_id]

    @property
    def text(self) -> str:
        """Everything that was exported, as one text."""
        return "".join(span.to_json() for span in self.exporter.get_finished_spans())


@pytest.fixture
def spans() -> Iterator[Spans]:
    """A provider of the test's own."""
    one = Spans()
    yield one
    one.provider.shutdown()


def guarded(*hooks: Any, **settings: Any) -> tuple[Any, ContextGuard]:
    summarizer = settings.pop("summarizer", None) or ChatModelSummarizer(FakeListChatModel(responses=[NOTES]))
    guard = ContextGuard(
        constraints=["Never delete an order."], trigger=("messages", 5), keep=("messages", 1), summarizer=summarizer, hooks=hooks, **settings
    )
    model = FakeListChatModel(responses=[f"Answer: {SAID}. " * 20])
    return create_agent(model, middleware=[guard], checkpointer=InMemorySaver()), guard


async def talk(agent: Any, turns: int = 3, *, is_async: bool = False) -> None:
    for number in range(turns):
        given = {"messages": [HumanMessage(f"Question {number}: {SAID}. " * 20)]}
        if is_async:
            await agent.ainvoke(given, thread())
        else:
            agent.invoke(given, thread())


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_compaction_is_a_span_with_one_for_each_step(spans: Spans, is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Below the application's own span, with the numbers as attributes."""
    with spans.provider.get_tracer("app").start_as_current_span("turn"):
        await talk(guarded(spans.hook)[0], is_async=is_async)

    (compaction,) = spans.named("ctxguard.compaction")
    assert ["ctxguard.extract", "ctxguard.summarize", "ctxguard.verify"] == sorted(spans.below(compaction))
    assert "ctxguard.compaction" in spans.below(spans.named("turn")[0])
    attributes = compaction.attributes or {}
    assert ("accepted", 1, "messages", "t") == tuple(attributes[f"ctxguard_{name}"] for name in ("outcome", "version", "trigger", "thread"))
    before, after = (attributes[f"ctxguard_tokens_{name}"] for name in ("before", "after"))
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert before > after
    assert "Zyxwvut" not in spans.text
    assert "Qqqq" not in spans.text


async def test_attributes_bear_the_names_of_langsmiths_metadata(spans: Spans) -> None:
    """One dashboard's query serves the other."""
    with langsmith_server() as server:
        client = Client(api_url=server.url, api_key="none")
        with tracing_context(enabled=True, client=client):
            await talk(guarded(spans.hook, LangSmithTracer(client=client, feedback=False))[0])
        client.flush()
        metadata = server.named("ctxguard.compaction")[0]["extra"]["metadata"]

    attributes = dict(spans.named("ctxguard.compaction")[0].attributes or {})
    assert {name: value for name, value in metadata.items() if name.startswith("ctxguard_")} == attributes


def test_each_verdict_is_a_span_and_each_step_an_event(spans: Spans) -> None:
    """Denied, allowed, asked; a call that waits for a person is no error."""
    ran = Ran()
    tools = [ran.tool("drop", "q"), ran.tool("look", "q"), ran.tool("pay", "amount:int")]
    made = calls(("drop", {"q": SAID}), ("look", {"q": SAID}), ("pay", {"amount": 7}))
    agent = agent_with(guard_tools(tools, POLICY, hooks=[spans.hook]), made, "ok")
    agent.invoke({"messages": [("user", "go")]}, thread())

    by_tool = {(span.attributes or {})["ctxguard_tool"]: span for span in spans.named("ctxguard.tool_call")}
    assert {"drop": "deny", "look": "allow", "pay": "ask"} == {tool: (span.attributes or {})["ctxguard_decision"] for tool, span in by_tool.items()}
    assert ["ctxguard.policy.denied"] == [event.name for event in by_tool["drop"].events]
    assert (by_tool["pay"].attributes or {})["ctxguard_paused"] is True
    assert {StatusCode.UNSET} == {span.status.status_code for span in by_tool.values()}

    spans.exporter.clear()
    (question,) = agent.get_state(thread()).interrupts
    agent.invoke(Command(resume={question.id: approve()}), thread())
    (span,) = [span for span in spans.named("ctxguard.tool_call") if (span.attributes or {})["ctxguard_tool"] == "pay"]
    events = [event.name.removeprefix("ctxguard.") for event in span.events]
    assert ["approval.answered", "policy.allowed", "tool.ran"] == [name for name in events if name != "policy.asked"]
    assert "Zyxwvut" not in spans.text


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_a_tool_does_stands_below_its_call(spans: Spans, is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """A span of the tool's own has the call's for its parent."""

    @tool
    def look(q: str) -> str:
        """Look."""
        with spans.provider.get_tracer("shop").start_as_current_span("query"):
            return q

    agent = agent_with(guard_tools([look], POLICY, hooks=[spans.hook]), calls(("look", {"q": "x"})), "ok")
    given = {"messages": [("user", "go")]}
    await agent.ainvoke(given, thread()) if is_async else agent.invoke(given, thread())

    (call,) = spans.named("ctxguard.tool_call")
    assert ["query"] == spans.below(call)


def test_a_tool_that_fails_marks_its_span(spans: Spans) -> None:
    """With the type of the error, never its words."""
    tools = guard_tools([Ran().tool("look", "q", raises=LookupError(SAID))], POLICY, hooks=[spans.hook])
    with pytest.raises(LookupError):
        agent_with(tools, calls(("look", {"q": "x"})), "ok").invoke({"messages": [("user", "go")]}, thread())

    (span,) = spans.named("ctxguard.tool_call")
    assert (StatusCode.ERROR, "LookupError") == (span.status.status_code, span.status.description)
    assert "LookupError" == (span.attributes or {})["error.type"]
    assert "Zyxwvut" not in spans.text


def test_an_error_in_a_step_marks_the_spans_it_passes(spans: Spans) -> None:
    """Each by its type."""
    with pytest.raises(ValueError, match="Zyxwvut"), spans.hook.span("compaction", {}), spans.hook.span("summarize", {}):
        raise ValueError(SAID)

    assert ["ValueError", "ValueError"] == [span.status.description for span in spans.exporter.get_finished_spans()]
    assert "Zyxwvut" not in spans.text


async def test_a_rollback_is_an_event_where_a_span_is_open_and_a_span_elsewhere(spans: Spans) -> None:
    """With the version it made and the one it restored."""
    with GuardStore.open("memory://") as store:
        agent, guard = guarded(spans.hook, store=store)
        await talk(agent, 4)
        with spans.provider.get_tracer("app").start_as_current_span("request"):
            guard.history(thread(), agent).rollback(1)
        guard.history(thread(), agent).rollback(1)

    (request,), (alone,) = spans.named("request"), spans.named("ctxguard.rollback")
    assert ["ctxguard.rollback"] == [event.name for event in request.events]
    assert 1 == (alone.attributes or {})["ctxguard_restored"]


async def test_without_a_provider_nothing_is_recorded_and_nothing_breaks() -> None:
    """The API alone does nothing."""
    agent, _ = guarded(OpenTelemetryTracer())
    await talk(agent)
    assert 1 == agent.get_state(thread()).values["ctxguard"]["version"]


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    real = builtins.__import__

    def refuse(name: str, *more: Any, **named: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ConfigurationError, match=r"langchain-ctxguard\[otel\]"):
        OpenTelemetryTracer()


@pytest.mark.parametrize("content", ["counts", "full"])
async def test_langsmiths_own_mode_exports_the_same_runs(spans: Spans, content: Any) -> None:
    """With `tracing_mode="otel"` its client makes spans of our runs; words only where they were asked for."""
    client = Client(api_url="http://127.0.0.1:9", api_key="none", tracing_mode="otel", otel_tracer_provider=spans.provider)
    with tracing_context(enabled=True, client=client):
        await talk(guarded(LangSmithTracer(client=client, content=content, feedback=False))[0])
    client.flush()

    (compaction,) = spans.named("ctxguard.compaction")
    below = [name for name in spans.below(compaction) if name != "ctxguard.leaving"]
    assert ["ctxguard.extract", "ctxguard.summarize", "ctxguard.verify"] == sorted(below)
    assert "accepted" == (compaction.attributes or {})["langsmith.metadata.ctxguard_outcome"]
    ours = [span for span in spans.exporter.get_finished_spans() if span.name.startswith("ctxguard.")]
    kinds = [span for span in ours if (span.attributes or {}).get("langsmith.span.kind") != "llm"]
    assert (content == "full") == ("Zyxwvut" in json.dumps([span.to_json() for span in kinds]))
