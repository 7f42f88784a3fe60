"""History files of deepagents: what its summarizer took from the context, one section for each time, appended to one text file.

Such a file holds no ids of results: those that follow a message with calls answer its calls in their order, as a graph's tool node writes them.
"""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import unescape

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts.build import build
from langchain_ctxguard.backends.transcripts.calls import call_of
from langchain_ctxguard.backends.transcripts.document import PlainText
from langchain_ctxguard.backends.transcripts.stamps import iso_time
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, CompactionMark, Misfit, Run, Where

FORMAT = "deepagents"
TITLE = "deepagents history file"

_START = re.compile(r'\s*(?:## Summarized at |<message type=["\'])')
_BLANK = re.compile(r"\s*")
_SECTION = re.compile(r"## Summarized at ([^\n]{0,100})(?:\n|\Z)")
_OPEN = re.compile(r"<message type=(\"[^\"]*\"|'[^']*')>")
_CLOSE = "</message>"
_CONTENT = ("\n  <content>", "</content>\n")
_CALL = re.compile(r"\s*<(?:tool_call id=(\"[^\"]*\"|'[^']*')|function_call) name=(\"[^\"]*\"|'[^']*')>([^<]*)</(?:tool_call|function_call)>\s*")
_NESTED = re.compile(r"\n {2}<(?:content|tool_call|function_call)[ >]")
_ATTRIBUTE = {"&quot;": '"', "&#10;": "\n", "&#13;": "\r", "&#9;": "\t"}
_SPEAKERS: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": ToolMessage,
}


def recognises(data: Any) -> bool:
    """Say whether `data` is text that begins with a section or with a message."""
    return isinstance(data, PlainText) and _START.match(data) is not None


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run with the messages of all sections, and a mark at the end of each.

    Raises:
        Misfit: text outside of messages, a message that does not end, or one that does not fit.
    """
    text = str(data)
    messages: list[BaseMessage] = []
    marks: list[CompactionMark] = []
    waiting: list[str | None] = []
    section: tuple[int, str | None] | None = None
    at, line, counted = 0, 1, 0
    while (at := _after_blanks(text, at)) < len(text):
        line, counted = line + text.count("\n", counted, at), at
        if (head := _SECTION.match(text, at)) is not None:
            marks += _mark(section, len(messages))
            section, at = (len(messages), iso_time(head[1].strip())), head.end()
            continue
        opened = _OPEN.match(text, at)
        if opened is None:
            raise Misfit((), f"has text outside of its messages, {text[at : at + 40]!r}", line=line)
        end = text.find(_CLOSE, opened.end())
        if end < 0:
            raise Misfit((len(messages),), f"is not closed by `{_CLOSE}`", line=line)
        messages.append(_message(_attribute(opened[1]), text[opened.end() : end], waiting, (len(messages),), line))
        at = end + len(_CLOSE)
    return (Run(name, messages, FORMAT, compactions=(*marks, *_mark(section, len(messages)))),)


def _mark(section: tuple[int, str | None] | None, stop: int) -> list[CompactionMark]:
    """Return the compaction that wrote a section, once it is known where the section ends."""
    if section is None:
        return []
    start, time = section
    return [CompactionMark(stop, CompactionKind.SUMMARY, dropped=tuple(range(start, stop)), timestamp=time)]


def _message(role: str, body: str, waiting: list[str | None], where: Where, line: int) -> BaseMessage:
    """Return one message; `waiting` holds the ids of calls that results have yet to answer."""
    kind = _SPEAKERS.get(role)
    fields: dict[str, Any] = {"content": unescape(body)}
    if kind is AIMessage:
        waiting.clear()
        if _NESTED.match(body) is not None:
            fields = _nested(body, where, line)
            waiting += [call["id"] for call in fields["calls"]]
            calls = fields.pop("calls")
            fields["tool_calls"] = [call for call in calls if call["type"] == "tool_call"]
            fields["invalid_tool_calls"] = [call for call in calls if call["type"] != "tool_call"]
    elif kind is ToolMessage:
        fields["tool_call_id"] = (waiting.pop(0) if waiting else None) or ""
    else:
        waiting.clear()
    try:
        return build(ChatMessage, {**fields, "role": role}, where) if kind is None else build(kind, fields, where)
    except Misfit as misfit:
        raise Misfit(where, misfit.reason, line=line) from None


def _nested(body: str, where: Where, line: int) -> dict[str, Any]:
    """Return content and calls of a message that makes calls."""
    content, at = "", 0
    opening, closing = _CONTENT
    if body.startswith(opening):
        end = body.find(closing, len(opening))
        if end < 0:
            raise Misfit(where, "has a `<content>` that does not end", line=line)
        content, at = unescape(body[len(opening) : end]), end + len(closing)
    calls: list[Any] = []
    while _after_blanks(body, at) < len(body):
        found = _CALL.match(body, at)
        if found is None:
            raise Misfit(where, "has something among its calls that is no call", line=line)
        call_id = _attribute(found[1]) if found[1] else f"function_call_{where[-1]}"
        calls.append(call_of(_attribute(found[2]), unescape(found[3]), call_id or None))
        at = found.end()
    return {"content": content, "calls": calls}


def _attribute(quoted: str) -> str:
    return unescape(quoted[1:-1], _ATTRIBUTE)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()
