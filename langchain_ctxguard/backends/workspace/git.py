"""What git says of a workspace. It reads only: no hook, no pager, no filter or monitor of the repository runs, and no lock is taken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain_ctxguard.backends.workspace.process import Finished, run

_SECONDS = 30.0
_MOST_BYTES = 8_000_000
"""Output that is read of one command; a workspace with more changed files is told as far as that goes."""

_FIXED = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
    *("-c", "core.askPass="),
    *("-c", "credential.helper="),
    *("-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false"),
    *("-c", "status.submoduleSummary=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
_KEPT = frozenset({"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"})
_SET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}

_RENAMED, _PLAIN, _UNMERGED = "2", "1", "u"


class GitError(Exception):
    """Git is missing, refused, or was too slow. Its message is one sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class GitStatus:
    """What `git status` says."""

    head: str | None = None
    branch: str | None = None
    changed: dict[str, str] = field(default_factory=dict)
    """By path from the top of the repository, the two letters of its state and whether it is a submodule."""

    moved: dict[str, str] = field(default_factory=dict)
    is_complete: bool = True


class Git:
    """Asks git about one folder."""

    def __init__(self, folder: Path, *, program: str | None = None, timeout_s: float = _SECONDS) -> None:
        """Bind a folder.

        Args:
            folder: Below the top of a repository, or the top itself.
            program: The git to ask; `None`: the one on the path.
            timeout_s: Seconds one question may take.
        """
        self._folder = folder
        self._program = program
        self._timeout_s = timeout_s

    def top(self) -> Path | None:
        """Return the top of the working tree that holds the folder; `None`: it is in none.

        Raises:
            GitError: git is missing, or cannot say.
        """
        return self._place("--show-toplevel")

    def folder(self) -> Path | None:
        """Return where the repository keeps `HEAD` and index of the working tree that holds the folder; `None`: it is in none.

        Raises:
            GitError: git is missing, or cannot say.
        """
        return self._place("--git-dir")

    def _place(self, which: str) -> Path | None:
        done = self._ask("rev-parse", "--path-format=absolute", which)
        if done.exit_code == 0:
            return Path(os.fsdecode(done.head.removesuffix(b"\n")))
        told = _told(done)
        if "not a git repository" in told or "must be run in a work tree" in told:
            return None
        msg = f"git cannot say whether this is a repository ({told})"
        raise GitError(msg)

    def status(self) -> GitStatus:
        """Return which files of the whole repository differ from its last commit, untracked ones by name, ignored ones left out.

        Raises:
            GitError: it cannot be told.
        """
        asked = ("status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignored=no", "--ignore-submodules=dirty", "--renames")
        done = self._ask(*self._without_filters(), *asked)
        if done.exit_code != 0:
            msg = f"git status failed ({_told(done)})"
            raise GitError(msg)
        return _read(done.head, is_complete=done.left_out == 0)

    def tracked(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of named files that git keeps, by the name they were given.

        Raises:
            GitError: it cannot be told.
        """
        done = self._ask("ls-files", "-z", "--", *paths) if paths else None
        if done is None:
            return frozenset()
        if done.exit_code != 0:
            msg = f"git cannot say which files it keeps ({_told(done)})"
            raise GitError(msg)
        return frozenset(map(os.fsdecode, done.head.split(b"\0")[:-1]))

    def between(self, first: str, second: str) -> tuple[str, ...]:
        """Return the files, from the top of the repository, that differ between two commits.

        Raises:
            GitError: it cannot be told, e.g. because one of them is gone.
        """
        done = self._ask("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--end-of-options", first, second, "--")
        if done.exit_code != 0:
            msg = f"git cannot compare two commits ({_told(done)})"
            raise GitError(msg)
        return tuple(map(os.fsdecode, done.head.split(b"\0")[:-1]))

    def _without_filters(self) -> list[str]:
        """Return the options that keep the filters which the repository itself configures from running; those of the user's own config stay."""
        done = self._ask("config", "--show-scope", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
        if done.exit_code not in {0, 1}:
            msg = f"the configuration of the repository cannot be read ({_told(done)})"
            raise GitError(msg)
        words = done.head.decode("utf-8", "surrogateescape").split("\0")
        names = dict.fromkeys(key.split(".", 1)[1].rpartition(".")[0] for scope, key in _pairs(words) if scope in {"local", "worktree"})
        options: list[str] = []
        for name in names:
            for key in ("clean", "smudge", "process"):
                options += ["-c", f"filter.{name}.{key}="]
            options += ["-c", f"filter.{name}.required=false"]
        return options

    def _ask(self, *words: str) -> Finished:
        program = self._program or shutil.which("git")
        if program is None:
            msg = "git is not installed, or not on the path"
            raise GitError(msg)
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
        command = [program, "-C", str(self._folder), *_FIXED, *words]
        try:
            done = run(command, cwd=self._folder, env={**env, **_SET}, timeout_s=self._timeout_s, head=_MOST_BYTES, is_apart=True)
        except (OSError, ValueError) as error:
            msg = f"git could not be started ({type(error).__name__})"
            raise GitError(msg) from error
        if done.is_late:
            msg = f"git took longer than {self._timeout_s:g} seconds"
            raise GitError(msg)
        return done


def _told(done: Finished) -> str:
    """Return the first line of what git complained of."""
    lines = done.errors.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:200] if lines else f"exit code {done.exit_code}"


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    return zip(words[::2], words[1::2], strict=False)


def _read(data: bytes, *, is_complete: bool) -> GitStatus:
    """Read porcelain v2 with `-z`: fields by spaces, records by zero bytes, a moved file followed by its old name."""
    records = data.split(b"\0")
    # What follows the last zero byte is nothing, or the beginning of a record that was cut off.
    records.pop()
    head: str | None = None
    branch: str | None = None
    changed: dict[str, str] = {}
    moved: dict[str, str] = {}
    waiting = iter(records)
    for record in waiting:
        text = os.fsdecode(record)
        kind, _, rest = text.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.oid":
                head = None if value == "(initial)" else value
            elif name == "branch.head":
                branch = None if value == "(detached)" else value
        elif kind == _PLAIN:
            state, sub, *_, path = rest.split(" ", 7)
            changed[path] = _state(state, sub)
        elif kind == _RENAMED:
            state, sub, *_, path = rest.split(" ", 8)
            old = next(waiting, b"")
            changed[path] = _state(state, sub)
            if old:
                moved[path] = os.fsdecode(old)
        elif kind == _UNMERGED:
            state, sub, *_, path = rest.split(" ", 9)
            changed[path] = _state(f"u{state}", sub)
        elif kind == "?":
            changed[rest] = "??"
    return GitStatus(head, branch, changed, moved, is_complete)


def _state(letters: str, submodule: str) -> str:
    return letters if submodule.startswith("N") else f"{letters} submodule {submodule}"
