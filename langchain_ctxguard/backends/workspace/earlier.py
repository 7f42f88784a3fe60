"""A copy of a workspace in which named files are as they were before: what a check says there, it said then."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from langchain_ctxguard.backends.workspace.folder import MOST_FILES, Workspace

_MOST_BYTES = 256_000_000
"""Size of a workspace above which it is not copied."""

_LINKED = frozenset({"node_modules", ".venv", "venv"})
"""Folders a check reads its dependencies from. What it builds is copied: written through a link, it would be taken for newer than its source."""

_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox"})


class _TooLargeError(Exception):
    pass


@contextmanager
def earlier(workspace: Workspace, contents: Mapping[str, bytes | None]) -> Iterator[Path | None]:
    """Make a copy of a workspace for a while; `None`: it is too large, or cannot be read whole.

    Args:
        workspace: What is copied, without its repository and its caches. Nothing in it is changed.
        contents: What named files held; `None`: they were not there.
    """
    with tempfile.TemporaryDirectory(prefix="ctxguard-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / workspace.root.name
        try:
            _copy(workspace, copy)
            for name, content in contents.items():
                _put(copy / name, content)
        except (OSError, ValueError, _TooLargeError):
            yield None
        else:
            yield copy


def _copy(workspace: Workspace, copy: Path) -> None:
    copy.mkdir()
    count = size = 0
    for at, folders, files in os.walk(workspace.root, onerror=_raise, followlinks=False):
        here = Path(at)
        there = copy / here.relative_to(workspace.root)
        for name in list(folders):
            place = here / name
            is_linked = name in _LINKED or place.is_symlink()
            if is_linked or name in _LEFT_OUT or not workspace.counts(place.relative_to(workspace.root).as_posix()):
                folders.remove(name)
            else:
                (there / name).mkdir()
            if is_linked:
                (there / name).symlink_to(place.resolve(), target_is_directory=True)
        for name in files:
            count += 1
            size += (here / name).lstat().st_size
            if count > MOST_FILES or size > _MOST_BYTES:
                raise _TooLargeError
            shutil.copy2(here / name, there / name, follow_symlinks=False)


def _put(place: Path, content: bytes | None) -> None:
    if content is None:
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def _raise(error: OSError) -> None:
    raise error
