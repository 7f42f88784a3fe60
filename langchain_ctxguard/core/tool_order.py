"""Tools -> the same tools in an order that does not move, their dict schemas with their keys in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_ABSENT_KEPT = 256
"""So many tools that are gone keep their place; beyond, the oldest lose it."""


def stable_tools(tools: Sequence[Any], known_order: Sequence[str] = ()) -> tuple[Sequence[Any], tuple[str, ...]]:
    """Return `tools` in a stable order, and the order to pass in next time.

    On first sight they are sorted by name. Later ones are appended, so what a provider cached before them stays; one that was gone comes back to its
    place. Dict schemas get their keys in one order, values untouched; tool objects stay the same objects, and a list in order is the same list.

    >>> stable_tools([{"name": "b"}, {"name": "a"}])[1]
    ('a', 'b')
    >>> stable_tools([{"name": "a"}, {"name": "c"}, {"name": "0"}, {"name": "b"}], ("b", "c"))[1]
    ('b', 'c', '0', 'a')
    """
    names = [tool_name(tool) for tool in tools]
    place = {name: index for index, name in enumerate(dict.fromkeys(known_order))}
    new = sorted({name for name in names if name not in place})
    place.update((name, index) for index, name in enumerate(new, len(place)))
    order = tuple(place) if new or len(place) != len(known_order) else tuple(known_order)
    if len(order) > len(tools) + _ABSENT_KEPT:
        order = _without_oldest_absent(order, frozenset(names))
    # Sorting is stable: tools of one name stay as they were given.
    arranged = [canonical(tools[index]) for index in sorted(range(len(tools)), key=lambda index: place[names[index]])]
    is_same = all(tool is given for tool, given in zip(arranged, tools, strict=True))
    return (tools if is_same else arranged), order


def tool_name(tool: Any) -> str:
    """Return the name a tool is called by; a dict without one (a tool the provider runs itself) is known by its type."""
    if isinstance(tool, dict):
        function = tool.get("function")
        inner = function.get("name") if isinstance(function, dict) else None
        return str(inner or tool.get("name") or tool.get("title") or tool.get("type") or "")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__)


def canonical(schema: Any) -> Any:
    """Return a dict schema with its keys sorted at every depth; the same object where they are, or where it is no dict.

    The order of lists is part of what they say and stays.
    """
    if type(schema) is not dict:
        return schema
    try:
        return _sorted(schema)
    except (RecursionError, RuntimeError):
        # A schema that holds itself has no JSON: the model call will say so.
        return schema


def _sorted(value: Any) -> Any:
    if type(value) is dict:
        keys = list(value)
        ordered = sorted(keys, key=str)
        inner = {key: _sorted(value[key]) for key in ordered}
        is_same = keys == ordered and all(inner[key] is value[key] for key in keys)
        return value if is_same else inner
    if type(value) is list:
        items = [_sorted(item) for item in value]
        return value if all(item is given for item, given in zip(items, value, strict=True)) else items
    return value


def _without_oldest_absent(order: tuple[str, ...], present: frozenset[str]) -> tuple[str, ...]:
    surplus = sum(name not in present for name in order) - _ABSENT_KEPT
    kept = []
    for name in order:
        if surplus > 0 and name not in present:
            surplus -= 1
        else:
            kept.append(name)
    return tuple(kept)
