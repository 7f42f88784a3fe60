"""Run as a program by the restart tests: one more turn on a thread that another process left behind; prints what the model was sent."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.graph.models import Notes, ScriptedChat, agent_of, guard_of, head_of, look_up, said, thread, wire


@contextlib.contextmanager
def opened(store: str) -> Iterator[Any]:
    """Open the saver of a file or of a database."""
    if store.startswith("postgresql://"):
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(store) as saver:
            saver.setup()
            yield saver
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(store) as saver:
            yield saver


def one_more(store: str, text: str) -> dict[str, Any]:
    """Say one more thing with a guard that remembers nothing; return what was sent, what was stored and what was summarized."""
    notes, model = Notes(), ScriptedChat()
    with opened(store) as saver:
        agent = agent_of(model, guard_of(summarizer=notes), tools=[look_up], checkpointer=saver, system_prompt="SYS")
        agent.invoke(said(text, "asked-again"), thread())
        return {"sent": wire(model.seen[-1]), "head": head_of(agent).to_dict(), "summaries": len(notes.requests)}


if __name__ == "__main__":
    print(json.dumps(one_more(sys.argv[1], sys.argv[2])))  # noqa: T201 - the test reads it
