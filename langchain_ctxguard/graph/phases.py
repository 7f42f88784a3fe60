"""The end of a stage: a compaction that an agent or an application asks for, before the window is full."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from langchain_ctxguard.domain.standing import EFFECT
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.graph.whereabouts import Whereabouts
from langchain_ctxguard.records.standing import StandingLog

COMPACT_TOOL = "compact_context"
ASKED_FOR = ("asked", "phase")
"""Why a compaction that somebody asked for was made."""


@tool
def compact_context(reason: str, runtime: ToolRuntime[Any, Any]) -> ToolMessage:  # noqa: ARG001 - it stands in the call, for whoever reads it
    """End a stage of the work: what it took to get here leaves the view before the next step, and a summary with the evidence takes its place.

    Call it when a stage is finished and the next one does not need its details, alone and not beside other calls.

    Args:
        reason: Which stage ended, in one sentence.
        runtime: Given by the graph.
    """
    said = "The context is compacted before your next step, as far as anything can leave it."
    return ToolMessage(said, tool_call_id=runtime.tool_call_id or "", name=COMPACT_TOOL)


# It changes what is in view, and nothing else.
compact_context.metadata = {EFFECT: "read"}


def asked_for(call: Call) -> str:
    """Return what asks for a compaction now: `asked` by the agent a moment ago, `phase` by the application; empty: nothing.

    The agent's own request is told by its result, which is the newest there is: so it counts once, and after a restart as well.
    """
    for message in reversed(call.messages):
        if not isinstance(message, ToolMessage):
            if isinstance(message, AIMessage):
                break
            return _phase_of(call)
        if message.name == COMPACT_TOOL and message.status != "error":
            return "asked"
    return _phase_of(call)


def _phase_of(call: Call) -> str:
    # A sub-agent's context is not the stage that ended.
    is_over = call.standing is not None and bool(call.standing.phase) and call.where.speaks_to_person
    return "phase" if is_over else ""


def closed(
    why: str, where: Whereabouts, log: StandingLog, unread: Callable[[Whereabouts, StoreError], None], *, blocks: bool
) -> Generator[Work, Any, None]:
    """Put on record that the end of a stage was seen to, where it was what a compaction was made for."""
    thread = where.thread
    if why != "phase" or thread is None:
        return
    try:
        yield Work(lambda: log.close_phase(thread, by="guard"), blocks)
    except StoreError as error:
        unread(where, error)
