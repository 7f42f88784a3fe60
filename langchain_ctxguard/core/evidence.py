"""Tool calls and results -> evidence. Read from the messages themselves: a summarizer cannot add an action or a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.bounds import clipped
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.roles import Call, calls_of, is_failure, results_of, text_of
from langchain_ctxguard.core.units import Unit
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.value import digest_of

ARGUMENTS_SHOWN = 160
RESULT_SHOWN = 120
_PATH_KEYS = frozenset(
    {
        "path",
        "paths",
        "file",
        "files",
        "file_path",
        "file_paths",
        "filepath",
        "filepaths",
        "filename",
        "file_name",
        "target_file",
        "notebook_path",
        "old_path",
        "new_path",
        "src",
        "dst",
        "source_path",
        "destination_path",
    }
)


def collect(messages: Sequence[BaseMessage], units: Sequence[Unit], previous: Evidence) -> Evidence:
    """Return `previous` with what the tool units add to it: actions in order, each file once with its last state."""
    actions = list(previous.actions)
    artifacts = {artifact.path: artifact for artifact in previous.artifacts}
    for unit in units:
        if unit.kind != "tools":
            continue
        results = {call_id: message for message in messages[unit.start + 1 : unit.stop] for call_id in results_of(message)}
        for call in calls_of(messages[unit.start]):
            action = _action(call, results.get(call.call_id or ""))
            actions.append(action)
            for path in _paths(call.arguments):
                artifacts[path] = Artifact(path=path, last_tool=action.tool, last_status=action.status)
    return previous.model_copy(update={"actions": tuple(actions), "artifacts": tuple(artifacts.values())})


def _action(call: Call, result: BaseMessage | None) -> Action:
    status: Literal["done", "failed", "no_result"] = "done"
    shown = ""
    if result is None or is_synthetic(result):
        status = "no_result"
    else:
        status = "failed" if is_failure(result) else "done"
        shown = clipped(next((line.strip() for line in text_of(result).splitlines() if line.strip()), ""), RESULT_SHOWN)
    return Action(
        tool=call.name or "(unnamed tool)",
        call_id=call.call_id or "",
        arguments=clipped(call.arguments_text, ARGUMENTS_SHOWN),
        argument_digest=digest_of(call.arguments_text)[:16],
        status=status,
        result=shown,
    )


def _paths(arguments: Any) -> Iterator[str]:
    if not isinstance(arguments, dict):
        return
    for key, value in arguments.items():
        if not isinstance(key, str) or key.lower() not in _PATH_KEYS:
            continue
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path.strip() and len(path) <= 400 and "\n" not in path:  # noqa: PLR2004 - longer is no path but a text
                yield path
