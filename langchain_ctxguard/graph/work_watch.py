"""What took effect: each call is looked at before and after it ran; what changed is a line of the work log, written by the harness."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from langchain_ctxguard.core.commands import is_large_change, reads_only
from langchain_ctxguard.core.effects import CallAtWork, Ran, WorkWord
from langchain_ctxguard.core.evidence import effect_of
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.results import reports_failure, results_in
from langchain_ctxguard.core.roles import calls_of, text_of
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.core.steps import CHANGES_NOTHING, named_files, places_of, step_text
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.context_version import outer_namespace
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState
from langchain_ctxguard.domain.workspace import FileFact
from langchain_ctxguard.ports import Clock, WorkFiles
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.worklog import WorkLog

_THREADS = 256
_CALLS = 4_096
LARGE = 5
"""A call that names so many files, or more, is a large change: the log is saved before it."""


@dataclass(slots=True)
class _Thread:
    """What this process saw of a thread and did not write yet."""

    waiting: list[WorkEntry] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class WorkWatch:
    """Sees what calls change. A `ports.WorkRecord` that has nothing to say to a call.

    Until the log of a thread is begun its entries wait in this process: a run that never nears a compaction writes nothing.
    """

    def __init__(
        self,
        files: WorkFiles,
        log: WorkLog,
        *,
        clock: Clock,
        saved: Callable[[str], None],
        redact: Redactor | None = None,
        touching: Callable[[str, Sequence[str]], None] = lambda _, __: None,
    ) -> None:
        """Bind the files and the log.

        Args:
            files: The workspace.
            log: Where entries go.
            clock: Says what time it is.
            saved: Called with a thread before a large change, and after its log has grown.
            redact: Sees every text before a line is made of it. Names of files stay: by them they are found again.
            touching: Called with a thread and the files a call of it is about to touch.
        """
        self._files = files
        self._log = log
        self._clock = clock
        self._saved = saved
        self._redact = redact
        self._touching = touching
        self._before: Bounded[tuple[int, dict[str, FileFact]]] = Bounded(_CALLS)
        self._ended: Bounded[int] = Bounded(_CALLS)
        self._running: dict[Any, frozenset[str]] = {}
        self._lock = threading.Lock()
        self._count = itertools.count(1)
        self._threads: Bounded[_Thread] = Bounded(_THREADS)
        self._begun: Bounded[bool] = Bounded(_THREADS)

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Take notice of what a call is about to touch; see `ports.WorkRecord`."""
        request = call.request
        if not _may_change(request, call.effect):
            return None
        names = named_files(request.args, self._files.relative, tool=request.tool)
        if request.thread and is_large(request, names) and self._waits(request.thread):
            self.save(request.thread)
        if request.thread:
            self._touching(request.thread, names)
        number = next(self._count)
        with self._lock:
            self._running[_key(request)] = frozenset(names)
            while len(self._running) > _CALLS:
                self._running.pop(next(iter(self._running)))
        self._before.put(_key(request), (number, {name: self._files.fact(name) for name in names}))
        return None

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Put what a call changed into the log; see `ports.WorkRecord`."""
        request = call.request
        with self._lock:
            self._running.pop(_key(request), None)
        known = self._before.get(_key(request))
        if known is None or not request.thread or ran.outcome == "paused":
            return
        self._before.drop(_key(request))
        began, before = known
        is_done = ran.outcome == "finished" and ran.error is None and not _failed(ran.value)
        if not is_done:
            # What changed meanwhile may be another's doing, and this one says that it did nothing.
            before = {name: fact for name, fact in before.items() if not self._was_shared(began, name)}
        for name in known[1]:
            self._ended.put(name, next(self._count))
        entry = self.entry_of(request, before, is_done=is_done)
        if entry is not None:
            self.add(request.thread, [entry])

    def entry_of(self, request: ToolRequest, before: Mapping[str, FileFact], *, is_done: bool) -> WorkEntry | None:
        """Return the entry of a call that ran, `None` where it changed nothing that anybody can see."""
        after = {name: self._files.fact(name) for name in before}
        changed = tuple(name for name, fact in after.items() if _differs(before[name], fact))
        # Where nobody can see the files, a tool that says it succeeded is what there is to go by.
        unseen = tuple(name for name, fact in after.items() if not fact.is_known) if is_done and _says_it_writes(request.tool) else ()
        touched = (*changed, *unseen)
        if not touched:
            return None
        text = self._told(request.tool, request.args)
        return WorkEntry(
            state=WorkState.DONE if is_done else WorkState.BLOCKED,
            text=text if is_done else f"failed, and changed files all the same: {text}",
            places=places_of(request.args, touched, self._files.relative),
            files=tuple(FileState(path=name, sha256=after[name].sha256) for name in changed if after[name].is_known and after[name].kind != "folder"),
            effect_digest=effect_digest(request.tool, request.args),
            tool=request.tool,
            tool_call_id=request.call_id or "",
            namespace=outer_namespace(request.namespace),
            at=self._clock(),
        )

    def _told(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return what a call did in a line, of its arguments as the redactor leaves them."""
        if self._redact is None:
            return step_text(tool, arguments)
        call = {"name": tool, "args": dict(arguments), "id": "1", "type": "tool_call"}
        (left,) = Redaction(self._redact).message(AIMessage("", tool_calls=[call])).tool_calls  # type: ignore[attr-defined]  # a copy of an AI message
        return step_text(tool, left["args"])

    def _was_shared(self, began: int, name: str) -> bool:
        """Say whether another call on the same file ran while one did."""
        with self._lock:
            return (self._ended.get(name) or 0) > began or any(name in names for names in self._running.values())

    def add(self, thread: str, entries: Sequence[WorkEntry]) -> None:
        """Take entries in: onto the log where it is begun, else into what waits."""
        if self.is_begun(thread):
            self._log.append(thread, entries)
            self._saved(thread)
            return
        own = self._of(thread)
        with own.lock:
            own.waiting += entries

    def is_begun(self, thread: str) -> bool:
        """Say whether a thread has a log on record; asked of the store until it has."""
        if not self._begun.get(thread):
            if not self._log.read(thread):
                return False
            self._begun.put(thread, value=True)
        return True

    def save(self, thread: str, messages: Sequence[BaseMessage] = (), *, namespace: str = "") -> tuple[WorkEntry, ...]:
        """Write what waits, and what the messages show that this process did not see; return the whole log.

        Args:
            thread: Whose.
            messages: The conversation: calls another process ran are read off it.
            namespace: Whose conversation it is.
        """
        own = self._of(thread)
        with own.lock:
            waiting, own.waiting = own.waiting, []
        known = {entry.tool_call_id for entry in self._log.read(thread)}
        try:
            self._log.append(thread, self._in_order(waiting, messages, known, namespace))
        except Exception:
            with own.lock:
                own.waiting = [*waiting, *own.waiting]
            raise
        entries = self._log.read(thread)
        if entries:
            self._begun.put(thread, value=True)
            self._saved(thread)
        return entries

    def all(self, thread: str) -> tuple[WorkEntry, ...]:
        """Return the log of a thread and behind it what waits."""
        own = self._of(thread)
        with own.lock:
            return (*self._log.read(thread), *own.waiting)

    def forget(self, thread: str) -> None:
        """Forget what waits of a thread."""
        self._threads.drop(thread)
        self._begun.drop(thread)

    def _in_order(self, waiting: Sequence[WorkEntry], messages: Sequence[BaseMessage], known: set[str], namespace: str) -> list[WorkEntry]:
        """Return what is new in the order it happened: by the calls in the messages, and what is in none of them where it was seen."""
        seen = {entry.tool_call_id for entry in waiting}
        holders = {call.call_id: message.id for message in messages for call in calls_of(message) if call.call_id and message.id}
        # What the guard answered in a tool's place was not run, however it reads.
        results = {result.call_id: result for message in messages if not _is_ours(message) for result in results_in(message)}
        found: list[WorkEntry] = []
        for message in messages:
            for call in calls_of(message):
                result = results.get(call.call_id or "")
                if result is None or result.is_failed or not call.call_id or call.call_id in known or call.call_id in seen:
                    continue
                entry = self._read_off(call.name, call.arguments, call.call_id, namespace)
                if entry is not None:
                    found.append(entry.model_copy(update={"message_id": message.id or ""}))
        # Another process ran them, so they came before anything this one saw.
        named = (one if one.message_id or one.tool_call_id not in holders else _held_by(one, holders) for one in waiting)
        return [*found, *named]

    def _read_off(self, tool: str, arguments: Any, call_id: str, namespace: str) -> WorkEntry | None:
        """Return the entry of a call that somebody else ran: what its files hold is what they hold now."""
        if tool.lower() in CHANGES_NOTHING or not _says_it_writes(tool) or not isinstance(arguments, Mapping):
            return None
        names = named_files(arguments, self._files.relative, tool=tool)
        facts = {name: self._files.fact(name) for name in names}
        if not names:
            return None
        return WorkEntry(
            state=WorkState.DONE,
            text=self._told(tool, arguments),
            places=places_of(arguments, names, self._files.relative),
            files=tuple(FileState(path=name, sha256=fact.sha256) for name, fact in facts.items() if fact.is_known and fact.kind != "folder"),
            effect_digest=effect_digest(tool, arguments),
            tool=tool,
            tool_call_id=call_id,
            namespace=namespace,
            at=self._clock(),
        )

    def _waits(self, thread: str) -> bool:
        found = self._threads.get(thread)
        return found is not None and bool(found.waiting)

    def _of(self, thread: str) -> _Thread:
        found = self._threads.get(thread)
        if found is None:
            found = _Thread()
            self._threads.put(thread, found)
        return found


