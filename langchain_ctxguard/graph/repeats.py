"""The repeat guard in a run: what is done is not done again, what was turned down is not taken up again, and the model is told why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from langchain_core.messages import ToolMessage

from langchain_ctxguard.core import repeats
from langchain_ctxguard.core.effects import CallAtWork, Ran, WorkWord
from langchain_ctxguard.core.options import TurnedDown, turned_down
from langchain_ctxguard.core.redact import left_of
from langchain_ctxguard.core.repeats import Look
from langchain_ctxguard.core.results import reports_failure
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.steps import CHANGES_NOTHING
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.reconcile import SearchSeen
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.worklog import WorkEntry
from langchain_ctxguard.domain.workspace import Survey
from langchain_ctxguard.graph.baseline import LookedAt
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.reconcile import ReconcileLog

_ANSWER = 3_000
"""Characters of a search's result that is kept; of a longer one the search is made again."""

_FILES = 20
_PLACES = 256
_WAITING = 50
_SLOW_S = 0.25
"""A workspace that takes longer to be told from another, in seconds, keeps no searches: making them again is cheaper."""


class _Early(NamedTuple):
    place: ContextPlace
    seen: SearchSeen
    at_ns: int
    steps: int
    """How many steps were on the work log then."""


@runtime_checkable
class HasTexts(Protocol):
    """Files that can be read as text."""

    def text(self, path: str) -> str | None:
        """Return the text of a file, `None` where it has none."""


@runtime_checkable
class TellsTimes(Protocol):
    """Files that know when they were written."""

    def touched_since(self, paths: Iterable[str], moment_ns: int) -> frozenset[str]:
        """Return those of named files that were written at a moment or later."""

    def is_moved_since(self, moment_ns: int) -> bool:
        """Say whether something beside the agent may have changed many of them since: a checkout, for one."""


