"""Real git repositories and folders for tests of workspaces."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_AS = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it said."""
    done = subprocess.run(["git", "-C", str(folder), *words], env={**os.environ, **_AS}, capture_output=True, check=True)  # noqa: S607
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Return a folder made a repository, with files in its first commit; without files, with no commit yet."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    if files:
        written(folder, files)
        committed(folder)
    return folder


def written(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def committed(folder: Path, message: str = "work") -> str:
    """Commit everything there is, and return the commit."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")
