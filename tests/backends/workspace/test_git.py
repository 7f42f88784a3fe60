"""Git is only ever read, whatever the repository would have it run, and what it cannot say is said."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from langchain_ctxguard.backends.workspace import Workspace
from langchain_ctxguard.backends.workspace.git import Git, GitError
from tests.support.repositories import committed, git, repository, written


def trap(folder: Path, marker: Path) -> str:
    """Return a program that leaves a mark when it is run."""
    program = folder / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_nothing_a_repository_configures_is_run(tmp_path: Path) -> None:
    """Monitor, hooks, pager, external diff, text conversion, filters, aliases: none of them runs."""
    marker = tmp_path / "it-ran"
    program = trap(tmp_path, marker)
    top = repository(tmp_path / "w", {"a.py": "1\n", ".gitattributes": "*.py filter=evil diff=evil\n*.md filter=odd.name\n", "b.md": "x\n"})
    for name, value in {
        "core.fsmonitor": program,
        "core.hooksPath": str(tmp_path),
        "core.pager": program,
        "pager.status": "true",
        "diff.external": program,
        "diff.evil.textconv": program,
        "filter.evil.clean": program,
        "filter.evil.process": program,
        "filter.evil.required": "true",
        "filter.odd.name.clean": program,
        "core.sshCommand": program,
        "alias.status": f"!{program}",
    }.items():
        git(top, "config", name, value)
    hook = tmp_path / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch '{marker}'\n", encoding="utf-8")
    hook.chmod(0o755)
    for name in ("a.py", "b.md"):
        # The same size and another time: git has to look into the file, which is when a filter would run.
        (top / name).write_text((top / name).read_text().upper() or "2\n", encoding="utf-8")
        os.utime(top / name, ns=(1, 1))
    space = Workspace(top)
    first = git(top, "rev-parse", "HEAD")
    second = git(top, "commit-tree", "-p", first, "-m", "x", git(top, "rev-parse", "HEAD:"))
    found = space.survey()

    assert ("git", ()) == (found.source, found.faults)
    assert "b.md" in found.marks
    assert {"a.py"} == space.tracked(["a.py", "nothing.py"])
    assert set() == space.committed(first, second)
    assert not marker.exists()


def test_the_trap_of_these_tests_does_spring(tmp_path: Path) -> None:
    """Without the options of ours the same filter runs: the test above can fail."""
    marker = tmp_path / "it-ran"
    top = repository(tmp_path / "w", {"b.md": "x\n", ".gitattributes": "*.md filter=evil\n"})
    git(top, "config", "filter.evil.clean", trap(tmp_path, marker))
    (top / "b.md").write_text("X\n", encoding="utf-8")
    os.utime(top / "b.md", ns=(1, 1))
    git(top, "status", "--porcelain")
    assert marker.exists()


def test_the_index_is_neither_locked_nor_written(tmp_path: Path) -> None:
    """Somebody else may work in the repository meanwhile; a lock of theirs is in nobody's way."""
    top = repository(tmp_path, {"a.py": "1\n"})
    os.utime(top / "a.py", ns=(1, 1))
    index = top / ".git" / "index"
    before = index.read_bytes()
    (top / ".git" / "index.lock").write_bytes(b"")
    found = Workspace(top).survey()

    assert ("git", (), {}) == (found.source, found.faults, dict(found.marks))
    assert before == index.read_bytes()


def test_the_environment_of_a_hook_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started from within a hook of another repository, git still speaks of this one."""
    other = repository(tmp_path / "other", {"o.py": "1\n"})
    top = repository(tmp_path / "w", {"a.py": "1\n"})
    written(top, {"a.py": "2\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert {"a.py"} == set(Workspace(top).survey().marks)


def test_files_that_git_looks_for_elsewhere_are_not_taken_for_the_workspace(tmp_path: Path) -> None:
    """A repository may say its files are somewhere else; then every file here is looked at."""
    top = repository(tmp_path / "w", {"a.py": "1\n"})
    repository(tmp_path / "away", {"b.py": "1\n"})
    git(top, "config", "core.worktree", str(tmp_path / "away"))
    found = Workspace(top).survey()

    assert ("files", {"a.py"}) == (found.source, set(found.marks))
    assert "does not hold the workspace" in found.faults[0]


def test_a_missing_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the files are looked at, and the survey says why."""
    written(tmp_path, {"a.py": "1\n"})
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    found = Workspace(tmp_path).survey()

    assert ("files", {"a.py"}) == (found.source, set(found.marks))
    assert "git is not installed" in found.faults[0]


