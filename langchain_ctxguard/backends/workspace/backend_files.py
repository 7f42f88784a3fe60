"""The files of an agent that do not lie in a folder of this machine: those of a deepagents backend, and those nobody here can see."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from typing import Any

from langchain_ctxguard.domain.value import digest_of_bytes
from langchain_ctxguard.domain.workspace import FileFact, FileKind, Survey

_KINDS: dict[str, FileKind] = {"file_not_found": "absent", "is_directory": "folder"}


def below_root(path: str, leave_out: Collection[str]) -> str | None:
    """Return a path of an agent whose root is the workspace, below it; `None`: it leads out of it, or into what is left out.

    >>> below_root("/src/../a.py", ()), below_root("../a.py", ()), below_root("/.ctxguard/x", (".ctxguard",))
    ('a.py', None, None)
    """
    if not path or "\0" in path:
        return None
    found = posixpath.normpath(path.lstrip("/"))
    if found in {".", ".."} or found.startswith("../") or found.split("/", 1)[0].casefold() in {name.casefold() for name in leave_out}:
        return None
    return found


class BackendFiles:
    """The files of a deepagents backend, as it gives them: some can only be asked while a graph runs."""

    def __init__(self, backend: Any, *, leave_out: Collection[str] = (".ctxguard",)) -> None:
        """Bind the backend: any that has `download_files`."""
        self._backend = backend
        self._leave_out = tuple(leave_out)

    def relative(self, path: str) -> str | None:
        """Return a path below the root of the backend."""
        return below_root(path, self._leave_out)

    def fact(self, path: str) -> FileFact:
        """Return what one named file holds."""
        name = self.relative(path)
        if name is None:
            return FileFact(path=path, kind="outside")
        try:
            (answer,) = self._backend.download_files([f"/{name}"])
        except Exception:  # noqa: BLE001 - a backend may fail in any way: then nobody knows what the file holds
            return FileFact(path=name, kind="unreadable")
        if answer.content is not None:
            return FileFact(path=name, kind="file", sha256=digest_of_bytes(answer.content), size=len(answer.content))
        return FileFact(path=name, kind=_KINDS.get(str(answer.error), "unreadable"))

    def text(self, path: str) -> str | None:
        """Return the text of a named file, `None` where there is none, or none that can be read as text."""
        name = self.relative(path)
        try:
            content = None if name is None else self._backend.download_files([f"/{name}"])[0].content
            return None if content is None or b"\0" in content else content.decode("utf-8")
        except Exception:  # noqa: BLE001 - as above
            return None

    def survey(self) -> Survey:
        """Say that only named files can be told: a backend has no commit to differ from."""
        return Survey(source="files", faults=("a backend tells of named files only",), is_complete=False)


class UnseenFiles:
    """Files that nobody here can see: what a tool says it did is all that is known."""

    def __init__(self, *, leave_out: Collection[str] = (".ctxguard",)) -> None:
        """Leave out folders by name."""
        self._leave_out = tuple(leave_out)

    def relative(self, path: str) -> str | None:
        """Return a path below a root nobody sees."""
        return below_root(path, self._leave_out)

    def fact(self, path: str) -> FileFact:
        """Say that nobody knows what it holds."""
        return FileFact(path=self.relative(path) or path, kind="unreadable")

    def survey(self) -> Survey:
        """Say that nothing can be told."""
        return Survey(source="files", faults=("nobody here can see the files",), is_complete=False)
