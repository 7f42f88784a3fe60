"""What a tool's description costs: the JSON of its schema, as it goes to the provider beside the messages."""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType
from typing import Any
from weakref import ref

from langchain_core.tools import BaseTool

from langchain_ctxguard.backends.fingerprint import fingerprint
from langchain_ctxguard.backends.message_cost import json_text


def tool_text(tool: Any) -> str:
    """Return the schema of a tool as text. A dict that a provider runs itself (`{"type": "web_search_20250305", ...}`) is sent as it is."""
    from langchain_core.utils.function_calling import convert_to_openai_tool

    if isinstance(tool, dict) and tool.get("type") not in (None, "function", "object"):
        return json_text(tool)
    try:
        return json_text(convert_to_openai_tool(tool))
    except Exception:  # noqa: BLE001  # a schema that cannot be written down must not stop the count: the model call will say what is wrong
        return json_text(tool)


def tool_key(tool: Any) -> Hashable | None:
    """Return what stands for everything a tool's schema is made of, `None` where that cannot be told.

    Identity alone would miss an edited description; the schema alone costs more than the count. So a tool is known by its own
    texts and by its argument class, which is defined once and not edited. Classes and functions are referred to weakly: a guarded tool has a class of
    its own, which knows its guard, and who counts outlives both.
    """
    try:
        if isinstance(tool, dict):
            return "dict", fingerprint(tool)
        if isinstance(tool, BaseTool):
            schema: Any = tool.args_schema
            arguments = fingerprint(schema) if isinstance(schema, dict) else _weak(schema)
            return _weak(type(tool)), tool.name, tool.description, arguments, fingerprint(tool.metadata or {})
        if callable(tool):
            hash(tool)
            # The object itself is the key: an id could be given to another function once this one is gone.
            return _weak(tool), getattr(tool, "__name__", None), getattr(tool, "__doc__", None)
    except (TypeError, RecursionError):
        return None
    return None


def _weak(value: Any) -> Hashable:
    # Of a method there is no lasting object to refer to.
    return ref(value) if isinstance(value, type | FunctionType) else value
