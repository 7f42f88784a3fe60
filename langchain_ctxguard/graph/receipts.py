"""What a tool returned, as its receipt keeps it: in JSON, so that a repeated call returns what the first one did, or says what could not be kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, ToolMessage, message_to_dict, messages_from_dict
from langgraph.types import Command

from langchain_ctxguard.core.roles import text_of

_MOST = 1_000_000
"""Characters a receipt holds at most; of a larger one only the text is kept."""


class Returned(NamedTuple):
    """A receipt read again."""

    value: Any
    """As the tool returned it. `None` where `lost` says that it cannot be made again."""

    artifact: Any = None
    """Of a tool that returns content and artifact."""

    lost: tuple[str, ...] = ()
    """What could not be kept, by name."""


class _UnkeptError(ValueError):
    """A value without a JSON form."""


def receipt_text(content: Any) -> str:
    """Return the words of a result, as a model reads them in a receipt."""
    if isinstance(content, ToolMessage):
        return text_of(content)
    if isinstance(content, Command):
        return "an update of the state, which is not applied again"
    if isinstance(content, str):
        return content
    try:
        return json.dumps(content, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(content)


def receipt_form(value: Any, *, has_artifact: bool) -> str | None:
    """Return what a tool returned in a form it can be made of again; `None` where its text is all there is to it.

    Args:
        value: What the tool returned.
        has_artifact: It is a pair of content and artifact.
    """
    content, artifact, lost = value, None, list[str]()
    if has_artifact and isinstance(value, tuple) and len(value) == 2:  # noqa: PLR2004 - a pair
        content = value[0]
        artifact = _tried(value[1], "artifact", lost)
    elif isinstance(value, str):
        return None
    kept = _message(content, lost) if isinstance(content, ToolMessage) else _command(content, lost) if isinstance(content, Command) else None
    if kept is None:
        kept = _tried(content, "content", lost)
    text = json.dumps({"content": kept, "artifact": artifact, "lost": lost}, ensure_ascii=False)
    return text if len(text) <= _MOST else json.dumps({"content": None, "artifact": None, "lost": ["content, which is too large"]})


def returned_from(form: str | None, text: Any) -> Returned:
    """Return what a tool returned, from its receipt: the form, or the text where that was all."""
    if form is None:
        return Returned(text)
    data = json.loads(form)
    lost = tuple(data["lost"])
    try:
        value = None if any(name != "artifact" for name in lost) else _made(data["content"])
        return Returned(value, _made(data["artifact"]), lost)
    except (ValueError, TypeError, KeyError):
        # Written by a version that knew more kinds of values than this one.
        return Returned(None, None, ("content, which this version cannot read",))


def _tried(value: Any, name: str, lost: list[str]) -> Any:
    try:
        return _kept(value)
    except _UnkeptError:
        lost.append(name)
        return None


def _message(message: ToolMessage, lost: list[str]) -> Any:
    artifact = _tried(message.artifact, "artifact", lost)
    kept = _tried(message.model_copy(update={"artifact": None}), "content", lost)
    return None if kept is None else {"with": kept, "artifact": artifact}


def _command(command: Command[Any], lost: list[str]) -> Any:
    """Return a command, key by key of its update, so that what cannot be kept has a name."""
    update = command.update
    if isinstance(update, Mapping):
        kept_update: Any = {"d": [[key, _tried(value, f"`{key}` of its update", lost)] for key, value in update.items()]}
    else:
        kept_update = _tried(update, "its update", lost)
    parts = {name: _tried(getattr(command, name), f"its `{name}`", lost) for name in ("graph", "resume", "goto")}
    return {"c": {"update": kept_update, **parts}}


def _kept(value: Any) -> Any:
    """Return a value in JSON, each kind that JSON does not tell apart under a name of its own."""
    if value is None or type(value) in {bool, int, float, str}:
        return value
    if isinstance(value, ToolMessage) and value.artifact is not None:
        return {"with": _kept(value.model_copy(update={"artifact": None})), "artifact": _kept(value.artifact)}
    if isinstance(value, BaseMessage):
        made = message_to_dict(value)
        if _made({"m": json.loads(_json(made))}) != value:
            raise _UnkeptError
        return {"m": made}
    if type(value) is dict:
        return {"d": [[_kept(key), _kept(item)] for key, item in value.items()]}
    if type(value) is list:
        return [_kept(item) for item in value]
    if type(value) is tuple:
        return {"t": [_kept(item) for item in value]}
    raise _UnkeptError


def _json(data: Any) -> str:
    try:
        return json.dumps(data)
    except (TypeError, ValueError) as error:
        raise _UnkeptError from error


def _made(data: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    """Return the value that was kept."""
    if isinstance(data, list):
        return [_made(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "with" in data:
        return _made(data["with"]).model_copy(update={"artifact": _made(data["artifact"])})
    ((kind, inner),) = data.items()
    match kind:
        case "m":
            return messages_from_dict([inner])[0]
        case "d":
            return {_made(key): _made(item) for key, item in inner}
        case "t":
            return tuple(_made(item) for item in inner)
        case "c":
            return Command(**{name: _made(item) for name, item in inner.items()})
        case _:
            msg = f"'{kind}' is no kind of value this version knows"
            raise ValueError(msg)
