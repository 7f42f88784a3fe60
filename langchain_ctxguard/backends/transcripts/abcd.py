"""ABCD dialogues: customer and agent by turns, and the agent's actions as the lines that tell of them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_ctxguard.backends.transcripts.build import build
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "abcd"
TITLE = "ABCD dialogues"

_SPEAKERS: dict[str, type[BaseMessage]] = {"customer": HumanMessage, "agent": AIMessage, "action": AIMessage}


def recognises(data: Any) -> bool:
    """Say whether `data` is a dialogue, a list of them, or such lists by the name of their split."""
    return any(_is_dialogue(entry) for entry, _ in _dialogues(data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each dialogue, named by its id.

    Raises:
        Misfit: a dialogue without turns, or a turn that is no pair of speaker and text.
    """
    return tuple(_run(entry, f"{name}#{index}", where) for index, (entry, where) in enumerate(_dialogues(data)))


def _dialogues(data: Any) -> list[tuple[Any, Where]]:
    if isinstance(data, dict) and "original" in data:
        return [(data, ())]
    if isinstance(data, dict):
        return [(entry, (split, index)) for split, entries in data.items() if isinstance(entries, list) for index, entry in enumerate(entries)]
    return [(entry, (index,)) for index, entry in enumerate(data)] if isinstance(data, list) else []


def _run(entry: Any, name: str, where: Where) -> Run:
    if not isinstance(entry, dict) or not isinstance(entry.get("original"), list):
        raise Misfit(where, "has no list of turns under `original`, as the other dialogues have")
    number = entry.get("convo_id")
    messages = [_message(turn, (*where, "original", index)) for index, turn in enumerate(entry["original"])]
    return Run(f"convo {number}" if isinstance(number, (int, str)) else name, messages, FORMAT)


def _message(turn: Any, where: Where) -> BaseMessage:
    match turn:
        case [str(speaker), str(text)] if speaker in _SPEAKERS:
            extras = {"response_metadata": {"abcd": {"speaker": speaker}}} if speaker == "action" else {}
            return build(_SPEAKERS[speaker], {"content": text, **extras}, where)
        case [str(speaker), str()]:
            raise Misfit(where, f"has the speaker {speaker[:40]!r}; use {', '.join(_SPEAKERS)}")
        case _:
            raise Misfit(where, f"is {kind_of(turn)} that is no pair of speaker and text")


def _is_dialogue(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("original"), list) and ("convo_id" in entry or "delexed" in entry)
