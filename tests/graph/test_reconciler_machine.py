"""Edit, revert outside, compact, call, break and mend, waive, kill and resume, in any order: the promises of reconciliation hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.domain.workspace import CheckResult
from tests.support.desk import CHECK, Desk, is_answered, is_held
from tests.support.repositories import committed, repository

PATHS = ("a.py", "b.py", "c d.py")
paths = st.sampled_from(PATHS)


class Work(RuleBasedStateMachine):
    """An agent and somebody else at the same files. What the model below knows is what anybody could have seen."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.left: dict[str, str | None] = {}
        self.told: set[tuple[str, str | None, str | None]] = set()
        self.is_open = False
        """A compaction took place and no call that changes something came since."""

        self.is_checked = False
        """A compaction took place, so that the check may block."""

        self.count = 0

    def sit_down(self) -> Desk:
        """Return a desk at a folder without git, with a check of this process: so that many runs can be tried."""
        (self.place / "w").mkdir()
        for path in PATHS:
            (self.place / "w" / path).write_text(f"{path}\n", encoding="utf-8")
        return Quick(self.place / "w", GuardStore.open("memory://"))

    @initialize(is_far=st.booleans())
    def begin(self, *, is_far: bool) -> None:
        """Sit down, and change a first file: near a compaction, or far from one, where nothing is looked at yet."""
        self.desk = self.sit_down()
        self.desk.handoff.nearness.note("t", is_near=not is_far)
        self.write("a.py", "first\n")
        self.desk.handoff.watch.save("t")

    def teardown(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.place, ignore_errors=True)

    def write(self, path: str, content: str) -> None:
        """Have the agent write a file, and hold what happens against what must."""
        untold = {
            (one, digest(self.left[one]), digest(self.desk.text(one))) for one in self.left if self.left[one] != self.desk.text(one)
        } - self.told
        before = {one: self.desk.text(one) for one in PATHS}
        is_broken = any("BROKEN" in (text or "") for text in before.values())
        result = self.desk.write(path, content)
        after = {one: self.desk.text(one) for one in PATHS}

        if self.is_open and untold:
            assert is_held(result), "an untold contradiction denies the first call"
            assert all(f"'{one}'" in result.text for one, _, _ in untold)
            assert before == after
            self.told |= untold
            self.is_open = False
            return
        self.is_open = False
        assert "work log says" not in result.text, "a contradiction denies once"
        if is_answered(result):
            assert before[path] == content == self.left[path], "only what is in effect is answered"
            assert before == after
        elif is_held(result):
            assert self.is_checked, "the check blocks only after a compaction, and until it is waived"
            assert is_broken, "a check that passes blocks nothing"
            assert "BROKEN" not in (before[path] or ""), "a file the check names may be changed"
            assert before == after
        else:
            assert content == after[path]
            assert not (before[path] == content == self.left.get(path)), "what is in effect is not done again"
            self.left[path] = content

    @rule(path=paths)
    def edit(self, path: str) -> None:
        """Write something new."""
        self.count += 1
        self.write(path, f"text {self.count}\n")

    @rule(path=paths)
    def break_something(self, path: str) -> None:
        """Write what the check refuses."""
        self.count += 1
        self.write(path, f"BROKEN {self.count}\n")

    @precondition(lambda self: any(self.left.values()))
    @rule(data=st.data())
    def do_again(self, data: Any) -> None:
        """Write what was written last."""
        path = data.draw(st.sampled_from(sorted(one for one in self.left if self.left[one] is not None)))
        self.write(path, str(self.left[path]))

    @rule(path=paths)
    def revert_outside(self, path: str) -> None:
        """Somebody takes the last commit's content again."""
        (self.desk.root / path).write_text(f"{path}\n", encoding="utf-8")

    @rule(path=paths)
    def remove_outside(self, path: str) -> None:
        """Somebody removes a file."""
        (self.desk.root / path).unlink(missing_ok=True)

    @rule(path=paths, is_broken=st.booleans())
    def change_outside(self, path: str, *, is_broken: bool) -> None:
        """Somebody writes a file."""
        self.count += 1
        self.desk.outside(path, f"{'BROKEN' if is_broken else 'theirs'} {self.count}\n")

    @rule(shows=st.booleans())
    def compact(self, *, shows: bool) -> None:
        """The context is compacted; the model may be called, or killed before."""
        self.desk.handoff.nearness.note("t", is_near=True)
        self.desk.handoff.reconciler.begin("t")
        self.desk.compact(shows=shows)
        self.is_open = self.is_checked = True
        if not shows:
            self.desk.killed()
            text = self.desk.shown()
            assert all(f"'{one}'" in text for one in self.left if self.left[one] != self.desk.text(one))

    @precondition(lambda self: any(self.left.values()))
    @rule(data=st.data(), is_removed=st.booleans(), shows=st.booleans())
    def undo_and_compact(self, data: Any, *, is_removed: bool, shows: bool) -> None:
        """Somebody undoes what the agent did, right before a compaction."""
        path = data.draw(st.sampled_from(sorted(one for one in self.left if self.left[one] is not None)))
        self.remove_outside(path) if is_removed else self.revert_outside(path)
        self.compact(shows=shows)

    @rule(path=paths)
    def read(self, path: str) -> None:
        """Reading is possible whatever stands open."""
        text = self.desk.text(path)
        if text is not None:
            assert text == self.desk.call("read_file", file_path=path).text

    @precondition(lambda self: self.desk.version > 0)
    @rule()
    def waive(self) -> None:
        """A person lets the agent go on: with what is found by now."""
        before = self.desk.state
        self.desk.handoff.waive("t", by="ann", reason="known")
        stated = self.desk.state.stated
        names = set(stated.contradictions if stated is not None else ())
        assert names <= set(self.desk.state.told)
        if before.phase in {"due", "stated"}:
            # What changed since the status was written is still told.
            status = self.desk.handoff.reconciler._log.status(_place(), stated.status if stated is not None else "")
            self.told |= {(one.path, one.expected, one.found) for one in (status.contradictions if status is not None else ())}
        self.is_checked = False

    @rule()
    def kill(self) -> None:
        """The process ends, and another one goes on."""
        self.desk.killed()


