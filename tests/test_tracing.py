"""Compactions in LangSmith: the real client against a server on loopback."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langsmith import Client, tracing_context
from urllib3 import Retry

from langchain_ctxguard import ChatModelSummarizer, ContextGuard, compact_messages
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.langsmith_server import Received, langsmith_server
from langchain_ctxguard.tracing import LangSmithTracer

SAID = "the parcel for Zyxwvut stands in aisle nine"
NOTES = '{"user_intent": "find the parcel", "facts": [{"statement": "The parcel stands in aisle nine."}]}'


@pytest.fixture
def server() -> Iterator[Received]:
    """A LangSmith of the test's own."""
    with langsmith_server() as received:
        yield received


def client_of(server: Received, **settings: Any) -> Client:
    return Client(api_url=server.url, api_key="none", auto_batch_tracing=True, **settings)


def agent_of(tracer: LangSmithTracer) -> Any:
    guard = ContextGuard(
        constraints=["Never delete an order."],
        trigger=("messages", 5),
        keep=("messages", 1),
        summarizer=ChatModelSummarizer(FakeListChatModel(responses=[NOTES])),
        hooks=[tracer],
    )
    return create_agent(FakeListChatModel(responses=[f"Answer: {SAID}. " * 20]), middleware=[guard], checkpointer=InMemorySaver())


def said(number: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(f"Question {number}: {SAID}. " * 20)]}


CONFIG = {"configurable": {"thread_id": "t-1"}}


async def _talk(agent: Any, how: str) -> None:
    for number in range(4):
        match how:
            case "invoke":
                agent.invoke(said(number), CONFIG)
            case "ainvoke":
                await agent.ainvoke(said(number), CONFIG)
            case "stream":
                list(agent.stream(said(number), CONFIG))
            case _:
                assert [part async for part in agent.astream(said(number), CONFIG)]


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_compaction_is_a_run_below_the_agents_own(server: Received, how: str) -> None:
    """With a child for each step, the summarizer's model run below its own, and numbers where a dashboard looks for them."""
    client = client_of(server)
    tracer = LangSmithTracer(client=client, tags=["shop"], metadata={"team": "parcels"})
    with tracing_context(enabled=True, client=client):
        await _talk(agent_of(tracer), how)
    client.flush()

    compaction = server.named("ctxguard.compaction")[0]
    assert server.runs[compaction["parent_run_id"]]["name"].startswith("ContextGuard.")
    steps = {run["name"]: run for run in server.below(compaction)}
    assert {"ctxguard.extract", "ctxguard.summarize", "ctxguard.verify"} == set(steps)
    assert ["llm"] == [run["run_type"] for run in server.below(steps["ctxguard.summarize"])]
    assert "LangGraph" == server.runs[compaction["trace_id"]]["name"]
    metadata = compaction["extra"]["metadata"]
    assert ("t-1", 0) == (metadata["ctxguard_thread"], metadata["ctxguard_parent"])
    assert ("accepted", 1, "parcels") == (metadata["ctxguard_outcome"], metadata["ctxguard_version"], metadata["team"])
    assert {"ctxguard", "shop", "outcome:accepted"} <= set(compaction["tags"])
    assert metadata["ctxguard_tokens_before"] > metadata["ctxguard_tokens_after"] == compaction["outputs"]["tokens_after"]


def test_no_word_of_the_conversation_is_in_a_run_of_ours(server: Received) -> None:
    """Ids, counts and digests, unless the text was asked for."""
    client = client_of(server)
    with tracing_context(enabled=True, client=client):
        compact_messages([HumanMessage(f"{SAID} {n}. " * 30) for n in range(9)], keep=("messages", 1))
    client.flush()

    assert "ctxguard.compaction" in server.text
    assert "Zyxwvut" not in server.text


