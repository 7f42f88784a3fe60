"""BFCL multi-turn tasks: the user's requests of each task, turn by turn; what a model answered is in other files."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.transcripts.openai_message import has_role, read_messages
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "bfcl"
TITLE = "BFCL tasks"


def recognises(data: Any) -> bool:
    """Say whether `data` is a task with turns under `question`, or a list of them."""
    return _is_task(data) or (isinstance(data, list) and any(_is_task(entry) for entry in data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each task, named by its id.

    Raises:
        Misfit: a task without turns, or a message that does not fit.
    """
    if isinstance(data, dict):
        return (_run(data, name, ()),)
    return tuple(_run(entry, f"{name}#{index}", (index,)) for index, entry in enumerate(data))


def _run(task: Any, name: str, where: Where) -> Run:
    turns = task.get("question") if isinstance(task, dict) else None
    if not isinstance(task, dict) or not isinstance(turns, list):
        raise Misfit(where, "has no list of turns under `question`, as the other tasks have")
    messages = []
    for index, turn in enumerate(turns):
        if not isinstance(turn, list):
            raise Misfit((*where, "question", index), f"is {kind_of(turn)}; a turn is a list of messages")
        messages += read_messages(turn, (*where, "question", index))
    said = task.get("id")
    return Run(said if isinstance(said, str) and said else name, messages, FORMAT)


def _is_task(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("question"), list):
        return False
    return any(isinstance(turn, list) and any(has_role(message) for message in turn) for turn in entry["question"])
