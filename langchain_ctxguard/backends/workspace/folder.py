"""A workspace: what its files hold, and which of them differ. By git where it is a repository, by looking at every file where it is none."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from langchain_ctxguard.backends.workspace.git import Git, GitError, GitStatus
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.domain.workspace import FileFact, Survey

MOST_FILES = 20_000
"""Files looked at where there is no repository; of a larger folder only named files are told."""

_MOST_HASHED = 400
"""Changed files whose content is read for a survey; of more only their size and time count."""

_MOST_BYTES = 64_000_000
"""Size of one file above which its content is not read."""

_MOST_NAMED = 200
"""Files named to git in one question."""

_MOST_TEXT = 2_000_000
_CHUNK = 1 << 20
_NOT_WORK = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox"})
"""Folders that no one edits by hand: left out where nothing says what is ignored."""


class Workspace:
    """One folder and what is below it. Nothing is remembered between two questions, and nothing is ever written."""

    def __init__(self, root: str | Path, *, leave_out: Collection[str] = (".ctxguard",), git: str | None = None) -> None:
        """Bind a folder.

        Args:
            root: The folder an agent works in.
            leave_out: Names of folders right below it that are not the agent's work.
            git: The git program to ask; `None`: the one on the path.
        """
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - links are followed when a file is looked at, not here
        self._leave_out = frozenset(leave_out)
        self._git = Git(self.root, program=git)

    def relative(self, path: str) -> str | None:
        """Return a path as it is called below the workspace, with `/`; `None`: it is not below it, or is the workspace itself.

        An absolute path counts where the workspace stands in it; virtual ones, whose `/` means the workspace, are found there as well.
        """
        if not path or "\0" in path:
            return None
        text = path.replace("\\", "/") if os.name == "nt" else path
        inside = self._below(text)
        return None if inside in {None, "."} or str(inside).split("/", 1)[0] in self._leave_out else inside

    def _below(self, text: str) -> str | None:
        if not Path(text).is_absolute():
            found = os.path.normpath(text).replace(os.sep, "/")
            return None if found.startswith("../") or found == ".." else found
        for root in dict.fromkeys((str(self.root), os.path.realpath(self.root))):
            found = os.path.relpath(os.path.normpath(text), root).replace(os.sep, "/")
            if not found.startswith("../") and found != "..":
                return found
        # Tools of agents often name files from a root of their own.
        return self._below(text.lstrip("/")) if text.strip("/") and not os.path.lexists(text) else None

    def facts(self, paths: Iterable[str]) -> dict[str, FileFact]:
        """Return what named files hold, by the name they were given; only these are read."""
        return {path: self.fact(path) for path in dict.fromkeys(paths)}

    def fact(self, path: str) -> FileFact:
        """Return what one named file holds."""
        name = self.relative(path)
        try:
            if name is None or not self._is_inside(self.root / name):
                return FileFact(path=name or path, kind="outside")
            return _fact_of(name, self.root / name)
        except (FileNotFoundError, NotADirectoryError):
            return FileFact(path=name or path, kind="absent")
        except (OSError, ValueError):
            return FileFact(path=name or path, kind="unreadable")

    def text(self, path: str) -> str | None:
        """Return the text of a named file; `None`: there is none, it is no text, or it is too large to be looked into."""
        fact = self.fact(path)
        if fact.kind != "file" or (fact.size or 0) > _MOST_TEXT:
            return None
        try:
            data = (self.root / fact.path).read_bytes()
            return None if b"\0" in data else data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def content(self, path: str) -> bytes:
        """Return the bytes of a named file.

        Raises:
            OSError: it cannot be read.
        """
        return (self.root / self.fact(path).path).read_bytes()

    def touched_since(self, paths: Iterable[str], moment_ns: int) -> frozenset[str]:
        """Return those of named files that were written at a moment or later, by the time their file system gives them."""
        return frozenset(path for path in paths if (_written_ns(self.root / path) or 0) >= moment_ns)

    def is_moved_since(self, moment_ns: int) -> bool:
        """Say whether the repository may have checked something out, committed or staged it since; where there is none, it has not."""
        try:
            place = self._git.folder()
        except GitError:
            return True
        return place is not None and any((_written_ns(place / name) or 0) >= moment_ns for name in ("HEAD", "index"))

    def survey(self) -> Survey:
        """Return which files differ from the last commit; without a repository, every file with its size and time.

        What cannot be told is in `faults`, in words; it is never guessed.
        """
        try:
            top = self._git.top()
        except GitError as error:
            return self._by_files(f"{error}, so every file was looked at")
        if top is None:
            return self._by_files()
        if not self._is_top(top):
            return self._by_files(f"git says that the files of this repository are in '{top}', which does not hold the workspace")
        try:
            return self._by_git(top, self._git.status())
        except GitError as error:
            return self._by_files(f"{error}, so every file was looked at")

    def tracked(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of named files that the repository keeps; none where there is no repository, or git cannot say."""
        named = list(dict.fromkeys(paths))
        found: set[str] = set()
        try:
            for start in range(0, len(named), _MOST_NAMED):
                found |= self._git.tracked(named[start : start + _MOST_NAMED])
        except GitError:
            return frozenset()
        return frozenset(found)

    def committed(self, first: str | None, second: str | None) -> frozenset[str]:
        """Return the files that differ between two commits; none where that cannot be told."""
        if first is None or second is None or first == second:
            return frozenset()
        try:
            top = self._git.top()
            paths = () if top is None else self._git.between(first, second)
        except GitError:
            return frozenset()
        start = "." if top is None else self._start(top)
        return frozenset(name for path in paths if (name := _inside(path, start)) is not None and self.counts(name))

    def copies(self, contents: Collection[str], among: Iterable[str]) -> dict[str, str]:
        """Return where contents, by their SHA-256, are among named files; of many files the first few are read."""
        found: dict[str, str] = {}
        for path in list(among)[:_MOST_HASHED]:
            fact = self.fact(path)
            if fact.kind == "file" and fact.sha256 is not None and fact.sha256 in contents:
                found.setdefault(fact.sha256, fact.path)
        return found

    def _start(self, top: Path) -> str:
        return os.path.relpath(os.path.realpath(self.root), os.path.realpath(top)).replace(os.sep, "/")

    def _is_top(self, top: Path) -> bool:
        real = Path(os.path.realpath(self.root))
        found = Path(os.path.realpath(top))
        return found == real or found in real.parents

    def _is_inside(self, place: Path) -> bool:
        """Say whether the folder a file stands in is below the workspace once every link is followed."""
        real, root = os.path.realpath(place.parent), os.path.realpath(self.root)
        return real == root or real.startswith(root.rstrip(os.sep) + os.sep)

    def _by_git(self, top: Path, status: GitStatus) -> Survey:
        start = self._start(top)
        listed = ((_inside(path, start), state) for path, state in status.changed.items())
        # What tools leave behind is no work, ignored or not.
        inside = {name: state for name, state in listed if name is not None and self.counts(name) and not (state == "??" and _is_left_over(name))}
        read = set(list(inside)[:_MOST_HASHED])
        marks = {name: f"{state} {self._mark(name, is_read=name in read)}" for name, state in inside.items()}
        moved = {new: old for to, of in status.moved.items() if (new := _inside(to, start)) and (old := _inside(of, start)) and self.counts(new)}
        faults = [] if status.is_complete else [f"more files differ than can be listed; {len(marks):,} of them are"]
        return Survey(
            source="git", head=status.head, branch=status.branch, marks=marks, moved=moved, faults=tuple(faults), is_complete=status.is_complete
        )

    def _by_files(self, *faults: str) -> Survey:
        marks: dict[str, str] = {}
        unread: list[str] = []
        for folder, folders, files in os.walk(self.root, onerror=lambda error: unread.append(str(error.filename)), followlinks=False):
            is_top = folder == str(self.root)
            folders[:] = sorted(name for name in folders if name not in _NOT_WORK and not (is_top and name in self._leave_out))
            for name in sorted(files):
                if len(marks) >= MOST_FILES:
                    told = f"the folder holds more than {MOST_FILES:,} files, so what was touched outside is not looked for"
                    return Survey(source="files", faults=(*faults, told), is_complete=False)
                path = os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")  # noqa: PTH118 - a text, as it is
                marks[path] = self._mark(path, is_read=False)
        holes = [f"{len(unread)} folders could not be read"] if unread else []
        return Survey(source="files", marks=marks, faults=(*faults, *holes), is_complete=not unread)

    def counts(self, name: str) -> bool:
        """Say whether a file belongs to the work, by its path below the workspace."""
        return name.split("/", 1)[0] not in self._leave_out

    def _mark(self, name: str, *, is_read: bool) -> str:
        """Return what tells a file from another state of itself: its content where it is read, else its size and time."""
        if is_read:
            fact = self.fact(name)
            return fact.sha256 or fact.kind
        try:
            about = (self.root / name).lstat()
        except (OSError, ValueError):
            return "absent"
        return f"{about.st_size}:{about.st_mtime_ns}"


