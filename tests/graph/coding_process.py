"""Run as a program by the restart tests: a deep agent over a folder that is killed right after a compaction, or goes on where another was killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_ctxguard import HandoffGuard
from tests.graph.models import Facts, ScriptedChat, rendered_names, said, thread
from tests.support.coding import coding_guard, notes_in, step

TASK = "Rename total to sum_total in src/cart.py. Never touch migrations/."
BEFORE = "def total(items):\n    return sum(items)\n"


def steps(messages: list[BaseMessage], *, when: str) -> AIMessage | str:
    """Take the next step by what is in sight; die where the test says."""
    note = "".join(notes_in(messages))
    asked = {call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    is_compacted = bool(rendered_names(messages))
    if when == "in the model call" and is_compacted:
        os._exit(9)
    if is_compacted:
        # An agent that acts only on what it sees: the edit is done, so it goes on with what is open.
        if "[TRACE-001] edit_file" in note:
            return "done" if "c9" in asked else step("write_file", "c9", file_path="/src/shop.py", content="from cart import sum_total\n")
        return step("edit_file", "c8", file_path="/src/cart.py", old_string="def total(", new_string="def sum_total(")
    if "c1" not in asked:
        return step("edit_file", "c1", file_path="/src/cart.py", old_string="def total(", new_string="def sum_total(")
    if "c2" not in asked:
        return step("trace", "c2", state="next", text="write src/shop.py", at=["src/shop.py"])
    return step("compact_context", "c3", reason="the function is renamed")


def work(folder: str, when: str, text: str) -> dict[str, Any]:
    """Work in a folder, and return what became of it."""
    root, facts = Path(folder), Facts()
    guard = coding_guard(store=f"sqlite:///{root.parent / 'guard.db'}", hooks=[facts])
    handoff = HandoffGuard(guard, FilesystemBackend(root / "work"))
    model = ScriptedChat(script=lambda _, messages: steps(messages, when=when))

    class Dying(FilesystemBackend):
        def write(self, file_path: str, content: str) -> Any:
            """Die before the first change after the compaction."""
            if when == "in the tool call" and file_path == "/src/shop.py":
                os._exit(9)
            return super().write(file_path, content)

    with SqliteSaver.from_conn_string(str(root.parent / "saver.db")) as saver:
        agent = create_deep_agent(model=model, backend=Dying(root / "work"), middleware=[guard.replacing_summarizer(), handoff], checkpointer=saver)
        agent.invoke(said(text) if text else None, {**thread(), "recursion_limit": 60})
        entries = [(entry.tool_call_id, str(entry.line)) for entry in handoff.entries("t-1")]
    made = handoff.newest("t-1")
    guard.close()
    return {
        "entries": entries,
        "handoffs": 0 if made is None else made.number,
        "compactions": len(facts.made),
        "notes": notes_in(model.seen[-1]),
        "calls": len(model.seen),
    }


if __name__ == "__main__":
    work(*sys.argv[1:4])
