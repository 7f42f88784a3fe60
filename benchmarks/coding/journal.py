"""What really happens: each step held against the workspace, each view against what had been seen before. The engineer never reads it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.coding.reading import View
from benchmarks.coding.tasks import COMPAT, ERRORS, FAVOURITE, OLD_PORT_FILE, PORT_FILE, REQUIREMENTS, Refactor, Task

ELEMENTS = ("goal", "done", "pending", "anchors", "do_not")
NO_STEPS = frozenset({"trace", "write_handoff", "read_handoff", "compact_context"})
WASTED = ("repeated_patch", "repeated_search", "reopened", "broke", "wrong_place", "read_again", "failed")
"""What makes a step a wasted one. `read_again`: a file that nothing had changed since it was read."""

_STEPS_PER_SITE = 4


@dataclass(slots=True)
class Stage:
    """One compaction, and what came after it."""

    shown: dict[str, float]
    """The part of each element that can be read off the first view after it."""

    called_open: int
    """Files that are done and that the view says are to be done."""

    steps_to_correct: int | None = None
    """Steps up to the first that was not wasted, that one included."""

    steps: int = 0


@dataclass(repr=False)  # LangChain writes down a model with all it holds, at each call
class Journal:
    """Of one task under one arm."""

    task: Task
    root: Path
    turn: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    stages: list[Stage] = field(default_factory=list)
    first_failure: int | None = None
    """How many compactions lay before the first wasted step, or before a turn that ended too early."""

    done: set[str] = field(default_factory=set)
    """Files that hold what they are to hold in the end, by steps that ran."""

    steps: int = 0
    tokens: int = 0
    last: View | None = None
    facts: set[str] = field(default_factory=set)
    """What was found out: `port`, `library`."""

    _seen: list[str] = field(default_factory=list)
    _asked: set[str] = field(default_factory=set)
    _read: dict[str, str] = field(default_factory=dict)
    _calls: int = 0
    _said: int = 0
    _pending: tuple[str, Mapping[str, Any], str] | None = None
    _spent: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether it took so many steps that it will not end."""
        return self._spent > _STEPS_PER_SITE * len(self.task.expected) + 30

    @property
    def refactor(self) -> Refactor | None:
        """What the current turn is to change."""
        ask = self.task.turns[self.turn]
        return next((one for one in self.task.refactors if ask.startswith(one.ask)), None)

    def saw(self, view: View) -> None:
        """Take notice of a view: whether something has left it, and what of the work it shows."""
        self.last = view
        # Four characters are about a token of code and English.
        self.tokens += (sum(len(message.text) for message in view.messages) + sum(len(str(args)) for _, args, _ in view.calls)) // 4
        ids = [message.id or message.text for message in view.messages if message.type != "system"]
        if self._seen and not set(self._seen) <= set(ids):
            self.stages.append(self._stage(view))
        self._seen = ids

    def said(self) -> int:
        """Count one more message of the agent."""
        self._said += 1
        return self._said

    def called(self, tool: str, args: Mapping[str, Any]) -> str:
        """Take notice of a step before it is taken, and return an id for its call."""
        self._calls += 1
        self._spent += 1
        call_id = f"c{self._calls}"
        if tool in NO_STEPS:
            self._pending = None
            return call_id
        self.steps += 1
        kind = self._kind(tool, args)
        self._pending = (tool, args, kind)
        self._count(kind)
        if tool == "search":
            self._asked.add(args["query"])
        if tool == "package_size":
            self._asked.add(f"size of {args['name']}")
        return call_id

    def ran(self, result: str) -> None:
        """Take notice of what a tool returned."""
        if self._pending is None:
            return
        tool, args, kind = self._pending
        self._pending = None
        if result.startswith("Error") and not kind and args.get("path") != COMPAT:
            self._count("failed")
        if tool == "read_file":
            self._read[args["path"]] = result
        if tool in ("edit_file", "write_file", "delete_file") and not result.startswith("Error"):
            self._read.pop(args["path"], None)
            if self._holds(args["path"]):
                self.done.add(args["path"])
        if tool == "package_size":
            self.facts.add("library")
        if {PORT_FILE, OLD_PORT_FILE} <= set(self._read):
            self.facts.add("port")

    def ended(self) -> None:
        """Take notice of the end of a turn."""
        one = self.refactor
        if one is not None and not set(one.sites) <= self.done and self.first_failure is None:
            self.first_failure = len(self.stages)

    def _count(self, kind: str) -> None:
        if kind:
            self.counts[kind] += 1
            if self.first_failure is None:
                self.first_failure = len(self.stages)
        if self.stages and self.stages[-1].steps_to_correct is None:
            stage = self.stages[-1]
            stage.steps += 1
            if not kind:
                stage.steps_to_correct = stage.steps

    def _kind(self, tool: str, args: Mapping[str, Any]) -> str:
        """Return what is wrong with a step, empty: nothing."""
        path = str(args.get("path", ""))
        if tool in ("search", "package_size"):
            asked = args.get("query") or f"size of {args['name']}"
            return "repeated_search" if asked in self._asked else ""
        if tool == "read_file":
            return "read_again" if path in self._read or (path in self.done and path != COMPAT) else ""
        return "" if tool == "run_check" else self._kind_of_change(tool, path, str(args.get("new_string") or args.get("content") or ""))

    def _kind_of_change(self, tool: str, path: str, new: str) -> str:
        if self.task.banned in path.split("/"):
            return "broke"
        if (path == REQUIREMENTS and FAVOURITE in new) or (tool == "write_file" and path == COMPAT and COMPAT in self.done):
            return "reopened"
        if path == ERRORS and "\nE_" in new:
            return "broke"
        if path in self.done:
            return "repeated_patch"
        return "" if path in self.task.expected else "wrong_place"

    def _holds(self, path: str) -> bool:
        file = self.root / path
        wanted = self.task.expected.get(path, "")
        return (file.read_text(encoding="utf-8") if file.is_file() else None) == wanted

    def _stage(self, view: View) -> Stage:
        current = self.refactor
        requests = [self.task.turns[self.turn].partition(".")[0], self.task.refactors[0].ask[:-1]]
        pending = [site for site in current.sites if site not in self.done] if current is not None else []
        plan = None
        if current is not None:
            request = next((one for one in reversed(view.requests) if one.old == current.old), None)
            plan = None if request is None else view.plan(request)
        planned = set(plan or ())
        # Before the first search there is nothing that could be known as pending.
        wanted = pending if current is not None and current.old in self._asked else []
        return Stage(
            shown={
                "goal": _part(one in view.told for one in requests),
                "done": _part(path in view.changed for path in self.done),
                "pending": _part(path in planned and path not in view.changed for path in wanted),
                "anchors": _part([*(path in view.text for path in wanted), *(_shows_port(view) for _ in self.facts & {"port"})]),
                "do_not": _part(self._bans(view)),
            },
            called_open=sum(path in planned and path in self.done and path not in view.changed for path in self.done),
        )

    def _bans(self, view: View) -> list[bool]:
        found = [self.task.banned in view.bans]
        if "codes" in self.task.parts:
            found.append("codes begin with ERR_" in view.told)
        if "compat" in self.task.parts and COMPAT not in self.done:
            found.append(f"Keep {COMPAT}" in view.told)
        if "library" in self.facts:
            found.append(any(FAVOURITE in line and "180 MB" in line for line in view.text.splitlines()))
        return found


def named(what: str) -> str:
    """Return the id of a message: shaped as LangGraph's are, and the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, what))


def _shows_port(view: View) -> bool:
    """Say whether the file that configures the port can be told: somebody says so, or both files that might stand in sight."""
    return view.port_file == PORT_FILE or {PORT_FILE, OLD_PORT_FILE} <= set(view.contents)


def _part(found: Any) -> float:
    """Return the part that holds; of nothing, all."""
    told = list(found)
    return sum(told) / len(told) if told else 1.0
