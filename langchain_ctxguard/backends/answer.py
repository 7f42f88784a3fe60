"""A chat model's answer -> `SummaryDraft`, or the reason why it is none. Forgiving in form, strict in what it lets through."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.backends.answer_json import object_in
from langchain_ctxguard.backends.notes_schema import NOTES, SETTLED, SOURCE_FIELDS, Form, form_of, main_field, told
from langchain_ctxguard.core.roles import calls_of, text_of
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import InvalidSummaryError

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
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
_REFUSED = frozenset({"refusal", "content_filter", "safety", "prohibited_content", "blocklist", "spii", "recitation"})
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")


class Reading(NamedTuple):
    """What an answer holds."""

    draft: SummaryDraft
    settled: tuple[str, ...] = ()
    """Which of the notes so far it says no longer stand."""

    is_cut_off: bool = False
    """Whether it broke off; what was complete in it is there."""


def read_answer(answer: BaseMessage | str, *, longest: int, find_source: Callable[[Any], str | None], may_be_empty: bool = False) -> Reading:
    """Return the draft an answer holds.

    Args:
        answer: What the model returned.
        longest: Characters from which on an answer is no summary.
        find_source: Resolves what a fact names as its source to the identity of a message, `None` where there is no such message.
        may_be_empty: Take an object that tells nothing: there is nothing new, or more of the conversation is still to be read.

    Raises:
        InvalidSummaryError: saying why it is no summary.
    """
    keys = frozenset({*told(SummaryDraft), SETTLED})
    given = _given(answer)
    if isinstance(given, str) and len(given) > longest:
        _refuse("too_long", f"it has {len(given)} characters, ten times what it was given")
    data, breaks_off = (given, False) if isinstance(given, Mapping) else object_in(given, keys)
    if data is None:
        _refuse("not_json", "it holds no JSON object")
    if not isinstance(data, Mapping):
        _refuse("wrong_type", f"it is a JSON {type(data).__name__}, not an object")
    breaks_off = breaks_off or is_cut_off(answer)
    if not data and may_be_empty:
        return Reading(SummaryDraft(), is_cut_off=breaks_off)
    if not any(key in data for key in keys):
        if {"name", "tool", "function"} & data.keys() and {"arguments", "args", "parameters", "input"} & data.keys():
            _refuse("tool_call", "it is a tool call written as text")
        _refuse("empty" if not data else "wrong_type", "the object has none of the keys asked for")
    reader = _Reader(find_source)
    draft, settled = reader.draft(data), reader.settled(data)
    if draft.is_empty and not settled and not may_be_empty:
        _refuse("empty", "every part of it is empty")
    strings = list(texts_of(draft))
    if strings and all(map(_is_placeholder, strings)):
        _refuse("placeholder", "it says only that there is no summary")
    if sum(map(len, strings)) > longest:
        _refuse("too_long", "it says ten times what it was given")
    return Reading(draft, settled, breaks_off)


def texts_of(value: Value) -> Iterator[str]:
    """Yield every text in a draft that a model was asked for, but the names of messages and what stands for itself in a closed set."""
    for name, field in told(type(value)).items():
        form = form_of(field.annotation)
        inner = form.of if form.kind == "list" else form
        if name in SOURCE_FIELDS or inner.kind == "choice":
            continue
        held = getattr(value, name)
        for item in held if isinstance(held, tuple) else (held,):
            if isinstance(item, Value):
                yield from texts_of(item)
            elif isinstance(item, str) and item:
                yield item


def is_cut_off(answer: BaseMessage | str) -> bool:
    """Say whether the provider reports that an answer reached its length."""
    return bool(endings_of(answer) & _CUT_OFF)


def endings_of(answer: BaseMessage | str) -> frozenset[str]:
    """Return what a provider says about why the answer ended, in lower case."""
    if isinstance(answer, str):
        return frozenset()
    metadata = answer.response_metadata
    details = metadata.get("incomplete_details")
    named = [metadata.get(name) for name in _ENDINGS] + ([details.get("reason")] if isinstance(details, Mapping) else [])
    return frozenset(name.lower() for name in named if isinstance(name, str))


def read_prose(answer: BaseMessage | str, *, longest: int) -> str:
    """Return the words of an answer that was asked for in prose, without its reasoning.

    Args:
        answer: What the model returned.
        longest: Characters from which on an answer is no summary.

    Raises:
        InvalidSummaryError: saying why it is no summary.
    """
    text = _said(answer)
    if len(text) > longest:
        _refuse("too_long", f"it has {len(text)} characters, ten times what it was given")
    return text


def _refuse(reason: str, why: str) -> NoReturn:
    msg = f"The summarizer's answer is no summary: {why}. Nothing of it is used; ask again or use another summarizer."
    raise InvalidSummaryError(msg, reason=reason)


def _given(answer: BaseMessage | str) -> str | Mapping[str, Any]:
    """Return the arguments of the call that is the answer, or the answer's words without its reasoning."""
    if not isinstance(answer, str):
        if _is_refused(answer):
            _refuse("refused", "the model declined to answer")
        call = next((call for call in calls_of(answer) if call.name == NOTES), None)
        if call is not None:
            return call.arguments if isinstance(call.arguments, (str, Mapping)) else str(call.arguments)
    return _said(answer)