def test_files_between_two_commits_are_named_from_the_workspace(tmp_path: Path) -> None:
    """As they are called below it; renamed ones by both names, and none where a commit is gone."""
    top = repository(tmp_path, {"pkg/a.py": "1\n" * 9, "pkg/说明 b.py": "2\n", "other.py": "3\n"})
    first = git(top, "rev-parse", "HEAD")
    git(top, "mv", "pkg/a.py", "pkg/new\nname.py")
    written(top, {"pkg/说明 b.py": "4\n", "other.py": "5\n", ".ctxguard/x": "6\n"})
    second = committed(top)

    assert {"a.py", "new\nname.py", "说明 b.py"} == Workspace(top / "pkg").committed(first, second)
    assert {"pkg/a.py", "pkg/new\nname.py", "pkg/说明 b.py", "other.py"} == Workspace(top).committed(first, second)
    for gone in ("0" * 40, "--output=x", None):
        assert set() == Workspace(top).committed(gone, second)
    assert not (top / "x").exists()
    with pytest.raises(GitError, match="cannot compare"):
        Git(top).between("0" * 40, second)


def test_which_files_git_keeps_is_told_for_any_name(tmp_path: Path) -> None:
    """A name is a name and no pattern, however many there are; without a repository none is kept."""
    names = ["a b.py", "说明.py", "*.py", ":(top)x", "-x.py"]
    top = repository(tmp_path / "w", dict.fromkeys(names, "1\n"))
    assert set(names) == Workspace(top).tracked([*names, *(f"n{number}" for number in range(450)), "b.py"])
    assert set() == Workspace(tmp_path).tracked(names)


def test_what_tools_leave_behind_is_no_work(tmp_path: Path) -> None:
    """Caches that nobody ignored are not called touched; one that is kept in the repository is."""
    top = repository(tmp_path, {"a.py": "1\n", "node_modules/kept.js": "1\n"})
    written(top, {"__pycache__/a.cpython-311.pyc": "x", ".pytest_cache/v": "x", "node_modules/kept.js": "2\n", "b.py": "1\n"})
    assert {"b.py", "node_modules/kept.js"} == set(Workspace(top).survey().marks)


@pytest.mark.parametrize("ill", ["corrupt index", "broken config", "gone HEAD"])
def test_a_repository_that_git_cannot_read_is_said(tmp_path: Path, ill: str) -> None:
    """A failure of git is a fault in words, never an empty list of changes."""
    top = repository(tmp_path, {"a.py": "1\n"})
    place = top / ".git" / {"corrupt index": "index", "broken config": "config", "gone HEAD": "HEAD"}[ill]
    place.write_bytes(b"[[[ no such thing")
    found = Workspace(top).survey()

    assert ("files", {"a.py"}) == (found.source, set(found.marks))
    assert found.faults or ill == "gone HEAD"


def test_a_git_that_hangs_is_stopped(tmp_path: Path) -> None:
    """It gets its time and no more."""
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nsleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    started = time.monotonic()
    with pytest.raises(GitError, match=r"longer than 0\.2 seconds"):
        Git(tmp_path, program=str(slow), timeout_s=0.2).top()
    assert time.monotonic() - started < 20


def test_output_that_is_cut_names_no_half_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more changes than are read, those read are whole, and the survey says that there are more."""
    monkeypatch.setattr("langchain_ctxguard.backends.workspace.git._MOST_BYTES", 200)
    top = repository(tmp_path, {"a.py": "1\n"})
    names = [f"a-rather-long-name-{number:03d}.py" for number in range(40)]
    written(top, dict.fromkeys(names, "x\n"))
    found = Workspace(top).survey()

    assert not found.is_complete
    assert "more files differ" in found.faults[0]
    assert set(found.marks) < set(names)
