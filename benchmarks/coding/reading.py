"""What an engineer can tell from the text in front of it, and from nothing else: what is asked, planned, done, decided, forbidden."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from benchmarks.coding.tasks import CHOSEN, COMPAT, ERRORS, FAVOURITE, REQUIREMENTS

PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.(?:py|toml|txt|md)|requirements\.txt")
_ASKED = re.compile(
    r"(?P<change>Change the code: `(?P<old>[^`]+)` becomes `(?P<new>[^`]+)` in every file below (?P<folder>\w+)/)"
    r"|(?P<raise>Raise each number behind `(?P<raised>[^`]+)` by (?P<by>\d+) in every file below (?P<below>\w+)/)"
    r"|(?P<port>Now set the port to 9000)|(?P<library>Now add the JSON library to requirements)"
    rf"|(?P<compat>Now delete {re.escape(COMPAT)})|(?P<codes>Now add an error code for timeouts)"
)
_BANNED = re.compile(r"Never touch (\w+)/")
_PORT = re.compile(r"(config/[\w.]+toml) configures the port")
_TOLD_CHANGED = re.compile(r"edit_file|delete_file|write_file|Changed so far:|^- \S+: (?:sha256|removed)|^- changed before these:")
_FAILED = re.compile(r"failed|Error|refused|denied", re.IGNORECASE)
_TRACE = re.compile(r"\[TRACE-(\d+)\](?: next:)? edit these for")


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks, as it is read."""

    kind: str
    old: str = ""
    new: str = ""
    folder: str = ""
    by: int = 0


@dataclass(frozen=True)
class View:
    """The messages of one model call, read."""

    messages: Sequence[BaseMessage]
    results: Mapping[str, ToolMessage] = field(default_factory=dict)

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> View:
        """Return the view of a call."""
        return cls(messages, {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)})

    @cached_property
    def told(self) -> str:
        """What people and the harness say: no call, no result."""
        return "\n".join(message.text for message in self.messages if message.type in ("human", "system"))

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n".join(message.text for message in self.messages)

    @cached_property
    def calls(self) -> list[tuple[str, Mapping[str, Any], str]]:
        """Tool, arguments and result of each call in sight, oldest first."""
        found = []
        for message in self.messages:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                result = self.results.get(call["id"] or "")
                found.append((call["name"], call["args"], "" if result is None else result.text))
        return found

    @cached_property
    def requests(self) -> list[Request]:
        """What is asked, the newest last."""
        return [_request(found) for found in _ASKED.finditer(self.told)]

    @cached_property
    def changed(self) -> frozenset[str]:
        """Files that can be seen to have been changed: by a call in sight, or by a line that says so."""
        found = {args["path"] for tool, args, result in self.calls if _is_changed(tool, result)}
        for line in self.told.splitlines():
            # A file may be called `errors.py`.
            if _TOLD_CHANGED.search(line) and not _FAILED.search(PATH.sub("", line)):
                found |= {path for path in PATH.findall(line) if not path.startswith(".ctxguard/")}
        return frozenset(found)

    @cached_property
    def contents(self) -> dict[str, str]:
        """What was read of each file and not changed since."""
        found: dict[str, str] = {}
        for tool, args, result in self.calls:
            if tool == "read_file" and result and "cleared" not in result[:40]:
                found[args["path"]] = result
            elif _is_changed(tool, result):
                found.pop(args["path"], None)
        return found

    @property
    def bans(self) -> set[str]:
        """Folders that must not be touched."""
        return set(_BANNED.findall(self.told))

    @property
    def port_file(self) -> str | None:
        """The file that configures the port, where that stands somewhere."""
        found = _PORT.search(self.text)
        return None if found is None else found[1]

    @cached_property
    def library(self) -> str | None:
        """The library that was chosen, where that stands somewhere with what was turned down."""
        return CHOSEN if any(CHOSEN in line and FAVOURITE in line for line in self.text.splitlines()) else None

    @property
    def keeps_compat(self) -> bool:
        """Whether the compatibility layer is wanted, as far as can be seen."""
        lines = [line for line in self.told.splitlines() if COMPAT in line]
        is_gone = any(word in line for line in lines for word in (f"delete {COMPAT}", "removed", "delete_file"))
        was_removed = any(tool == "delete_file" for tool, _, _ in self.calls)
        return f"Keep {COMPAT}" in self.told and not is_gone and not was_removed

    def found(self, query: str) -> list[str] | None:
        """Return the files a search in sight found, `None` where there is none."""
        marker = f"Found {query} in:"
        for message in reversed(self.messages):
            if isinstance(message, ToolMessage) and marker in message.text:
                lines = message.text.partition(marker)[2].splitlines()
                return list(dict.fromkeys(path[0] for line in lines if query in line and (path := PATH.match(line))))
        return None

    def noted(self, old: str) -> list[str]:
        """Return the files that a plan for `old` names, in a note or in what was said."""
        found = [line.partition(f"for `{old}`")[2] for line in self.text.splitlines() if f"for `{old}`" in line]
        return list(dict.fromkeys(path for line in found for path in PATH.findall(line)))

    def plan(self, request: Request) -> list[str] | None:
        """Return the files that a change is to be made in, `None` where nothing in sight says."""
        paths = [*self.noted(request.old), *(self.found(request.old) or ())]
        if not paths:
            return None
        return [path for path in dict.fromkeys(paths) if not self.bans & set(path.split("/"))]

    def open_notes(self) -> list[int]:
        """Return the numbers of plans that are on record as not done."""
        return sorted({int(number) for number in _TRACE.findall(self.text)})

    def is_done(self, request: Request, path: str) -> bool:
        """Say whether a file can be seen to be done with: it was changed, or holds already what is asked."""
        if path in self.changed:
            return True
        content = self.contents.get(path)
        if content is None or request.by:
            return False
        return request.old not in content or request.new in content

    def is_last(self, tool: str) -> bool:
        """Say whether the newest call is one of this tool and came back; a note about it does not count."""
        calls = [call for call in self.calls if call[0] != "trace" or tool == "trace"]
        return bool(calls) and calls[-1][0] == tool and bool(calls[-1][2])


def _is_changed(tool: str, result: str) -> bool:
    # What the guard answers in a tool's place says that it is in effect.
    return tool in ("edit_file", "write_file", "delete_file") and result.startswith(("Edited", "Wrote", "Removed", "Already in effect"))


def _request(found: re.Match[str]) -> Request:
    if found["change"]:
        return Request("change", found["old"], found["new"], found["folder"])
    if found["raise"]:
        return Request("change", found["raised"], "", found["below"], int(found["by"]))
    return Request(next(kind for kind in ("port", "library", "compat", "codes") if found[kind]))


TARGETS = {"library": REQUIREMENTS, "compat": COMPAT, "codes": ERRORS}