def _is_refused(answer: BaseMessage) -> bool:
    if endings_of(answer) & _REFUSED or answer.additional_kwargs.get("refusal"):
        return True
    content = answer.content
    return not isinstance(content, str) and any(isinstance(block, dict) and block.get("type") == "refusal" for block in content)


def _said(answer: BaseMessage | str) -> str:
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


class _Reader:
    """Reads the parts of an answer by the fields of the draft, and counts what nobody asked for."""

    def __init__(self, find_source: Callable[[Any], str | None]) -> None:
        self._find_source = find_source
        self._dropped = 0

    def draft(self, data: Mapping[str, Any]) -> SummaryDraft:
        fields = told(SummaryDraft)
        self._dropped += sum(key not in fields and key != SETTLED for key in data)
        parts = self._parts(SummaryDraft, data, "")
        return SummaryDraft.model_validate({**parts, "dropped_keys": self._dropped})

    def settled(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        return self._items(data.get(SETTLED), SETTLED, Form("plain", str))

    def _parts(self, kind: type[Value], data: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return what the answer holds for each field; what it leaves out, or says in no usable way, keeps its default."""
        parts = {}
        for name, field in told(kind).items():
            value = data.get(name)
            read = self._source(value, form_of(field.annotation)) if name in SOURCE_FIELDS else self._read(value, f"{path}{name}", field.annotation)
            if read is not None:
                parts[name] = read
        return parts

    def _read(self, value: Any, path: str, annotation: Any) -> Any:
        form = form_of(annotation)
        if form.kind == "list":
            return self._items(value, path, form.of)
        if form.kind == "plain" and form.of is str and isinstance(value, list):
            return " ".join(self._items(value, path, form))
        return self._one(value, path, form)

    def _items(self, value: Any, path: str, form: Form) -> tuple[Any, ...]:
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value] if isinstance(value, (str, dict)) else None
        if items is None:
            _refuse("wrong_type", f"`{path}` is a {type(value).__name__}, not a list")
        if form.kind == "plain":
            items = [self._line(item) for item in items]
        return tuple(read for item in items if (read := self._one(item, path, form)) is not None)

    def _line(self, item: Any) -> Any:
        """Return the first text of a one-line object, `{"item": "..."}`; anything else as it is."""
        if not isinstance(item, dict) or not item:
            return item
        self._dropped += len(item) - 1
        return next((value for value in item.values() if isinstance(value, str)), item)

    def _one(self, value: Any, path: str, form: Form) -> Any:
        """Return one value in its form, or `None` where there is nothing."""
        match form.kind:
            case "object":
                return self._object(value, path, form.of)
            case "choice":
                return value if isinstance(value, str) and value in form.of else None
            case "list":
                return self._items(value, path, form.of)
            case "plain" if form.of is str:
                return self._text(value, path) or None
            case "plain":
                return value if type(value) in (form.of, int) and not (isinstance(value, bool) and form.of is not bool) else None

    def _object(self, value: Any, path: str, kind: type[Value]) -> Value | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            value = {main_field(kind): value}
        self._dropped += sum(key not in kind.model_fields for key in value)
        parts = self._parts(kind, value, f"{path}.")
        if any(field.is_required() and name not in parts for name, field in kind.model_fields.items()):
            return None
        return kind.model_validate(parts)

    def _source(self, value: Any, form: Form) -> Any:
        if form.kind != "list":
            return self._find_source(value)
        named = value if isinstance(value, list) else [value]
        return tuple(dict.fromkeys(source for item in named if (source := self._find_source(item)) is not None))

    def _text(self, value: Any, path: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            _refuse("wrong_type", f"`{path}` holds a {type(value).__name__} where a text belongs")
        # JSON can spell half a surrogate pair, which no store can hold.
        return str(value).encode("utf-8", "replace").decode("utf-8").strip()
