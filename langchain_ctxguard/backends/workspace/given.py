"""What was given as a workspace, as files that can be asked and a folder that can be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore

from langchain_ctxguard.backends.workspace.backend_files import BackendFiles, UnseenFiles
from langchain_ctxguard.backends.workspace.folder import Workspace
from langchain_ctxguard.backends.workspace.kept_folder import BackendFolder, LocalFolder, StoreFolder
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import KeptFolder, WorkFiles


class GivenWorkspace(NamedTuple):
    """Where an agent works."""

    files: WorkFiles
    folder: KeptFolder
    root: Path | None
    """The folder of this machine it is, `None` where it is none."""


def workspace_of(given: Any, folder: str) -> GivenWorkspace:
    """Return a workspace: the path of a folder, a deepagents backend, or a LangGraph store.

    Raises:
        ConfigurationError: it is none of these, the folder does not exist, or the name of the folder in it leads out of it.
    """
    name = folder.strip("/")
    if not name or "/" in name or "\\" in name or name in {".", ".."}:
        msg = f"'{folder}' is no name of a folder right below the workspace. Use one like '.ctxguard'."
        raise ConfigurationError(msg)
    root = _root_of(given)
    if root is not None:
        if not root.is_dir():
            msg = f"The workspace '{root}' is no folder. Pass the folder the agent works in."
            raise ConfigurationError(msg)
        return GivenWorkspace(Workspace(root, leave_out=(name,)), LocalFolder(root, name), root)
    if isinstance(given, BaseStore):
        return GivenWorkspace(UnseenFiles(leave_out=(name,)), StoreFolder(given, name), None)
    if callable(getattr(given, "upload_files", None)) and callable(getattr(given, "download_files", None)):
        return GivenWorkspace(BackendFiles(given, leave_out=(name,)), BackendFolder(given, name), None)
    msg = f"{given!r} is no workspace. Pass the path of a folder, a deepagents backend, or a LangGraph store."
    raise ConfigurationError(msg)


def _root_of(given: Any) -> Path | None:
    """Return the folder of this machine that is meant: a path, or the root of a backend that works in one."""
    if isinstance(given, (str, Path)):
        return Path(given)
    found = getattr(given, "cwd", None)
    # A backend over a sandbox may have a working folder too, in another machine: only these say how paths are meant here.
    return found if isinstance(found, Path) and hasattr(given, "virtual_mode") else None
