"""The state channel `ctxguard`: where a thread keeps the head of its context."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.graph import MessagesState

from langchain_ctxguard.domain.context import read_head

CHANNEL = "ctxguard"


def newest_head(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Return the head that stands: the newer one, `right` of two equally new ones; what is no readable head is ignored.

    Parallel writers and forged updates both end here, so it never raises.
    """
    old = left or {}
    if not isinstance(right, dict) or isinstance(read_head(right), (str, type(None))):
        return old
    if not old or isinstance(read_head(old), str):
        return right
    return right if right["version"] >= old["version"] else old


# The reducer must be the last item of the annotation: LangGraph looks nowhere else and would silently keep the last write.
class GuardedAgentState(AgentState[Any]):
    """The state of an agent with a guard. The channel is out of input and output, but no secret: streams show it."""

    ctxguard: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, newest_head]]


class GuardedState(MessagesState):
    """The state of a plain graph with a guard.

    Build the graph with `StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)`, so that no caller can hand in a head.
    """

    ctxguard: Annotated[dict[str, Any], newest_head]
