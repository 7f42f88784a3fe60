"""The state channel `ctxguard_verified`: where a thread keeps what a verifier knows of it."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import PrivateStateAttr

from langchain_ctxguard.domain.verified import VerifiedHead, read_verified

VERIFIED_CHANNEL = "ctxguard_verified"


def newest_verified(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Return the knowledge that stands: the newer one, `right` of two equally new ones; what is not readable is ignored. Never raises."""
    old = left or {}
    if not isinstance(right, dict) or not isinstance(read_verified(right), VerifiedHead):
        return old
    if not old or not isinstance(read_verified(old), VerifiedHead):
        return right
    return right if right["number"] >= old["number"] else old


# The reducer must be the last item of the annotation: LangGraph looks nowhere else and would silently keep the last write.
class VerifiedAgentState(AgentState[Any]):
    """The state of an agent with a verifier. The channel is out of input and output, but no secret: streams show it."""

    ctxguard_verified: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, newest_verified]]
