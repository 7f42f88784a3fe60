"""What a workspace says of itself, held against real repositories and folders."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from langchain_ctxguard.backends.workspace import Workspace
from langchain_ctxguard.backends.workspace import folder as folder_module
from tests.support.repositories import committed, git, repository, written

ODD = ["a b.txt", "说明.md", "it's.txt", 'quo"te.txt', "new\nline.txt", "tab\there.txt", "-dash.txt", "ünï/code.py", "a -> b.txt", ":(top)x.txt"]


def sha(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def test_changed_and_untracked_files_are_listed_and_ignored_ones_are_not(tmp_path: Path) -> None:
    """The survey has what differs from the last commit, by name, and says where the repository stands."""
    top = repository(tmp_path, {"a.py": "1\n", "b.py": "2\n", ".gitignore": "*.log\nbuild/\n"})
    head = git(top, "rev-parse", "HEAD")
    written(top, {"a.py": "changed\n", "sub/new.py": "n\n", "x.log": "l\n", "build/out.o": "o\n"})
    (top / "b.py").unlink()
    found = Workspace(top).survey()

    assert ("git", head, "main", (), True) == (found.source, found.head, found.branch, found.faults, found.is_complete)
    assert {"a.py", "b.py", "sub/new.py"} == set(found.marks)
    assert found.marks["a.py"].endswith(sha("changed\n"))
    assert found.marks["b.py"].endswith("absent")


@pytest.mark.parametrize("name", ODD)
def test_a_path_may_hold_anything(tmp_path: Path, name: str) -> None:
    """Spaces, quotes, newlines, Chinese, arrows and dashes are part of a name, tracked or not."""
    top = repository(tmp_path, {name: "one\n", "other.txt": "o\n"})
    written(top, {name: "two\n", f"untracked/{name}": "three\n"})
    found = Workspace(top).survey()

    assert {name, f"untracked/{name}"} == set(found.marks)
    assert sha("two\n") == Workspace(top).fact(name).sha256


def test_a_moved_file_is_known_by_both_names(tmp_path: Path) -> None:
    """Where git knows of a move, the survey does."""
    top = repository(tmp_path, {"old name.py": "x = 1\n" * 20})
    git(top, "mv", "old name.py", "新.py")
    found = Workspace(top).survey()

    assert {"新.py": "old name.py"} == dict(found.moved)
    assert {"新.py"} == set(found.marks)


def test_before_the_first_commit_there_is_no_head(tmp_path: Path) -> None:
    """A repository without a commit is one all the same."""
    top = repository(tmp_path)
    written(top, {"a.py": "1\n"})
    git(top, "add", "a.py")
    written(top, {"b.py": "2\n"})
    found = Workspace(top).survey()

    assert ("git", None, "main", {"a.py", "b.py"}) == (found.source, found.head, found.branch, set(found.marks))


def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    """A commit may be checked out without a branch."""
    top = repository(tmp_path, {"a.py": "1\n"})
    git(top, "checkout", "-q", "--detach")
    found = Workspace(top).survey()

    assert (git(top, "rev-parse", "HEAD"), None) == (found.head, found.branch)


def test_a_worktree_and_a_folder_inside_a_repository_are_workspaces(tmp_path: Path) -> None:
    """Paths begin at the workspace, and what lies beside it is no part of it."""
    top = repository(tmp_path / "main", {"pkg/a.py": "1\n", "other/b.py": "2\n"})
    git(top, "worktree", "add", "-q", str(tmp_path / "twin"))
    for place in (top, tmp_path / "twin"):
        written(place, {"pkg/a.py": "changed\n", "other/b.py": "changed\n", "pkg/deep/c.py": "3\n"})
        found = Workspace(place / "pkg").survey()
        assert ("git", {"a.py", "deep/c.py"}) == (found.source, set(found.marks))


def test_a_submodule_is_told_by_its_commit_and_its_files_by_name(tmp_path: Path) -> None:
    """Nothing is run inside a submodule; a file in it is read like any other."""
    inner = repository(tmp_path / "inner", {"lib.py": "1\n"})
    top = repository(tmp_path / "top", {"a.py": "1\n"})
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "vendor/inner")
    committed(top)
    written(top, {"vendor/inner/lib.py": "changed\n"})
    assert {} == dict(Workspace(top).survey().marks)
    committed(top / "vendor/inner")

    assert {"vendor/inner"} == set(Workspace(top).survey().marks)
    assert sha("changed\n") == Workspace(top).fact("vendor/inner/lib.py").sha256


def test_an_unmerged_file_is_changed(tmp_path: Path) -> None:
    """A conflict is no clean file."""
    top = repository(tmp_path, {"a.py": "1\n"})
    git(top, "checkout", "-q", "-b", "side")
    written(top, {"a.py": "2\n"})
    committed(top)
    git(top, "checkout", "-q", "main")
    written(top, {"a.py": "3\n"})
    committed(top)
    with pytest.raises(Exception, match="merge"):
        git(top, "merge", "side")
    assert Workspace(top).survey().marks["a.py"].startswith("u")


def test_a_folder_without_a_repository_is_told_by_its_files(tmp_path: Path) -> None:
    """Every file counts, with size and time, but for what nobody edits by hand."""
    written(tmp_path, {"a.py": "1\n", "sub/说明.md": "2\n", "node_modules/x.js": "3\n", ".ctxguard/handoff.md": "4\n"})
    before = Workspace(tmp_path).survey()
    written(tmp_path, {"a.py": "longer\n"})
    after = Workspace(tmp_path).survey()

    assert ("files", {"a.py", "sub/说明.md"}) == (before.source, set(before.marks))
    assert ["a.py"] == [name for name in after.marks if after.marks[name] != before.marks.get(name)]


def test_a_folder_with_too_many_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A survey that cannot be whole is no survey with holes in it."""
    monkeypatch.setattr(folder_module, "MOST_FILES", 3)
    written(tmp_path, {f"{number}.py": "x" for number in range(4)})
    found = Workspace(tmp_path).survey()

    assert ({}, False) == (dict(found.marks), found.is_complete)
    assert "more than 3 files" in found.faults[0]
    assert sha("x") == Workspace(tmp_path).fact("3.py").sha256


