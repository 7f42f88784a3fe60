"""The record of an agent's work has one say in a call, whichever way the call is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.types import Command

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.effects import CallAtWork, WorkWord
from langchain_ctxguard.core.effects import Ran as CameTo
from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.tools import PolicyToolNode, ToolGuard
from tests.graph.test_tool_matrix import invoked
from tests.support.tool_calls import PLACES, Ran, agent_with, approve, calls, deep_agent_with, graph_with, questions, results, say, thread, told

ROUTES = (*PLACES, "middleware")
HELD = WorkWord("held", "'a.py' is not as it was left", "Look at it first.")
IN_EFFECT = WorkWord("in_effect", "[TRACE-001] done: edit a.py")


@dataclass
class Record:
    """Says the same to every call it has a word for, and keeps what it was told."""

    says: Callable[[CallAtWork], WorkWord | None] = lambda _: None
    asked: list[CallAtWork] = field(default_factory=list)
    noted: list[tuple[CallAtWork, CameTo]] = field(default_factory=list)

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Say what it says."""
        self.asked.append(call)
        return self.says(call)

    def after(self, call: CallAtWork, ran: CameTo) -> None:
        """Keep what a call came to."""
        self.noted.append((call, ran))


def guard_with(record: Record, *rules: dict[str, Any]) -> ContextGuard:
    """Return a guard that hears a record."""
    policy = ToolPolicy.from_dict({"rules": [{"tool": "look", "effect": "read"}, *rules]})
    config = GuardConfig(tools=policy, compaction=CompactionSettings(trigger=None, window=100_000))
    guard = ContextGuard(config, store=GuardStore.open("memory://"))
    guard.gate.attend(record)
    return guard


def go(route: str, guard: ContextGuard, ran: Ran, *names: str, is_async: bool = False) -> str:
    """Have the named tools called by one message, and return what the model was told."""
    tools = [ran.tool(name, "path") for name in ("write", "look")]
    made = calls(*((name, {"path": "a.py"}) for name in names))
    match route:
        case "direct":
            guarded = guard.tools(tools)
            return "\n".join(str(invoked(guarded, call).content) for call in made.tool_calls)
        case "agent":
            graph = agent_with(guard.tools(tools), made, "done", middleware=[guard])
        case "middleware":
            graph = agent_with(tools, made, "done", middleware=[guard, ToolGuard(guard)])
        case "graph":
            graph = graph_with(PolicyToolNode(tools, guard), made, "done")
        case _:
            graph = deep_agent_with(guard.tools(tools), made, "done")
    return told(say(graph, is_async=is_async))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_a_call_that_is_held_does_not_run(route: str, *, is_async: bool) -> None:
    """Nothing happens, and the model reads why and what to do."""
    ran, record = Ran(), Record(lambda _: HELD)
    said = go(route, guard_with(record), ran, "write", is_async=is_async)

    assert [] == ran.calls
    assert [] == record.noted
    if route != "deep":
        assert "Denied `write`: 'a.py' is not as it was left. Nothing happened: the tool did not run. Look at it first." == said


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_what_is_in_effect_is_told_and_not_done_again(route: str, *, is_async: bool) -> None:
    """The evidence stands in the tool's place, and it is no error."""
    ran, record = Ran(), Record(lambda call: IN_EFFECT if call.request.tool == "write" else None)
    said = go(route, guard_with(record), ran, "write", is_async=is_async)

    assert [] == ran.calls
    if route != "deep":
        assert IN_EFFECT.text == said


def test_an_answer_in_the_tools_place_is_no_error() -> None:
    """A model that reads an error tries again; one that reads a result goes on."""
    guard = guard_with(Record(lambda _: IN_EFFECT))
    state = say(agent_with(guard.tools([Ran().tool("write", "path")]), calls(("write", {"path": "a"})), "done", middleware=[guard]))
    assert ["success"] == [result.status for result in results(state)]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("route", ROUTES)
def test_what_a_call_came_to_is_noted(route: str, *, is_async: bool) -> None:
    """The record learns what ran, with the arguments it ran with, and who else was called beside it."""
    ran, record = Ran(), Record()
    go(route, guard_with(record), ran, "write", "look", is_async=is_async)

    assert ["look", "write"] == sorted(call.request.tool for call, _ in record.noted)
    assert {"finished"} == {came.outcome for _, came in record.noted}
    if route != "direct":
        assert {("c0", "c1")} == {call.siblings for call in record.asked}


def test_a_record_that_fails_stops_what_changes_something_and_nothing_else() -> None:
    """Where nobody can tell, an edit waits; reading stays possible."""

    def fails(_: CallAtWork) -> WorkWord | None:
        raise OSError

    ran = Ran()
    said = go("agent", guard_with(Record(fails)), ran, "write", "look")
    assert ["look"] == ran.names
    assert "could not be judged (OSError)" in said


def test_a_record_that_fails_afterwards_undoes_nothing() -> None:
    """What the tool returned reaches the model."""

    class Failing(Record):
        def after(self, call: CallAtWork, ran: CameTo) -> None:
            raise OSError

    ran = Ran()
    assert "done" == go("agent", guard_with(Failing()), ran, "write")
    assert ["write"] == ran.names


@pytest.mark.parametrize("word", [HELD, IN_EFFECT])
@pytest.mark.parametrize("route", ["agent", "graph"])
def test_nobody_is_asked_about_a_call_that_will_not_run(route: str, word: WorkWord) -> None:
    """A person's agreement is not wasted on what is denied or done already."""
    ran = Ran()
    guard = guard_with(Record(lambda call: word if call.request.tool == "write" else None), {"tool": "write", "verdict": "ask"})
    go(route, guard, ran, "write", "look")
    assert ["look"] == ran.names


def test_a_call_that_a_person_edits_is_heard_anew() -> None:
    """What is said of one call is not said of the one a person made of it."""
    ran = Ran()
    guard = guard_with(Record(lambda call: HELD if call.request.args["path"] == "b.py" else None), {"tool": "write", "verdict": "ask"})
    graph = agent_with(guard.tools([ran.tool("write", "path")]), calls(("write", {"path": "a.py"})), "done", middleware=[guard])
    state = say(graph)
    answer = {"decisions": [{"type": "edit", "edited_action": {"name": "write", "args": {"path": "b.py"}}}]}
    state = graph.invoke(Command(resume={questions(state)[0].id: answer}), thread())

    assert [] == ran.calls
    assert "is not as it was left" in told(state)


def test_an_agreed_call_runs_once_and_is_noted_once() -> None:
    """Pausing and going on is one call."""
    ran, record = Ran(), Record()
    guard = guard_with(record, {"tool": "write", "verdict": "ask"})
    graph = agent_with(guard.tools([ran.tool("write", "path")]), calls(("write", {"path": "a.py"})), "done", middleware=[guard])
    state = say(graph)
    graph.invoke(Command(resume={questions(state)[0].id: approve()}), thread())
    assert (["write"], 1) == (ran.names, len(record.noted))


def test_a_guard_keeps_one_record() -> None:
    """Two workspaces would contradict each other."""
    record = Record()
    guard = guard_with(record)
    guard.gate.attend(record)
    with pytest.raises(ConfigurationError, match="another workspace"):
        guard.gate.attend(Record())
