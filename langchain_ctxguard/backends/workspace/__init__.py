"""The folder a coding agent works in, as it really is: asked of git and of the file system, never of a message."""

from __future__ import annotations

from langchain_ctxguard.backends.workspace.check import WorkCheck
from langchain_ctxguard.backends.workspace.folder import Workspace

__all__ = ["WorkCheck", "Workspace"]
