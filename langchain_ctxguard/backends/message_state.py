"""A message as the values of its fields: a copy that nobody else can change, to compare a message with and to make equal ones from.

The messages of LangChain are made from their stored bytes without being validated again, where a look at the shape of their fields says that this
changes nothing; any other value is left to the serializer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2
from pydantic import BaseModel

_FIXED = frozenset({str, int, float, bool, bytes, type(None), Decimal, UUID, datetime, date})
# One for all that are empty, and most are: thousands of objects more would keep the garbage collector busy. Nobody else sees them.
_NO_DICT: dict[Any, Any] = {}
_NO_LIST: list[Any] = []
_CONTAINERS = (dict, list, tuple)
_BAGS = (("additional_kwargs", _NO_DICT), ("response_metadata", _NO_DICT), ("tool_calls", _NO_LIST), ("invalid_tool_calls", _NO_LIST))
_CALL = ["name", "args", "id", "type"]
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "input_token_details", "output_token_details")
_NEEDED = frozenset(_USAGE[:3])
_DETAILS = {"input_token_details": ("audio", "cache_creation", "cache_read"), "output_token_details": ("audio", "reasoning")}


class State(NamedTuple):
    """What a model holds. It is never handed out, so it stays what it is."""

    kind: type[BaseModel]
    fields: dict[str, Any]
    extra: dict[str, Any] | None
    """Fields that its class does not know."""

    given: frozenset[str]
    """The fields that were set."""

    parts: tuple[str, ...]
    """The fields that can be changed in place."""

    def made(self) -> Any:
        """Return a new object that holds the same, and shares nothing with any other that can change."""
        fields = self.fields.copy()
        for name in self.parts:
            part = fields[name]
            fields[name] = {} if part is _NO_DICT else [] if part is _NO_LIST else _fresh(part)
        made = object.__new__(self.kind)
        put = object.__setattr__
        put(made, "__dict__", fields)
        put(made, "__pydantic_fields_set__", set(self.given))
        put(made, "__pydantic_extra__", {} if self.extra is _NO_DICT else _fresh(self.extra))
        put(made, "__pydantic_private__", None)
        return made


def state_of(value: Any) -> State | None:
    """Return the state of a model, `None` where something in it cannot be copied, or a change in place would not be seen."""
    if not isinstance(value, BaseModel):
        return None
    try:
        fields = value.__dict__.copy()
        parts = [name for name, part in fields.items() if type(part) not in _FIXED]
        for name in parts:
            fields[name] = _copied(fields[name])
        extra = value.__pydantic_extra__
        return State(type(value), fields, None if extra is None else _copied(extra), frozenset(value.__pydantic_fields_set__), tuple(parts))
    except (_CanChangeError, RecursionError):
        return None


def states_of(contents: Sequence[bytes]) -> list[State | None]:
    """Return the states of messages as msgpack wrote them, `None` for what only the serializer can read.

    Args:
        contents: What `JsonPlusSerializer.dumps_typed` gave for each.
    """
    try:
        # An array in msgpack is its length and its items, one after the other: one call reads them all.
        found = _unpacked(b"\xdd" + struct.pack(">I", len(contents)) + b"".join(contents), _outer)
    except (ValueError, TypeError, RecursionError):
        return [None] * len(contents)
    return [one if type(one) is State else None for one in found]


def _outer(code: int, data: bytes) -> State | None:
    if code != EXT_PYDANTIC_V2:
        return None
    try:
        module, name, fields, _ = _unpacked(data, _inner)
        shape = _SHAPES.get((module, name))
        return None if shape is None else shape.state(fields)
    except (_CanChangeError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _inner(_code: int, _data: bytes) -> Any:
    # A date, a Decimal, a model in a message: the serializer knows what to do, and which of them it may load.
    raise _CanChangeError


def _unpacked(data: bytes, hook: Callable[[int, bytes], Any]) -> Any:
    return ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the stored fields of a class of messages look like if validating them gives them back as they are."""

    kind: type[BaseMessage]
    names: frozenset[str]
    word: str
    """What its `type` says."""

    also: Callable[[Mapping[str, Any]], bool]
    bags: tuple[tuple[str, Any], ...]
    """Fields that are always a dict or a list, each with what stands for an empty one."""

    always: tuple[str, ...]
    perhaps: tuple[str, ...]
    """Fields that may be one."""

    @classmethod
    def of(cls, kind: type[BaseMessage], also: Callable[[Mapping[str, Any]], bool] = lambda _: True) -> _Shape:
        names = frozenset(kind.model_fields)
        bags = tuple((name, nothing) for name, nothing in _BAGS if name in names)
        perhaps = tuple(name for name in ("content", "usage_metadata", "artifact") if name in names)
        return cls(kind, names, kind.model_fields["type"].default, also, bags, tuple(name for name, _ in bags), perhaps)

    def state(self, fields: dict[str, Any]) -> State | None:
        """Return the state of a message with these fields, `None` where its class has to look at them."""
        if fields.keys() != self.names or fields["type"] != self.word or not (_is_common(fields) and self.also(fields)):
            return None
        for name, nothing in self.bags:
            if not fields[name]:
                fields[name] = nothing
        more = [name for name in self.perhaps if isinstance(fields[name], _CONTAINERS)]
        return State(self.kind, fields, _NO_DICT, self.names, (*self.always, *more) if more else self.always)


