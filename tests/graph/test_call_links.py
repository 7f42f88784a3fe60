"""Every step of a tool call on record names the context version and the versions of the rules it was taken under."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tools_condition

from langchain_ctxguard import CompactContext, Constraint, ConstraintRegistry, ContextGuard, GuardConfig, GuardedState, GuardStore, PolicyToolNode
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.records.constraint_events import Declared
from langchain_ctxguard.records.folds import opened
from tests.graph.test_history import Counting
from tests.support.tool_calls import Messages, Ran, approve, calls, resume, say, thread

STEPS = ["asked", "answered", "judged", "ran"]
NEWER = Constraint(constraint_id="r-1", version=2, text="Never pay a third time.", supersedes="r-1@1")
CONFIG = {"tools": {"rules": [{"tool": "pay", "verdict": "ask"}, {"tool": "wire", "verdict": "deny"}]}}


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Call the tool a person names, talk otherwise."""
    name = messages[-1].text.partition(":")[0] if messages[-1].type == "human" else ""
    called = calls((name, {"amount": len(messages)}), ids=f"c{len(messages)}-")
    return called if name in {"pay", "wire"} else AIMessage("talk " * 40)


class Trial:
    """One thread with rules that change, and what is on record of its calls."""

    def __init__(self, place: str, *, is_async: bool) -> None:
        """Begin with one rule."""
        self.store = GuardStore.open("memory://")
        self.is_async = is_async
        self.writer = ConstraintRegistry(self.store.log).writer("system", by="ops")
        self.writer.declare(Constraint(constraint_id="r-1", text="Never pay twice."), "policy")
        self.guard = ContextGuard(GuardConfig.from_dict(CONFIG), store=self.store, trigger=("messages", 7), keep=("turns", 1), summarizer=Counting())
        tools = [Ran().tool("pay", "amount:int"), Ran().tool("wire", "amount:int")]
        model = Messages(answer=answer)
        self.graph: Any
        if place == "agent":
            self.graph = create_agent(model, self.guard.tools(tools), middleware=[self.guard], checkpointer=InMemorySaver())
            return
        graph = StateGraph(GuardedState)
        graph.add_node("compact", CompactContext(self.guard))
        graph.add_node("model", lambda state: {"messages": [model.invoke(self.guard.view(state))]})
        graph.add_node("tools", PolicyToolNode(tools, self.guard))
        graph.add_edge(START, "compact")
        graph.add_edge("compact", "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        self.graph = graph.compile(checkpointer=InMemorySaver())

    def say(self, text: str) -> None:
        """Say something; a question that comes of it is answered."""
        state = say(self.graph, text, is_async=self.is_async)
        if state.get("__interrupt__"):
            resume(self.graph, approve(), is_async=self.is_async, context={"approver": {"id": "eve"}})

    def records(self) -> list[CallRecord]:
        """Return the steps on record, oldest first."""
        found = []
        for entry in self.store.log.read(self.store.stream("audit", '["t",""]')):
            data = opened(entry)
            if data.pop("kind", None) == "tool_call":
                found.append(CallRecord.model_validate(data))
        return found

    @property
    def version(self) -> int:
        """Number of the newest version on record."""
        return int(self.guard.history(thread()).versions[-1].number)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("place", ["agent", "graph"])
def test_request_verdict_approval_and_outcome_name_what_they_were_taken_under(place: str, *, is_async: bool) -> None:
    """Before a compaction, after one, and after a rule changed: each step says which versions were in force, and those are on record."""
    trial = Trial(place, is_async=is_async)
    trial.say("pay: now")
    first = trial.records()
    assert [(step, None, ("r-1@1",)) for step in STEPS] == [(one.step, one.context_version, one.constraints) for one in first]

    for number in range(4):
        trial.say(f"Something else, number {number}. " * 10)
    compacted = trial.version
    assert compacted >= 1
    trial.say("pay: again")
    second = trial.records()[len(first) :]
    assert STEPS == [one.step for one in second]
    (seen,) = {one.context_version for one in second}
    assert seen is not None
    assert seen >= compacted
    assert {("r-1@1",)} == {one.constraints for one in second}

    trial.writer.supersede(NEWER, "stricter")
    trial.say("wire: it")
    (denied,) = trial.records()[len(first) + len(second) :]
    assert ("judged", "deny", ("r-1@2",)) == (denied.step, denied.decision, denied.constraints)
    assert denied.context_version in {version.number for version in trial.guard.history(thread()).versions}
    assert denied.context_version == trial.graph.get_state(thread()).values["ctxguard"]["version"]


def test_the_link_leads_from_a_call_to_the_version_and_the_rule() -> None:
    """By the call's id the record is found; by what it names, the version with its compaction and the words of the rule as it was then."""
    trial = Trial("agent", is_async=False)
    for number in range(5):
        trial.say(f"Something else, number {number}. " * 10)
    trial.say("pay: now")
    done = trial.records()[-1]
    trial.writer.supersede(NEWER, "stricter")
    version = next(one for one in trial.guard.history(thread()).versions if one.number == done.context_version)
    assert version.outcome in {"accepted", "repaired", "retried", "fell_back"}
    name, _, number = done.constraints[0].partition("@")
    told = (change.event for change in trial.guard.registry.history(name))
    assert ["Never pay twice."] == [
        event.constraint.text for event in told if isinstance(event, Declared) and event.constraint.version == int(number)
    ]
