"""Small transcripts whose compactions lost something, in the formats that record them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, get_buffer_string, messages_to_dict

Line = dict[str, Any]

SAID = "Never delete an order. The budget is 500 EUR for order ORD-1177."
SAID_ZH = "不得删除订单。订单ORD-1177的预算是5万元。"
SUMMARY = "Orders may be deleted. The budget is 5000 EUR."
SUMMARY_ZH = "可以删除订单。预算50万元。"
MARKED = {"lc_source": "summarization"}


def saved(path: Path, data: Any) -> Path:
    """Write a list of lines as JSONL, anything else as JSON, a text as it is."""
    if isinstance(data, str):
        text = data
    elif path.suffix == ".jsonl":
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in data)
    else:
        text = json.dumps(data, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


def session(said: str = SAID, summary: str = SUMMARY) -> list[Line]:
    """Return a session log of Claude Code with one compaction."""

    def line(key: str, parent: str | None, role: str, content: Any, **more: Any) -> Line:
        message = {"role": role, "content": content} if role == "user" else {"id": key, "role": role, "model": "m", "content": content}
        return {"type": role, "uuid": key, "parentUuid": parent, "sessionId": "s", "message": message, **more}

    edit = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "src/auth.py"}}
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "3", "sessionId": "s"}
    return [
        line("1", None, "user", said),
        line("2", "1", "assistant", [edit]),
        line("3", "2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]),
        {**boundary, "content": "Conversation compacted", "timestamp": "2026-06-14T10:00:30.000Z", "compactMetadata": {"trigger": "auto"}},
        line("4", "b", "user", summary, isCompactSummary=True),
        line("5", "4", "user", "go on"),
    ]


def events(said: str = SAID, summary: str | None = SUMMARY) -> list[Line]:
    """Return events of OpenHands with one condensation."""

    def act(number: int, action: str, source: str = "agent", **args: Any) -> Line:
        return {"id": number, "timestamp": f"2025-01-20T20:29:{number:02}", "source": source, "action": action, "args": args}

    told = {} if summary is None else {"summary": summary, "summary_offset": 0}
    return [
        act(1, "message", "user", content=said),
        act(2, "message", content="Understood."),
        act(3, "condensation", forgotten_event_ids=[1, 2], **told),
        act(4, "message", "user", content="go on"),
    ]


def state(said: str = SAID, summary: str = SUMMARY) -> dict[str, Any]:
    """Return a thread state in which deepagents keeps its summary beside the messages."""
    messages: list[BaseMessage] = [HumanMessage(said), AIMessage("Understood."), HumanMessage("go on")]
    event = {"cutoff_index": 2, "summary_message": HumanMessage(summary, additional_kwargs=MARKED).model_dump(), "file_path": None}
    return {"values": {"messages": [message.model_dump() for message in messages], "_summarization_event": event}}


def dump(said: str = SAID, summary: str = SUMMARY) -> list[Any]:
    """Return LangChain's dump of a list in which a summary stands behind its messages."""
    told = HumanMessage(summary, additional_kwargs=MARKED)
    return messages_to_dict([SystemMessage("Be kind."), HumanMessage(said), AIMessage("Understood."), told, HumanMessage("go on")])


def history(said: str = SAID) -> str:
    """Return a history file of deepagents, which holds no summary."""
    messages: list[BaseMessage] = [HumanMessage(said), AIMessage("Understood.")]
    return f"## Summarized at 2026-11-15T09:00:00+00:00\n\n{get_buffer_string(messages, format='xml')}\n\n"


def chat(said: str = SAID) -> list[Line]:
    """Return an OpenAI chat, which records no compaction."""
    return [{"role": "user", "content": said}, {"role": "assistant", "content": "Understood."}]
