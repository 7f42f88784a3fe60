"""After a compaction the work log is held against the real workspace before anything more is done."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import ContextGuard, Extensions, HandoffGuard
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.effects import CallAtWork
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.reconcile import WorkStatus
from langchain_ctxguard.errors import ConfigurationError
from tests.support.desk import CHECK, Desk, is_answered, is_held
from tests.support.repositories import committed, git, repository

A, B, C = "a = 1\n", "b = 1\n", "c = 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository."""
    return repository(tmp_path / "work", {"a.py": A, "b.py": B, "c.py": C, "sub/d e.py": "d = 1\n"})


def test_what_holds_is_written_for_the_model_and_nothing_is_held(root: Path) -> None:
    """A workspace as the agent left it costs no call."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.write("sub/d e.py", "d = 2\n")
    status = desk.compact()

    assert "[TRACE-001]" in status
    assert "Contradictions" not in status
    assert not is_held(desk.write("b.py", "b = 2\n"))
    assert "settled" == desk.state.phase


@pytest.mark.parametrize("shows", [True, False])
@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("a.py", A, "as it was in the last commit"),
        ("a.py", "a = 3\n", "by nobody whose step is recorded"),
        ("a.py", None, "is not there any more"),
        ("sub/d e.py", None, "is not there any more"),
    ],
)
def test_a_contradiction_denies_one_call_and_names_the_file(root: Path, path: str, content: str | None, words: str, shows: bool) -> None:  # noqa: FBT001
    """Reverted, changed or gone: the first call that changes something is denied once, then calls pass; nothing was run."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.write("sub/d e.py", "d = 2\n")
    desk.outside(path, content)
    status = desk.compact(shows=shows)
    assert (f"'{path}'" in status) is shows
    assert "b = 1" in desk.call("read_file", file_path="b.py").text
    if not shows:
        desk.shown()

    held = desk.write("b.py", "b = 2\n")
    assert is_held(held)
    assert f"'{path}'" in held.text
    assert words in held.text
    assert B == desk.text("b.py")
    assert not is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("c.py", "c = 2\n"))


def test_what_changes_between_the_status_and_the_first_call_is_found(root: Path) -> None:
    """The status said that all is well; the hashes are confirmed at the call."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    assert "Contradictions" not in desk.compact()
    desk.outside("a.py", A)
    assert is_held(desk.write("b.py", "b = 2\n"))


def test_a_contradiction_is_told_once_however_many_compactions_follow(root: Path) -> None:
    """What the agent, or a person, left as it is denies no further call; a new state of the file does."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert "'a.py'" in desk.compact()
    assert not is_held(desk.write("b.py", "b = 3\n"))
    desk.outside("a.py", "a = 9\n")
    desk.compact()
    assert is_held(desk.write("b.py", "b = 4\n"))


def test_work_that_was_done_again_is_in_effect_again(root: Path) -> None:
    """The contradiction is over once the agent has mended it."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    desk.compact()
    assert is_held(desk.write("a.py", "a = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert "a = 2\n" == desk.text("a.py")
    assert "Contradictions" not in desk.compact()


def test_a_file_that_was_removed_and_is_back_contradicts(root: Path) -> None:
    """A removal is an effect like any other."""
    desk = Desk(root)
    desk.call("delete_file", file_path="a.py")
    git(root, "checkout", "a.py")
    desk.compact()
    assert "is there again" in desk.write("b.py", "b = 2\n").text


@pytest.mark.parametrize("by_git", [True, False])
def test_a_file_that_moved_is_told_with_its_new_place(root: Path, by_git: bool) -> None:  # noqa: FBT001
    """Its content is known again, in the index or not; the step is in effect."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n" * 30)
    if by_git:
        git(root, "mv", "a.py", "sub/新.py")
    else:
        (root / "a.py").rename(root / "sub" / "新.py")
    status = desk.compact()
    assert "is now at 'sub/新.py'" in status
    assert "In effect" in status
    assert is_held(desk.write("b.py", "b = 2\n"))


