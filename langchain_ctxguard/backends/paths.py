"""Where paths really lead, asked of the file system at the moment of the call."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Literal

_MOST_LINKS = 40
"""As many as the kernel follows."""

_MOST_BELOW = 20_000
"""Entries looked at in one folder before it counts as too large to be told."""


class LocalPaths:
    """The file system of this machine. Asked anew at each call: nothing is remembered, since anything may have become a link since."""

    flavour: Literal["posix", "windows"] = "windows" if os.name == "nt" else "posix"

    def here(self) -> str:
        """Return the folder this process works in."""
        return os.getcwd().replace("\\", "/") if os.name == "nt" else os.getcwd()  # noqa: PTH109 - a text, as it is

    def real(self, path: str) -> str:
        """Return where an absolute path leads, every link followed; what does not exist yet is kept as written.

        Raises:
            OSError: a loop, no permission, a file in a folder's place, or `..` behind what does not exist.
        """
        if os.name == "nt":
            # Junctions, short names and substituted drives are Windows' own business.
            return os.path.realpath(path).removeprefix("\\\\?\\").replace("\\", "/")
        return _followed(path)

    def below(self, path: str) -> Iterator[str]:
        """Yield everything in a folder, relative to it.

        Raises:
            OSError: a folder cannot be read, or there are too many entries.
        """
        count = 0
        for folder, folders, files in os.walk(path, onerror=_raise, followlinks=False):
            for name in (*folders, *files):
                count += 1
                if count > _MOST_BELOW:
                    raise OSError(errno.E2BIG, f"it holds more than {_MOST_BELOW:,} entries")
                yield os.path.relpath(os.path.join(folder, name), path)  # noqa: PTH118 - texts, as they are


def _raise(error: OSError) -> None:
    if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
        raise error


def _followed(path: str) -> str:
    waiting = _names(path)
    reached, links = "", 0
    while waiting:
        name = waiting.pop()
        if name == "..":
            reached = reached.rpartition("/")[0]
            continue
        step = f"{reached}/{name}"
        try:
            mode = os.lstat(step).st_mode
        except FileNotFoundError:
            if ".." in waiting:
                raise OSError(errno.ENOENT, f"'{step}' does not exist, so what `..` means behind it is not settled") from None
            return "/".join([step, *reversed(waiting)])
        if not stat.S_ISLNK(mode):
            if waiting and not stat.S_ISDIR(mode):
                raise OSError(errno.ENOTDIR, f"'{step}' is no folder")
            reached = step
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, f"the links at '{step}' lead in a circle")
        target = os.readlink(step)  # noqa: PTH115 - a text, as it is
        if target.startswith("/"):
            reached = ""
        waiting.extend(_names(target))
    return reached or "/"


def _names(path: str) -> list[str]:
    """Return the names in a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in {"", "."}]
