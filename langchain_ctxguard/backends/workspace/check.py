"""The zero-change check: the application's own command, which says whether a workspace holds before anything more is done to it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_ctxguard.backends.workspace.earlier import earlier
from langchain_ctxguard.backends.workspace.folder import Workspace
from langchain_ctxguard.backends.workspace.named import named_in
from langchain_ctxguard.backends.workspace.process import Finished, run
from langchain_ctxguard.domain.workspace import CheckResult, Survey
from langchain_ctxguard.errors import ConfigurationError

_HEAD = 16_000
_TAIL = 48_000


class WorkCheck:
    """Runs one command in a workspace. The command is the application's; no message and no model has a say in it."""

    def __init__(self, command: Sequence[str] | str, workspace: Workspace, *, timeout_s: float = 120.0) -> None:
        """Bind a command.

        Args:
            command: An argument list, or a text for the shell.
            workspace: Where it runs.
            timeout_s: Seconds after which it is stopped, with everything it started.

        Raises:
            ConfigurationError: there is nothing to run, or no time for it.
        """
        given = command.strip() if isinstance(command, str) else tuple(command)
        if isinstance(given, tuple) and not all(isinstance(word, str) for word in given):
            msg = f"{command!r} is no command: give a list of texts, or one text for the shell. Nothing was run."
            raise ConfigurationError(msg)
        if not given:
            msg = "The check names no command. Give a list like ['pytest', '-q'], or a text for the shell; `None` for no check."
            raise ConfigurationError(msg)
        if timeout_s <= 0:
            msg = f"A check may not take {timeout_s:g} seconds. Give a number above 0."
            raise ConfigurationError(msg)
        self.command: tuple[str, ...] | str = given
        self.timeout_s = timeout_s
        self._workspace = workspace

    @property
    def shown(self) -> str:
        """The command as a line."""
        return self.command if isinstance(self.command, str) else " ".join(self.command)

    def run(self, *, known: Sequence[str] = (), before: Survey | None = None) -> CheckResult:
        """Run the command, and return what it came to.

        Args:
            known: Files whose names are looked for in its output, beside those that stand there as words of their own.
            before: The workspace just before, to tell what the check itself changed; `None`: that is not looked for.
        """
        command = self.command if isinstance(self.command, str) else list(self.command)
        try:
            done = run(command, cwd=self._workspace.root, env=os.environ, timeout_s=self.timeout_s, head=_HEAD, tail=_TAIL)
        except (OSError, ValueError) as error:
            return CheckResult(outcome="not_run", why=f"it could not be started ({type(error).__name__})")
        output = _text(done)
        changed = () if before is None else self._changed_since(before)
        about: dict[str, Any] = {
            "seconds": round(done.seconds, 3),
            "output": output,
            "files": named_in(output, known, self._workspace),
            "changed": changed,
        }
        if done.is_late:
            return CheckResult(outcome="timed_out", why=f"it took longer than {self.timeout_s:g} seconds and was stopped", **about)
        return CheckResult(outcome="passed" if done.exit_code == 0 else "failed", exit_code=done.exit_code, **about)

    def run_before(self, contents: Mapping[str, bytes | None]) -> CheckResult:
        """Run the command in a copy of the workspace in which named files are as they were, and return what it came to there.

        Args:
            contents: What these files held; `None`: they were not there.
        """
        with earlier(self._workspace, contents) as copy:
            if copy is None:
                return CheckResult(outcome="not_run", why="the workspace is too large to be copied, or cannot be read whole")
            return WorkCheck(self.command, Workspace(copy), timeout_s=self.timeout_s).run()

    def _changed_since(self, before: Survey) -> tuple[str, ...]:
        after = self._workspace.survey()
        if after.source != before.source or not (after.is_complete and before.is_complete):
            return ()
        return tuple(sorted(path for path in {*after.marks, *before.marks} if after.marks.get(path) != before.marks.get(path)))


def _text(done: Finished) -> str:
    head, tail = done.head.decode("utf-8", "replace"), done.tail.decode("utf-8", "replace")
    return f"{head}\n[... {done.left_out:,} bytes left out ...]\n{tail}" if done.left_out else head + tail
