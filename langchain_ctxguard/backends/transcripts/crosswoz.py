"""CrossWOZ dialogues by their ids: what both sides said, with the labelled slots in `response_metadata`."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts.openai_message import has_role, read_message
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where

FORMAT = "crosswoz"
TITLE = "CrossWOZ dialogues"

_ROLES = {"usr": "user", "sys": "assistant"}
_LABELS = ("slots", "dialog_act", "user_state", "sys_state", "sys_state_init")
"""Keys of the people who labelled the dialogue; no model is ever sent them."""


def recognises(data: Any) -> bool:
    """Say whether `data` maps ids to dialogues with labelled messages."""
    return isinstance(data, dict) and any(_is_dialogue(entry) for entry in data.values())


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each dialogue, named by its id.

    Raises:
        Misfit: a dialogue without messages, or a message that does not fit.
    """
    return tuple(_run(entry, key or name, (key,)) for key, entry in data.items())


def _run(entry: Any, name: str, where: Where) -> Run:
    if not isinstance(entry, dict) or not isinstance(entry.get("messages"), list):
        raise Misfit(where, "has no list of `messages`, as the other dialogues have")
    return Run(name, [_message(item, (*where, "messages", index)) for index, item in enumerate(entry["messages"])], FORMAT)


def _message(item: Any, where: Where) -> BaseMessage:
    if not isinstance(item, dict):
        return read_message(item, where)
    role = item.get("role")
    said = {key: value for key, value in item.items() if key not in _LABELS}
    said["role"] = _ROLES.get(role, role) if isinstance(role, str) else role
    labels = {key: item[key] for key in _LABELS if item.get(key) is not None}
    return read_message({**said, "response_metadata": {"crosswoz": labels}} if labels else said, where)


def _is_dialogue(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("messages"), list):
        return False
    return any(has_role(item) and ("slots" in item or "dialog_act" in item) for item in entry["messages"])
