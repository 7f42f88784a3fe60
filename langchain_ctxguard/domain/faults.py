"""What is wrong in a config, in sentences: one line for each fault, with file, line and key."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from langchain_ctxguard.domain.config_text import locate


def describe(error: ValidationError, *, keys: Iterable[str] = (), name: str | None = None, text: str | None = None) -> str:
    """Return one line for each fault of a config, with file and line where they are known; `keys` are those there are, for spelling mistakes."""
    known = tuple(keys)
    lines = []
    for fault in error.errors(include_url=False):
        path = _written_path(fault)
        if path is None:
            continue
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "config"
        place = key
        if name is not None and text is not None:
            place = f"{name}:{locate(text, path)}: {key}"
        lines.append(f"{place}: {_sentence(fault, path, known)}")
    return "\n".join(dict.fromkeys(lines))


def _written_path(fault: ErrorDetails) -> tuple[int | str, ...] | None:
    """Return where a fault stands in what was written; `None` for the branch of a union that was not meant."""
    path = fault["loc"]
    for index, part in enumerate(path):
        if path[index - 1 : index] != ("validator",):
            continue
        if part == "str":
            return None
        # Behind the union stands the tag of its branch; neither is a key of the file.
        return path[:index] + path[index + 2 :]
    return path


_CHECK_FORMS = "a validator is the name of a registered one, or a mapping with `pattern`, `json_schema` or `argv`"
_SENTENCES = {
    "timezone_aware": "a moment needs its time zone, as in 2026-12-31T00:00:00Z",
    "union_tag_not_found": _CHECK_FORMS,
    "union_tag_invalid": _CHECK_FORMS,
}
_PATTERNS = {
    "constraint_id": "takes a name without blanks, quotes, `@` or angle brackets",
    "supersedes": "takes `id@version`, such as `no-deletes@2`",
}


def _sentence(fault: ErrorDetails, path: tuple[int | str, ...], keys: tuple[str, ...]) -> str:
    last = str(path[-1]) if path else ""
    if fault["type"] == "string_pattern_mismatch" and last in _PATTERNS:
        return f"`{last}` {_PATTERNS[last]}, not {shown(fault['input'])}"
    if last == "validator" and fault["type"] == "model_attributes_type":
        return f"{_CHECK_FORMS}, not {shown(fault['input'])}"
    if fault["type"] != "extra_forbidden":
        return _SENTENCES.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    close = get_close_matches(last, keys, n=1)
    return f"no such key; did you mean `{close[0]}`?" if close else "no such key"


def keys_of(*models: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys of models, as a file writes them."""
    return tuple(dict.fromkeys(field.alias or name for model in models for name, field in model.model_fields.items()))


def shown(value: Any) -> str:
    """Return a value short enough to know it by."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - enough to know it by
