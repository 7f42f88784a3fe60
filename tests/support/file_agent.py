"""A coding agent for tests: real tools on real files, a scripted model, a guard that compacts soon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool

from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig
from langchain_ctxguard.graph.guard import ContextGuard
from tests.support.tool_calls import Messages


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
        """Run a command, or rather do not."""
        return f"ran {command}"

    return [read_file, write_file, edit_file, delete_file, grep, execute]


class Script:
    """A model that makes given calls one after another, and keeps what it was shown."""

    def __init__(self, *steps: AIMessage | str) -> None:
        """Take the steps; a text is a final answer."""
        self.steps = list(steps)
        self.shown: list[list[BaseMessage]] = []

    def model(self) -> Messages:
        """Return it as a chat model."""
        return Messages(answer=self._answer)

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.shown.append(messages)
        step = self.steps.pop(0) if self.steps else "done"
        return AIMessage(step) if isinstance(step, str) else step

    @property
    def last(self) -> str:
        """All it was shown in the last call."""
        return "\n".join(message.text for message in self.shown[-1])


def call(name: str, call_id: str, **args: Any) -> AIMessage:
    """Return a message with one call."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id, "type": "tool_call"}])


def compacting_guard(store: GuardStore | str | None = None, *, trigger: int | None = 6, tools: Any = None, hooks: Sequence[Any] = ()) -> ContextGuard:
    """Return a guard that compacts at so many messages; `None`: only when it is told to."""
    settings = CompactionSettings(trigger=None if trigger is None else ("messages", trigger), keep=("messages", 1), window=100_000, min_kept=0)
    config = GuardConfig(compaction=settings, tools=tools)
    return ContextGuard(config, store=store or GuardStore.open("memory://"), summarizer=ExtractiveSummarizer(), hooks=hooks)
