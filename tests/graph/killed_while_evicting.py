"""Run as a program: talks until a compaction and is killed at one step of its commit. Arguments: a folder, and the step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_ctxguard import GuardStore
from langchain_ctxguard.core.message_blob import thread_space
from tests.graph.models import ScriptedChat
from tests.graph.test_eviction import agent_of, guard_of
from tests.graph.test_history import talk


def dying_after(target: Any, name: str, *, when: Any = lambda *_: True) -> None:
    """Let a method be the last thing that happens."""
    call = getattr(target, name)

    def last(*given: Any, **named: Any) -> Any:
        answer = call(*given, **named)
        if when(*given):
            os._exit(9)
        return answer

    setattr(target, name, last)


def main(folder: Path, at: str) -> None:
    """Talk until killed."""

    def script(number: int, _: Any) -> str:
        if at == "state" and number == 3:
            os._exit(9)
        return f"answer {number}"

    with GuardStore.open(f"sqlite:///{folder / 'ctx.db'}") as store, SqliteSaver.from_conn_string(str(folder / "state.db")) as saver:
        if at == "blobs":
            dying_after(store.blobs, "put", when=lambda space, *_: space == thread_space("t-1"))
        elif at == "words":
            dying_after(store.index, "put")
        elif at == "version":
            dying_after(store.log, "append", when=lambda stream, *_: stream.kind == "versions")
        talk(agent_of(guard_of(store), ScriptedChat(script=script), checkpointer=saver), *range(6))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
