"""A real repository and the tools that really change it. What is called is told to a journal."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from langchain_core.tools import BaseTool, StructuredTool

from benchmarks.coding.tasks import CHOSEN, FAVOURITE

_GIT = shutil.which("git") or "git"
_ALONE = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
_SIZES = {FAVOURITE: 180, CHOSEN: 2}


def create(root: Path, files: Mapping[str, str]) -> None:
    """Make a repository with one commit."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for words in (("init", "-q"), ("add", "-A"), (*_WHO, "commit", "-q", "-m", "begin")):
        subprocess.run([_GIT, *words], cwd=root, check=True, env=_ALONE)


def touched(root: Path) -> set[str]:
    """Return the files that differ from the commit, new ones too, as git says."""
    done = subprocess.run([_GIT, "status", "--porcelain", "-z", "-uall"], cwd=root, check=True, env=_ALONE, capture_output=True, text=True)
    return {line[3:] for line in done.stdout.split("\0") if line}


class Tools:
    """Tools over one folder. `told` hears what each one returned."""

    def __init__(self, root: Path, told: Callable[[str], None]) -> None:
        """Bind the folder."""
        self.root = root
        self._told = told

    def made(self) -> list[BaseTool]:
        """Return them as LangChain tools."""
        functions = (self.read_file, self.edit_file, self.write_file, self.delete_file, self.search, self.run_check, self.package_size)
        return [StructuredTool.from_function(function) for function in functions]

    def _said(self, text: str) -> str:
        self._told(text)
        return text

    def read_file(self, path: str) -> str:
        """Read a file."""
        file = self.root / path
        return self._said(file.read_text(encoding="utf-8") if file.is_file() else f"Error: there is no {path}")

    def edit_file(self, path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file."""
        file = self.root / path
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if old_string not in text:
            return self._said(f"Error: no such text in {path}")
        file.write_text(text.replace(old_string, new_string, 1), encoding="utf-8")
        return self._said(f"Edited {path}.")

    def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content, encoding="utf-8")
        return self._said(f"Wrote {path}.")

    def delete_file(self, path: str) -> str:
        """Remove a file."""
        if not (self.root / path).is_file():
            return self._said(f"Error: there is no {path}")
        (self.root / path).unlink()
        return self._said(f"Removed {path}.")

    def search(self, query: str, folder: str) -> str:
        """Find the lines below a folder that hold a text."""
        found = []
        for file in sorted((self.root / folder).rglob("*")):
            if file.is_file() and ".git" not in file.parts:
                name = file.relative_to(self.root).as_posix()
                lines = file.read_text(encoding="utf-8").splitlines()
                found += [f"{name}:{number}: {line}" for number, line in enumerate(lines, start=1) if query in line]
        return self._said("\n".join([f"Found {query} in:", *found]) if found else f"Nothing below {folder} holds {query}.")

    def run_check(self) -> str:
        """Run the project's check. It changes nothing."""
        done = subprocess.run(["/bin/sh", "check.sh"], cwd=self.root, check=False, capture_output=True, text=True)
        names = sorted(file.relative_to(self.root).as_posix() for file in self.root.glob("*/*/*.py"))
        built = self.root / "build.log"
        log = built.read_text(encoding="utf-8") if built.is_file() else ""
        log += "\n".join(f"checked {name} ... nothing found, 0 warnings, 0 errors" for name in names)
        return self._said(f"{log}\nThe check passes." if done.returncode == 0 else f"The check fails.\n{done.stdout}")

    def package_size(self, name: str) -> str:
        """Say how large a package is once it is installed."""
        return self._said(f"{name}: {_SIZES.get(name, 1)} MB installed.")
