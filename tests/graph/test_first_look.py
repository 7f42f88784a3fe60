"""Far from a compaction nothing is looked at; at the first look, what was before the agent's work is still told from its doing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard, GuardConfig, HandoffGuard
from langchain_ctxguard.graph import first_contents
from tests.graph.models import ScriptedChat
from tests.support.coding import coding_guard, go, notes_in, scripted, step
from tests.support.desk import CHECK, Desk, file_tools, is_answered, is_held
from tests.support.repositories import committed, repository, written

OLD = {"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository."""
    return repository(tmp_path / "work", OLD)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Programs that were started."""
    found: list[Any] = []

    class Counted(subprocess.Popen):  # type: ignore[type-arg]  # stands in its place as it is
        def __init__(self, args: Any, *more: Any, **settings: Any) -> None:
            found.append(args)
            super().__init__(args, *more, **settings)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    return found


def far(root: Path, store: str = "memory://", **options: Any) -> Desk:
    """Return a desk at which no compaction is near."""
    desk = Desk(root, store, **{"check": CHECK, **options})
    desk.handoff.nearness.note("t", is_near=False)
    return desk


def compacted(desk: Desk) -> str:
    """Compact as a guard does, and return the status."""
    desk.handoff.nearness.note("t", is_near=True)
    desk.handoff.reconciler.begin("t")
    return desk.compact()


def agent_with(root: Path, model: ScriptedChat, guard: ContextGuard | None = None) -> tuple[Any, Any]:
    """Return an agent with a check in a workspace, and its guard."""
    guard = guard or coding_guard(store="memory://")
    handoff = HandoffGuard(guard, root, check=CHECK)
    return create_agent(model, file_tools(root), middleware=[guard, handoff], checkpointer=InMemorySaver()), guard


def work() -> tuple[Any, ...]:
    """Return steps of every kind."""
    return (
        step("grep", "c1", pattern="= 1"),
        step("read_file", "c2", file_path="a.py"),
        step("edit_file", "c3", file_path="a.py", old_string="a = 1", new_string="a = 2"),
        step("write_file", "c4", file_path="d.py", content="d = 1\n"),
        step("delete_file", "c5", file_path="b.py"),
        step("execute", "c6", command="python -m pytest"),
        step("grep", "c7", pattern="= 2"),
    )


def test_a_run_that_never_nears_a_compaction_looks_at_nothing(root: Path, started: list[Any]) -> None:
    """No program is started, no file is written, and nothing of the work goes on record: of each call the audit alone."""
    agent, guard = agent_with(root, scripted(*work(), "done"))
    go(agent, "Change a, drop b.")
    assert [] == started
    assert {"a.py", "c.py", "d.py"} == {path.name for path in root.iterdir() if path.name != ".git"}
    assert {"audit"} == {head.stream.kind for head in guard.store.log.anchor().heads}


@pytest.mark.parametrize("settings", [{"trigger": {"tokens": 3_000}}, {"trigger": {"messages": 20}}, {"trigger": {"fraction": 0.9}}, {}])
def test_at_half_of_what_starts_a_compaction_the_workspace_is_looked_at(root: Path, started: list[Any], settings: dict[str, Any]) -> None:
    """Whatever the trigger speaks of: the look comes before a compaction does."""
    guard = ContextGuard(GuardConfig.from_dict({"compaction": {"window": 3_500, **settings}}), store="memory://")
    agent, _ = agent_with(root, scripted(*work(), "done"), guard)
    go(agent, "Change a, drop b.")
    assert started
    assert guard.store is not None
    assert "reconcile" in {head.stream.kind for head in guard.store.log.anchor().heads}
    assert not (root / ".ctxguard").exists(), "no compaction was made"


def test_an_agent_that_compacts_at_once_is_told_what_it_broke(root: Path) -> None:
    """The first look is the one before the compaction: what failed by then is held against the files as they were before."""
    model = scripted(
        *(step("read_file", f"r{number}", file_path="c.py") for number in range(4)),
        step("write_file", "c1", file_path="a.py", content="a = BROKEN\n"),
        step("compact_context", "c2", reason="a is done"),
        "a is done",
        step("write_file", "c3", file_path="b.py", content="b = 2\n"),
        step("write_file", "c4", file_path="a.py", content="a = 2\n"),
        step("write_file", "c5", file_path="b.py", content="b = 2\n"),
        "done",
    )
    agent, _ = agent_with(root, model)
    go(agent, "Change a and b.")
    state = go(agent)
    told = {message.tool_call_id: message.text for message in state["messages"] if message.type == "tool"}
    assert "and passed before" in told["c3"]
    assert ("Wrote a.py", "Wrote b.py") == (told["c4"], told["c5"])
    assert "It passed before" in notes_in(model.seen[-1])[0]


def test_a_check_that_failed_before_the_work_is_not_blamed_however_late_the_look(root: Path) -> None:
    """The files are put back in a copy, and the check fails there as well."""
    written(root, {"old.py": "x = BROKEN\n"})
    committed(root)
    desk = far(root)
    desk.write("a.py", "a = BROKEN\n")
    assert desk.state.baseline is None
    assert "failed before this work began as well" in compacted(desk)
    assert not is_held(desk.write("b.py", "b = 2\n"))


@pytest.mark.parametrize("is_repository", [True, False])
def test_a_check_that_the_work_broke_before_the_first_look_is_blamed(tmp_path: Path, is_repository: bool) -> None:  # noqa: FBT001
    """Files that were changed, made or removed are put back: without them the check passes."""
    root = repository(tmp_path / "work", OLD) if is_repository else tmp_path
    for name, text in OLD.items():
        (root / name).write_text(text, encoding="utf-8")
    desk = far(root, check="test -f c.py && ! grep -n BROKEN *.py")
    desk.write("a.py", "a = 2\n")
    desk.write("a.py", "a = BROKEN\n")
    desk.write("new.py", "n = BROKEN\n")
    desk.call("delete_file", file_path="c.py")
    assert "It passed before" in compacted(desk)
    baseline = desk.state.baseline
    assert baseline is not None
    assert baseline.check is not None
    assert ("passed", 0) == (baseline.check.outcome, baseline.after)
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert ["a = BROKEN\n", "n = BROKEN\n"] == [(root / name).read_text() for name in ("a.py", "new.py")]
    assert not (root / "c.py").exists()


def test_a_check_that_passes_at_the_first_look_is_blamed_from_then_on(root: Path) -> None:
    """It is on record after which step it passed."""
    desk = far(root)
    desk.write("a.py", "a = 2\n")
    desk.write("a.py", "a = 3\n")
    desk.handoff.nearness.note("t", is_near=True)
    desk.write("b.py", "b = BROKEN\n")
    baseline = desk.state.baseline
    assert baseline is not None
    assert 2 == baseline.after
    compacted(desk)
    assert is_held(desk.write("c.py", "c = 2\n"))


@pytest.mark.parametrize("why", ["killed", "too large", "too much in all"])
def test_where_nobody_knows_what_was_before_nothing_is_blamed(root: Path, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that died took it along; of large files it is not kept."""
    if why == "too large":
        monkeypatch.setattr(first_contents, "_MOST_OF_THREAD", 3)
    if why == "too much in all":
        monkeypatch.setattr(first_contents, "_MOST_IN_ALL", 10)
    desk = far(root, f"sqlite:///{root.parent / 'guard.db'}")
    desk.write("a.py", "a = BROKEN\n")
    desk.handoff.watch.save("t")
    if why == "killed":
        desk.killed()
        desk.handoff.nearness.note("t", is_near=False)
    if why == "too much in all":
        desk.handoff.nearness.note("t-2", is_near=False)
        desk.handoff.watch._touching("t-2", ["b.py", "c.py"])
    desk.write("a.py", "a = BROKEN AGAIN\n")
    assert "nobody knows whether the check failed before this work began" in compacted(desk)
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_what_others_changed_before_the_first_look_is_told(root: Path) -> None:
    """By the time of the file; what lay there changed before the work began is no news."""
    (root / "c.py").write_text("c = 5\n", encoding="utf-8")
    desk = far(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("b.py", "b = 7\n")
    desk.outside("new.py", "n = 1\n")
    status = compacted(desk)
    assert "b.py (changed)" in status
    assert "new.py (new)" in status
    assert "c.py" not in status


def test_an_early_search_is_answered_as_long_as_nothing_changed(root: Path) -> None:
    """It was made before anybody surveyed the workspace, and holds from the first survey on."""
    desk = far(root)
    found = desk.call("grep", pattern="= 1").text
    compacted(desk)
    again = desk.call("grep", pattern="= 1")
    assert is_answered(again)
    assert all(line in again.text for line in found.splitlines())


@pytest.mark.parametrize("who", ["the agent", "somebody else", "git"])
def test_an_early_search_is_made_again_once_something_changed(root: Path, who: str) -> None:
    """Whoever did it, and also where the change is committed by the time of the survey."""
    desk = far(root)
    desk.call("grep", pattern="= 1")
    match who:
        case "the agent":
            desk.write("d.py", "d = 1\n")
        case "somebody else":
            desk.outside("d.py", "d = 1\n")
        case _:
            written(root, {"d.py": "d = 1\n"})
            committed(root)
    compacted(desk)
    again = desk.call("grep", pattern="= 1")
    assert not is_answered(again)
    assert "d.py:1: d = 1" in again.text
