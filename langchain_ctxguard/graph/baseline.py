"""How the workspace was before an agent's work, put on record once; as late as it can still be told, for most runs end before anybody asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from langchain_ctxguard.core.baseline import as_it_began
from langchain_ctxguard.core.worklog import files_left
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.reconcile import Began, CheckSeen
from langchain_ctxguard.domain.worklog import WorkEntry
from langchain_ctxguard.domain.workspace import CheckResult, FileFact, Survey
from langchain_ctxguard.errors import LogConflictError
from langchain_ctxguard.graph.first_contents import FirstContents
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.reconcile import ReconcileLog

_KNOWN = 1_000
_THREADS = 64
_FRESH_S = 120.0
"""Seconds for which the check need not run again in a workspace that is the same: as long as a compaction with a model takes."""


class LookedAt(Protocol):
    """The files of a workspace. Paths are below it, with `/`."""

    def relative(self, path: str) -> str | None:
        """Return a path as it is called below the workspace; `None`: it is not below it."""

    def fact(self, path: str) -> FileFact:
        """Return what one named file holds."""

    def survey(self) -> Survey:
        """Return which files differ from what was there; what cannot be told is said."""


class Check(Protocol):
    """The configured check."""

    @property
    def shown(self) -> str:
        """The command as a line."""

    def run(self, *, known: Sequence[str] = (), before: Survey | None = None) -> CheckResult:
        """Run it, and return what it came to."""

    def run_before(self, contents: Mapping[str, bytes | None]) -> CheckResult:
        """Run it in a copy of the workspace in which files are as they were, and return what it came to there."""


class Baseline:
    """Looks at the workspace for the first time. A check that failed before the agent began is not the agent's doing."""

    def __init__(
        self,
        files: LookedAt,
        log: ReconcileLog,
        *,
        entries: Callable[[str], tuple[WorkEntry, ...]],
        check: Check | None = None,
        first: FirstContents | None = None,
        taken: Callable[[str, Survey], None] = lambda _, __: None,
    ) -> None:
        """Bind what is looked at.

        Args:
            files: The workspace.
            log: Where it is put on record.
            entries: Returns the work log of a thread, oldest first.
            check: The configured check; `None`: there is none.
            first: Knows what files held before the first step on them; `None`: nobody does.
            taken: Is told the survey of a thread.
        """
        self._files = files
        self._log = log
        self._entries = entries
        self._check = check
        self._first = first
        self._taken = taken
        self._fresh: Bounded[tuple[float, str, CheckResult]] = Bounded(_THREADS)

    def take(self, root: ContextPlace) -> None:
        """Put the workspace on record as it was before the agent changed anything in it; does nothing where that was done.

        Raises:
            StoreError: it cannot be read or written.
        """
        seq, state = self._log.read(root)
        if state.baseline is not None:
            return
        entries = self._entries(root.thread)
        survey = self._files.survey()
        # Once the context was compacted, a check that passes only now says nothing of what went before.
        check, after = self._checked(root.thread, entries, survey) if state.phase == "idle" else (None, 0)
        address = self._log.keep(root, as_it_began(survey, self._touched(root.thread, survey, files_left(entries))))
        try:
            self._log.append(root, Began(survey=address, check=check, after=after, at=self._log.now()), expected=seq)
        except LogConflictError:
            # Somebody else looked at the same moment; what they saw counts.
            return
        self._taken(root.thread, survey)
        if self._first is not None:
            self._first.forget(root.thread)

    def checked_in(self, thread: str, survey: Survey) -> CheckResult | None:
        """Return what the check came to at the first look, if the workspace is still the same; said once."""
        known = self._fresh.get(thread)
        self._fresh.drop(thread)
        if known is None or time.monotonic() - known[0] > _FRESH_S:
            return None
        return known[2] if known[1] and known[1] == survey.fingerprint else None

    def _checked(self, thread: str, entries: Sequence[WorkEntry], survey: Survey) -> tuple[CheckSeen | None, int]:
        """Return what the check came to, and after how many steps; where steps may have broken it, what it came to before them."""
        if self._check is None:
            return None, 0
        left = files_left(entries)
        result = self._check.run(known=tuple(dict.fromkeys([*left, *list(survey.marks)[:_KNOWN]])), before=survey)
        self._fresh.put(thread, (time.monotonic(), survey.fingerprint, result))
        if not left or result.outcome == "passed":
            return CheckSeen.of(result), max((entry.number for entry in entries), default=0) if left else 0
        contents = None if self._first is None else self._first.of(thread, list(left))
        return (None if contents is None else CheckSeen.of(self._check.run_before(contents))), 0

    def _touched(self, thread: str, survey: Survey, left: Collection[str]) -> set[str]:
        """Return the files that were changed since the work began, and by no step of it."""
        began = None if self._first is None else self._first.began_ns(thread)
        asked: Any = getattr(self._files, "touched_since", None)
        if began is None or asked is None:
            return set()
        return set(asked([path for path in survey.marks if path not in left], began))