def _held_by(entry: WorkEntry, holders: Mapping[str, str]) -> WorkEntry:
    return entry.model_copy(update={"message_id": holders[entry.tool_call_id]})


def is_large(request: ToolRequest, names: Sequence[str]) -> bool:
    """Say whether a call may change many files at once."""
    command = command_in(request.args, tool=request.tool)
    return len(names) >= LARGE or (command is not None and is_large_change(command))


def _may_change(request: ToolRequest, effect: str) -> bool:
    """Say whether a call may change files: what rules and tools say, else the tool's name, else the words of the command."""
    if request.tool.lower() in CHANGES_NOTHING or effect == "read":
        return False
    command = command_in(request.args, tool=request.tool)
    if command is not None:
        return not reads_only(command)
    return effect_of(request.tool) != "read"


def _is_ours(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and isinstance(message.artifact, Mapping) and "ctxguard" in message.artifact


def _says_it_writes(tool: str) -> bool:
    return effect_of(tool) in ("written", "removed")


def _differs(before: FileFact, after: FileFact) -> bool:
    return before.is_known and after.is_known and (before.kind, before.sha256) != (after.kind, after.sha256)


def _failed(value: Any) -> bool:
    """Say whether what a tool returned reports a failure, in a status or in its words."""
    content = value[0] if isinstance(value, tuple) and value else value
    if isinstance(content, Command):
        update = content.update if isinstance(content.update, Mapping) else {}
        told = update.get("messages")
        return any(_failed(message) for message in told) if isinstance(told, list) else False
    if isinstance(content, ToolMessage):
        return content.status == "error" or reports_failure(text_of(content))
    return isinstance(content, str) and reports_failure(content)


def _key(request: ToolRequest) -> Any:
    return request.thread, request.namespace, request.call_id, request.tool