def _is_common(fields: Mapping[str, Any]) -> bool:
    content = fields["content"]
    if type(content) is not str and not (type(content) is list and all(type(block) in {str, dict} for block in content)):
        return False
    are_dicts = type(fields["additional_kwargs"]) is dict and type(fields["response_metadata"]) is dict
    return are_dicts and _is_text(fields["name"]) and _is_text(fields["id"])


def _is_ai(fields: Mapping[str, Any]) -> bool:
    calls = fields["tool_calls"]
    if type(calls) is not list or fields["invalid_tool_calls"] != [] or type(fields["invalid_tool_calls"]) is not list:
        return False
    # Without calls, LangChain looks for those of a provider in `additional_kwargs`.
    return (all(map(_is_call, calls)) if calls else not fields["additional_kwargs"].get("tool_calls")) and _is_usage(fields["usage_metadata"])


def _is_call(call: Any) -> bool:
    return (
        type(call) is dict
        and list(call) == _CALL
        and type(call["name"]) is str
        and type(call["args"]) is dict
        and all(type(name) is str for name in call["args"])
        and _is_text(call["id"])
        and call["type"] == "tool_call"
    )


def _is_usage(usage: Any) -> bool:
    if usage is None:
        return True
    if type(usage) is not dict or not usage.keys() >= _NEEDED:
        return False
    if not _are_counts({**usage, **dict.fromkeys(_DETAILS.keys() & usage.keys(), 0)}, _USAGE):
        return False
    return all(name not in usage or (type(usage[name]) is dict and _are_counts(usage[name], known)) for name, known in _DETAILS.items())


def _are_counts(counts: Mapping[str, Any], known: tuple[str, ...]) -> bool:
    return list(counts) == [name for name in known if name in counts] and all(type(count) is int for count in counts.values())


def _is_tool(fields: Mapping[str, Any]) -> bool:
    return type(fields["tool_call_id"]) is str and fields["status"] in {"success", "error"}


def _is_text(value: Any) -> bool:
    return value is None or type(value) is str


_SHAPES = {
    (kind.__module__, kind.__name__): _Shape.of(kind, also)
    for kind, also in ((HumanMessage, lambda _: True), (SystemMessage, lambda _: True), (AIMessage, _is_ai), (ToolMessage, _is_tool))
}


class _CanChangeError(Exception):
    """Something can change and nobody would see it."""


def _copied(part: Any) -> Any:
    kind = type(part)
    if kind in _FIXED:
        return part
    if kind is dict:
        return {key: _copied(item) for key, item in part.items()} if part else _NO_DICT
    if kind is list:
        return [_copied(item) for item in part] if part else _NO_LIST
    if kind is tuple:
        return tuple([_copied(item) for item in part])
    raise _CanChangeError


def _fresh(part: Any) -> Any:
    """Return a copy of what `_copied` gave, for somebody who may change it."""
    kind = type(part)
    if kind is dict:
        return {key: _fresh(item) for key, item in part.items()} if part else {}
    if kind is list:
        return [_fresh(item) for item in part] if part else []
    return tuple([_fresh(item) for item in part]) if kind is tuple else part