def test_files_touched_outside_are_noticed_and_hold_nothing(root: Path) -> None:
    """By a person, another program, another commit."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("c.py", "c = 9\n")
    desk.outside("new file.py", "n = 1\n")
    status = desk.compact()
    assert "c.py (changed)" in status
    assert "new file.py (new)" in status
    assert not is_held(desk.write("b.py", "b = 2\n"))

    desk.outside("sub/d e.py", "d = 9\n")
    commit = committed(root)
    later = desk.compact()
    assert f"the checked-out commit is {commit[:12]} now" in later
    assert "sub/d e.py (changed)" in later


def test_a_commit_of_the_work_is_no_contradiction(root: Path) -> None:
    """What is committed is still in effect."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    committed(root)
    assert "Contradictions" not in desk.compact()
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_calls_of_a_folder_without_git_are_reconciled_as_well(tmp_path: Path) -> None:
    """By the content of the files alone."""
    (tmp_path / "a.py").write_text(A, encoding="utf-8")
    desk = Desk(tmp_path)
    desk.write("a.py", "a = 2\n")
    desk.write("b.py", "b = 1\n")
    desk.outside("a.py", None)
    desk.outside("c.py", C)
    status = desk.compact()
    assert "'a.py'" in status
    assert "c.py (new)" in status
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_explore_holds_nothing_and_runs_no_check(root: Path) -> None:
    """For work that changes nothing it means to keep; what is done is still not done again."""
    desk = Desk(root, mode="explore", check="touch ran; false")
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    assert "" == desk.compact()
    assert not is_held(desk.write("b.py", "b = 2\n"))
    assert is_answered(desk.write("b.py", "b = 2\n"))
    assert not (root / "ran").exists()


def test_a_run_that_is_never_compacted_is_never_held(root: Path) -> None:
    """Whatever happens to its files meanwhile; and it writes no file."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    assert "" == desk.shown()
    assert not is_held(desk.write("b.py", "b = BROKEN\n"))
    assert not is_held(desk.write("c.py", "c = 2\n"))
    assert not (root / ".ctxguard").exists()


def test_a_failing_check_blocks_all_but_the_files_it_names(root: Path) -> None:
    """Until it passes: then everything may be changed again. Reading, and the check itself, stay possible."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = BROKEN\n")
    status = desk.compact()
    assert "Check: failed with exit code 1" in status
    assert "a = BROKEN" in status

    held = desk.write("b.py", "b = 2\n")
    assert is_held(held)
    assert "'a.py' may be changed" in held.text
    assert B == desk.text("b.py")
    assert is_held(desk.call("execute", command="sed -i s/1/2/ b.py"))
    for reading in (
        desk.call("read_file", file_path="b.py"),
        desk.call("grep", pattern="1"),
        desk.call("execute", command="cat b.py | head"),
        desk.call("execute", command=CHECK),
        desk.call("execute", command="python -m pytest -q"),
    ):
        assert not is_held(reading)
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_a_mend_that_breaks_another_file_moves_the_block(root: Path) -> None:
    """The check runs again where the workspace changed, and names what it names then."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = BROKEN\n")
    desk.compact()
    assert not is_held(desk.write("a.py", "a = 2\n"))
    desk.outside("c.py", "c = BROKEN\n")
    held = desk.write("b.py", "b = 2\n")
    assert is_held(held)
    assert "'c.py' may be changed" in held.text
    assert not is_held(desk.write("c.py", "c = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_the_check_does_not_run_again_where_nothing_changed(root: Path) -> None:
    """A blocked call is answered from the record; the runs are counted by the check itself, outside of the workspace."""
    runs = root.parent / "runs"
    desk = Desk(root, check=f"echo x >> '{runs}'; {CHECK}")
    desk.write("a.py", "a = BROKEN\n")
    desk.compact()
    before = len(runs.read_text())
    for _ in range(3):
        assert is_held(desk.write("b.py", "b = 2\n"))
    assert before == len(runs.read_text())


def test_a_file_of_a_contradiction_may_be_changed_while_the_check_fails(root: Path) -> None:
    """Denied once for the contradiction; then its file is open, and all others wait for the check."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = 2\n")
    desk.write("b.py", "b = BROKEN\n")
    desk.outside("a.py", A)
    desk.compact()
    assert "work log says" in desk.write("a.py", "a = 2\n").text
    assert is_held(desk.write("c.py", "c = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert is_held(desk.write("c.py", "c = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("c.py", "c = 2\n"))


def test_a_check_that_failed_before_the_agent_began_is_not_blamed_on_it(root: Path) -> None:
    """It is said, and it blocks nothing."""
    desk = Desk(root, check="echo bad; false")
    desk.write("a.py", "a = 2\n")
    assert "failed before this work began" in desk.compact()
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_the_baseline_is_taken_before_the_first_change(root: Path) -> None:
    """A first call that breaks everything is the agent's doing."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = BROKEN\n")
    assert "passed" == (desk.state.baseline and desk.state.baseline.check and desk.state.baseline.check.outcome)
    desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))


def test_a_check_that_takes_too_long_is_stopped_and_blamed(root: Path) -> None:
    """It ended in time before; an agent that makes it hang has broken it."""
    command = [sys.executable, "-c", "import pathlib,time; 'HANG' in pathlib.Path('a.py').read_text() and time.sleep(600)"]
    desk = Desk(root, check=command, check_timeout_s=1.0)
    desk.write("a.py", "a = 'HANG'\n")
    started = time.monotonic()
    assert "took longer than 1 seconds" in desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))
    assert time.monotonic() - started < 60


def test_a_check_that_names_no_file_leaves_the_agents_own_open(root: Path) -> None:
    """Otherwise nothing could ever mend it."""
    desk = Desk(root, check="! grep -q BROKEN a.py")
    desk.write("a.py", "a = BROKEN\n")
    desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_a_file_whose_loss_the_check_names_may_be_made_again(root: Path) -> None:
    """It is not there, so only its name can open it."""
    desk = Desk(root, check=[sys.executable, "-B", "-c", "import sys; sys.path.insert(0, '.'); import a"])
    desk.call("delete_file", file_path="a.py")
    desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert not is_held(desk.write("a.py", "a = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


@pytest.mark.parametrize("what", ["all", "check", "contradictions"])
def test_a_person_may_waive_what_was_found_and_it_is_on_record(root: Path, what: Any) -> None:
    """The part that is waived, and no other."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = 2\n")
    desk.write("c.py", "c = BROKEN\n")
    desk.outside("a.py", A)
    desk.compact()
    desk.handoff.waive("t", what, by="ann", reason="I reverted it myself")

    first, second = desk.write("b.py", "b = 2\n"), desk.write("b.py", "b = 3\n")
    assert {"all": (False, False), "check": (True, False), "contradictions": (True, True)}[what] == (is_held(first), is_held(second))
    assert ("work log says" in first.text) is (what == "check")
    assert ["ann let the agent go on in thread 't': " + what + "."] == [event.detail for event in desk.facts.of("waived")]


