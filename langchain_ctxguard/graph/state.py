"""The state channel `ctxguard`: where a thread keeps the head of its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from langgraph.managed import RemainingSteps

from langchain_ctxguard.domain.context import ContextHead, HeadFault, read_head
from langchain_ctxguard.graph.pinned import merged_pins
from langchain_ctxguard.graph.verified_state import newest_verified

CHANNEL = "ctxguard"
INPUT_CHANNEL = "llm_input_messages"
"""What a model node is to send, where it does not ask `guard.view` itself; the name is `create_react_agent`'s."""

_LARGEST = 2**53
"""The largest version taken from a state: its successors fit the integers of every store and of JSON."""


def head_in(raw: Any) -> ContextHead | HeadFault | None:
    """Return the head in the channel, `None` where there is none, or the fault that makes it count for nothing. Never raises."""
    head = read_head(raw)
    return "not_a_head" if isinstance(head, ContextHead) and head.version > _LARGEST else head


def head_version(raw: Any) -> int:
    """Return the version the head in the channel says it is, 0 for none: a number to find it by, and no more than a claim."""
    version = raw.get("version") if isinstance(raw, dict) else None
    return version if type(version) is int and 0 < version <= _LARGEST else 0


def newest_head(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Return the head that stands: the newer one, `right` of two equally new ones; what is no readable head is ignored.

    Parallel writers and forged updates both end here, so it never raises.
    """
    old = left or {}
    if not isinstance(right, dict) or not isinstance(head_in(right), ContextHead):
        return old
    if not old or isinstance(head_in(old), str):
        return right
    return right if right["version"] >= old["version"] else old


def of_state(state: Any) -> tuple[Sequence[BaseMessage], Any]:
    """Return the messages and the stored head of a graph's state, a mapping or an object."""
    if isinstance(state, dict):
        return state.get("messages", []), state.get(CHANNEL)
    return getattr(state, "messages", []), getattr(state, CHANNEL, None)


# The reducer must be the last item of the annotation: LangGraph looks nowhere else and would silently keep the last write.
class GuardedAgentState(AgentState[Any]):
    """The state of an agent with a guard. The channel is out of input and output, but no secret: streams show it."""

    ctxguard: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, newest_head]]
    ctxguard_pins: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, merged_pins]]


class GuardedState(MessagesState):
    """The state of a plain graph with a guard.

    Build the graph with `StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)`, so that no caller can hand in a head.
    """

    ctxguard: Annotated[dict[str, Any], newest_head]
    ctxguard_verified: Annotated[dict[str, Any], newest_verified]


class ViewState(GuardedState):
    """The state of a plain graph whose model node reads what `PinConstraints` wrote. That channel is in no checkpoint."""

    llm_input_messages: Annotated[list[AnyMessage], UntrackedValue]


class ReactState(GuardedState):
    """The state for `create_react_agent` with `guard.pre_model_hook`."""

    remaining_steps: RemainingSteps
    llm_input_messages: Annotated[list[AnyMessage], UntrackedValue]
