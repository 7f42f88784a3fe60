"""The folder of hand-overs and work log is the harness's: the agent's tools read it and change nothing in it."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from pathlib import Path

from langchain_ctxguard.core.commands import reads_only, words_of
from langchain_ctxguard.core.evidence import effect_of, paths_in
from langchain_ctxguard.core.patches import patched_files
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.domain.policy import Decision, Finding, ToolRequest, Verdict

RULE = "handoff-folder"


def protecting(folder: str, root: Path | None) -> Callable[[ToolRequest], Verdict | None]:
    """Return the policy that denies changes in a folder right below the workspace.

    What a line for a shell does is told from its words: one that builds a name while it runs is not seen.

    Args:
        folder: Its name.
        root: The workspace, where it is a folder of this machine: links into the folder are followed.
    """

    def decide(request: ToolRequest) -> Verdict | None:
        command = command_in(request.args, tool=request.tool)
        named = [*paths_in(request.args), *patched_files(request.args)]
        if command is not None and not reads_only(command):
            named += words_of(command)
        elif effect_of(request.tool) == "read" or command is not None:
            return None
        return _denied(request.tool, folder) if any(_lies_in(path, folder, root) for path in named) else None

    return decide


def _lies_in(path: str, folder: str, root: Path | None) -> bool:
    parts = [part.casefold() for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    own = folder.casefold()
    # `.*` and `.ctx*` stand for the folder as well, where a shell reads them.
    if any(part == own or (set(part) & set("*?[") and part.startswith(".") and fnmatch.fnmatch(own, part)) for part in parts):
        return True
    if root is None or not path or "\0" in path:
        return False
    try:
        real = os.path.realpath(root / path)
    except (OSError, ValueError):
        return False
    inside = os.path.realpath(root / folder)
    return real == inside or real.startswith(inside + os.sep)


def _denied(tool: str, folder: str) -> Verdict:
    reason = f"'{folder}' holds the hand-overs and the work log, which the harness writes"
    instead = "Use `trace` to note what is next, blocked or decided; read the files as you like."
    finding = Finding(rule=RULE, key="paths", decision=Decision.DENY, reason=reason, instead=instead)
    return Verdict(decision=Decision.DENY, tool=tool, findings=(finding,))
