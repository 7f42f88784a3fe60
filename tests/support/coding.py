"""Coding agents for tests: scripted steps over real files, tools of their own or those of deepagents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard
from tests.graph.models import ScriptedChat, guard_of, said, thread

FAR = ("tokens", 1_000_000)
TALK = "I look at the next part of the code and weigh what it means for the change we are about to make here. " * 6


def step(name: str, call_id: str, /, **args: Any) -> AIMessage:
    """Return a model's message that makes one call."""
    return AIMessage(TALK, tool_calls=[{"name": name, "args": args, "id": call_id, "type": "tool_call"}])


def scripted(*steps: AIMessage | str) -> ScriptedChat:
    """Return a model that takes these steps, told by how many calls it made: the last one again and again."""
    return ScriptedChat(script=lambda number, _: steps[min(number, len(steps) - 1)])


def file_tools(root: Path) -> list[BaseTool]:
    """Return tools that read, write, edit and remove files below a folder, and one that runs a line for a shell."""
    import subprocess

    def read_file(path: str) -> str:
        """Read a file."""
        return (root / path).read_text(encoding="utf-8")

    def write_file(path: str, content: str) -> str:
        """Write a file."""
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
        return "written"

    def edit_file(path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file."""
        text = (root / path).read_text(encoding="utf-8")
        if old_string not in text:
            return f"Error: no such text in {path}"
        (root / path).write_text(text.replace(old_string, new_string), encoding="utf-8")
        return "edited"

    def delete_file(path: str) -> str:
        """Remove a file."""
        (root / path).unlink()
        return "removed"

    def execute(command: str) -> str:
        """Run a line for a shell."""
        done = subprocess.run(["/bin/sh", "-c", command], check=False, cwd=root, capture_output=True, text=True)
        return f"exit code: {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else done.stdout

    functions: Sequence[Callable[..., str]] = (read_file, write_file, edit_file, delete_file, execute)
    return [StructuredTool.from_function(function) for function in functions]


def coding_guard(**changes: Any) -> ContextGuard:
    """Return a guard that compacts when it is asked to."""
    return guard_of(**{"trigger": FAR, "keep": ("messages", 1), "token_counter": None, **changes})


def go(agent: Any, text: str = "Go on.", *, config: Any = None) -> dict[str, Any]:
    """Have an agent work on a request."""
    state: dict[str, Any] = agent.invoke(said(text), {**(config or thread()), "recursion_limit": 200})
    return state


async def ago(agent: Any, text: str = "Go on.", *, is_async: bool) -> dict[str, Any]:
    """Have an agent work on a request, in either way."""
    if not is_async:
        return go(agent, text)
    state: dict[str, Any] = await agent.ainvoke(said(text), {**thread(), "recursion_limit": 200})
    return state


def deep(model: ScriptedChat, guard: ContextGuard, handoff: Any, backend: Any, **settings: Any) -> Any:
    """Return a deep agent over a backend, its context kept by a guard."""
    from deepagents import create_deep_agent

    settings.setdefault("checkpointer", InMemorySaver())
    return create_deep_agent(model=model, backend=backend, middleware=[guard.replacing_summarizer(), handoff], **settings)


def notes_in(view: Sequence[BaseMessage]) -> list[str]:
    """Return what a view shows of the work."""
    return [str(message.content) for message in view if message.name == "context_note" and 'from="worklog"' in str(message.content)]
