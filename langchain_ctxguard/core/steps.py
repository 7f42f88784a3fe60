"""One call as a step of the work: what it did in a line, where, and which files it names. Told from the call alone, never by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_ctxguard.core.commands import words_of
from langchain_ctxguard.core.evidence_places import places_in
from langchain_ctxguard.core.lexicon import orders_plainly
from langchain_ctxguard.core.patches import patched_files
from langchain_ctxguard.core.recalled import WORK_TOOLS
from langchain_ctxguard.core.render import LEFT_OUT
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.code_place import CodePlace

TEXT_SHOWN = 200
_PART_SHOWN = 70
_NAMED = 200
"""Files of one call that are looked at."""

ABOUT_WORK = WORK_TOOLS | {"compact_context"}
"""Tools about the work; calling them is no step of it."""

CHANGES_NOTHING = ABOUT_WORK | frozenset({"recall_history", "read_message", "pin_message", "task", "write_todos", "todowrite", "think"})
"""Tools, in lower case, that change no file: our own, todo lists, and those that hand work to another agent, whose calls are judged there."""

_PAIRS = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"), ("old", "new"), ("search", "replace"), ("find", "replace"))
_CONTENT = ("content", "file_text", "contents", "text", "new_content")


def named_files(arguments: Any, relative: Callable[[str], str | None], *, tool: str = "") -> tuple[str, ...]:
    """Return the files a call names, below the workspace, in order: in its arguments, and in the words of a line for a shell.

    Args:
        arguments: Of the call.
        relative: Says what a path is called below the workspace; `None`: it is not below it.
        tool: Name of the tool.
    """
    found = [path for path, _ in places_in(arguments)]
    found += patched_files(arguments)
    command = command_in(arguments, tool=tool)
    if command is not None:
        found += [word for word in words_of(command) if not word.startswith("-") and len(word) < 400 and "\n" not in word]  # noqa: PLR2004
    names = dict.fromkeys(name for path in found[: 4 * _NAMED] if _can_be_kept(path) and (name := relative(_without_anchor(path))) is not None)
    return tuple(names)[:_NAMED]


def places_of(arguments: Any, files: tuple[str, ...], relative: Callable[[str], str | None]) -> tuple[CodePlace, ...]:
    """Return where in `files` a call worked, as far as it says."""
    anchors = {relative(_without_anchor(path)): anchor for path, anchor in places_in(arguments) if anchor}
    return tuple(code_place(path, anchors.get(path, "")) for path in files)


def step_text(tool: str, arguments: Any) -> str:
    """Return what a call did in a line: what was replaced by what, what was written, what was run.

    >>> step_text("edit_file", {"file_path": "a.py", "old_string": "def total():", "new_string": "def sum_total():"})
    'edit_file: "def total():" -> "def sum_total():"'
    """
    told = next(filter(None, (_replaced(arguments), _run(tool, arguments), _written(arguments))), "")
    # What a call held may be what a file or a page said: no order of it is passed on.
    told = LEFT_OUT if orders_plainly(told) else told
    name = clipped(readable(tool), _PART_SHOWN) or "(unnamed tool)"
    return clipped(f"{name}: {told}" if told else name, TEXT_SHOWN)


def _can_be_kept(path: str) -> bool:
    # Half a surrogate pair has no UTF-8, so no record could hold it.
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def _without_anchor(path: str) -> str:
    return path.partition("::")[0]


def code_place(path: str, anchor: str) -> CodePlace:
    """Return a place in a file from an anchor as evidence has it: a symbol, `line 3` or `lines 3-5`, or nothing."""
    path = _without_anchor(path) or path
    words = anchor.replace("lines ", "").replace("line ", "") if anchor.startswith(("line ", "lines ")) else ""
    first, _, last = words.partition("-")
    if first.isdecimal() and int(first) > 0:
        is_range = last.isdecimal() and int(last) >= int(first)
        return CodePlace(path=path, line=int(first), last_line=int(last) if is_range else None)
    return CodePlace(path=path, symbol="" if words else readable(anchor))


def _replaced(arguments: Any) -> str:
    pairs = list(_edits(arguments, 0))
    if not pairs:
        return ""
    shown = "; ".join(f'"{_first_line(old, new)}" -> "{_first_line(new, old)}"' for old, new in pairs[:2])
    return shown + (f"; and {len(pairs) - 2} more" if len(pairs) > 2 else "")  # noqa: PLR2004 - two are shown


def _edits(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs of old and new text in arguments, lists of edits included."""
    if isinstance(value, Mapping):
        for old, new in _PAIRS:
            if isinstance(value.get(old), str) and isinstance(value.get(new), str):
                yield value[old], value[new]
                return
    if depth < 3 and isinstance(value, Mapping | list):  # noqa: PLR2004 - deeper is no argument of an edit
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _edits(inner, depth + 1)


def _first_line(text: str, other: str) -> str:
    """Return the first line in which a text differs from another."""
    lines, others = text.splitlines(), set(other.splitlines())
    found = next((line for line in lines if line.strip() and line not in others), next((line for line in lines if line.strip()), ""))
    return clipped(readable(found), _PART_SHOWN)


def _run(tool: str, arguments: Any) -> str:
    command = command_in(arguments, tool=tool)
    return "" if command is None else clipped(readable(command), TEXT_SHOWN)


def _written(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return ""
    content = next((arguments[key] for key in _CONTENT if isinstance(arguments.get(key), str)), None)
    if content is None:
        return ""
    count = content.count("\n") + (not content.endswith("\n")) if content else 0
    return f'{count} lines, beginning with "{_first_line(content, "")}"' if content.strip() else "nothing"
