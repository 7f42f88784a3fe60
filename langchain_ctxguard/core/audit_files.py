"""Files that tool calls named before a compaction, and whether anything still names them after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.evidence import paths_in
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.results import results_in
from langchain_ctxguard.core.roles import Call, calls_of, function_call_of
from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss

_WRITES = re.compile(r"write|edit|create|patch|replace|insert|delete|remove|move|rename|append|save|update|apply|modify", re.IGNORECASE)
_OPEN_LEFT = re.compile(r"(?:\A|[^A-Za-z0-9_\-./\\]|(?:\A|[^A-Za-z0-9_/])[.~][/\\]|[^A-Za-z0-9_\-/\\][.])\Z")
_OPEN_RIGHT = re.compile(r"\Z|[^A-Za-z0-9_\-./\\]|[./\\-](?![A-Za-z0-9_])")
_LOOKS = frozenset({"view", "read", "list", "show", "cat", "open", "undo"})


class Touched(NamedTuple):
    """A file a call named in its arguments: the last such call, the strongest thing done."""

    path: str
    is_written: bool
    message_index: int
    message_id: str


class Files:
    """The files touched so far, while a run is read."""

    def __init__(self) -> None:
        """Begin with none."""
        self._touched: dict[str, Touched] = {}
        self._waiting: dict[str, list[Touched]] = {}

    @property
    def held(self) -> tuple[Touched, ...]:
        """The files known now, in order of first touch."""
        return tuple(self._touched.values())

    def read(self, messages: Sequence[BaseMessage], keys: Sequence[str], *, start: int) -> None:
        """Take in further messages. A call that failed touched nothing."""
        for index, (message, key) in enumerate(zip(messages, keys, strict=True), start):
            function = function_call_of(message)
            for call in (*calls_of(message), *([] if function is None else [function])):
                touched = [Touched(path, _is_written(call), index, key) for path in paths_in(call.arguments)]
                for item in touched:
                    self._note(item)
                if call.call_id and touched:
                    self._waiting[call.call_id] = touched
            for result in results_in(message):
                for item in self._waiting.pop(result.call_id, ()) if result.is_failed else ():
                    if self._touched.get(item.path) == item:
                        del self._touched[item.path]

    def _note(self, item: Touched) -> None:
        known = self._touched.get(item.path)
        if known is None or item.is_written or not known.is_written:
            self._touched[item.path] = item

    def forget(self, paths: set[str]) -> None:
        """Let go of files that nothing names any longer."""
        for path in paths & self._touched.keys():
            del self._touched[path]


def lost_files(held: Sequence[Touched], text: str, kept: set[str]) -> Iterator[AuditFinding]:
    """Yield the files that neither a text nor a call that is kept names.

    Args:
        held: Files known before.
        text: What is there now, widths folded.
        kept: Paths that calls which are still there name.
    """
    endings = _endings(held)
    for item in held:
        if item.path in kept or any(_stands(name, text) for name in _names(item.path, endings)):
            continue
        yield AuditFinding(
            subject="file", loss=Loss.LOST, level=Level.WARNING if item.is_written else Level.NOTE, kind="written" if item.is_written else "read",
            text=item.path, said_by="ai", message_index=item.message_index, message_id=item.message_id,
        )  # fmt: skip


def _is_written(call: Call) -> bool:
    arguments: Any = call.arguments
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str) and command.strip().lower() in _LOOKS:
        return False
    return _WRITES.search(call.name) is not None or (isinstance(command, str) and _WRITES.match(command) is not None)


def _stands(name: str, text: str) -> bool:
    """Say whether a text names a file so: no longer name goes on at either edge."""
    at = text.find(name)
    while at >= 0:
        before, behind = text[max(0, at - 2) : at], text[at + len(name) : at + len(name) + 2]
        if (name[0] == "/" or _OPEN_LEFT.search(before)) and _OPEN_RIGHT.match(behind):
            return True
        at = text.find(name, at + 1)
    return False


def _parts(path: str) -> list[str]:
    return [part for part in re.split(r"[\\/]+", folded(path)) if part not in {"", "."}]


def _endings(held: Sequence[Touched]) -> Mapping[str, int]:
    """Return how many files end in each sequence of names."""
    counts: dict[str, int] = {}
    for item in held:
        parts = _parts(item.path)
        for first in range(len(parts)):
            ending = "/".join(parts[first:])
            counts[ending] = counts.get(ending, 0) + 1
    return counts


def _names(path: str, endings: Mapping[str, int]) -> Iterator[str]:
    """Yield the ways to name a file that mean no other: whole, then by fewer and fewer of its folders."""
    yield folded(path)
    parts = _parts(path)
    if parts and folded(path)[0] not in "/\\":
        # A relative path may be told with what it is relative to.
        yield "/" + "/".join(parts)
    for first in range(len(parts)):
        ending = "/".join(parts[first:])
        if endings.get(ending, 0) > 1 or (first == len(parts) - 1 and (first or "." in ending) and len(ending) < 3):  # noqa: PLR2004
            return
        # The bare name of a folder is a word like any other.
        if first < len(parts) - 1 or "." in ending or first == 0:
            yield ending
