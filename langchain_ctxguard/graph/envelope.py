"""How a manifest stands in a checkpoint, and where in a value lists of messages can be. What is stored and read is not known here.

A value that was replaced whole is `{MARK: bytes}`. One in which something was replaced is `{INSIDE: value}`, and the replaced parts in it are
`{MARK: bytes}`. A value of the application that looks like either is replaced whole itself, so none is ever mistaken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite, Send

MARK = "__ctxguard_manifest__"
INSIDE = "__ctxguard_manifests__"
CARRIERS = frozenset({"__start__", "__pregel_tasks", "__input__", "__return__", "__end__", "__previous__"})
"""LangGraph's own channels, in which whole states travel: the input of a run, what is sent to a node, what an entrypoint returns."""

_DEEPEST = 6
_WIDEST = 1_000
_SCALARS = (str, int, float, bool, bytes, type(None))
_PLAIN = frozenset(_SCALARS)


def is_marked(value: Any) -> bool:
    """Say whether a value is a manifest, or looks like one."""
    return isinstance(value, dict) and len(value) == 1 and (MARK in value or INSIDE in value)


def is_stored_apart(value: Any) -> bool:
    """Say whether a stored value, or a part of it, lies in the store."""
    return is_marked(value.value if isinstance(value, _DeltaSnapshot) else value)


def is_long(value: Any) -> bool:
    """Say whether a value is a list whose items are worth storing apart."""
    return type(value) is list and bool(value) and not all(isinstance(item, _SCALARS) for item in value)


def has_messages(value: Any) -> bool:
    """Say whether a value is a list with a message in it."""
    return type(value) is list and any(isinstance(item, BaseMessage) for item in value)


def replaced(value: Any, replace: Callable[[Any], Any], wanted: Callable[[Any, str | None], bool], depth: int = 0, key: str | None = None) -> Any:
    """Return `value` with every part that is `wanted` replaced; the same object where nothing is.

    Args:
        value: What is looked through: dicts, lists, tuples, `Send`, `Overwrite`.
        replace: Gives what stands in a part's place.
        wanted: Says so of a part and the key it stands under.
        depth: How deep `value` lies.
        key: The key it stands under.
    """
    if is_marked(value) or wanted(value, key):
        return replace(value)
    if depth >= _DEEPEST:
        return value

    def below(part: Any, name: str | None = None) -> Any:
        return replaced(part, replace, wanted, depth + 1, name)

    return _rebuilt(value, below)


def restored(value: Any, restore: Callable[[bytes], Any], depth: int = 0) -> Any:
    """Return what stood in a checkpoint before: a value from `INSIDE`, its manifests put back."""
    if depth > _DEEPEST:
        return value
    if is_marked(value) and MARK in value:
        return restore(value[MARK])
    return _rebuilt(value, lambda part, _name=None: restored(part, restore, depth + 1))


def opened(value: Any, restore: Callable[[bytes], Any]) -> Any:
    """Return the value that `value` stands for; itself where it is no manifest and holds none."""
    if isinstance(value, _DeltaSnapshot):
        return _DeltaSnapshot(opened(value.value, restore)) if is_marked(value.value) else value
    if not is_marked(value):
        return value
    return restore(value[MARK]) if MARK in value else restored(value[INSIDE], restore)


def _rebuilt(value: Any, below: Callable[..., Any]) -> Any:
    # A serializer makes dicts of all dicts and lists of all lists, so that is what will be looked through when it is read.
    if isinstance(value, dict):
        new = {name: part if type(part) in _PLAIN else below(part, name if isinstance(name, str) else None) for name, part in value.items()}
        return value if all(new[name] is part for name, part in value.items()) else new
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > _WIDEST:
            return value
        parts = [part if type(part) in _PLAIN else below(part) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Send):
        arg = below(value.arg)
        return value if arg is value.arg else Send(value.node, arg, timeout=value.timeout)
    if isinstance(value, Overwrite):
        inner = below(value.value)
        return value if inner is value.value else Overwrite(value=inner)
    return value
