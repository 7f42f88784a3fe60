"""A graph's stream is told what happens, and hears nothing of a summarizer's words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.stream.transformers import CustomTransformer
from langgraph.types import Command
from pydantic import Field

from langchain_ctxguard import (
    ChatModelSummarizer,
    CompactContext,
    ContextGuard,
    ContextVerifier,
    Extensions,
    GuardConfig,
    GuardedState,
    GuardStore,
    RollbackContext,
    compact_messages,
)
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.events import CompactionFinished, StreamEvents, read_event
from langchain_ctxguard.graph.tools import guard_tools
from langchain_ctxguard.records.versions import VersionLog
from tests.support.tool_calls import Ran, agent_with, approve, calls, deep_agent_with, reject, thread

SAID = "the parcel for Zyxwvut stands in aisle nine"
NOTES = '{"user_intent": "find the Qqqq parcel", "facts": [{"statement": "The parcel stands in aisle nine."}]}'
STARTED, FINISHED = "compaction.started", "compaction.finished"

pytestmark = [pytest.mark.filterwarnings("ignore:.*v3 streaming protocol.*"), pytest.mark.filterwarnings("ignore:.*version='v1' is deprecated.*")]


AGENT = "You find parcels."


class Either(FakeListChatModel):
    """Answers the agent, and summarizes for whoever else asks; token by token where it may."""

    responses: list[str] = Field(default_factory=lambda: ["unused"])

    def _call(self, messages: list[Any], *_: Any, **__: Any) -> str:
        return f"Answer: {SAID}." if messages[0].text.startswith(AGENT) else NOTES

    def _stream(self, messages: list[Any], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for token in self._call(messages).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(token if token.startswith(("Answer", "{")) else f" {token}"))

    async def _astream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk


class Watching(BaseCallbackHandler):
    """Sees the runs of chat models."""

    def __init__(self) -> None:
        """Begin with none."""
        self.tags: list[list[str]] = []

    def on_chat_model_start(self, *_: Any, tags: list[str] | None = None, **__: Any) -> None:
        """Note how the run is marked."""
        self.tags.append(tags or [])


def guard_with(*, answer: str = NOTES, **settings: Any) -> ContextGuard:
    settings = {"trigger": ("messages", 5), "keep": ("messages", 1), **settings}
    summarizer = ChatModelSummarizer(FakeListChatModel(responses=[answer]))
    return ContextGuard(constraints=["Never delete an order."], summarizer=summarizer, **settings)


def agent_of(guard: ContextGuard, **settings: Any) -> Any:
    model = FakeListChatModel(responses=[f"Answer: {SAID}."])
    return create_agent(model, middleware=[guard], checkpointer=InMemorySaver(), **settings)


def said(number: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"Question {number}: {SAID}. " * 20)]}


def types(chunks: Any) -> list[str]:
    return [event.type for event in map(read_event, chunks) if event is not None]


async def heard(agent: Any, how: str, given: Any, mode: str, config: Any = None) -> list[Any]:
    """Return what one run sends to a stream mode, however it is listened to."""
    config = config or thread()
    match how:
        case "stream v1":
            return list(agent.stream(given, config, stream_mode=mode))
        case "stream v2":
            return [part["data"] for part in agent.stream(given, config, stream_mode=mode, version="v2")]
        case "astream v1":
            return [part async for part in agent.astream(given, config, stream_mode=mode)]
        case "astream v2":
            return [part["data"] async for part in agent.astream(given, config, stream_mode=mode, version="v2")]
        case "stream_events v3":
            run = agent.stream_events(given, config, version="v3", transformers=[CustomTransformer])
            return [event["params"]["data"] for event in run if event["method"] == mode]
        case _:
            run = await agent.astream_events(given, config, version="v3", transformers=[CustomTransformer])
            return [event["params"]["data"] async for event in run if event["method"] == mode]


WAYS = ["stream v1", "stream v2", "astream v1", "astream v2", "stream_events v3", "astream_events v3"]


@pytest.mark.parametrize("how", WAYS)
async def test_a_compaction_is_told_in_every_way_of_streaming(how: str) -> None:
    """It begins, and ends under the same name, with the numbers an interface shows; async on Python 3.11 as well."""
    agent = agent_of(guard_with())
    chunks = [chunk for number in range(3) for chunk in await heard(agent, how, said(number), "custom")]

    events = [read_event(chunk) for chunk in chunks]
    assert [STARTED, FINISHED] == types(chunks)
    started, finished = events
    assert isinstance(finished, CompactionFinished)
    assert ("t", 1, "accepted", "messages") == (finished.thread, finished.version, finished.outcome, finished.trigger)
    assert finished.tokens_before > finished.tokens_after > 0
    assert finished.attempt == started.attempt  # type: ignore[union-attr]  # it has begun
    assert "Zyxwvut" not in str(chunks)
    assert "Qqqq" not in str(chunks)


@pytest.mark.field("C152", "C154", "C155")
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("how", [*WAYS, "astream_events v1", "astream_events v2"])
async def test_no_token_of_a_summary_reaches_a_stream(how: str, is_shared: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """In no way of streaming, also where the agent's own model summarizes; yet the call is there for whoever traces it, marked."""
    model = Either()
    asked = model if is_shared else Either()
    guard = ContextGuard(trigger=("messages", 5), keep=("messages", 1), summarizer=ChatModelSummarizer(asked.with_config(tags=["mine"])))
    agent = create_agent(model, system_prompt=AGENT, middleware=[guard], checkpointer=InMemorySaver())
    watching = Watching()
    config = {**thread(), "callbacks": [watching]}
    tokens: list[str] = []
    for number in range(3):
        tokens += await tokens_heard(agent, how, said(number), config)

    assert f"Answer: {SAID}." * 3 == "".join(tokens)
    assert "Qqqq" in str(agent.get_state(thread()).values["ctxguard"])
    internal = [tags for tags in watching.tags if "nostream" in tags]
    assert 1 == len(internal)
    assert "mine" in internal[0]
    assert model.disable_streaming is False