def _written_ns(place: Path) -> int | None:
    try:
        return place.lstat().st_mtime_ns
    except (OSError, ValueError):
        return None


def _is_left_over(name: str) -> bool:
    return name.endswith((".pyc", ".pyo")) or not _NOT_WORK.isdisjoint(name.split("/"))


def _inside(path: str, start: str) -> str | None:
    """Return a path from the top of a repository as one from the workspace, which lies at `start`; `None`: it is not below it."""
    if start == ".":
        return path
    return path.removeprefix(f"{start}/") if path.startswith(f"{start}/") else None


def _fact_of(name: str, place: Path) -> FileFact:
    about = place.lstat()
    if stat.S_ISLNK(about.st_mode):
        return FileFact(path=name, kind="link", sha256=digest_of(str(place.readlink())))
    if stat.S_ISDIR(about.st_mode):
        return FileFact(path=name, kind="folder")
    if not stat.S_ISREG(about.st_mode):
        return FileFact(path=name, kind="unreadable")
    if about.st_size > _MOST_BYTES:
        return FileFact(path=name, kind="too_large", size=about.st_size)
    return FileFact(path=name, kind="file", sha256=_digest(place), size=about.st_size)


def _digest(place: Path) -> str:
    found = hashlib.sha256()
    with place.open("rb") as file:
        while data := file.read(_CHUNK):
            found.update(data)
    return found.hexdigest()
