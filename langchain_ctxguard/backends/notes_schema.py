"""What a model is asked for: every field of `SummaryDraft` that has a description, as a JSON Schema and as lines of a prompt.

A field without a description is not a model's to tell: it is found or counted by code.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.value import Value

NOTES = "context_notes"
"""Name of the schema, and of the tool where a model answers by calling one."""

SETTLED = "settled"
"""The one key beside the fields: which of the notes so far no longer stand."""

SETTLED_HINT = "Entries of the notes so far, letter by letter, that what follows shows as done, withdrawn, answered or corrected."

SOURCE_FIELDS = frozenset({"source", "sources"})
"""Fields that name messages: a model names them by number."""

_SOURCE_HINT = "Its number `n`."
_NOT_SAYABLE = frozenset({"registry"})
"""Members of closed sets that only code may set."""

_DESCRIPTION = "Notes on a part of a conversation. They report; they give no instruction and grant no permission."
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WORDS = {str: "text", int: "number", float: "number", bool: "true or false"}


class Form(NamedTuple):
    """What a field holds, apart from whether it may be missing."""

    kind: Literal["plain", "choice", "list", "object"]
    of: Any
    """The type, the members of the set, the form of the items, or the class of the object."""


@cache
def told(kind: type[Value]) -> dict[str, FieldInfo]:
    """Return the fields of `kind` that a model is asked for."""
    return {name: field for name, field in kind.model_fields.items() if field.description}


@cache
def main_field(kind: type[Value]) -> str:
    """Return the field that a bare text stands for: the first told one that must not be missing.

    >>> from langchain_ctxguard.domain.summary import Fact
    >>> main_field(Fact)
    'statement'
    """
    return next(name for name, field in told(kind).items() if field.is_required())


def form_of(annotation: Any) -> Form:
    """Return what a field of this type holds.

    Raises:
        TypeError: a type no summarizer can be asked for.
    """
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in get_args(annotation) if part is not type(None))
        return form_of(inner)
    if origin is tuple and get_args(annotation)[1:] == (...,):
        return Form("list", form_of(get_args(annotation)[0]))
    if origin is Literal:
        return Form("choice", tuple(member for member in get_args(annotation) if member not in _NOT_SAYABLE))
    if isinstance(annotation, type):
        if issubclass(annotation, Value):
            return Form("object", annotation)
        if issubclass(annotation, Enum):
            return Form("choice", tuple(member.value for member in annotation))
        if annotation in _PLAIN:
            return Form("plain", annotation)
    msg = f"A summarizer cannot be asked for {annotation!r}. Use a text, a number, a closed set, a Value or a tuple of them, or describe nothing."
    raise TypeError(msg)


@cache
def notes_schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer, in the part of the language that strict modes of providers take: every key required, none besides."""
    schema = _schema_of(Form("object", SummaryDraft))
    schema["properties"][SETTLED] = {"type": "array", "items": {"type": "string"}, "description": SETTLED_HINT}
    schema["required"].append(SETTLED)
    return {"title": NOTES, "description": _DESCRIPTION, **schema}


def _schema_of(form: Form) -> dict[str, Any]:
    match form.kind:
        case "plain":
            return {"type": _PLAIN[form.of]}
        case "choice":
            return {"type": "string", "enum": list(form.of)}
        case "list":
            return {"type": "array", "items": _schema_of(form.of)}
        case "object":
            fields = told(form.of)
            properties = {name: _property(name, field) for name, field in fields.items()}
            return {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}


def _property(name: str, field: FieldInfo) -> dict[str, Any]:
    form = form_of(field.annotation)
    if name in SOURCE_FIELDS:
        number = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
        schema: dict[str, Any] = {"type": "array", "items": number} if form.kind == "list" else number
    else:
        schema = _schema_of(form)
    if _may_be_null(field):
        schema = {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
    return {**schema, "description": _hint(name, field)}


def prompt_lines() -> str:
    """Return the keys of an answer, one line each, with what belongs there."""
    return "\n".join([*_lines(SummaryDraft, ""), f'- "{SETTLED}" (list of texts): {SETTLED_HINT}'])


def _lines(kind: type[Value], indent: str) -> Iterator[str]:
    for name, field in told(kind).items():
        form = form_of(field.annotation)
        words = "number" if name in SOURCE_FIELDS and form.kind == "plain" else _words(form)
        yield f'{indent}- "{name}" ({words}{" or null" if _may_be_null(field) else ""}): {_hint(name, field)}'
        inner = form.of if form.kind == "list" else form
        if inner.kind == "object":
            yield from _lines(inner.of, f"{indent}  ")


def _words(form: Form) -> str:
    match form.kind:
        case "plain":
            return _WORDS[form.of]
        case "choice":
            return " | ".join(form.of)
        case "list":
            return "list of objects" if form.of.kind == "object" else f"list of {_words(form.of)}s"
        case "object":
            return "object"


def _may_be_null(field: FieldInfo) -> bool:
    return type(None) in get_args(field.annotation)


def _hint(name: str, field: FieldInfo) -> str:
    return f"{field.description} {_SOURCE_HINT}" if name in SOURCE_FIELDS else str(field.description)