class RepeatGuard:
    """Knows what a call would do again. It denies nothing: what it has to say is a result."""

    def __init__(
        self,
        files: LookedAt,
        log: ReconcileLog,
        *,
        entries: Callable[[str], tuple[WorkEntry, ...]],
        decisions: Callable[[ContextPlace], Iterable[tuple[int | None, Decision]]],
        record: Callable[[ContextEvent], None] = lambda _: None,
        redact: Redactor | None = None,
        is_far: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Bind what is looked at.

        Args:
            files: The workspace.
            log: Where searches are on record.
            entries: Returns the work log of a thread, oldest first.
            decisions: Returns what was decided in a context, oldest first, each with its number in the work log where it has one.
            record: Is told what was answered.
            redact: Sees the result of a search before it is kept; one that it changes is not kept.
            is_far: Says of a thread that no compaction is near: nobody surveys the workspace for a search yet.
        """
        self._files = files
        self._log = log
        self._entries = entries
        self._decisions = decisions
        self._record = record
        self._redact = redact
        self._is_far = is_far
        self._is_slow = False
        self._waiting: Bounded[tuple[SearchSeen, ...]] = Bounded(_PLACES)
        """By context, searches that are on no record yet: a run that is never compacted writes none."""

        self._early: Bounded[tuple[_Early, ...]] = Bounded(_PLACES)
        """By thread, searches made before anybody surveyed the workspace."""

        self._look = Look(fact=files.fact, text=files.text if isinstance(files, HasTexts) else lambda _: None, name=files.relative)

    def word(self, call: CallAtWork) -> WorkWord | None:
        """Return what stands in the place of a call that need not run, `None` for one that has to.

        Raises:
            StoreError: what is on record cannot be read.
        """
        request = call.request
        if not request.thread or request.tool.lower() in CHANGES_NOTHING:
            return None
        place = _place(call)
        if repeats.is_search(request.tool):
            return self._searched(place, call)
        entry = repeats.repeated_step(request.tool, request.args, self._entries(request.thread), self._look, call_id=request.call_id)
        if entry is not None:
            return self._answered(
                "repeat_answered", f"`{request.tool}` would have done again {entry.name}.", repeats.in_effect_text(request.tool, entry)
            )
        against = repeats.turned_down_in(request.tool, request.args, self._standing(place), self._look)
        if against is None:
            return None
        self._record(ContextEvent(kind="turned_down_answered", detail=f"`{request.tool}` would have taken up what was turned down."))
        return WorkWord("turned_down", repeats.turned_down_text(request.tool, against))

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Keep the answer of a search that named files, as long as it is short.

        Raises:
            StoreError: it cannot be written.
        """
        request = call.request
        if not request.thread or self._is_slow or ran.outcome != "finished" or not repeats.is_search(request.tool):
            return
        text = _text(ran.value)
        if text is None or len(text) > _ANSWER:
            return
        if left_of(self._redact, text) != text:
            # What is left of it is no answer to the search: it is made again.
            return
        files = self._named(text)
        is_early = self._is_far(request.thread)
        now = "" if is_early else self._print()
        if not files or not (now or is_early):
            return
        lines = tuple(line for line in map(readable, text.splitlines()) if line)
        own = effect_digest(request.tool, request.args)
        seen = SearchSeen(effect=own, call_id=request.call_id or "", found=lines, files=files, print=now, at=self._log.now())
        place = _place(call)
        if is_early:
            early = _Early(place, seen, time.time_ns(), len(self._entries(request.thread)))
            self._early.put(request.thread, (*(self._early.get(request.thread) or ()), early)[-_WAITING:])
            return
        waiting = (*(self._waiting.get(place) or ()), seen)[-_WAITING:]
        if self._log.read(place)[1].version:
            self._log.append(place, *waiting)
            waiting = ()
        self._waiting.put(place, waiting)

    def surveyed(self, thread: str, survey: Survey) -> None:
        """Take notice of the first survey of a thread's workspace: searches made before it hold from then on, where nothing changed in between."""
        early = self._early.get(thread) or ()
        self._early.drop(thread)
        files = self._files
        if not early or not isinstance(files, TellsTimes) or not survey.fingerprint:
            return
        steps = len(self._entries(thread))
        for one in early:
            if one.steps != steps or files.is_moved_since(one.at_ns) or files.touched_since(survey.marks, one.at_ns):
                continue
            seen = one.seen.model_copy(update={"print": survey.fingerprint})
            self._waiting.put(one.place, (*(self._waiting.get(one.place) or ()), seen)[-_WAITING:])

    def _searched(self, place: ContextPlace, call: CallAtWork) -> WorkWord | None:
        request = call.request
        searches = (*(self._waiting.get(place) or ())[::-1], *self._log.read(place)[1].searches[::-1])
        if not searches:
            return None
        seen = repeats.repeated_search(request.tool, request.args, searches, self._look, print_now=self._print, call_id=request.call_id)
        if seen is None:
            return None
        return self._answered("repeat_answered", f"`{request.tool}` had been asked the same.", repeats.found_before_text(request.tool, seen))

    def _standing(self, place: ContextPlace) -> tuple[TurnedDown, ...]:
        return turned_down(self._decisions(place))

    def _answered(self, kind: Any, detail: str, text: str) -> WorkWord:
        self._record(ContextEvent(kind=kind, detail=detail))
        return WorkWord("in_effect", text)

    def _named(self, text: str) -> tuple[tuple[str, str], ...]:
        """Return the files that a result names, with what they hold; none where it names very many."""
        found: dict[str, str] = {}
        for word in text.replace('"', " ").replace("'", " ").replace(",", " ").split():
            name = self._files.relative(word.rstrip(":.").split(":", 1)[0].strip("[]()"))
            if name is None or name in found:
                continue
            fact = self._files.fact(name)
            if fact.kind == "file" and fact.sha256 is not None:
                found[name] = fact.sha256
            if len(found) > _FILES:
                return ()
        return tuple(found.items())

    def _print(self) -> str:
        started = time.monotonic()
        survey = self._files.survey()
        self._is_slow = self._is_slow or time.monotonic() - started > _SLOW_S
        return survey.fingerprint


def _place(call: CallAtWork) -> ContextPlace:
    return ContextPlace.of_step(str(call.request.thread), call.request.namespace)


def _text(value: Any) -> str | None:
    """Return the text a search returned, `None` where it is none or tells of a failure."""
    content = value[0] if isinstance(value, tuple) and value else value
    if isinstance(content, ToolMessage):
        content = None if content.status == "error" else text_of(content)
    if isinstance(content, list) and all(isinstance(one, str) for one in content):
        content = "\n".join(content)
    return content if isinstance(content, str) and not reports_failure(content) else None
