"""Tool calls and results -> evidence. Read from the messages themselves: a summarizer cannot add an action or a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage, FunctionMessage

from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.results import Result, results_in
from langchain_ctxguard.core.roles import Call, calls_of, function_call_of, text_of
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.core.units import Unit
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.value import digest_of

NAME_SHOWN = 80
ARGUMENTS_SHOWN = 160
RESULT_SHOWN = 120
_LOOKED_AT = 4
"""How many times what is shown is read of a text: arguments may hold whole files."""

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
        function = function_call_of(messages[unit.start])
        if unit.kind != "tools" and function is None:
            continue
        answers = [message for message in messages[unit.start + 1 : unit.stop] if not is_synthetic(message)]
        results = {result.call_id: result for message in answers for result in results_in(message)}
        if function is not None:
            # Without ids the unit pairs them: by the function's name.
            shown = next((text_of(message) for message in answers if isinstance(message, FunctionMessage)), None)
            results |= {} if shown is None else {"": Result("", shown, is_failed=False)}
        for call in (*calls_of(messages[unit.start]), *([] if function is None else [function])):
            action = _action(call, results.get(call.call_id or ""))
            actions.append(action)
            for path in paths_in(call.arguments):
                artifacts[path] = Artifact(path=path, last_tool=action.tool, last_status=action.status)
    return previous.model_copy(update={"actions": tuple(actions), "artifacts": tuple(artifacts.values())})


def _action(call: Call, result: Result | None) -> Action:
    status: Literal["done", "failed", "no_result"] = "no_result"
    shown = ""
    if result is not None:
        status = "failed" if result.is_failed else "done"
        lines = result.text.lstrip()[: _LOOKED_AT * RESULT_SHOWN].splitlines()
        shown = clipped(next((line for line in map(readable, lines) if line), ""), RESULT_SHOWN)
    arguments = call.arguments_text
    return Action(
        tool=_shown(call.name, NAME_SHOWN) or "(unnamed tool)",
        call_id=call.call_id or "",
        arguments=_shown(arguments, ARGUMENTS_SHOWN),
        argument_digest=digest_of(arguments)[:16],
        status=status,
        result=shown,
    )


def _shown(text: str, limit: int) -> str:
    head = text[: _LOOKED_AT * limit]
    return clipped(readable(head) + ("" if head == text else "…"), limit)


def paths_in(arguments: Any) -> Iterator[str]:
    """Yield the files that arguments name, in order, lists of edits included."""
    # Last in, first out: children go in backwards to come out in order.
    pending: list[tuple[bool, Any]] = [(False, arguments)]
    while pending:
        is_path, value = pending.pop()
        if isinstance(value, dict):
            pending += ((isinstance(key, str) and key.lower() in _PATH_KEYS, inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            pending += ((is_path, inner) for inner in reversed(value))
        # A longer one is no path but a text.
        elif is_path and isinstance(value, str) and value.strip() and len(value) <= 400 and "\n" not in value:  # noqa: PLR2004
            yield value
