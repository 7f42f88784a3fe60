"""Session logs of Claude Code: one line for each message, block of a message or notice, in order by `parentUuid`.

A log gives one run for the conversation, one for each sub-agent (sidechain) and one for each branch that a rewind left behind.
Lines that no model was sent (progress, snapshots, notices) give no message; lines in the user's role that the program wrote have
`additional_kwargs["is_meta"]`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import claude_message
from langchain_ctxguard.backends.transcripts.session_tree import Link, ordered
from langchain_ctxguard.backends.transcripts.stamps import iso_time
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, CompactionMark, Misfit, Run, Where, kind_of

FORMAT = "claude_code"
TITLE = "Claude Code session"

_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
"""Lines that name the conversation, and where the name stands. A `summary` line is such a name: the context went on as it was."""


def recognises(data: Any) -> bool:
    """Say whether any line holds a message under `message`, and who said it under `type`."""
    return any(claude_message.is_said(entry) and isinstance(entry.get("message"), dict) for entry in _lines(data) if isinstance(entry, dict))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return the conversations of a log, the main one first.

    Raises:
        Misfit: a line that is no object, or a message that does not fit.
    """
    entries = _lines(data)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise Misfit(_where(data, index), f"is {kind_of(entry)}; each line of a session is an object")
    copies, titles = _copies(entries), _titles(entries)
    paths = ordered([_link(entry) for entry in entries], _Kinship(entries).belongs)
    runs: list[Run] = []
    taken: dict[str, int] = {}
    for path in sorted(paths, key=lambda path: _is_side(entries[path[0]])):
        run = _Reading(data, entries, [index for index in path if index not in copies]).run(_called(entries, path, name), titles)
        if run is None:
            continue
        taken[run.name] = taken.get(run.name, 0) + 1
        runs.append(run if taken[run.name] == 1 else _renamed(run, taken[run.name]))
    return tuple(runs)


class _Reading:
    """The messages of one path, while it is read."""

    def __init__(self, data: Any, entries: list[dict[str, Any]], path: list[int]) -> None:
        self._data = data
        self._entries = entries
        self._path = path
        self._turns: list[list[int]] = []
        self._open: dict[str, list[int]] = {}

    def run(self, name: str, titles: dict[str, str]) -> Run | None:
        """Return the run, `None` if no line of the path holds a message."""
        self._gather()
        messages: list[BaseMessage] = []
        marks: list[_Mark] = []
        places: dict[str, tuple[int, int]] = {}
        for turn in self._turns:
            entry = self._entries[turn[0]]
            if claude_message.compaction_of(entry) is not None:
                marks.append(_Mark(len(messages), entry))
                continue
            if claude_message.is_summary(entry):
                if not marks or marks[-1].start != len(messages) or marks[-1].is_clearing or marks[-1].summary is not None:
                    marks.append(_Mark(len(messages), entry))
                marks[-1].summary = len(messages)
            start = len(messages)
            messages += self._messages(turn)
            for index in turn:
                if isinstance(key := self._entries[index].get("uuid"), str):
                    places[key] = (start, len(messages))
        if not messages:
            return None
        names = [found for index in self._path for found in _names(self._entries[index])]
        title = next((titles[found] for found in reversed(names) if found in titles), None)
        return Run(name, messages, FORMAT, compactions=_compactions(marks, messages, places), title=title)

    def _gather(self) -> None:
        """Put the lines of one answer together: it is written block by block, with results in between."""
        for index in self._path:
            entry = self._entries[index]
            if claude_message.is_answer(entry):
                key = claude_message.answer_id(entry)
                if key is not None and key in self._open:
                    self._open[key].append(index)
                    continue
                self._turns.append([index])
                if key is not None:
                    self._open[key] = self._turns[-1]
            elif claude_message.is_said(entry) or claude_message.compaction_of(entry) is not None:
                if not claude_message.results_in(entry):
                    self._open.clear()
                self._turns.append([index])

    def _messages(self, turn: list[int]) -> Sequence[BaseMessage]:
        lines = [(self._entries[index], _where(self._data, index)) for index in turn]
        return [claude_message.read_answer(lines)] if claude_message.is_answer(lines[0][0]) else claude_message.read_user(*lines[0])


class _Mark:
    """A compaction, while its path is read."""

    def __init__(self, start: int, entry: dict[str, Any]) -> None:
        self.start = start
        self.entry = entry
        self.summary: int | None = None
        self.facts = claude_message.compaction_of(entry) or claude_message.Compaction()

    @property
    def is_clearing(self) -> bool:
        return self.facts.cleared is not None


