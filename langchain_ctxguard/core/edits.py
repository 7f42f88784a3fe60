"""What a call would make of files, as far as its arguments say: texts to write, texts to replace, patches. And which files a call names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_ctxguard.core.evidence import effect_of, paths_in
from langchain_ctxguard.core.patches import bare_path, is_patch, patched_files

_WHOLE_KEYS = ("content", "contents", "file_text", "text", "new_content", "file_content", "data", "code")
_OLD_KEYS = ("old_string", "old_str", "old_text", "old", "search", "find", "target")
_NEW_KEYS = ("new_string", "new_str", "new_text", "new", "replace", "replacement", "replace_with")
_INSERTED_KEYS = ("new_str", "insert_text", "text", "content", "new_text")
_PATCH_KEYS = ("patch", "diff", "input", "patch_text", "unified_diff", "content", "text")
_LIST_KEYS = ("edits", "changes", "replacements", "operations")
_PATH_KEYS = ("file_path", "path", "filename", "file", "filepath", "target_file", "file_name", "notebook_path")

_FILE_LINE = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) )(?P<path>.+?)\s*$")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file. `old` is what it takes out, `new` what it puts in; a whole text takes the place of everything."""

    path: str
    kind: Literal["whole", "replace", "insert", "remove"]
    new: str = ""
    old: str = ""


def edits_in(tool: str, args: Mapping[str, Any]) -> tuple[Edit, ...]:
    """Return the changes of files a call asks for, in order; none where its arguments do not say.

    >>> edits_in("edit_file", {"file_path": "a.py", "old_string": "1", "new_string": "2"})[0].kind
    'replace'
    """
    if effect_of(tool) == "read":
        return ()
    patch = patch_in(args)
    if patch is not None:
        return patched(patch)
    if effect_of(tool) == "removed":
        return tuple(Edit(path, "remove") for path in dict.fromkeys(paths_in(args)))
    return tuple(_edits(args, ""))


def patch_in(args: Mapping[str, Any]) -> str | None:
    """Return the patch among arguments, `None` where there is none."""
    return next((args[key] for key in _PATCH_KEYS if isinstance(args.get(key), str) and is_patch(args[key])), None)


def files_named(args: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that arguments name, those of a patch among them, each once."""
    return tuple(dict.fromkeys([*paths_in(args), *patched_files(args)]))


def is_in(edit: Edit, text: str | None) -> bool | None:
    """Say whether a file holds already what an edit would make of it; `None` where that cannot be told from its text.

    Args:
        edit: The change.
        text: What the file holds; `None`: it is not there, or it is no text.
    """
    match edit.kind:
        case "remove":
            return text is None
        case "whole":
            return text == edit.new
        case "insert":
            return None
        case "replace":
            if text is None or not edit.new or not edit.old:
                return None
            if edit.old in edit.new:
                # What is put in holds what is taken out: it is done where no place is left without the rest.
                return edit.new in text and text.count(edit.old) == text.count(edit.new) * edit.new.count(edit.old)
            return edit.new in text and edit.old not in text


def _edits(args: Mapping[str, Any], path: str) -> Iterator[Edit]:
    path = _text(args, _PATH_KEYS) or path
    listed = next((args[key] for key in _LIST_KEYS if isinstance(args.get(key), list)), None)
    if listed is not None:
        for one in listed:
            if isinstance(one, Mapping):
                yield from _edits(one, path)
        return
    if not path:
        return
    old, new = _text(args, _OLD_KEYS), _text(args, _NEW_KEYS)
    command = args.get("command")
    if old is not None and new is not None and command not in {"create", "insert"}:
        yield Edit(path, "replace" if old else "whole", new, old)
    elif command == "insert" or "insert_line" in args:
        yield Edit(path, "insert", _text(args, _INSERTED_KEYS) or "")
    elif (whole := _text(args, _WHOLE_KEYS)) is not None:
        yield Edit(path, "whole", whole)


def _text(args: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((args[key] for key in keys if isinstance(args.get(key), str)), None)


def patched(patch: str) -> tuple[Edit, ...]:
    """Return the changes of a unified diff, or of a patch between `*** Begin Patch` and `*** End Patch`: one for each hunk."""
    reader = _PatchReader()
    lines = patch.splitlines()
    for place, line in enumerate(lines):
        # A line that takes out `-- x` looks like the head of a file, and is none without its other half.
        reader.take(line, is_head=line.startswith("--- ") and lines[place + 1 : place + 2] and lines[place + 1].startswith("+++ "))
    reader.close()
    return tuple(reader.found)


class _PatchReader:
    """Reads a patch line by line."""

    def __init__(self) -> None:
        self.found: list[Edit] = []
        self._path = ""
        self._before = ""
        self._is_new = False
        self._awaits_name = False
        self._old: list[str] = []
        self._new: list[str] = []

    def take(self, line: str, *, is_head: Any) -> None:
        if is_head or self._awaits_name or line.startswith("*** "):
            self._head(line, is_head=bool(is_head))
        elif line.startswith(("@@", "diff --git ", "index ", "\\ ")):
            self.close()
        elif line.startswith("+"):
            self._new.append(line[1:])
        elif line.startswith("-"):
            self._old.append(line[1:])
        elif line.startswith(" ") or not line:
            self._old.append(line[1:])
            self._new.append(line[1:])

    def close(self) -> None:
        """End a hunk."""
        if self._path and (self._old or self._new):
            text = "\n".join(self._new) + ("\n" if self._is_new else "")
            self.found.append(Edit(self._path, "whole" if self._is_new else "replace", text, "\n".join(self._old)))
        self._old, self._new = [], []

    def _head(self, line: str, *, is_head: bool) -> None:
        self.close()
        named = _FILE_LINE.match(line)
        name = "" if named is None else bare_path(named["path"], is_diff=not line.startswith("*** "))
        if is_head:
            self._before, self._awaits_name = name, True
        elif self._awaits_name:
            self._awaits_name = False
            self._path, self._is_new = (self._before, False) if name == "/dev/null" else (name, self._before == "/dev/null")
            if name == "/dev/null":
                self.found.append(Edit(self._before, "remove"))
                self._path = ""
        elif line.startswith("*** Delete File: "):
            self.found.append(Edit(name, "remove"))
            self._path = ""
        elif line.startswith(("*** Update File: ", "*** Add File: ")):
            self._path, self._is_new = name, line.startswith("*** Add")
