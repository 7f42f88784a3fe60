"""Run as a program by tests: an agent that is killed before its first call after a compaction is judged, or goes on there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_ctxguard import HandoffGuard
from tests.graph.models import ScriptedChat, said, thread
from tests.graph.test_reconciling_agents import steps, told
from tests.support.coding import coding_guard, file_tools


def main(root: Path, base: Path) -> None:
    """Work in a folder; die once, and say what the calls came to the second time."""
    died = base / "died"
    is_first = not died.exists()
    made = [one for one in steps("agent") if one != "a is done"]

    def script(_: int, messages: list[BaseMessage]) -> Any:
        # By what the step's own id says: the view is compacted, the newest call is always in it.
        newest = next((message.tool_calls[0]["id"] for message in reversed(messages) if message.type == "ai" and message.tool_calls), "")
        ids = [one.tool_calls[0]["id"] if not isinstance(one, str) else "-" for one in made]
        return made[ids.index(newest) + 1 if newest in ids else 0]

    guard = coding_guard(store=f"sqlite:///{base / 'guard.db'}")
    handoff = HandoffGuard(guard, root)
    judge = handoff.reconciler.held

    def held(call: Any, *given: Any, **named: Any) -> Any:
        if is_first and call.request.call_id == "c5":
            died.write_text("x")
            os._exit(9)
        return judge(call, *given, **named)

    handoff.reconciler.held = held  # type: ignore[method-assign]  # the moment to die at
    with SqliteSaver.from_conn_string(str(base / "saver.db")) as saver:
        agent = create_agent(ScriptedChat(script=script), file_tools(root), middleware=[guard, handoff], checkpointer=saver)
        state = agent.invoke(said("Set a and b to 2.") if is_first else None, {**thread(), "recursion_limit": 100}, durability="sync")
    guard.close()
    print(json.dumps({name: [message.status, message.text] for name, message in told(state).items()}))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