def _compactions(marks: list[_Mark], messages: list[BaseMessage], places: dict[str, tuple[int, int]]) -> tuple[CompactionMark, ...]:
    done: list[CompactionMark] = []
    results = {message.tool_call_id: index for index, message in enumerate(messages) if isinstance(message, ToolMessage)}
    # Messages still in the context, and how many of all have been looked at.
    seen, reached = list[int](), 0
    for mark in marks:
        seen += range(reached, mark.start)
        reached = mark.start
        time = iso_time(mark.entry.get("timestamp"))
        if mark.facts.cleared is not None:
            emptied = sorted(results.pop(call) for call in mark.facts.cleared if call in results and results[call] < mark.start)
            done.append(CompactionMark(mark.start, CompactionKind.CLEARED, dropped=tuple(emptied), timestamp=time))
            continue
        head, tail = (places.get(key) for key in mark.facts.preserved)
        first, last = (bisect_left(seen, head[0]), bisect_left(seen, tail[1])) if head and tail else (0, 0)
        dropped = (*seen[:first], *seen[max(first, last) :])
        del seen[max(first, last) :]
        del seen[:first]
        kind = CompactionKind.DROPPED if mark.summary is None else CompactionKind.SUMMARY
        done.append(CompactionMark(mark.start, kind, mark.summary, dropped, time))
    return tuple(done)


def _lines(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def _where(data: Any, index: int) -> Where:
    return (index,) if isinstance(data, list) else ()


def _link(entry: dict[str, Any]) -> Link:
    key = entry.get("uuid")
    names = (entry.get("parentUuid"), entry.get("logicalParentUuid"))
    side = claude_message.sidechain_of(entry)
    is_node = claude_message.is_said(entry) or isinstance(key, str)
    lane = ("main", claude_message.session_of(entry)) if side is None else ("side", side)
    return Link(
        key=key if isinstance(key, str) else None,
        parents=tuple(found for found in names if isinstance(found, str)),
        lane=lane if is_node else ("notice",),
        follows_lane=is_node and side != "",
        time=iso_time(entry.get("timestamp")) or "",
        is_said=claude_message.is_said(entry),
    )


def _copies(entries: list[dict[str, Any]]) -> set[int]:
    """Return the lines that say a second time what a line of the same id said: a resumed session may write its past again."""
    said: dict[str, Any] = {}
    copies = set()
    for index, entry in enumerate(entries):
        key = entry.get("uuid")
        if not isinstance(key, str):
            continue
        if key in said and said[key] == entry.get("message"):
            copies.add(index)
        said.setdefault(key, entry.get("message"))
    return copies


class _Kinship:
    """Which paths belong together although the log tells them apart: blocks of an answer, results of its calls, a compaction's mark."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self._entries = entries
        self._known: dict[int, tuple[set[str | None], set[str]]] = {}

    def belongs(self, path: list[int], other: list[int]) -> bool:
        """Say whether `other` is a part of `path`, which it leaves."""
        said = [self._entries[index] for index in other if claude_message.is_said(self._entries[index])]
        if not said:
            return True
        answers, answered = self._facts(path)
        return all(self._is_part(entry, answers, answered) for entry in said)

    def _facts(self, path: list[int]) -> tuple[set[str | None], set[str]]:
        if path[0] not in self._known:
            lines = [self._entries[index] for index in path]
            answered = {result for entry in lines for result in claude_message.results_in(entry)}
            self._known[path[0]] = ({claude_message.answer_id(entry) for entry in lines} - {None}, answered)
        return self._known[path[0]]

    def _is_part(self, entry: dict[str, Any], answers: set[str | None], answered: set[str]) -> bool:
        results = claude_message.results_in(entry)
        if results:
            return answered.isdisjoint(results)
        return claude_message.answer_id(entry) in answers or claude_message.is_summary(entry)


def _titles(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Return what the log calls its conversations, by the id of their last line or of their session; the last name counts."""
    titles: dict[str, str] = {}
    for entry in entries:
        kind = entry.get("type")
        title = entry.get(_TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
        leaf = entry.get("leafUuid")
        key = leaf if isinstance(leaf, str) else claude_message.session_of(entry)
        if isinstance(title, str) and key:
            titles[key] = title
    return titles


def _names(entry: dict[str, Any]) -> list[str]:
    key = entry.get("uuid")
    return [claude_message.session_of(entry), *([key] if isinstance(key, str) else [])]


def _is_side(entry: dict[str, Any]) -> bool:
    return claude_message.sidechain_of(entry) is not None


def _called(entries: list[dict[str, Any]], path: list[int], name: str) -> str:
    session = next((found for index in path if (found := claude_message.session_of(entries[index]))), name)
    side = claude_message.sidechain_of(entries[path[0]])
    return session if side is None else f"{session} sidechain {side}".rstrip()


def _renamed(run: Run, number: int) -> Run:
    word = "" if " sidechain" in run.name else " branch"
    return Run(f"{run.name}{word} {number}", run.messages, run.format, run.compactions, run.title, run.truncated)
