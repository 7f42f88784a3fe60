"""Edit, revert outside, compact, call, break and mend, waive, kill and resume, in any order: the promises of reconciliation hold."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.support.desk import CHECK, Desk, is_answered, is_held
from tests.support.repositories import git, repository

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
        """The check of the newest compaction failed, and nobody saw it pass since."""

        self.count = 0

    @initialize()
    def begin(self) -> None:
        """Sit down at a small repository."""
        root = repository(self.place / "w", {path: f"{path}\n" for path in PATHS})
        self.desk = Desk(root, f"sqlite:///{self.place / 'g.db'}", check=CHECK)
        self.write("a.py", "first\n")
        self.desk.handoff.watch.save("t")

    def teardown(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.place, ignore_errors=True)

    def write(self, path: str, content: str) -> None:
        """Have the agent write a file, and hold what happens against what must."""
        untold = {(one, self.left[one], self.desk.text(one)) for one in self.left if self.left[one] != self.desk.text(one)} - self.told
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
            assert self.is_checked, "the check blocks only after it failed at a compaction"
            assert is_broken, "a check that passes blocks nothing"
            assert "BROKEN" not in (before[path] or ""), "a file the check names may be changed"
            assert before == after
        else:
            assert content == after[path]
            assert not (before[path] == content == self.left.get(path)), "what is in effect is not done again"
            self.left[path] = content
        if not is_broken:
            self.is_checked = False

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
        git(self.desk.root, "checkout", "-q", "--", path)

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
        self.desk.compact(shows=shows)
        self.is_open = self.is_checked = True
        if not shows:
            self.desk.killed()
            text = self.desk.shown()
            assert all(f"'{one}'" in text for one in self.left if self.left[one] != self.desk.text(one))

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
            self.told |= {(one.path, self.left.get(one.path), _text(self.desk, one)) for one in (status.contradictions if status is not None else ())}
        self.is_checked = False

    @rule()
    def kill(self) -> None:
        """The process ends, and another one goes on."""
        self.desk.killed()


def _place() -> Any:
    from langchain_ctxguard.domain.context_version import ContextPlace

    return ContextPlace(thread="t")


def _text(desk: Desk, one: Any) -> str | None:
    """Return what stood in a file when a contradiction was found, as far as it still does; else something no file holds."""
    fact = desk.handoff.workspace.files.fact(one.path)
    return desk.text(one.path) if fact.sha256 == one.found else f"other than now: {one.found}"


TestWork = Work.TestCase
TestWork.settings = settings(max_examples=max(8, settings.default.max_examples // 6), stateful_step_count=14, deadline=None)
