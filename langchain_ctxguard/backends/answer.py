"""A chat model's answer -> `SummaryDraft`, or the reason why it is none. Forgiving in form, strict in what it lets through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar, get_args

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.roles import calls_of, text_of
from langchain_ctxguard.domain.summary import Decision, Fact, Origin, Rejected, SummaryDraft
from langchain_ctxguard.errors import InvalidSummaryError

T = TypeVar("T")

_KEYS = ("user_intent", "pending_items", "facts", "decisions", "open_questions", "open_risks")
_FACT_KEYS = frozenset({"statement", "said_by", "source", "quote", "status"})
_DECISION_KEYS = frozenset({"chosen", "rejected", "why", "source", "said_by"})
_REJECTED_KEYS = frozenset({"option", "why"})
_ORIGINS: dict[Any, Origin] = {origin: origin for origin in get_args(Origin) if origin != "registry"}
_THOUGHTS = ("think", "thinking", "reasoning", "thought")
_CALL_SYNTAX = re.compile(r"<\|?/?(?:tool_call|tool_calls|function_call|function_calls|invoke|python_tag)\b|<｜tool", re.IGNORECASE)
_PLACEHOLDERS = (
    "previous conversation was too long",
    "no previous conversation history",
    "error generating summary",
    "unable to summarize",
    "i cannot summarize",
    "i can't summarize",
    "summary unavailable",
    "summary of the conversation goes here",
    "无法总结",
    "无法生成摘要",
    "之前的对话太长",
)
_PLACEHOLDER_LENGTH = 120
_JSON_STARTS = 12
"""How many opening braces are tried as the start of the object."""


def read_answer(answer: BaseMessage | str, *, longest: int, find_source: Callable[[Any], str | None], may_be_empty: bool = False) -> SummaryDraft:
    """Return the draft an answer holds.

    Args:
        answer: What the model returned.
        longest: Characters from which on an answer is no summary.
        find_source: Resolves what a fact names as its source to the identity of a message, `None` where there is no such message.
        may_be_empty: Take an object that tells nothing: more of the conversation is still to be read.

    Raises:
        InvalidSummaryError: saying why it is no summary.
    """
    text = _said(answer)
    if len(text) > longest:
        _refuse("too_long", f"it has {len(text)} characters, ten times what it was given")
    data = _object_in(text)
    if not data and may_be_empty:
        return SummaryDraft()
    if not any(key in data for key in _KEYS):
        if {"name", "tool", "function"} & data.keys() and {"arguments", "args", "parameters", "input"} & data.keys():
            _refuse("tool_call", "it is a tool call written as text")
        _refuse("empty" if not data else "wrong_type", "the object has none of the keys asked for")
    draft = _Reader(find_source).draft(data)
    if draft.is_empty:
        if may_be_empty:
            return draft
        _refuse("empty", "every part of it is empty")
    strings = [draft.user_intent, *draft.pending_items, *(fact.statement for fact in draft.facts), *draft.open_questions, *draft.open_risks]
    if all(_is_placeholder(string) for string in strings if string) and not draft.decisions:
        _refuse("placeholder", "it says only that there is no summary")
    return draft


def _refuse(reason: str, why: str) -> NoReturn:
    msg = f"The summarizer's answer is no summary: {why}. Nothing of it is used; ask again or use another summarizer."
    raise InvalidSummaryError(msg, reason=reason)


def _said(answer: BaseMessage | str) -> str:
    """Return the words of an answer without its reasoning."""
    raw = answer if isinstance(answer, str) else text_of(answer)
    text = _without_thoughts(raw).strip()
    if not isinstance(answer, str):
        if calls_of(answer) and "{" not in text:
            _refuse("tool_call", "it calls a tool instead of answering")
        if not text and (raw.strip() or _has_reasoning(answer)):
            _refuse("reasoning_only", "it holds reasoning and no answer")
    if not text:
        _refuse("reasoning_only" if raw.strip() else "empty", "there is no text in it")
    if _CALL_SYNTAX.match(text):
        _refuse("tool_call", "it is a tool call written as text")
    if _is_placeholder(text):
        _refuse("placeholder", "it says only that there is no summary")
    return text


def _without_thoughts(text: str) -> str:
    """Cut out `<think>...</think>`; an unclosed one reaches to the end, and what stands before a lone closing tag was one."""
    for name in _THOUGHTS:
        opening, closing = f"<{name}>", f"</{name}>"
        kept: list[str] = []
        rest = text
        while (at := rest.find(opening)) >= 0:
            kept.append(rest[:at])
            end = rest.find(closing, at)
            rest = "" if end < 0 else rest[end + len(closing) :]
        text = "".join(kept) + rest.rpartition(closing)[2]
    return text


def _has_reasoning(answer: BaseMessage) -> bool:
    if answer.additional_kwargs.get("reasoning_content"):
        return True
    return isinstance(answer, AIMessage) and not isinstance(answer.content, str) and bool(answer.content)


def _is_placeholder(text: str) -> bool:
    folded = text.strip().lower()
    return len(folded) <= _PLACEHOLDER_LENGTH and any(words in folded for words in _PLACEHOLDERS)


def _object_in(text: str) -> dict[str, Any]:
    """Return the JSON object in a text: alone, in a fence, amid prose, or cut off at its end."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return whole
    if whole is not None:
        _refuse("wrong_type", f"it is a JSON {type(whole).__name__}, not an object")
    found = list(_objects(text))
    known = [data for data in found if any(key in data for key in _KEYS)]
    if known:
        return known[0]
    repaired = _completed(text)
    if repaired is not None and any(key in repaired for key in _KEYS):
        return repaired
    if found:
        return found[0]
    _refuse("not_json", "it holds no JSON object")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects that begin at the first few braces outside of one already read."""
    decoder = json.JSONDecoder(strict=False)
    at = -1
    for _ in range(_JSON_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            data, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield data
        at = end - 1


def _completed(text: str) -> dict[str, Any] | None:
    """Return the object of a text that breaks off, with what was complete in it."""
    start = text.find("{")
    if start < 0:
        return None
    for stop, closers in _resting_places(text, start):
        try:
            data = json.loads(text[start:stop] + closers, strict=False)
        except (ValueError, RecursionError):
            continue
        return data if isinstance(data, dict) else None
    return None


def _resting_places(text: str, start: int) -> list[tuple[int, str]]:
    """Return where the object could be ended and the brackets that would end it, last place first."""
    places: list[tuple[int, str]] = []
    open_brackets: list[str] = []
    is_quoted = is_escaped = False
    for at in range(start, len(text)):
        letter = text[at]
        if is_quoted:
            if not is_escaped and letter == '"':
                is_quoted = False
                places.append((at + 1, "".join(reversed(open_brackets))))
            is_escaped = letter == "\\" and not is_escaped
        elif letter == '"':
            is_quoted = True
        elif letter in "{[":
            open_brackets.append("}" if letter == "{" else "]")
        elif letter in "}]" and open_brackets:
            open_brackets.pop()
            places.append((at + 1, "".join(reversed(open_brackets))))
        places = places[-8:] if len(places) > 64 else places  # noqa: PLR2004 - only the last few are tried
    return places[::-1][:8]


class _Reader:
    """Reads the parts of an answer and counts what nobody asked for."""

    def __init__(self, find_source: Callable[[Any], str | None]) -> None:
        self._find_source = find_source
        self._dropped = 0

    def draft(self, data: dict[str, Any]) -> SummaryDraft:
        intent = data.get("user_intent")
        parts = {
            "user_intent": " ".join(self._texts(intent, "user_intent")) if isinstance(intent, list) else self._text(intent, "user_intent"),
            "pending_items": self._texts(data.get("pending_items"), "pending_items"),
            "facts": self._items(data.get("facts"), "facts", self._fact),
            "decisions": self._items(data.get("decisions"), "decisions", self._decision),
            "open_questions": self._texts(data.get("open_questions"), "open_questions"),
            "open_risks": self._texts(data.get("open_risks"), "open_risks"),
        }
        self._drop_all_but(frozenset(_KEYS), data)
        return SummaryDraft.model_validate({**parts, "dropped_keys": self._dropped})

    def _drop_all_but(self, known: frozenset[str], data: dict[str, Any]) -> None:
        self._dropped += sum(key not in known for key in data)

    def _items(self, value: Any, key: str, read: Callable[[Any], T | None]) -> tuple[T, ...]:
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value] if isinstance(value, (str, dict)) else None
        if items is None:
            _refuse("wrong_type", f"`{key}` is a {type(value).__name__}, not a list")
        return tuple(read_item for item in items if (read_item := read(item)) is not None)

    def _texts(self, value: Any, key: str) -> tuple[str, ...]:
        return self._items(value, key, lambda item: self._line(item, key))

    def _line(self, item: Any, key: str) -> str | None:
        if isinstance(item, dict) and len(item) > 0:
            # A list of one-line objects, `[{"item": "..."}]`: their first text is the line.
            self._dropped += len(item) - 1
            item = next((value for value in item.values() if isinstance(value, str)), item)
        return self._text(item, key) or None

    def _text(self, value: Any, key: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            _refuse("wrong_type", f"`{key}` holds a {type(value).__name__} where a text belongs")
        # JSON can spell half a surrogate pair, which no store can hold.
        return str(value).encode("utf-8", "replace").decode("utf-8").strip()

    def _fact(self, item: Any) -> Fact | None:
        if not isinstance(item, dict):
            statement = self._text(item, "facts")
            return Fact(statement=statement) if statement else None
        self._drop_all_but(_FACT_KEYS, item)
        statement = self._text(item.get("statement"), "facts.statement")
        if not statement:
            return None
        said_by = item.get("said_by")
        return Fact(
            statement=statement,
            said_by=_ORIGINS.get(said_by) if isinstance(said_by, str) else None,
            source=self._find_source(item.get("source")),
            quote=self._text(item.get("quote"), "facts.quote") or None,
        )

    def _decision(self, item: Any) -> Decision | None:
        if not isinstance(item, dict):
            chosen = self._text(item, "decisions")
            return Decision(chosen=chosen) if chosen else None
        self._drop_all_but(_DECISION_KEYS, item)
        chosen = self._text(item.get("chosen"), "decisions.chosen")
        if not chosen:
            return None
        return Decision(
            chosen=chosen,
            rejected=self._items(item.get("rejected"), "decisions.rejected", self._rejected),
            why=self._text(item.get("why"), "decisions.why"),
        )

    def _rejected(self, item: Any) -> Rejected | None:
        if isinstance(item, dict) and isinstance(item.get("option"), str):
            self._drop_all_but(_REJECTED_KEYS, item)
            option, why = self._text(item["option"], "decisions.rejected"), self._text(item.get("why"), "decisions.rejected.why")
        else:
            option, why = self._line(item, "decisions.rejected") or "", ""
        return Rejected(option=option, why=why) if option else None
