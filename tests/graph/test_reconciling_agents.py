"""Reconciliation and repeats in real agents, plain graphs, deep agents, and across a process that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tools_condition

from langchain_ctxguard import CompactContext, ContextGuard, GuardedState, HandoffGuard, PolicyToolNode
from langchain_ctxguard.backends.workspace import Workspace
from tests.graph.models import ScriptedChat
from tests.support.coding import ago, coding_guard, deep, file_tools, go, notes_in, scripted, step
from tests.support.repositories import git, repository

TWO = {"old_string": "= 1", "new_string": "= 2"}
ROUTES = ("agent", "graph", "deep")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository."""
    return repository(tmp_path / "work", {"a.py": "a = 1\n", "b.py": "b = 1\n"})


def steps(route: str) -> tuple[Any, ...]:
    """Return a piece of work, a compaction, and what comes after it."""
    path = "file_path" if route == "deep" else "path"
    a, b = ({path: f"/{name}" if route == "deep" else name} for name in ("a.py", "b.py"))
    return (
        step("edit_file", "c1", **a, **TWO),
        step("trace", "c2", state="decided", text="the standard library", rejected=[{"option": "requests", "why": "deployment size"}]),
        step("trace", "c3", state="next", text="set b"),
        step("compact_context", "c4", reason="a is done"),
        "a is done",
        step("edit_file", "c5", **b, **TWO),
        step("edit_file", "c6", **a, **TWO),
        step("edit_file", "c7", **a, **TWO),
        step("write_file", "c8", **{path: "/c.py" if route == "deep" else "c.py"}, content="import requests\n"),
        "done",
    )


