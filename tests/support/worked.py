"""A coding agent's thread in a store, for reports: compacted, held against a workspace somebody changed, waived, with steps in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import GuardStore, HandoffGuard
from tests.graph.models import thread
from tests.support.coding import coding_guard, file_tools, go, scripted, step
from tests.support.repositories import repository

CART = "def total(items):\n    return sum(items)\n"
EDIT = {"path": "src/cart.py", "old_string": "def total(", "new_string": "def sum_total("}
TASK = "Rename total to sum_total in src/cart.py and in its callers. Never touch migrations/. <b>Keep the tests green.</b>"


class Worked:
    """The agent, its guard, and the thread it worked in."""

    def __init__(self, store: GuardStore, folder: Path, **options: Any) -> None:
        """Sit down in a repository of its own, and work."""
        self.store = store
        self.thread = "t-1"
        self.root = repository(folder / "work", {"src/cart.py": CART, "src/shop.py": "from cart import total\n", "notes.md": "x\n"})
        self.guard = coding_guard(store=store, **options)
        self.handoff = HandoffGuard(self.guard, self.root, check="! grep -rn BROKEN src")
        model = scripted(
            step("execute", "look1", command="grep -rn total src"),
            step("execute", "look2", command="grep -rn total src"),
            step("edit_file", "edit1", **EDIT),
            step("edit_file", "edit2", path="src/shop.py", old_string="import nothing", new_string="import sum_total"),
            step("trace", "note1", state="decided", text="sed", rejected=[{"option": "rope", "why": "deployment size"}], why="no dependency"),
            step("trace", "note2", state="next", text="Rename it in src/shop.py", places=["src/shop.py"]),
            step("compact_context", "cut1", reason="the cart is done"),
            "The cart is done.",
            step("edit_file", "edit3", path="src/shop.py", old_string="import total", new_string="import sum_total"),
            step("edit_file", "edit4", path="src/shop.py", old_string="import total", new_string="import sum_total"),
            step("edit_file", "edit5", path="src/shop.py", old_string="import total", new_string="import sum_total"),
            step("execute", "pip1", command="pip install rope"),
            step("compact_context", "cut2", reason="the shop is done"),
            "The shop is done.",
        )
        self.agent = create_agent(model, file_tools(self.root), middleware=[self.guard, self.handoff], checkpointer=InMemorySaver())
        go(self.agent, TASK)
        # Somebody else works here too: the first change after the compaction is held.
        (self.root / "src" / "cart.py").write_text(CART, encoding="utf-8")
        go(self.agent, "Go on with src/shop.py.")
        self.handoff.waive(self.thread, "contradictions", by="eve", reason="I put the cart back on purpose")

    @property
    def messages(self) -> list[Any]:
        """The messages of its state."""
        return list(self.agent.get_state(thread()).values["messages"])
