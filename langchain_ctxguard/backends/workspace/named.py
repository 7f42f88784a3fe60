"""Which files of a workspace the output of a command names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_ctxguard.backends.workspace.folder import Workspace

_MOST_NAMED = 50
_CODE = frozenset("py pyi js jsx ts tsx go rs java kt rb php c h cc cpp hpp cs swift scala sql sh json toml yaml yml css html vue".split())  # noqa: SIM905
_MODULE = re.compile(r"No module named '([\w.]+)'")
_MOST_WORDS = 4_000
_AROUND = "\"'`()[]{}<>,;，。；：、（）「」“”‘’|"


def named_in(output: str, known: Sequence[str], workspace: Workspace) -> tuple[str, ...]:
    """Return the files of a workspace that a text names: known ones wherever they stand in it, others as far as they are words of their own."""
    found: dict[str, None] = {}
    for path in known:
        if _stands_in(path, output):
            found[path] = None
    for word in (*_words(output), *_modules(output)):
        name = workspace.relative(word)
        # What follows a space in the name of a file is no file of its own.
        if name is not None and not any(path == name or path.endswith(f" {name}") for path in found) and _is_file(name, workspace):
            found[name] = None
        if len(found) >= _MOST_NAMED:
            break
    return tuple(found)


def _is_file(name: str, workspace: Workspace) -> bool:
    """Say whether a name is that of a file: one that is there, or a file of code that could be. What is missing has to be made."""
    kind = workspace.fact(name).kind
    if kind != "absent":
        return kind in {"file", "link"}
    folder, _, last = name.rpartition("/")
    return last.rpartition(".")[2].lower() in _CODE and (not folder or workspace.fact(folder).kind == "folder")


def _modules(output: str) -> list[str]:
    """Return the files in which modules would lie that Python did not find."""
    return [f"{name.replace('.', '/')}.py" for name in dict.fromkeys(_MODULE.findall(output))]


def _words(output: str) -> list[str]:
    """Return the words of an output that may be paths, each once: what follows a colon, as lines and symbols do, left out."""
    table = str.maketrans(dict.fromkeys(_AROUND, " "))
    found: dict[str, None] = {}
    for word in output.translate(table).split():
        path = word.split("::", 1)[0]
        head, _, rest = path.partition(":")
        path = path if len(head) == 1 and rest[:1] in {"/", "\\"} else head
        path = path.rstrip(".")
        if path and ("." in path or "/" in path):
            found[path] = None
        if len(found) >= _MOST_WORDS:
            break
    return list(found)


def _stands_in(path: str, output: str) -> bool:
    """Say whether a path stands in a text as itself, not as the end or the beginning of a longer one."""
    start = output.find(path)
    while start >= 0:
        before, after = output[start - 1 : start], output[start + len(path) : start + len(path) + 1]
        is_whole = not (before.isalnum() and before.isascii()) and before not in {"-", "_", "."} and not (after.isalnum() and after.isascii())
        if is_whole and after not in {"-", "_", "/"}:
            return True
        start = output.find(path, start + 1)
    return False