async def tokens_heard(agent: Any, how: str, given: Any, config: Any) -> list[str]:
    """Return the texts of the tokens one run streams, however it is listened to."""
    if how in {"astream_events v1", "astream_events v2"}:
        events = agent.astream_events(given, config, version=how[-2:])
        return [event["data"]["chunk"].text async for event in events if event["event"] == "on_chat_model_stream"]
    chunks = [chunk[0] for chunk in await heard(agent, how, given, "messages", config)]
    if how.endswith("v3"):
        return [chunk["delta"]["text"] for chunk in chunks if chunk["event"] == "content-block-delta"]
    return [chunk.text for chunk in chunks]


class Down:
    """A summarizer that fails with words of the conversation."""

    name = "down"

    def summarize(self, request: Any) -> Any:
        """Fail."""
        raise ConnectionError(SAID)

    async def asummarize(self, request: Any) -> Any:
        """Fail."""
        raise ConnectionError(SAID)


def test_a_compaction_without_a_summary_is_told_as_rejected() -> None:
    """The context before it stays in force; the error is named by its type."""
    config = GuardConfig.from_dict({"compaction": {"fallback": None, "max_attempts": 1}})
    guard = ContextGuard(config, trigger=("messages", 5), keep=("messages", 1), summarizer=Down())
    agent = agent_of(guard)
    chunks = [chunk for number in range(3) for chunk in agent.stream(said(number), thread(), stream_mode="custom")]

    assert [STARTED, "compaction.rejected"] == types(chunks)
    assert ("down: ConnectionError",) == tuple(chunks[1]["failures"])
    assert "Zyxwvut" not in str(chunks)


def test_an_attempt_that_ends_the_run_is_told_once() -> None:
    """It is rejected, with its reason, and not failed besides."""

    def node(state: MessagesState) -> dict[str, Any]:
        with pytest.raises(ContextBudgetError):
            compact_messages(state["messages"], budget=600, extensions=Extensions(before_compaction=lambda _: False))
        return {}

    building = StateGraph(MessagesState)
    building.add_node("compact", node)
    building.add_edge(START, "compact")
    chunks = list(building.compile().stream({"messages": [HumanMessage(f"{SAID} {number}. " * 30) for number in range(9)]}, stream_mode="custom"))

    assert [STARTED, "compaction.rejected"] == types(chunks)
    assert "before_compaction" in chunks[1]["reason"]


POLICY = {"default": "deny", "rules": [{"tool": "look", "effect": "read"}, {"tool": "pay", "verdict": "ask"}, {"tool": "write"}]}


def test_verdicts_and_outcomes_of_calls_are_told() -> None:
    """What is denied, what ran and what came of it, without arguments or results."""
    ran = Ran()
    tools = guard_tools([ran.tool("drop", "q"), ran.tool("look", "q"), ran.tool("write", "q", result=SAID)], POLICY)
    made = calls(("drop", {"q": SAID}), ("look", {"q": SAID}), ("write", {"q": SAID}))
    agent = agent_with(tools, made, "ok")
    chunks = list(agent.stream({"messages": [("user", "go")]}, thread(), stream_mode="custom"))

    by_tool = {name: [chunk["type"] for chunk in chunks if chunk["tool"] == name] for name in ("drop", "look", "write")}
    assert ["policy.denied"] == by_tool["drop"]
    assert ["tool.ran"] == by_tool["look"]
    assert ["policy.allowed", "tool.ran"] == by_tool["write"]
    assert {"c0", "c1", "c2"} == {chunk["call_id"] for chunk in chunks}
    assert "Zyxwvut" not in str(chunks)