def test_a_waiver_holds_for_what_was_found_and_not_for_what_comes(root: Path) -> None:
    """The next compaction is a new one."""
    desk = Desk(root, check=CHECK)
    desk.write("a.py", "a = BROKEN\n")
    desk.compact()
    desk.handoff.waive("t", by="ann", reason="known")
    assert not is_held(desk.write("b.py", "b = 2\n"))
    desk.compact()
    assert is_held(desk.write("b.py", "b = 3\n"))


def test_a_waiver_needs_a_name_and_a_reason(root: Path) -> None:
    """Nobody's word waives nothing."""
    desk = Desk(root)
    for by, reason in (("", "r"), ("ann", " ")):
        with pytest.raises(ConfigurationError, match="Nothing was waived"):
            desk.handoff.waive("t", by=by, reason=reason)


def test_a_redactor_sees_status_output_of_the_check_and_waivers(root: Path) -> None:
    """None of it is on record as it was; the status a context shows is what is on record."""
    key = "sk-live-4711"
    desk = Desk(root, extensions=Extensions(redact=lambda text: text.replace(key, "[key]")), check=f"{CHECK} || ! echo {key}")
    desk.write("c.py", "c = 1\n")
    desk.outside("c.py", f"BROKEN = '{key}'\n")
    shown = desk.compact()
    assert "[key]" in shown
    assert key not in shown
    desk.handoff.waive("t", by="eve", reason=f"{key} was rotated")
    assert b"[key] was rotated" in desk.on_record()
    assert key.encode() not in desk.on_record()


def test_a_rule_of_the_application_may_waive(root: Path) -> None:
    """It sees the status and gives its reason; what it does not take is held."""
    seen: list[WorkStatus] = []

    def waive(status: WorkStatus) -> str | None:
        seen.append(status)
        return "generated" if all(one.path.startswith("sub/") for one in status.contradictions) else None

    desk = Desk(root, waive=waive)
    desk.write("sub/d e.py", "d = 2\n")
    desk.outside("sub/d e.py", "d = 3\n")
    desk.compact()
    assert not is_held(desk.write("b.py", "b = 2\n"))
    desk.outside("b.py", B)
    desk.compact()
    assert is_held(desk.write("c.py", "c = 2\n"))
    assert 2 == len(seen)


