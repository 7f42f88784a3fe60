"""Control fields in an agent: carried over its compactions, and put to a person where the settings say so."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import Field

from langchain_ctxguard import ContextGuard, GuardConfig
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.summary import Fact, SummaryDraft

THREAD = {"configurable": {"thread_id": "t"}}


class Forgetful:
    """A summarizer that tells nothing of what matters, and counts how often it is asked."""

    name = "forgetful"

    asked = 0

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        self.asked += 1
        return SummaryDraft(facts=(Fact(statement=f"They talked, for the {self.asked}. time."),))

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        return self.summarize(request)


class Reader(FakeListChatModel):
    """A model that answers with the order number it can see, and remembers what it saw."""

    responses: list[str] = Field(default_factory=lambda: ["unused"])
    seen: list[str] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        self.seen.append(text)
        found = re.findall(r"ORD-\d+", text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(found[0] if found else "I do not know."))])


def agent(summarizer: Any, *, config: dict[str, Any] | None = None, messages: int = 24, saver: Any = None) -> tuple[Any, Reader]:
    """An agent that compacts when so many messages are there."""
    model = Reader()
    guard = ContextGuard(
        GuardConfig.from_dict({"control_fields": config or {}}), summarizer=summarizer, trigger=("messages", messages), keep=("turns", 1)
    )
    return create_agent(model, [], middleware=[guard], checkpointer=saver or InMemorySaver()), model


def talk(number: int) -> dict[str, Any]:
    """One turn that says nothing of matter."""
    return {"messages": [("human", f"Tell me about lamp {number}. " * 30)]}


def test_the_order_number_outlives_the_compaction_that_loses_it() -> None:
    """Said in turn 8, lost by the compaction in turn 15, still the answer in turn 16."""
    summarizer = Forgetful()
    graph, model = agent(summarizer, messages=29)
    for number in range(1, 8):
        graph.invoke(talk(number), THREAD)
    graph.invoke({"messages": [("human", "My order is ORD-7712, please note it.")]}, THREAD)
    for number in range(9, 16):
        graph.invoke(talk(number), THREAD)
    assert 1 == summarizer.asked

    done = graph.invoke({"messages": [("human", "What is my order number?")]}, THREAD)

    assert "ORD-7712" == done["messages"][-1].text
    assert "They talked" in model.seen[-1]


@pytest.mark.parametrize(
    ("choice", "is_carried", "is_compacted"), [("repair", True, True), ("approve", False, True), ("reject", True, False), ("what?", True, False)]
)
def test_a_person_decides_and_the_same_draft_is_judged(choice: str, is_carried: bool, is_compacted: bool) -> None:  # noqa: FBT001 - a table
    """The graph pauses before anything is committed; on resume no second summary is paid, and what is not a choice rejects."""
    summarizer = Forgetful()
    graph, model = agent(summarizer, config={"on_loss": "ask"}, messages=15)
    graph.invoke({"messages": [("human", "What do you sell?")]}, THREAD)
    graph.invoke({"messages": [("human", "Ship ORD-7712 by 2026-12-15.")]}, THREAD)
    for number in range(1, 6):
        graph.invoke(talk(number), THREAD)
    paused = graph.invoke(talk(6), THREAD)

    question = paused["__interrupt__"][0].value
    assert "control_fields" == question["type"]
    assert {("lost", "ORD-7712"), ("lost", "2026-12-15")} == {(found["finding"], found["value"]) for found in question["findings"]}
    assert not graph.get_state(THREAD).values.get("ctxguard")

    graph.invoke(Command(resume={"choice": choice}), THREAD)

    assert 1 == summarizer.asked
    assert is_carried == ("ORD-7712" in model.seen[-1])
    assert is_compacted == ("for the 1. time" in model.seen[-1])


async def test_a_person_is_asked_in_an_async_run_too() -> None:
    """One flow, two drivers."""
    summarizer = Forgetful()
    graph, model = agent(summarizer, config={"on_loss": "ask"}, messages=15)
    for said in ({"messages": [("human", "What is there?")]}, {"messages": [("human", "Ship ORD-7712.")]}, *map(talk, range(1, 6))):
        await graph.ainvoke(said, THREAD)
    paused = await graph.ainvoke(talk(6), THREAD)
    assert "__interrupt__" in paused

    await graph.ainvoke(Command(resume="repair"), THREAD)

    assert "ORD-7712" in model.seen[-1]
    assert 1 == summarizer.asked


def test_a_message_in_between_voids_the_draft() -> None:
    """What a person would decide about is not what would be evicted any more: another draft is made and asked about."""
    summarizer = Forgetful()
    graph, _ = agent(summarizer, config={"on_loss": "ask"}, messages=15)
    for said in ({"messages": [("human", "What is there?")]}, {"messages": [("human", "Ship ORD-7712.")]}, *map(talk, range(1, 6))):
        graph.invoke(said, THREAD)
    assert "__interrupt__" in graph.invoke(talk(6), THREAD)

    assert "__interrupt__" in graph.invoke({"messages": [("human", "And the lamp?"), ("human", "The red one.")]}, THREAD)

    assert 2 == summarizer.asked


def test_the_ledger_lies_in_the_state_and_serves_another_process() -> None:
    """A guard that never saw the messages carries the value on over a second compaction."""
    saver = InMemorySaver()
    first, _ = agent(Forgetful(), messages=15, saver=saver)
    for said in ({"messages": [("human", "What is there?")]}, {"messages": [("human", "Ship ORD-7712.")]}, *map(talk, range(1, 7))):
        first.invoke(said, THREAD)
    second, model = agent(Forgetful(), messages=15, saver=saver)
    for number in range(7, 24):
        second.invoke(talk(number), THREAD)

    assert "ORD-7712" in model.seen[-1]
    assert second.get_state(THREAD).values["ctxguard"]["version"] > 1
