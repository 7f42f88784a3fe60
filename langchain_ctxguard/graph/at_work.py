"""Reconciliation and repeat guard, wired for a hand-over: what both look at, and the order in which they are heard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from langchain_ctxguard.backends.workspace.check import WorkCheck
from langchain_ctxguard.backends.workspace.folder import Workspace
from langchain_ctxguard.core.effects import CallAtWork, Ran, WorkWord
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.reconcile import WorkStatus
from langchain_ctxguard.domain.worklog import WorkEntry
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.first_contents import FirstContents
from langchain_ctxguard.graph.reconciler import Reconciler
from langchain_ctxguard.graph.repeats import RepeatGuard


class AtWork:
    """Holds calls that do not fit the workspace, and answers those that need not run; see `graph.coding.Reconciling`."""

    def __init__(self, reconciler: Reconciler, repeats: RepeatGuard) -> None:
        """Bind both."""
        self.reconciler = reconciler
        self.repeats = repeats

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Say why a call may not run, or need not."""
        return self.reconciler.held(call, between=lambda: self.repeats.word(call))

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Take notice of what a call came to."""
        self.repeats.after(call, ran)

    def status(self, thread: str, namespace: str, version: int) -> WorkStatus | None:
        """Return what a look at the workspace found for the context of this version, `None` where nobody looked."""
        return self.reconciler.status(ContextPlace(thread=thread, namespace=namespace), version)


def check_in(root: Path | None, command: Sequence[str] | str | None, *, timeout_s: float, leave_out: str) -> WorkCheck | None:
    """Return the check of a workspace, `None` where there is none.

    Raises:
        ConfigurationError: the workspace is no folder of this machine, or the command is none.
    """
    if command is None:
        return None
    if root is None:
        msg = "A check runs in a folder of this machine, and this workspace is none. Pass the folder, or leave `check` out."
        raise ConfigurationError(msg)
    return WorkCheck(command, Workspace(root, leave_out=(leave_out,)), timeout_s=timeout_s)


def first_contents_in(root: Path | None, *, leave_out: str, is_new: Callable[[str], bool], keeps_contents: bool) -> FirstContents | None:
    """Return what remembers the files of a folder before they are changed, `None` where the workspace is no folder of this machine."""
    return None if root is None else FirstContents(Workspace(root, leave_out=(leave_out,)), is_new=is_new, keeps_contents=keeps_contents)


def numbered_entries(entries: Callable[[str], Sequence[WorkEntry]]) -> Callable[[str], tuple[WorkEntry, ...]]:
    """Return how a work log is read with a number for each entry: those not on record yet get the ones they are about to get."""

    def read(thread: str) -> tuple[WorkEntry, ...]:
        return tuple(entry if entry.number else entry.model_copy(update={"number": place}) for place, entry in enumerate(entries(thread), start=1))

    return read
