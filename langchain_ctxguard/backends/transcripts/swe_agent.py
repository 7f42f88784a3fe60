"""SWE-agent trajectories: chat messages under `history`, with tool calls or with actions written as text."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts.openai_message import has_role, read_message
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "swe_agent"
TITLE = "SWE-agent trajectory"

_ABOUT_THE_STEP = ("agent", "message_type", "action", "thought", "is_demo", "tags")
"""Keys about the step; no provider is ever sent them. `action` and `thought` repeat what the content says."""


def recognises(data: Any) -> bool:
    """Say whether `data` is a trajectory with a `history`, or a list of them."""
    return _is_trajectory(data) or (isinstance(data, list) and any(_is_trajectory(entry) for entry in data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each trajectory.

    Raises:
        Misfit: a trajectory without `history`, or a message that does not fit.
    """
    if isinstance(data, dict):
        return (_run(data, name, ()),)
    return tuple(_run(entry, f"{name}#{index}", (index,)) for index, entry in enumerate(data))


def _run(entry: Any, name: str, where: Where) -> Run:
    if not isinstance(entry, dict) or not isinstance(entry.get("history"), list):
        found = "nothing" if not isinstance(entry, dict) or "history" not in entry else kind_of(entry["history"])
        raise Misfit(where, f"has {found} under `history`, where the list of messages should be")
    history = entry["history"]
    return Run(name, [_message(item, (*where, "history", index)) for index, item in enumerate(history)], FORMAT)


def _message(item: Any, where: Where) -> BaseMessage:
    if not isinstance(item, dict):
        return read_message(item, where)
    said = {key: value for key, value in item.items() if key not in _ABOUT_THE_STEP}
    answered = said.pop("tool_call_ids", None)
    if isinstance(answered, list) and answered and said.get("role") == "tool":
        # One observation answers one step; the agent itself sends it under the step's first call.
        said.setdefault("tool_call_id", answered[0])
        if len(answered) > 1:
            said["tool_call_ids"] = answered
    step = {key: item[key] for key in ("agent", "message_type", "action", "is_demo", "tags") if item.get(key) is not None}
    if step:
        said["response_metadata"] = {"swe_agent": step}
    return read_message(said, where)


def _is_trajectory(data: Any) -> bool:
    if not isinstance(data, dict) or "history" not in data:
        return False
    history = data["history"]
    return "trajectory" in data or (isinstance(history, list) and any(has_role(item) for item in history))