def built(route: str, root: Path, guard: ContextGuard, model: ScriptedChat, **options: Any) -> Any:
    """Return an agent, a plain graph, or a deep agent over a folder."""
    if route == "deep":
        backend = FilesystemBackend(root_dir=root, virtual_mode=True)
        return deep(model, guard, HandoffGuard(guard, backend, **options), backend)
    handoff = HandoffGuard(guard, root, **options)
    if route == "agent":
        return create_agent(model, file_tools(root), middleware=[guard, handoff], checkpointer=InMemorySaver())
    builder = StateGraph(GuardedState)
    builder.add_node("compact", CompactContext(guard, model=model))
    builder.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state, system="SYS"))]})
    builder.add_node("tools", PolicyToolNode([*file_tools(root), *handoff.tools], guard))
    builder.add_edge(START, "compact")
    builder.add_edge("compact", "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "compact")
    return builder.compile(checkpointer=InMemorySaver())


def told(state: dict[str, Any]) -> dict[str, ToolMessage]:
    """Return the results of calls by their ids."""
    return {message.tool_call_id: message for message in state["messages"] if isinstance(message, ToolMessage)}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("route", ROUTES)
async def test_what_was_undone_outside_is_told_before_anything_more_is_done(root: Path, route: str, is_async: bool) -> None:  # noqa: FBT001
    """Held once by name, done again, then answered; and what was turned down stays so: wherever the tools run."""
    model = scripted(*steps(route))
    graph = built(route, root, coding_guard(), model, check="! grep -n BROKEN *.py")
    await ago(graph, "Set a and b to 2.", is_async=is_async)
    git(root, "checkout", "-q", "a.py")
    results = told(await ago(graph, "Go on.", is_async=is_async))

    assert "error" == results["c5"].status
    assert "'a.py' is again as it was in the last commit" in results["c5"].text
    assert "b = 1\n" == (root / "b.py").read_text()
    assert "success" == results["c6"].status
    assert "a = 2\n" == (root / "a.py").read_text()
    assert "success" == results["c7"].status
    assert "Already in effect" in results["c7"].text
    assert "deployment size" in results["c8"].text
    assert not (root / "c.py").exists()


@pytest.mark.parametrize("route", ROUTES)
def test_the_status_stands_in_the_context_until_the_next_compaction(root: Path, route: str) -> None:
    """The same words in every call, so that the prefix is left alone."""
    model = scripted(*steps(route))
    graph = built(route, root, coding_guard(), model)
    go(graph, "Set a and b to 2.")
    go(graph, "Go on.")
    notes = [notes_in(view) for view in model.seen if notes_in(view)]

    assert len(notes) > 2
    assert 1 == len({tuple(note) for note in notes})
    assert "The work log was held against the workspace after the compaction" in notes[0][0]
    assert "Done and in effect; do not do it again:\n- [TRACE-001]" in notes[0][0]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("is_near", [False, True])
def test_a_short_run_starts_no_program(root: Path, route: str, is_near: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Whatever the agent is built with: the workspace is looked at when a compaction is near, and not before."""
    looked: list[str] = []
    survey = Workspace.survey
    monkeypatch.setattr(Workspace, "survey", lambda self: looked.append("survey") or survey(self))
    model = scripted(*steps(route)[:2], "done") if not is_near else scripted(*steps(route)[:2], *steps(route)[5:6], "done")
    guard = coding_guard(trigger=("messages", 8) if is_near else ("messages", 100), store="memory://")
    go(built(route, root, guard, model, check="touch ../checked"), "Set a and b to 2.")
    assert is_near == bool(looked)
    assert is_near == (root.parent / "checked").exists()


def test_calls_of_one_message_are_held_together(root: Path) -> None:
    """Whoever made them knew the same; none of them runs, and the next message's do."""
    both = step("edit_file", "c5", path="b.py", **TWO)
    both.tool_calls.append({"name": "write_file", "args": {"path": "d.py", "content": "d"}, "id": "c6", "type": "tool_call"})
    model = scripted(*steps("agent")[:5], both, step("edit_file", "c7", path="b.py", **TWO), "done")
    graph = built("agent", root, coding_guard(), model)
    go(graph, "Set a and b to 2.")
    git(root, "checkout", "-q", "a.py")
    results = told(go(graph, "Go on."))

    assert ["error", "error", "success"] == [results[name].status for name in ("c5", "c6", "c7")]
    assert not (root / "d.py").exists()
    assert "b = 2\n" == (root / "b.py").read_text()


def test_an_unknown_middleware_order_changes_nothing(root: Path) -> None:
    """Tools that `guard.tools` wrapped are judged the same in an agent that lists no guard at all."""
    guard = coding_guard()
    handoff = HandoffGuard(guard, root)
    tools = {tool.name: tool for tool in guard.tools(file_tools(root))}
    config = {"configurable": {"thread_id": "t-1"}}
    made = {"name": "edit_file", "args": {"path": "a.py", **TWO}, "id": "x1", "type": "tool_call"}
    assert "edited" == tools["edit_file"].invoke(made, config).text
    assert "Already in effect" in tools["edit_file"].invoke({**made, "id": "x2"}, config).text
    assert 1 == len(handoff.entries("t-1"))


def test_a_process_killed_between_compaction_and_reconciliation(root: Path, tmp_path: Path) -> None:
    """Another one goes on with the same saver and store: what was due is due, and the file reverted meanwhile is named."""
    run = [sys.executable, "-m", "tests.graph.reconciling_process", str(root), str(tmp_path)]
    first = subprocess.run(run, check=False, capture_output=True, text=True)
    assert 9 == first.returncode, first.stderr
    git(root, "checkout", "-q", "a.py")
    second = subprocess.run(run, check=False, capture_output=True, text=True)
    assert 0 == second.returncode, second.stderr
    results = json.loads(second.stdout)

    status, text = results["c5"]
    assert "error" == status
    assert text.startswith("Denied `edit_file`: the workspace is not as the work log says: 'a.py'")
    assert "success" == results["c6"][0]
    assert "Already in effect" in results["c7"][1]
    assert "deployment size" in results["c8"][1]
    assert ("a = 2\n", "b = 1\n") == ((root / "a.py").read_text(), (root / "b.py").read_text())
