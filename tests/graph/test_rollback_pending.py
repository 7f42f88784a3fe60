"""Going back while a run waits for a person: what was asked about another state is asked again, and never answered by what was said before."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tools_condition

from langchain_ctxguard import CompactContext, ContextGuard, GuardConfig, GuardedState, GuardStore, PolicyToolNode
from tests.graph.models import Facts
from tests.graph.test_history import Counting
from tests.support.tool_calls import Messages, Ran, approve, calls, questions, results, resume, say, thread


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Pay where a person says so, talk otherwise."""
    is_asked = messages[-1].type == "human" and messages[-1].text.startswith("pay")
    return calls(("pay", {"amount": 1})) if is_asked else AIMessage("talk " * 40)


class Waiting:
    """A thread with versions that waits for a person's word on a call."""

    def __init__(self, place: str, evict: str) -> None:
        """Talk until there is something to go back to, then ask."""
        self.ran, self.facts = Ran(), Facts()
        config = GuardConfig.from_dict({"compaction": {"evict": evict}, "tools": {"rules": [{"tool": "pay", "verdict": "ask"}]}})
        settings: dict[str, Any] = {"trigger": ("messages", 7), "keep": ("turns", 1), "summarizer": Counting(), "hooks": [self.facts]}
        self.guard = ContextGuard(config, store=GuardStore.open("memory://"), **settings)
        tools, model = [self.ran.tool("pay", "amount:int")], Messages(answer=answer)
        self.graph: Any
        if place == "agent":
            self.graph = create_agent(model, self.guard.tools(tools), middleware=[self.guard], checkpointer=InMemorySaver())
        else:
            graph = StateGraph(GuardedState)
            graph.add_node("compact", CompactContext(self.guard))
            graph.add_node("model", lambda state: {"messages": [answer(self.guard.view(state))]})
            graph.add_node("tools", PolicyToolNode(tools, self.guard))
            graph.add_edge(START, "compact")
            graph.add_edge("compact", "model")
            graph.add_conditional_edges("model", tools_condition)
            graph.add_edge("tools", "model")
            self.graph = graph.compile(checkpointer=InMemorySaver())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Messages leave the state")
            for number in range(6):
                say(self.graph, f"Something, number {number}. " * 10)
            (self.asked,) = questions(say(self.graph, "pay: it"))

    def goes_back(self, *, is_async: bool) -> str:
        """Go back to the first version, and return what hooks were told."""
        history = self.guard.history(thread(), self.graph)
        _ = asyncio.run(history.arollback(to=1, reason="astray")) if is_async else history.rollback(to=1, reason="astray")
        return next(fact.detail for fact in self.facts.all if getattr(fact, "kind", "") == "rolled_back")

    @property
    def interrupts(self) -> tuple[Any, ...]:
        """What the run waits for."""
        return tuple(self.graph.get_state(thread()).interrupts)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("place", ["agent", "graph"])
def test_where_messages_come_back_the_question_is_asked_again(place: str, *, is_async: bool) -> None:
    """The run stands where it stood and asks when it goes on; then one answer runs the call once."""
    trial = Waiting(place, "archive")
    assert "(1) are asked again" in trial.goes_back(is_async=is_async)
    assert ((), ("tools",)) == (trial.interrupts, trial.graph.get_state(thread()).next)
    state = trial.graph.invoke(None, thread())
    (asked,) = questions(state)
    assert trial.asked.value["action_requests"] == asked.value["action_requests"]
    assert [] == trial.ran.calls
    assert ["done"] == [message.text for message in results(resume(trial.graph, approve()))]
    assert ["pay"] == trial.ran.names


@pytest.mark.parametrize("place", ["agent", "graph"])
def test_an_answer_to_the_question_before_opens_nothing(place: str) -> None:
    """By its digest or without one: the person saw another state. They are told, and asked again."""
    for given in (approve(), None):
        trial = Waiting(place, "archive")
        trial.goes_back(is_async=False)
        (asked,) = questions(resume(trial.graph, given or approve(digest=trial.asked.value["digest"])))
        assert [] == trial.ran.calls
        resume(trial.graph, approve(digest=asked.value["digest"]))
        assert ["pay"] == trial.ran.names


@pytest.mark.parametrize("place", ["agent", "graph"])
def test_where_no_message_comes_back_the_question_stands(place: str) -> None:
    """The state is as it was, and so is what was asked about it."""
    trial = Waiting(place, "view")
    assert "asked again" not in trial.goes_back(is_async=False)
    assert [trial.asked.id] == [one.id for one in trial.interrupts]
    resume(trial.graph, approve(digest=trial.asked.value["digest"]))
    assert ["pay"] == trial.ran.names