def test_scores_become_feedback_on_the_run(server: Received) -> None:
    """With the project's id, as LangSmith asks for it."""
    client = client_of(server)
    tracer = LangSmithTracer(client=client)
    with tracing_context(enabled=True, client=client):
        agent = agent_of(tracer)
        for number in range(3):
            agent.invoke(said(number), CONFIG)
    assert tracer.flush()
    client.flush()

    compaction = server.named("ctxguard.compaction")[0]
    assert {compaction["id"]} == {item["run_id"] for item in server.feedback}
    scores = {item["key"]: item["score"] for item in server.feedback}
    assert {"retention", "critical_lost", "fields_changed", "compression", "gain_tokens"} == set(scores)
    assert (1.0, 0.0) == (scores["retention"], scores["critical_lost"])
    assert 0 < scores["compression"] < 1


def test_without_tracing_nothing_is_sent(server: Received) -> None:
    """Off is off, whatever hook stands in the list."""
    client = client_of(server)
    with tracing_context(enabled=False):
        agent_of(LangSmithTracer(client=client)).invoke(said(0), CONFIG)
    client.flush()

    assert [] == server.bodies


def test_off_costs_next_to_nothing() -> None:
    """A question, and nothing else."""
    tracer = LangSmithTracer()
    with tracing_context(enabled=False):
        with tracer.span("compaction", {}):
            pass
        began = time.thread_time()
        for _ in range(1_000):
            with tracer.span("compaction", {}):
                pass
        spent = time.thread_time() - began

    assert spent / 1_000 < 100e-6


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_dead_endpoint_neither_slows_nor_breaks_a_turn(is_silent: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """One that refuses and one that takes what is sent and never answers: what cannot be sent is lost for LangSmith alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if is_silent:
            taken.listen()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        client = Client(api_url=url, api_key="none", auto_batch_tracing=True, timeout_ms=1_000, retry_config=Retry(0))
        tracer = LangSmithTracer(client=client)
        with tracing_context(enabled=True, client=client):
            agent = agent_of(tracer)
            slowest = 0.0
            for number in range(3):
                began = time.monotonic()
                done = agent.invoke(said(number), CONFIG)
                slowest = max(slowest, time.monotonic() - began)
        # A turn takes some hundredths of a second; one that waited for an answer would take the second the client gives it.
        assert slowest < 1
        assert 1 == agent.get_state(CONFIG).values["ctxguard"]["version"]
        assert SAID in done["messages"][-1].text


def test_redaction_and_hiding_of_the_client_are_respected(server: Received) -> None:
    """What the client hides of inputs and outputs is hidden of ours."""
    client = client_of(server, hide_inputs=True, hide_outputs=True)
    with tracing_context(enabled=True, client=client):
        compact_messages([HumanMessage(f"{SAID} {n}. " * 30) for n in range(9)], keep=("messages", 1))
    client.flush()

    compaction = server.named("ctxguard.compaction")[0]
    assert ({}, {}) == (compaction["inputs"], compaction["outputs"])


def test_sampling_of_the_client_is_respected(server: Received) -> None:
    """Nothing is sent of a trace that was not drawn."""
    client = client_of(server, tracing_sampling_rate=0.0)
    tracer = LangSmithTracer(client=client)
    with tracing_context(enabled=True, client=client):
        agent = agent_of(tracer)
        for number in range(3):
            agent.invoke(said(number), CONFIG)
    tracer.flush()
    client.flush()

    assert {} == server.runs
    assert [] == server.feedback


def test_an_error_is_shown_by_its_name(server: Received) -> None:
    """Its words may be words of the conversation."""
    client = client_of(server)
    tracer = LangSmithTracer(client=client)
    with tracing_context(enabled=True, client=client), pytest.raises(ValueError, match="Zyxwvut"), tracer.span("compaction", {}):
        raise ValueError(SAID)
    client.flush()

    assert "ValueError" == server.named("ctxguard.compaction")[0]["error"]
    assert "Zyxwvut" not in server.text


def test_content_is_one_of_two() -> None:
    """A misspelling must not send text."""
    with pytest.raises(ConfigurationError, match="'counts' or 'full'"):
        LangSmithTracer(content="everything")  # type: ignore[arg-type]
