"""A copy of a workspace in which files are as they were: the workspace itself is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from langchain_ctxguard.backends.workspace import WorkCheck, Workspace
from langchain_ctxguard.backends.workspace import earlier as module
from langchain_ctxguard.backends.workspace.earlier import earlier
from tests.support.repositories import committed, git, repository, written

FILES = {"a.py": "a = 2\n", "src/b.py": "b = 2\n", "build/out.o": "out\n", "node_modules/x/x.js": "x\n", ".ctxguard/t/worklog.md": "w\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with dependencies, results of a build and a folder of ours."""
    return repository(tmp_path / "work", FILES)


def files_in(folder: Path) -> dict[str, str]:
    """Return the files below a folder, without its repository, links followed."""
    found = [path for depth in ("*", "*/*", "*/*/*") for path in sorted(folder.glob(depth)) if path.is_file()]
    return {name: path.read_text() for path in found if not (name := path.relative_to(folder).as_posix()).startswith(".git/")}


def test_named_files_are_as_they_were_and_the_others_as_they_are(root: Path) -> None:
    """Changed, made or removed since: all of it is put back in the copy, and nothing is touched in the workspace."""
    before = files_in(root)
    with earlier(Workspace(root), {"a.py": b"a = 1\n", "src/b.py": None, "gone/c.py": b"c = 1\n"}) as copy:
        assert copy is not None
        found = files_in(copy)
        assert {"a.py": "a = 1\n", "build/out.o": "out\n", "node_modules/x/x.js": "x\n", "gone/c.py": "c = 1\n"} == found
        assert (copy / "node_modules").is_symlink()
        assert not (copy / "build").is_symlink()
        (copy / "build/out.o").write_text("older\n")
        (copy / "a.py").write_text("broken\n")
    assert not copy.exists()
    assert before == files_in(root)


@pytest.mark.parametrize(("name", "most"), [("MOST_FILES", 2), ("_MOST_BYTES", 12)])
def test_a_large_workspace_is_not_copied(root: Path, name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nobody says how the check stood."""
    monkeypatch.setattr(module, name, most)
    with earlier(Workspace(root), {}) as copy:
        assert copy is None
    found = WorkCheck("true", Workspace(root)).run_before({})
    assert "not_run" == found.outcome
    assert "too large" in found.why


def test_the_check_runs_among_the_files_of_then(root: Path) -> None:
    """By its own words, in the copy; where it stands in the workspace, it fails."""
    check = WorkCheck("! grep -rn 'a = 2' --include=*.py .", Workspace(root))
    assert "failed" == check.run().outcome
    assert "passed" == check.run_before({"a.py": b"a = 1\n"}).outcome
    assert "failed" == check.run_before({"src/b.py": None}).outcome


def test_what_a_copy_raises_is_not_swallowed(root: Path) -> None:
    """Only the making of it is guarded: what goes wrong inside goes on."""
    with pytest.raises(FileNotFoundError), earlier(Workspace(root), {}) as copy:
        Path(copy or "", "no-such-file").read_bytes()


def test_what_was_written_since_is_told_by_its_time(root: Path) -> None:
    """Files by their own; the repository by its index and `HEAD`, also from a further working tree and from a folder below."""
    other = root.parent / "other"
    git(root, "worktree", "add", "-q", str(other))
    for place in (root, other, root / "src"):
        workspace = Workspace(place)
        moment = max(path.stat().st_mtime_ns for path in [*root.rglob("*"), *other.rglob("*")]) + 1
        assert frozenset() == workspace.touched_since(["a.py", "b.py", "no.py"], moment)
        assert not workspace.is_moved_since(moment)
        written(place, {"b.py": "b = 3\n"})
        assert {"b.py"} == workspace.touched_since(["a.py", "b.py", "no.py"], moment)
        assert not workspace.is_moved_since(moment)
        committed(place)
        assert workspace.is_moved_since(moment)
    assert not Workspace(root.parent).is_moved_since(0)
