"""One line of a Claude Code session -> the messages it holds, and what it says about itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.backends.transcripts.build import build, content_of
from langchain_ctxguard.backends.transcripts.calls import call_of
from langchain_ctxguard.backends.transcripts.marks import META_EXTRAS, SUMMARY_EXTRAS
from langchain_ctxguard.backends.transcripts.stamps import stamped
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of

Entry = dict[str, Any]

_BOUNDARIES = ("compact_boundary", "microcompact_boundary")


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a line says about a compaction of the context."""

    preserved: tuple[str, str] = ("", "")
    """First and last line that stayed as they were."""

    cleared: frozenset[str] | None = None
    """Ids of the calls whose results were emptied; `None` where a summary took the place of everything."""


def is_said(entry: Entry) -> bool:
    """Say whether a line holds a message that a model was sent or wrote."""
    return entry.get("type") in ("user", "assistant") or _queued(entry) is not None


def is_answer(entry: Entry) -> bool:
    """Say whether a line is a model's."""
    return entry.get("type") == "assistant"


def is_summary(entry: Entry) -> bool:
    """Say whether a line is the summary that a compaction put in the place of messages."""
    return entry.get("type") == "user" and entry.get("isCompactSummary") is True


def compaction_of(entry: Entry) -> Compaction | None:
    """Return what a boundary between two contexts says; `None` for any other line."""
    if entry.get("type") != "system" or entry.get("subtype") not in _BOUNDARIES:
        return None
    if entry["subtype"] == "microcompact_boundary":
        cleared = _object(entry, "microcompactMetadata").get("compactedToolIds")
        return Compaction(cleared=frozenset(found for found in cleared if isinstance(found, str)) if isinstance(cleared, list) else frozenset())
    facts = _object(entry, "compactMetadata") or _object(entry, "compact_metadata")
    segment = _object(facts, "preservedSegment") or _object(facts, "preserved_segment")
    ends = [segment.get(key) or segment.get(other) for key, other in (("headUuid", "head_uuid"), ("tailUuid", "tail_uuid"))]
    head, tail = (end if isinstance(end, str) else "" for end in ends)
    return Compaction(preserved=(head, tail))


def sidechain_of(entry: Entry) -> str | None:
    """Return whose side conversation a line belongs to, an empty text if it does not say; `None` for the main conversation."""
    parent = entry.get("parent_tool_use_id")
    if entry.get("isSidechain") is not True and not isinstance(parent, str):
        return None
    agent = entry.get("agentId") or parent
    return agent if isinstance(agent, str) else ""


def session_of(entry: Entry) -> str:
    """Return the session's id, an empty text where a line has none."""
    session = entry.get("sessionId") or entry.get("session_id")
    return session if isinstance(session, str) else ""


def answer_id(entry: Entry) -> str | None:
    """Return the id that all lines of one answer share."""
    found = _object(entry, "message").get("id") if is_answer(entry) else None
    return found if isinstance(found, str) and found else None


def results_in(entry: Entry) -> tuple[str, ...]:
    """Return the ids of the calls a line answers."""
    content = _object(entry, "message").get("content") if entry.get("type") == "user" else None
    if not isinstance(content, list):
        return ()
    return tuple(str(block.get("tool_use_id", "")) for block in content if _is_result(block))


def read_answer(lines: Sequence[tuple[Entry, Where]]) -> AIMessage:
    """Return the answer in its lines, oldest first; calls are calls, everything else stays a block.

    Raises:
        Misfit: a line without a message, or a block that does not fit.
    """
    blocks: list[Any] = []
    calls: list[Any] = []
    for entry, where in lines:
        message, place = _message(entry, where)
        content = content_of(message, place, may_be_missing=True)
        for index, block in enumerate([content] if isinstance(content, str) else content):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                calls.append(_call(block, (*place, "content", index)))
            elif block != "":
                blocks.append(block)
    entry, where = lines[0]
    last = lines[-1][0]["message"]
    about = {"id": last.get("id"), "model_name": last.get("model"), "stop_reason": last.get("stop_reason"), "usage": last.get("usage")}
    fields = {
        "id": _own_id(entry),
        "content": _plain(blocks),
        "tool_calls": [call for call in calls if call["type"] == "tool_call"],
        "invalid_tool_calls": [call for call in calls if call["type"] != "tool_call"],
        "response_metadata": {key: value for key, value in about.items() if value is not None},
        "additional_kwargs": stamped(entry.get("timestamp")),
    }
    return build(AIMessage, fields, where)


def read_user(entry: Entry, where: Where) -> list[BaseMessage]:
    """Return what a line in the user's role holds: results first, then what was said beside them.

    Raises:
        Misfit: a line without a message, or a block that does not fit.
    """
    queued = _queued(entry)
    message, place = ({"content": queued}, (*where, "attachment")) if queued is not None else _message(entry, where)
    content = content_of(message, place, may_be_missing=False)
    blocks = content if isinstance(content, list) else []
    results = [(index, block) for index, block in enumerate(blocks) if _is_result(block)]
    rest = [block for block in blocks if not _is_result(block)]
    extras: dict[str, Any] = stamped(entry.get("timestamp"))
    own = _own_id(entry)
    read: list[BaseMessage] = []
    for index, block in results:
        fields = {
            "id": own if own is None or not read else f"{own}#{len(read)}",
            "content": content_of({"content": block.get("content")}, (*place, "content", index), may_be_missing=False, may_be_data=True),
            "tool_call_id": str(block.get("tool_use_id", "")),
            "status": "error" if block.get("is_error") is True else None,
            "artifact": entry.get("toolUseResult") if len(results) == 1 else None,
            "additional_kwargs": extras,
        }
        read.append(build(ToolMessage, fields, (*place, "content", index)))
    if rest or not results:
        if is_summary(entry):
            extras = {**extras, **SUMMARY_EXTRAS}
        elif entry.get("isMeta") is True or results:
            extras = {**extras, **META_EXTRAS}
        said = content if isinstance(content, str) else _plain(rest)
        shown = own if own is None or not read else f"{own}#{len(read)}"
        read.append(build(HumanMessage, {"id": shown, "content": said, "additional_kwargs": extras}, where))
    return read


def _message(entry: Entry, where: Where) -> tuple[Entry, Where]:
    message = entry.get("message")
    if not isinstance(message, dict):
        found = kind_of(message) if "message" in entry else "nothing"
        raise Misfit(where, f"has {found} under `message`, where what the {entry.get('type')} said should be")
    return message, (*where, "message")


def _call(block: Entry, where: Where) -> Any:
    name, call_id = block.get("name"), block.get("id")
    if not isinstance(name, str):
        raise Misfit(where, "names no tool; a `tool_use` block has a `name`")
    return call_of(name, block.get("input"), None if call_id is None else str(call_id))


def _queued(entry: Entry) -> Any:
    """Return what a person said while the model was at work; `None` for any other line."""
    attachment = _object(entry, "attachment") if entry.get("type") == "attachment" else {}
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return None
    prompt = attachment.get("prompt")
    return prompt if isinstance(prompt, (str, list)) else None


def _plain(blocks: list[Any]) -> str | list[Any]:
    """Return a lone text as a text; the API takes either form."""
    if not blocks:
        return ""
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, str):
        return only
    if isinstance(only, dict) and only.keys() == {"type", "text"} and only["type"] == "text":
        return str(only["text"])
    return blocks


def _own_id(entry: Entry) -> str | None:
    key = entry.get("uuid")
    return key if isinstance(key, str) else None


def _object(entry: Entry, key: str) -> Entry:
    found = entry.get(key)
    return found if isinstance(found, dict) else {}


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"
