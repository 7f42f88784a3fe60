"""A coder of deepagents that renames a function in every file of a folder, is compacted on the way, and hands over to itself.

python coder.py            works on a folder of its own and shows the work log and the hand-over
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard, ExtractiveSummarizer, HandoffGuard
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, Sight, ToolUse

FILES = [f"part_{number}.py" for number in range(1, 9)]
REQUEST = "Rename total to net_total in every part_*.py. Never touch migrations/."


def make_files(folder: Path) -> None:
    """Write the files the coder works on."""
    for name in FILES:
        (folder / name).write_text("def total(items):\n    return sum(items)\n" + "# what this part is for\n" * 90, encoding="utf-8")


def scripted_model() -> BaseChatModel:
    """Return a stand-in that reads and edits the first file of which nothing in its input says that it is done."""

    def next_step(seen: Sight) -> tuple[ToolUse, ...] | str:
        # deepagents tells of an edit by path; the work log names it behind `@`.
        done = set(re.findall(r"in '/(part_\d+\.py)'|@ (?:/)?(part_\d+\.py)", seen.visible))
        names = {name for pair in done for name in pair if name}
        left = [name for name in FILES if name not in names]
        if not left:
            return "Every file is done."
        edit = {"file_path": f"/{left[0]}", "old_string": "def total(", "new_string": "def net_total("}
        return ToolUse("read_file", {"file_path": f"/{left[0]}"}), ToolUse("edit_file", edit)

    return ObedientModel(behaviours=(Behaviour(when="Rename total", call=next_step), Behaviour(when=(), after="edit_file", call=next_step)))


def build(folder: Path, *, trigger: int = 6_500) -> tuple[Any, ContextGuard, HandoffGuard]:
    """Return the coder over `folder`, with its guard and its hand-overs.

    Args:
        folder: The workspace.
        trigger: Compact above so many tokens.
    """
    model = scripted_model()  # a real one: init_chat_model("anthropic:claude-sonnet-4-5")
    backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
    guard = ContextGuard(
        store=f"sqlite:///{folder / 'ctxguard.db'}",
        constraints=["Never touch migrations/."],
        trigger=("tokens", trigger),
        keep=("messages", 2),
        summarizer=ExtractiveSummarizer(),  # with a real model, leave this out
    )
    handoff = HandoffGuard(guard, backend)
    agent = create_deep_agent(model=model, backend=backend, middleware=[guard.replacing_summarizer(), handoff], checkpointer=InMemorySaver())
    return agent, guard, handoff


def main() -> None:
    """Work, and show what is on record of it."""
    with tempfile.TemporaryDirectory(prefix="coder-") as name:
        folder = Path(name)
        make_files(folder)
        agent, guard, handoff = build(folder)
        thread: Any = {"configurable": {"thread_id": "rename"}, "recursion_limit": 100}
        state = agent.invoke({"messages": [HumanMessage(REQUEST)]}, thread)
        print(state["messages"][-1].text)
        print(*(entry.line for entry in handoff.entries("rename")), sep="\n")
        print((folder / ".ctxguard" / "rename" / "handoff.md").read_text(encoding="utf-8"))
        guard.close()


if __name__ == "__main__":
    main()