def _place() -> Any:
    from langchain_ctxguard.domain.context_version import ContextPlace

    return ContextPlace(thread="t")


def digest(text: str | None) -> str | None:
    """Return what tells a content from another, `None` for no file."""
    return None if text is None else digest_of(text)


class WorkInGit(Work):
    """The same in a real repository, with a real check and a store that is closed and opened again."""

    def sit_down(self) -> Desk:
        """Return a desk at a small repository."""
        root = repository(self.place / "w", {path: f"{path}\n" for path in PATHS})
        return Desk(root, f"sqlite:///{self.place / 'g.db'}", check=CHECK)

    @rule()
    def commit(self) -> None:
        """Somebody commits what there is."""
        committed(self.desk.root)


class Looks:
    """The check of a quick desk."""

    shown = CHECK

    def __init__(self, root: Path) -> None:
        """Bind the folder."""
        self._root = root

    def run(self, *, known: Any = (), before: Any = None) -> CheckResult:
        """Look for the word."""
        return self.run_before({})

    def run_before(self, contents: Mapping[str, bytes | None]) -> CheckResult:
        """Look for the word where files are as they were."""
        held = {path: (self._root / path).read_bytes() for path in PATHS if (self._root / path).is_file()}
        named = tuple(path for path, content in {**held, **contents}.items() if b"BROKEN" in (content or b""))
        return CheckResult(outcome="failed", exit_code=1, files=named) if named else CheckResult(outcome="passed", exit_code=0)


class Quick(Desk):
    """A desk whose check starts no process."""

    def sit_down(self) -> None:
        """Begin a process."""
        super().sit_down()
        self.handoff.reconciler._check = self.handoff.reconciler._baseline._check = Looks(self.root)
        self.handoff.workspace.files._git.top = lambda: None


TestWork = Work.TestCase
TestWork.settings = settings(max_examples=max(20, settings.default.max_examples // 3), stateful_step_count=25, deadline=None)
TestWorkInGit = WorkInGit.TestCase
TestWorkInGit.settings = settings(max_examples=max(2, settings.default.max_examples // 20), stateful_step_count=12, deadline=None)
