"""The files that a patch names, in the forms of `diff -u`, git and `apply_patch`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_IS_PATCH = re.compile(r"^(?:\*\*\* Begin Patch|--- \S)", re.MULTILINE)
_PATCHED = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[abciow]/)?)(?P<path>[^\t\n]+)", re.MULTILINE)


def patched_files(arguments: Any) -> list[str]:
    """Return the files that a patch in the arguments names, in the forms of `diff -u`, git and `apply_patch`."""
    if not isinstance(arguments, Mapping):
        return []
    texts = [value for value in arguments.values() if isinstance(value, str) and _IS_PATCH.search(value)]
    return [found["path"].strip() for text in texts for found in _PATCHED.finditer(text) if found["path"].strip() != "/dev/null"]