def test_the_folder_of_the_guard_is_no_work(tmp_path: Path) -> None:
    """What lies in it is neither surveyed nor found by name."""
    top = repository(tmp_path, {"a.py": "1\n"})
    written(top, {".ctxguard/worklog.md": "x\n"})
    found = Workspace(top)

    assert {} == dict(found.survey().marks)
    assert "outside" == found.fact(".ctxguard/worklog.md").kind


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.py", "a.py"),
        ("./sub/../a.py", "a.py"),
        ("{root}/sub/b.py", "sub/b.py"),
        ("/sub/b.py", "sub/b.py"),
        ("../a.py", None),
        ("sub/../../a.py", None),
        ("/etc/passwd", None),
        ("", None),
        (".", None),
        ("/", None),
        ("a\0b", None),
    ],
)
def test_a_path_is_called_as_it_is_below_the_workspace(tmp_path: Path, path: str, name: str | None) -> None:
    """Relative, absolute, or from the root a tool of an agent has of its own; what is outside has no name."""
    assert name == Workspace(tmp_path).relative(path.format(root=tmp_path))


def test_what_stands_at_a_path_is_said_by_kind(tmp_path: Path) -> None:
    """A content is given where there is one; a link is what it says, and none leads outside."""
    top, away = tmp_path / "w", tmp_path / "away"
    written(top, {"a.py": "1\n", "sub/b.py": "2\n"})
    written(away, {"secret.py": "s\n"})
    (top / "link.py").symlink_to("a.py")
    (top / "out").symlink_to(away)
    os.mkfifo(top / "pipe")
    found = Workspace(top)

    kinds = {name: found.fact(name).kind for name in ("a.py", "sub", "link.py", "nothing.py", "a.py/below", "out/secret.py", "pipe")}
    assert {
        "a.py": "file",
        "sub": "folder",
        "link.py": "link",
        "nothing.py": "absent",
        "a.py/below": "absent",
        "out/secret.py": "outside",
        "pipe": "unreadable",
    } == kinds
    assert (None, "1\n") == (found.text("out/secret.py"), found.text("a.py"))


def test_a_text_is_told_from_other_bytes(tmp_path: Path) -> None:
    """What is no text has none."""
    (tmp_path / "b.bin").write_bytes(b"\x00\x01")
    (tmp_path / "l.txt").write_bytes("é".encode("latin-1"))
    found = Workspace(tmp_path)
    assert (None, None, None) == (found.text("b.bin"), found.text("l.txt"), found.text("none.txt"))


def test_of_a_large_repository_only_named_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about a file reads that file, however many there are."""
    top = repository(tmp_path, {f"d{number % 7}/f{number}.py": f"{number}\n" for number in range(400)})
    read: list[Path] = []
    real = folder_module._digest
    monkeypatch.setattr(folder_module, "_digest", lambda place: read.append(place) or real(place))
    found = Workspace(top).facts(["d1/f1.py", "d2/f2.py"])

    assert ["d1/f1.py", "d2/f2.py"] == list(found)
    assert 2 == len(read)
    assert {} == dict(Workspace(top).survey().marks)
    assert 2 == len(read)
