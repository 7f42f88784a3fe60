"""What a patch is, and the files that it names, in the forms of `diff -u`, git and `apply_patch`. What it makes of them is read in `edits.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_OF_PATCH = re.compile(r"^(?:\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: )|--- \S.*\n\+\+\+ |diff --git |@@ )", re.MULTILINE)
_NAMED = re.compile(
    r"^(?:(?P<told>\*\*\* (?:(?:Update|Add|Delete) File|Move to): )|(?:---|\+\+\+) |rename (?:from|to) )(?P<path>[^\n]+)", re.MULTILINE
)
_PREFIXES = frozenset({"a/", "b/", "c/", "i/", "o/", "w/"})
"""What git puts before a path in the head of a diff, `diff.mnemonicPrefix` included."""


def is_patch(text: str) -> bool:
    """Say whether a text is a patch, or holds one."""
    return _OF_PATCH.search(text) is not None


def patched_files(arguments: Any) -> list[str]:
    """Return the files that patches in the arguments name, in order: of one that moves, both of its names."""
    if not isinstance(arguments, Mapping):
        return []
    texts = [value for value in arguments.values() if isinstance(value, str) and is_patch(value)]
    named = (bare_path(found["path"], is_diff=found["told"] is None) for text in texts for found in _NAMED.finditer(text))
    return [name for name in named if name and name != "/dev/null"]


def bare_path(path: str, *, is_diff: bool) -> str:
    r"""Return a path of a patch without quotes, the time that may follow and, in the head of a diff, what git puts before it.

    >>> bare_path("a/x.py\t2026-01-01", is_diff=True), bare_path("a/x.py", is_diff=False)
    ('x.py', 'a/x.py')
    """
    name = path.split("\t", 1)[0].strip()
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        try:
            name = str(json.loads(name))
        except ValueError:
            name = name[1:-1]
    return name[2:] if is_diff and name[:2] in _PREFIXES else name
