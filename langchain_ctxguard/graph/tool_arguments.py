"""What a tool is really called with: its own arguments, told from what a graph injects beside them."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping
from enum import Enum
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from langgraph.prebuilt.tool_node import ToolRuntime
from pydantic import BaseModel, ValidationError

RUNTIME = "ctxguard_runtime"
"""Argument under which a guarded tool is given the runtime by a `ToolNode`; its function never sees it."""

_PLUMBING = frozenset({"run_manager", RUNTIME})


def injected_names(tool: BaseTool) -> dict[str, Any]:
    """Return the arguments a graph fills in, by name with their annotation: state, store, runtime, call id, config."""
    return {
        name: annotation
        for name, annotation in _annotations(tool).items()
        if name in _PLUMBING or annotation is RunnableConfig or _is_injected(annotation) or _is_manager(annotation)
    }


def wants_runtime(tool: BaseTool) -> bool:
    """Say whether a tool is given the runtime of its call by itself."""
    return any(name == "runtime" or _names(annotation, ToolRuntime) for name, annotation in _annotations(tool).items())


def judged_arguments(tool: BaseTool, injected: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a tool is about to run with, as plain data, without what was injected."""
    named = {name: value for name, value in kwargs.items() if name not in injected and name not in _PLUMBING}
    if args:
        names = [name for name in tool.args if name not in named] or ["input"]
        named |= {names[place] if place < len(names) else f"{names[-1]}_{place}": value for place, value in enumerate(args)}
    return {name: plain(value) for name, value in named.items()}


def parsed_arguments(tool: BaseTool, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a tool makes of arguments somebody wrote, defaults filled in; `None` where it takes no such arguments."""
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return {name: plain(value) for name, value in given.items()}
    if any(not isinstance(name, str) for name in given):
        return None
    try:
        made = schema.model_validate(dict(given))
    except ValidationError:
        return None
    names = [name for name, about in type(made).model_fields.items() if name in made.model_fields_set or not about.is_required()]
    return {name: plain(getattr(made, name)) for name in names}


def plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each type
    """Return a value as data rules and digests can look into; what is no data stays as it is, and nobody can approve it."""
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields} | plain(value.model_extra or {})
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def _annotations(tool: BaseTool) -> dict[str, Any]:
    """Return the annotations of a tool's arguments, those of its function among them."""
    found: dict[str, Any] = {}
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    # What LangChain passes beside the arguments goes by the signature of these, whatever the function takes.
    for one in (type(tool)._run, type(tool)._arun):  # noqa: SLF001 - what a tool class is made of
        found |= (
            _hints(one) if function is None else {name: hint for name, hint in _hints(one).items() if hint is RunnableConfig or _is_manager(hint)}
        )
    if function is not None:
        found |= _hints(function)
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        found |= _hints(schema) or {name: field.annotation for name, field in schema.model_fields.items()}
    return found


def _hints(of: Any) -> dict[str, Any]:
    while isinstance(of, partial):
        of = of.func
    try:
        hints = get_type_hints(of, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations that name nothing: LangChain does without them too
        hints = {}
    if not isinstance(of, type):
        parameters = inspect.signature(of).parameters
        hints = {name: annotation for name, annotation in hints.items() if name in parameters}
    return hints


def _is_injected(annotation: Any) -> bool:
    return _names(annotation, InjectedToolArg) or _names(annotation, ToolRuntime) or _names(annotation, InjectedToolCallId)


def _is_manager(annotation: Any) -> bool:
    return _names(annotation, BaseRunManager)


def _names(annotation: Any, kind: type) -> bool:
    """Say whether an annotation is `kind`, or holds it in an `Annotated` or a union."""
    if isinstance(annotation, kind):
        return True
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, kind):
        return True
    if isinstance(annotation, type) and origin is None:
        return issubclass(annotation, kind)
    is_made_of_parts = origin is Annotated or (origin is not None and _is_union(origin))
    return is_made_of_parts and any(_names(part, kind) for part in get_args(annotation))


def _is_union(origin: Any) -> bool:
    return origin is Union or origin is types.UnionType
