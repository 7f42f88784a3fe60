"""The files that arguments name, where in them, and what a tool does to a file as far as its name says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.evidence import ArtifactState

_LOOKED_AT = 4
"""How many times what is shown is read of a text: arguments may hold whole files."""

_ANCHOR_SHOWN = 60
_SYMBOL_KEYS = ("symbol", "symbol_name", "function", "function_name", "class_name", "method", "anchor")
_LINE_KEYS = (("start_line", "end_line"), ("line_start", "line_end"), ("line", ""), ("line_number", ""), ("insert_line", ""))
_PATH_ANCHOR = re.compile(r"(?P<path>[^:]+)(?:::(?P<symbol>[\w.:\[\]-]+)|:(?P<line>\d+(?:-\d+)?)(?::\d+)?)")
_VERB = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[\u3400-\u9fff]")
_VERBS: dict[ArtifactState, str] = {
    "removed": "delete remove rm unlink del erase 删",
    "written": "write edit create update patch replace insert append modify save apply rename move put add fix format refactor str 写 改 建 存",
    "read": "read view open cat get list ls grep glob search find fetch load show head tail stat diff lint test check inspect 读 看 查",
}
_EFFECTS: dict[str, ArtifactState] = {verb: effect for effect, verbs in reversed(_VERBS.items()) for verb in verbs.split()}
_EFFECT_ORDER: tuple[ArtifactState, ...] = ("removed", "written", "read")
_PATH_KEYS = frozenset(
    {
        "path",
        "paths",
        "file",
        "files",
        "file_path",
        "file_paths",
        "filepath",
        "filepaths",
        "filename",
        "file_name",
        "target_file",
        "notebook_path",
        "old_path",
        "new_path",
        "src",
        "dst",
        "source_path",
        "destination_path",
    }
)


def effect_of(tool: str) -> ArtifactState:
    """Return what a tool does to a file, as far as its name says.

    >>> effect_of("read_file"), effect_of("strReplaceEdit"), effect_of("rm"), effect_of("frobnicate")
    ('read', 'written', 'removed', 'touched')
    """
    shown = {_EFFECTS.get(word.lower()) for word in _VERB.findall(tool)}
    return next((effect for effect in _EFFECT_ORDER if effect in shown), "touched")


def paths_in(arguments: Any) -> Iterator[str]:
    """Yield the files that arguments name, in order, lists of edits included."""
    return (path for path, _ in places_in(arguments))


def places_in(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield the files that arguments name and where in them, in order, lists of edits included."""
    # Last in, first out: children go in backwards to come out in order.
    pending: list[tuple[bool, Any, str]] = [(False, arguments, "")]
    while pending:
        is_path, value, anchor = pending.pop()
        if isinstance(value, dict):
            anchor = _anchor_in(value) or anchor
            pending += ((isinstance(key, str) and key.lower() in _PATH_KEYS, inner, anchor) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            pending += ((is_path, inner, anchor) for inner in reversed(value))
        # A longer one is no path but a text.
        elif is_path and isinstance(value, str) and value.strip() and len(value) <= 400 and "\n" not in value:  # noqa: PLR2004
            yield value, _anchor_of(value) or anchor


def _anchor_in(arguments: Mapping[Any, Any]) -> str:
    """Return the symbol, or the lines, a call names beside its path."""
    for key in _SYMBOL_KEYS:
        if isinstance(arguments.get(key), str) and arguments[key].strip():
            return shown_part(arguments[key], _ANCHOR_SHOWN)
    for first, last in _LINE_KEYS:
        start, stop = arguments.get(first), arguments.get(last)
        # `True` is a 1 to Python and no line.
        if type(start) is int:
            return f"line {start}" if type(stop) is not int or stop == start else f"lines {start}-{stop}"
    return ""


def _anchor_of(path: str) -> str:
    found = _PATH_ANCHOR.fullmatch(path)
    if found is None:
        return ""
    return shown_part(found["symbol"] or f"line {found['line']}", _ANCHOR_SHOWN)


def shown_part(text: str, limit: int) -> str:
    """Return the beginning of a text on one line; what is cut leaves an ellipsis."""
    head = text[: _LOOKED_AT * limit]
    return clipped(readable(head) + ("" if head == text else "…"), limit)
