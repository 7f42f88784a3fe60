"""Steps and files of a long work in little room: each file is named, in the line of a newest step or by its name; what finds no room is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_ctxguard.core.render import one_line
from langchain_ctxguard.core.status_text import item_line
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.domain.code_place import written_places
from langchain_ctxguard.domain.reconcile import StatusItem
from langchain_ctxguard.domain.worklog import FileState

_FILES = "Files as they were left"
_COUNTED = 26
"""Characters that say how many are not listed."""

_NAMING = len(_FILES) + _COUNTED + 26
"""Characters around names."""


def steps_and_files(title: str, steps: Sequence[StatusItem], left: Mapping[str, FileState], room: int) -> str:
    """Return the newest steps, and how the files were left.

    Args:
        title: Of the steps.
        steps: Oldest first.
        left: The files, in order of their first change.
        room: In characters. At least one step is listed, whatever it is.
    """
    names = {path: one_line(readable(path)) + (" (removed)" if state.is_absent else "") for path, state in left.items()}
    lines, unnamed = _steps(title, steps, names, room)
    used = sum(len(line) + 1 for line in lines) + len(title) + _COUNTED
    return "\n".join(filter(None, [_titled(title, lines, len(steps) - len(lines)), _files(left, names, unnamed, room - used)]))


def _steps(title: str, steps: Sequence[StatusItem], names: Mapping[str, str], room: int) -> tuple[list[str], dict[str, str]]:
    """Return the lines of the newest steps that leave room for the names of all other files, and these names."""
    shown: list[str] = []
    unnamed = dict(names)
    used = len(title) + _COUNTED + _length(unnamed)
    for item in reversed(steps):
        line = f"- {item_line(item)}"
        # A list of places may have been cut.
        told = {place.path: unnamed[place.path] for place in item.places if place.path in unnamed} if written_places(item.places) in line else {}
        used += len(line) + 1 - _length(told)
        if shown and used + (_NAMING if len(unnamed) > len(told) else 0) > room:
            break
        shown.insert(0, line)
        unnamed = {path: name for path, name in unnamed.items() if path not in told} if told else unnamed
    return shown, unnamed


def _files(left: Mapping[str, FileState], names: Mapping[str, str], unnamed: dict[str, str], room: int) -> str:
    """Return how the newest files were left, with what they held where there is room for that, and the names of those that stand nowhere else."""
    room -= _NAMING
    waiting = _length(unnamed)
    digests: list[str] = []
    for path, state in reversed(list(left.items())):
        line = f"- {names[path].removesuffix(' (removed)')}: {'removed' if state.is_absent else 'sha256 ' + str(state.sha256)[:12]}"
        cost = len(line) + 1
        spared = _length({path: unnamed[path]}) if path in unnamed else 0
        if waiting + cost - spared > room:
            break
        room -= cost
        waiting -= spared
        unnamed.pop(path, None)
        digests.insert(0, line)
    named = _fitting(list(unnamed.values()), room)
    more = len(unnamed) - len(named)
    before = [f"- changed before these: {', '.join(named)}"] if named else []
    return "\n".join([f"{_FILES}{f' (and {more} before these)' if more else ''}:", *digests, *before]) if digests or unnamed else ""


def _titled(title: str, lines: Sequence[str], before: int) -> str:
    return "\n".join([f"{title}{f' (and {before} before these)' if before else ''}:", *lines]) if lines else ""


def _length(names: Mapping[str, str]) -> int:
    """Return what names take in a list."""
    return sum(len(name) + 2 for name in names.values())


def _fitting(names: Sequence[str], room: int) -> Sequence[str]:
    """Return the newest names that fit."""
    first = len(names)
    while first and room >= len(names[first - 1]) + 2:
        first -= 1
        room -= len(names[first]) + 2
    return names[first:]
