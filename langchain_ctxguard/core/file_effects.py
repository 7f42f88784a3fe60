"""Which files a call touched and what it did to them: by its arguments, by the words of a line for a shell, else by what its result names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.commands import commands_of, is_path
from langchain_ctxguard.core.evidence_places import effect_of, places_in
from langchain_ctxguard.core.patches import patched_files
from langchain_ctxguard.core.roles import Call
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.domain.evidence import ArtifactState

_LOOKED_AT = 4_000
_SHELLS = re.compile(r"^(?:bash|sh|shell|execute\w*|run\w*|terminal|cmd|command|exec\w*)$|bash|shell|terminal", re.IGNORECASE)
_VERBS: dict[str, ArtifactState] = {
    # What the one tool for files of Anthropic's text editor, and of those that follow it, is told to do.
    "view": "read",
    "create": "written",
    "str_replace": "written",
    "insert": "written",
    "undo_edit": "written",
}
_NAMED_IN_RESULT = re.compile(
    r"^\[File: (?P<shown>[^\n]+?) \(\d+ lines|^\+\+\+ (?:b/)?(?P<patched>[^\t\n]+)|\bfile (?P<told>/?[\w./-]+\.\w+) has been\b|"
    r"\(Open file: (?P<open>[^\n)]+)\)",
    re.MULTILINE,
)


class FileTouch(NamedTuple):
    """What a call did to a file."""

    path: str
    anchor: str
    effect: ArtifactState


def touched_by(call: Call, result: str) -> Iterator[FileTouch]:
    """Yield the files a call touched, in order.

    Args:
        call: The call.
        result: What it answered: looked at where a call that changes something names no file, as one does that edits what is open.
    """
    command = command_in(call.arguments, tool=call.name)
    effect = _effect_of(call)
    named = [FileTouch(path, anchor, effect) for path, anchor in places_in(call.arguments)]
    named += [FileTouch(path, "", "written") for path in patched_files(call.arguments)]
    if command is not None and command not in _VERBS and (not named or _SHELLS.search(call.name)):
        named += changed_by(command)
    if not named and effect in ("written", "removed"):
        named += [FileTouch(path, "", effect) for path in _named_in(result)]
    yield from dict.fromkeys(named)


def changed_by(command: str) -> Iterator[FileTouch]:
    """Yield the files a line for a shell changes, as far as its words name them.

    >>> [(touch.path, touch.effect) for touch in changed_by("rm -f a.py && sed -i s/x/y/ src/b.py > log.txt")]
    [('a.py', 'removed'), ('log.txt', 'written'), ('src/b.py', 'written')]
    """
    for words, targets in commands_of(command):
        name = words[0].rsplit("/", 1)[-1] if words else ""
        rest = [word for word in words[1:] if not word.startswith("-")]
        if name == "git" and rest and rest[0] in ("rm", "mv"):
            name, rest = rest[0], rest[1:]
        if name in ("rm", "unlink"):
            yield from (FileTouch(path, "", "removed") for path in rest)
        elif name == "mv" and len(rest) > 1:
            yield from (FileTouch(path, "", "removed") for path in rest[:-1])
            yield FileTouch(rest[-1], "", "written")
        yield from (FileTouch(path, "", "written") for path in targets if path != "/dev/null")
        if name in ("cp", "install", "ln") and len(rest) > 1:
            yield FileTouch(rest[-1], "", "written")
        elif name in ("touch", "tee", "truncate"):
            yield from (FileTouch(path, "", "written") for path in rest)
        elif name == "sed" and any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words[1:]):
            yield from (FileTouch(path, "", "written") for path in rest if is_path(path) and not re.match(r"s([/|#,]).*\1", path))


def written_action(message: BaseMessage) -> Call | None:
    """Return the action a message of an agent without tools writes as text, where its transcript says which that is; `None`: it writes none."""
    if not isinstance(message, AIMessage) or message.tool_calls:
        return None
    step = message.response_metadata.get("swe_agent")
    action = step.get("action") if isinstance(step, Mapping) else None
    if not isinstance(action, str) or not action.strip():
        return None
    first, _, rest = action.strip().partition("\n")
    name, *words = first.split()
    if effect_of(name) in ("written", "read") and not _SHELL_WORDS.match(name):
        path = next((word.strip("\"'") for word in words if is_path(word.strip("\"'"))), None)
        return Call(None, name, {**({} if path is None else {"path": path}), "at": " ".join(words), "text": rest})
    return Call(None, name, {"command": action.strip()})


_SHELL_WORDS = re.compile(r"(?:ls|cat|grep|find|head|tail|stat|diff|rm|mv|cp|touch|python\d?|pytest|git|sed|cd|echo)$")


def _effect_of(call: Call) -> ArtifactState:
    verb = call.arguments.get("command") if isinstance(call.arguments, Mapping) else None
    return _VERBS[verb] if isinstance(verb, str) and verb in _VERBS else effect_of(call.name)


def _named_in(result: str) -> list[str]:
    """Return the file a result speaks of: the one it shows, else the one that is open."""
    found = list(_NAMED_IN_RESULT.finditer(result[:_LOOKED_AT] + "\n" + result[-_LOOKED_AT:]))
    for kind in ("shown", "told", "patched", "open"):
        paths = list(dict.fromkeys(match[kind].strip() for match in found if match[kind] and match[kind].strip() not in ("n/a", "/dev/null")))
        if paths:
            return paths
    return []
