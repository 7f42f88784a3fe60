"""Where hand-overs and the work log are written: a folder of this machine, one of a deepagents backend, or a LangGraph store."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

IGNORE = ".gitignore"
_ASIDE = {
    IGNORE: "*\n",
    # https://bford.info/cachedir: archivers and backup programs pass over a folder that holds this file.
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Hand-overs and work log of coding agents.\n",
}
"""What keeps the folder out of diffs and builds, written into it before anything else."""


class LocalFolder:
    """A folder right below a workspace of this machine. Files are written aside and moved into place, so nobody reads half of one."""

    def __init__(self, root: str | Path, folder: str) -> None:
        """Bind the workspace, and the folder's name in it."""
        self._root = Path(root)
        self._folder = self._root / folder
        self.place = folder

    def write(self, name: str, text: str) -> None:
        """Write a file, whole or not at all; see `ports.KeptFolder`."""
        self._checked(self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        for aside, content in _ASIDE.items():
            if not (self._folder / aside).exists():
                self._put(self._folder / aside, content)
        place = self._folder / name
        self._checked(place.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        self._put(place, text)

    def read(self, name: str) -> str | None:
        """Return the text of a file; see `ports.KeptFolder`."""
        place = self._folder / name
        self._checked(place.parent)
        try:
            return place.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            msg = f"'{place}' is no UTF-8 text."
            raise OSError(msg) from error

    def _checked(self, folder: Path) -> None:
        """Refuse a link on the way: what is written must lie where it seems to."""
        for step in [*reversed(folder.parents), folder]:
            if self._root in step.parents and step.is_symlink():
                msg = f"'{step}' is a link; hand-overs are written into the workspace itself."
                raise OSError(msg)

    @staticmethod
    def _put(place: Path, text: str) -> None:
        handle, aside = tempfile.mkstemp(prefix=".writing-", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
            Path(aside).chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH)
            Path(aside).replace(place)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(aside).unlink()
            raise


class BackendFolder:
    """A folder of a deepagents backend; what it does with a write it does whole."""

    def __init__(self, backend: Any, folder: str) -> None:
        """Bind the backend: any that has `upload_files` and `download_files`."""
        self._backend = backend
        self.place = "/" + folder.strip("/")
        self._has_aside = False

    def write(self, name: str, text: str) -> None:
        """Write a file; see `ports.KeptFolder`."""
        files = {} if self._has_aside else dict(_ASIDE)
        files[name] = text
        given = [(f"{self.place}/{one}", content.encode("utf-8", "backslashreplace")) for one, content in files.items()]
        try:
            answers = list(self._backend.upload_files(given))
        except Exception as error:
            msg = f"The backend did not take '{self.place}/{name}' ({type(error).__name__})."
            raise OSError(msg) from error
        # A backend that has the file may refuse to write what is beside it again.
        if answers[-1].error is not None:
            msg = f"The backend did not take '{self.place}/{name}' ({answers[-1].error})."
            raise OSError(msg)
        self._has_aside = True

    def read(self, name: str) -> str | None:
        """Return the text of a file; see `ports.KeptFolder`."""
        try:
            (answer,) = self._backend.download_files([f"{self.place}/{name}"])
        except Exception as error:
            msg = f"The backend did not give '{self.place}/{name}' ({type(error).__name__})."
            raise OSError(msg) from error
        return None if answer.content is None else answer.content.decode("utf-8", "replace")


class StoreFolder:
    """Items of a LangGraph store, one for each file."""

    def __init__(self, store: BaseStore, folder: str) -> None:
        """Bind the store."""
        self._store = store
        self._namespace = ("ctxguard_handoffs", folder.strip("/").replace(".", "_") or "handoffs")
        self.place = folder.strip("/")

    def write(self, name: str, text: str) -> None:
        """Write a file; see `ports.KeptFolder`."""
        try:
            self._store.put(self._namespace, name, {"content": text.encode("utf-8", "backslashreplace").decode()})
        except Exception as error:
            msg = f"The store did not take '{name}' ({type(error).__name__})."
            raise OSError(msg) from error

    def read(self, name: str) -> str | None:
        """Return the text of a file; see `ports.KeptFolder`."""
        try:
            item = self._store.get(self._namespace, name)
        except Exception as error:
            msg = f"The store did not give '{name}' ({type(error).__name__})."
            raise OSError(msg) from error
        found = None if item is None else item.value.get("content")
        return found if isinstance(found, str) else None