@pytest.mark.parametrize("moment", ["before the status", "after the status", "after the denial"])
def test_a_kill_between_compaction_and_first_call_loses_nothing(root: Path, tmp_path: Path, moment: str) -> None:
    """What is due, found and told is in the store."""
    desk = Desk(root, f"sqlite:///{tmp_path / 'g.db'}", check=CHECK)
    desk.write("a.py", "a = 2\n")
    desk.write("c.py", "c = BROKEN\n")
    desk.outside("a.py", A)
    desk.compact(shows=False)
    if moment == "before the status":
        desk.killed()
    assert "'a.py'" in desk.shown()
    if moment == "after the status":
        desk.killed()
    first = desk.write("b.py", "b = 2\n", call_id="same")
    assert "work log says" in first.text
    if moment == "after the denial":
        desk.killed()
    assert first.text == desk.write("b.py", "b = 2\n", call_id="same").text
    assert "the check" in desk.write("b.py", "b = 2\n").text
    assert not is_held(desk.write("c.py", "c = 2\n"))
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_calls_made_at_once_are_held_once_and_the_check_runs_once(root: Path) -> None:
    """Threads of one process agree on who was denied."""
    runs = root.parent / "runs"
    desk = Desk(root, check=f"echo x >> '{runs}'")
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    desk.compact(shows=False)
    desk.handoff.reconciler.status(ContextPlace(thread="t"), desk.version)
    before = len(runs.read_text())
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(desk.write(f"n{n}.py", f"n = {n}\n"))) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert 1 == sum(map(is_held, results))
    assert before == len(runs.read_text())


def test_an_event_loop_is_not_blocked_by_a_slow_check(root: Path) -> None:
    """Others run while it does."""
    desk = Desk(root, check="sleep 0.6")
    tool = desk.tools["write_file"]
    ticks: list[float] = []

    async def ticking() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.02)

    async def go() -> Any:
        other = asyncio.create_task(ticking())
        made = {"name": "write_file", "args": {"file_path": "a.py", "content": "a = 2\n"}, "id": "k", "type": "tool_call"}
        result = await tool.ainvoke(made, {"configurable": {"thread_id": "t"}})
        other.cancel()
        return result

    assert "Wrote" in asyncio.run(go()).text
    assert len(ticks) > 5


def test_a_sub_agent_reconciles_for_itself(root: Path) -> None:
    """Its compaction holds its own call; the agent that called it was not compacted, and goes on."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)

    def asked(namespace: str, version: int | None, call_id: str) -> Any:
        request = ToolRequest(tool="write_file", args={"file_path": "b.py", "content": "x"}, thread="t", namespace=namespace, call_id=call_id)
        return desk.handoff.reconciler.held(CallAtWork(request, "write", (), version))

    assert asked("tools:7", None, "x1") is None
    held = asked("worker:1|tools:8", 1, "x2")
    assert "'a.py'" in held.text
    assert asked("worker:1|tools:9", 1, "x3") is None
    assert asked("tools:7", None, "x4") is None
    assert "'a.py'" in asked("worker:2|tools:8", 1, "x5").text


def test_what_is_erased_is_not_shown_and_breaks_nothing(root: Path) -> None:
    """A thread that was purged begins anew."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")
    desk.outside("a.py", A)
    assert desk.compact()
    assert desk.handoff.purge_thread("t") > 0
    assert "idle" == desk.state.phase
    assert not is_held(desk.write("b.py", "b = 2\n"))


def test_a_store_that_fails_denies_changes_and_lets_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can tell what was found, nothing is changed."""
    desk = Desk(root)
    desk.write("a.py", "a = 2\n")

    def fails(*_: Any) -> Any:
        raise OSError

    monkeypatch.setattr(desk.handoff.reconciler._log, "read", fails)
    assert "could not be judged" in desk.write("b.py", "b = 2\n").text
    assert B == desk.text("b.py")
    assert B == desk.call("read_file", file_path="b.py").text


def test_a_check_needs_a_folder_of_this_machine() -> None:
    """It is refused when it is wired."""
    from langgraph.store.memory import InMemoryStore

    with pytest.raises(ConfigurationError, match="folder of this machine"):
        HandoffGuard(ContextGuard(store=GuardStore.open("memory://")), InMemoryStore(), check="true")
