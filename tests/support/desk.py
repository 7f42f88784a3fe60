"""A coding agent's desk for tests: a real repository, real tools, a guard with a hand-over, and compactions at will."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from langchain_ctxguard import ContextGuard, Extensions, HandoffGuard
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.status_text import status_text
from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.reconcile import ReconcileState
from langchain_ctxguard.domain.summary import Decision, Rejected
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.worklog import WorkEntry, WorkState
from langchain_ctxguard.records.reconcile import RECONCILE, reconcile_space

CHECK = "! grep -n BROKEN *.py"
"""Passes as long as no file holds the word, and names those that do."""


class Facts:
    """A hook that keeps the events it is told."""

    def __init__(self) -> None:
        """Begin with none."""
        self.events: list[ContextEvent] = []

    def span(self, name: str, facts: Any) -> Any:
        """Wrap nothing."""
        import contextlib

        return contextlib.nullcontext()

    def record(self, fact: Any) -> None:
        """Keep an event."""
        if isinstance(fact, ContextEvent):
            self.events.append(fact)

    def of(self, kind: str) -> list[ContextEvent]:
        """Return the events of a kind."""
        return [event for event in self.events if event.kind == kind]


class Desk:
    """One agent in one workspace, called tool by tool. Its process can be killed: what is not in the store is gone."""

    def __init__(self, root: Path, store: str | GuardStore = "memory://", *, extensions: Extensions | None = None, **options: Any) -> None:
        """Sit down.

        Args:
            root: The workspace.
            store: Where things are on record; a URL of a file survives `killed`.
            extensions: Of the guard.
            options: Of `HandoffGuard`.
        """
        self.root = root
        self.extensions = extensions
        self.options = options
        self.facts = Facts()
        self.version = 0
        self.calls = 0
        self._store = store
        self.sit_down()

    def sit_down(self) -> None:
        """Begin a process."""
        self.store = self._store if isinstance(self._store, GuardStore) else GuardStore.open(self._store)
        config = GuardConfig(compaction=CompactionSettings(trigger=None, window=100_000))
        self.guard = ContextGuard(config, store=self.store, hooks=[self.facts], extensions=self.extensions)
        self.handoff = HandoffGuard(self.guard, self.root, **self.options)
        self.tools = {one.name: one for one in self.guard.tools(file_tools(self.root))}

    def killed(self) -> None:
        """End the process and begin another one."""
        if not isinstance(self._store, GuardStore):
            self.store.close()
        self.sit_down()

    def compact(self, *, shows: bool = True) -> str:
        """Compact, and return the status the next model call shows; `shows=False`: the process is killed before it."""
        self.handoff.watch.save("t")
        self.version += 1
        return self.shown() if shows else ""

    def shown(self) -> str:
        """Return the status a model call shows."""
        found = self.handoff.reconciler.status(ContextPlace(thread="t"), self.version)
        return "" if found is None else status_text(found)

    def call(self, name: str, /, call_id: str | None = None, **args: Any) -> ToolMessage:
        """Call a tool and return its result."""
        self.calls += 1
        made = {"name": name, "args": args, "id": call_id or f"k{self.calls}", "type": "tool_call"}
        result = self.tools[name].invoke(made, {"configurable": {"thread_id": "t"}})
        assert isinstance(result, ToolMessage)
        return result

    def write(self, path: str, content: str, **more: Any) -> ToolMessage:
        """Have the agent write a file."""
        return self.call("write_file", file_path=path, content=content, **more)

    def edit(self, path: str, old: str, new: str, **more: Any) -> ToolMessage:
        """Have the agent edit a file."""
        return self.call("edit_file", file_path=path, old_string=old, new_string=new, **more)

    def outside(self, path: str, content: str | None) -> None:
        """Change a file as somebody else does; `None`: remove it."""
        place = self.root / path
        if content is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")

    def text(self, path: str) -> str | None:
        """Return what a file holds."""
        return (self.root / path).read_text(encoding="utf-8") if (self.root / path).is_file() else None

    def decide(self, chosen: str, *rejected: str, why: str = "deployment size") -> WorkEntry:
        """Put a decision on record."""
        decision = Decision(chosen=chosen, rejected=tuple(Rejected(option=option, why=why) for option in rejected), why=why)
        entry = WorkEntry(state=WorkState.DECIDED, text=chosen, decision=decision, said_by="person", at=self.handoff.now())
        return self.handoff.note("t", entry, [])

    def on_record(self) -> bytes:
        """Return all that reconciliations and searches left in the store, in one."""
        space = reconcile_space("t")
        contents = self.store.blobs.get(space, sorted(self.store.blobs.addresses(space)))
        entries = self.store.log.read(self.store.stream(RECONCILE, ContextPlace(thread="t").key))
        return b"\n".join([*contents.values(), *(entry.body for entry in entries)])

    @property
    def state(self) -> ReconcileState:
        """How the reconciliation stands."""
        return self.handoff.reconciler.state(ContextPlace(thread="t"))


def is_held(result: ToolMessage) -> bool:
    """Say whether a call was denied."""
    return result.status == "error" and result.text.startswith("Denied")


def is_answered(result: ToolMessage) -> bool:
    """Say whether a call was answered in the tool's place, as no error."""
    return result.status == "success" and bool(result.artifact) and result.artifact["ctxguard"]["kind"] == "answered"


def file_tools(root: Path) -> list[BaseTool]:
    """Return the tools of a coding agent, working in a folder."""

    def place(path: str) -> Path:
        return root / path.lstrip("/")

    @tool
    def read_file(file_path: str) -> str:
        """Read a file."""
        return place(file_path).read_text(encoding="utf-8")

    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write a file."""
        place(file_path).parent.mkdir(parents=True, exist_ok=True)
        place(file_path).write_text(content, encoding="utf-8")
        return f"Wrote {file_path}"

    @tool
    def edit_file(file_path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file."""
        text = place(file_path).read_text(encoding="utf-8")
        if old_string not in text:
            return f"Error: '{old_string}' is not in {file_path}"
        place(file_path).write_text(text.replace(old_string, new_string, 1), encoding="utf-8")
        return f"Edited {file_path}"

    @tool
    def delete_file(file_path: str) -> str:
        """Delete a file."""
        place(file_path).unlink()
        return f"Deleted {file_path}"

    @tool
    def grep(pattern: str) -> str:
        """Search all files."""
        found = []
        for file in sorted(path for path in root.rglob("*.py") if path.is_file()):
            lines = file.read_text(encoding="utf-8").splitlines()
            found += [f"{file.relative_to(root)}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern in line]
        return "\n".join(found) or "No matches found"

    @tool
    def execute(command: str) -> str:
        """Take a command, and run none."""
        return f"ran {command}"

    @tool
    def apply_patch(patch: str) -> str:
        """Apply a patch."""
        import subprocess

        subprocess.run(["git", "-C", str(root), "apply", "-"], input=patch.encode(), check=True)  # noqa: S607 - as in every repository
        return "Applied"

    return [read_file, write_file, edit_file, delete_file, grep, execute, apply_patch]