@pytest.mark.parametrize(("answer", "end"), [(approve(), ["approval.answered", "tool.ran"]), (reject("no"), ["approval.answered"])])
def test_questions_and_answers_are_told(answer: Any, end: list[str]) -> None:
    """Asked once, then what the person chose."""
    ran = Ran()
    agent = agent_with(guard_tools([ran.tool("pay", "amount:int")], POLICY), calls(("pay", {"amount": 7})), "ok")
    asked = list(agent.stream({"messages": [("user", "go")]}, thread(), stream_mode="custom"))
    assert ["policy.asked"] == types(asked)

    (question,) = agent.get_state(thread()).interrupts
    then = list(agent.stream(Command(resume={question.id: answer}), thread(), stream_mode="custom"))
    assert end == [kind for kind in types(then) if kind in end]
    assert "policy.asked" not in types(then)


def plain_graph(guard: ContextGuard, saver: Any = None) -> Any:
    building = StateGraph(GuardedState)
    building.add_node("compact", CompactContext(guard))
    building.add_node("model", lambda state: {"messages": [AIMessage(f"I saw {len(guard.view(state))}.")]})
    building.add_edge(START, "compact")
    building.add_edge("compact", "model")
    return building.compile(checkpointer=saver)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_node_tells_of_its_compaction_and_a_rollback(is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Manual steps are told as automatic ones are."""
    saver = InMemorySaver()
    with GuardStore.open("memory://") as store:
        guard = guard_with(store=store)
        graph = plain_graph(guard, saver)
        how = "astream v1" if is_async else "stream v1"
        chunks = [chunk for number in range(6) for chunk in await heard(graph, how, said(number), "custom")]
        assert [STARTED, FINISHED] == types(chunks)[:2]
        back = StateGraph(GuardedState)
        back.add_node("rollback", RollbackContext(guard, to=1))
        back.add_edge(START, "rollback")
        (rolled,) = await heard(back.compile(checkpointer=saver), how, {"messages": []}, "custom")

    assert ("rollback", 1, "t") == (rolled["type"], rolled["restored"], rolled["thread"])
    assert rolled["version"] > 1


def test_a_compaction_asked_for_in_a_node_is_told() -> None:
    """`compact_messages` in a graph is told to its stream, and in no graph to nobody."""

    def node(state: MessagesState) -> dict[str, Any]:
        compact_messages(state["messages"], keep=("messages", 1))
        return {}

    building = StateGraph(MessagesState)
    building.add_node("compact", node)
    building.add_edge(START, "compact")
    given = {"messages": [HumanMessage(f"{SAID} {number}. " * 30) for number in range(9)]}
    chunks = list(building.compile().stream(given, stream_mode="custom"))

    assert [STARTED, FINISHED] == types(chunks)
    assert "requested" == chunks[0]["trigger"]
    assert compact_messages(given["messages"], keep=("messages", 1)).record.version == 1


def test_a_version_whose_number_was_taken_is_told_with_the_one_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker made one between the attempt and the record."""
    real = VersionLog.commit

    def overtaken(log: VersionLog, place: Any, before: Any, after: Any, *more: Any, **named: Any) -> Any:
        monkeypatch.setattr(VersionLog, "commit", real)
        real(log, place, before, after.model_copy(update={"cool_down": 7}), *more, **named)
        return real(log, place, before, after, *more, **named)

    monkeypatch.setattr(VersionLog, "commit", overtaken)
    with GuardStore.open("memory://") as store:
        agent = agent_of(guard_with(store=store))
        chunks = [chunk for number in range(3) for chunk in agent.stream(said(number), thread(), stream_mode="custom")]

    assert [STARTED, FINISHED, "notice"] == types(chunks)
    assert ("version_renumbered", 2) == (chunks[2]["kind"], chunks[2]["version"])
    assert 2 == agent.get_state(thread()).values["ctxguard"]["version"]


def test_a_stage_that_ends_is_told_as_such() -> None:
    """What an application or an agent asks for far from any trigger names its own."""
    guard = guard_with(trigger=("tokens", 1_000_000))
    agent = agent_of(guard)
    for number in range(4):
        agent.invoke(said(number), thread())
    guard.end_phase("t")
    chunks = list(agent.stream(said(4), thread(), stream_mode="custom"))

    assert [(STARTED, "phase"), (FINISHED, "phase")] == [(chunk["type"], chunk["trigger"]) for chunk in chunks if "trigger" in chunk]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_sub_agent_of_deepagents_is_told_of_with_its_namespace(is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """What its tools may do is told to whoever listens to subgraphs."""
    ran = Ran()
    tools = guard_tools([ran.tool("drop", "q"), ran.tool("look", "q")], POLICY)
    agent = deep_agent_with(tools, calls(("drop", {"q": SAID}), ("look", {"q": SAID})), "done")
    given, settings = {"messages": [("user", "go")]}, {"stream_mode": "custom", "subgraphs": True}
    heard = [part async for part in agent.astream(given, thread(), **settings)] if is_async else list(agent.stream(given, thread(), **settings))

    told = {chunk["tool"]: chunk for _, chunk in heard if read_event(chunk) is not None}
    assert {"drop": "policy.denied", "look": "tool.ran"} == {name: chunk["type"] for name, chunk in told.items()}
    assert all(chunk["namespace"] == "|".join(namespace) != "" for namespace, chunk in heard)


def test_a_subgraph_tells_its_own_stream() -> None:
    """With `subgraphs=True` the chunk comes with the namespace, and the event names it."""
    inner = plain_graph(guard_with())
    outer = StateGraph(GuardedState)
    outer.add_node("worker", inner)
    outer.add_edge(START, "worker")
    graph = outer.compile(checkpointer=InMemorySaver())
    chunks: list[Any] = []
    for number in range(4):
        chunks += graph.stream(said(number), thread(), stream_mode="custom", subgraphs=True)

    namespaces = {namespace for namespace, chunk in chunks}
    assert all(namespace and namespace[0].startswith("worker:") for namespace in namespaces)
    first = chunks[0][1]
    assert (STARTED, "t") == (first["type"], first["thread"])
    assert first["namespace"].startswith("worker:")


def test_a_look_at_somebody_elses_compaction_is_told() -> None:
    """Whether it held, or what was put right."""
    stock = SummarizationMiddleware(FakeListChatModel(responses=["Small talk."]), trigger=("messages", 6), keep=("messages", 2))
    agent = create_agent(FakeListChatModel(responses=["yes"]), middleware=[ContextVerifier(ContextGuard()), stock], checkpointer=InMemorySaver())
    given = {"messages": [("user", "The budget is 4711 EUR.")]}
    chunks = list(agent.stream(given, thread(), stream_mode="custom"))
    for number in range(5):
        chunks += agent.stream({"messages": [("user", f"And {number}?")]}, thread(), stream_mode="custom")

    assert [kind for kind in types(chunks) if kind.startswith("verification.")]
    assert "4711" not in str(chunks)


def test_a_stream_that_cannot_be_written_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is warned about once, and the run comes to its end with its compaction."""
    import langgraph.config

    def refuse(_: Any) -> None:
        raise OSError(SAID)

    monkeypatch.setattr(langgraph.config, "get_stream_writer", lambda: refuse)
    agent = agent_of(guard_with())
    agent.invoke(said(0), thread())
    agent.invoke(said(1), thread())
    with pytest.warns(RuntimeWarning, match="StreamEvents failed with OSError") as warned:
        answer = agent.invoke(said(2), thread())["messages"][-1]
    assert 1 == len(warned)
    assert SAID in answer.text
    assert 1 == agent.get_state(thread()).values["ctxguard"]["version"]


def test_a_guard_can_be_told_to_tell_less() -> None:
    """`only` names the types; an empty one is silence."""
    assert [STARTED] == told_with(StreamEvents(only=[STARTED]))
    assert [] == told_with(StreamEvents(only=()))


def told_with(events: StreamEvents) -> list[str]:
    agent = agent_of(guard_with(hooks=[events]))
    return types(chunk for number in range(3) for chunk in agent.stream(said(number), thread(), stream_mode="custom"))


class Forgetful:
    """A summarizer that tells nothing of what matters."""

    name = "forgetful"

    def summarize(self, request: Any) -> SummaryDraft:
        """Say something."""
        return SummaryDraft(facts=(Fact(statement="They talked."),))

    async def asummarize(self, request: Any) -> SummaryDraft:
        """Say the same."""
        return self.summarize(request)


def test_a_compaction_that_waits_for_a_person_is_told_as_paused() -> None:
    """It began; it ends when the person answers, in another attempt."""
    config = GuardConfig.from_dict({"control_fields": {"on_loss": "ask"}})
    agent = agent_of(ContextGuard(config, summarizer=Forgetful(), trigger=("messages", 9), keep=("turns", 1)))
    chunks: list[Any] = []
    for text in ("What do you sell?", "Ship ORD-7712 by 2026-12-15.", *("Tell me of lamps. " * 30,) * 3):
        chunks += agent.stream({"messages": [("user", text)]}, thread(), stream_mode="custom")
    assert [STARTED, "compaction.paused"] == types(chunks)

    answer = Command(resume={agent.get_state(thread()).interrupts[0].id: {"choice": "reject"}})
    assert [STARTED, "compaction.rejected"] == types(agent.stream(answer, thread(), stream_mode="custom"))
