"""Tool calls and results -> evidence. Read from the messages themselves: a summarizer cannot add an action or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, FunctionMessage

from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.recalled import RECALL_TOOLS
from langchain_ctxguard.core.references import references_in
from langchain_ctxguard.core.results import Result, results_in
from langchain_ctxguard.core.roles import Call, calls_of, function_call_of, text_of
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.core.units import Unit
from langchain_ctxguard.domain.evidence import Action, Artifact, ArtifactState, Evidence, Reference, Status
from langchain_ctxguard.domain.value import digest_of

NAME_SHOWN = 80
ARGUMENTS_SHOWN = 160
RESULT_SHOWN = 120
_LOOKED_AT = 4
"""How many times what is shown is read of a text: arguments may hold whole files."""

REFERENCES_KEPT = 60
"""Keys kept; of more the oldest are only counted, as the actions that held them are."""

_ANCHOR_SHOWN = 60
_SYMBOL_KEYS = ("symbol", "symbol_name", "function", "function_name", "class_name", "method", "anchor")
_LINE_KEYS = (("start_line", "end_line"), ("line_start", "line_end"), ("line", ""), ("line_number", ""), ("insert_line", ""))
_PATH_ANCHOR = re.compile(r"(?P<path>[^:]+)(?:::(?P<symbol>[\w.:\[\]-]+)|:(?P<line>\d+(?:-\d+)?)(?::\d+)?)")
_VERB = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[\u3400-\u9fff]")
_VERBS: dict[ArtifactState, str] = {
    "removed": "delete remove rm unlink del erase 删",
    "written": "write edit create update patch replace insert append modify save apply rename move put add fix format refactor str 写 改 建 存",
    "read": "read view open cat get list ls grep glob search find fetch load show head tail stat diff lint test check inspect 读 看 查",
}
_EFFECTS: dict[str, ArtifactState] = {verb: effect for effect, verbs in reversed(_VERBS.items()) for verb in verbs.split()}
_EFFECT_ORDER: tuple[ArtifactState, ...] = ("removed", "written", "read")
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
    """Return `previous` with what the tool units add to it: actions in order, each file once with its last state, keys by name."""
    actions = list(previous.actions)
    artifacts = {artifact.path: artifact for artifact in previous.artifacts}
    references = {(known.name, known.value): known for known in previous.references}
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
            if call.name in RECALL_TOOLS:
                # Reading again does nothing, and what was read is told by what it was read of.
                continue
            result = results.get(call.call_id or "")
            action = _action(call, result)
            actions.append(action)
            for path, anchor in places_in(call.arguments):
                artifacts[path] = _artifact(path, anchor, action, artifacts.get(path))
            for name, value in references_in(call.arguments, "" if result is None else result.text):
                # What a key named first stays: a later mention is no new thing.
                references.setdefault((name, value), Reference(name=name, value=value, call_id=action.call_id))
    kept = tuple(references.values())[-REFERENCES_KEPT:]
    return previous.model_copy(
        update={
            "actions": tuple(actions),
            "artifacts": tuple(artifacts.values()),
            "references": kept,
            "omitted_references": previous.omitted_references + len(references) - len(kept),
        }
    )


def done_files(evidence: Evidence) -> tuple[str, ...]:
    """Return the files a call changed with success, oldest first: what need not be done again."""
    return tuple(artifact.path for artifact in evidence.artifacts if artifact.is_done)


def listed_files(evidence: Evidence) -> tuple[str, ...]:
    """Return those of `done_files` that the summary names."""
    done = done_files(evidence)
    return done if evidence.files_listed is None else done[len(done) - min(evidence.files_listed, len(done)) :]


def _artifact(path: str, anchor: str, action: Action, known: Artifact | None) -> Artifact:
    effect = effect_of(action.tool)
    state: ArtifactState = "touched" if known is None else known.state
    is_done = known is not None and known.is_done
    if action.status == "done" and (effect in ("written", "removed") or state not in ("written", "removed")):
        state = effect
    if effect in ("written", "removed"):
        is_done = action.status == "done"
    return Artifact(
        path=path,
        last_tool=action.tool,
        last_status=action.status,
        anchor=anchor or ("" if known is None else known.anchor),
        state=state,
        is_done=is_done,
    )


def effect_of(tool: str) -> ArtifactState:
    """Return what a tool does to a file, as far as its name says.

    >>> effect_of("read_file"), effect_of("strReplaceEdit"), effect_of("rm"), effect_of("frobnicate")
    ('read', 'written', 'removed', 'touched')
    """
    shown = {_EFFECTS.get(word.lower()) for word in _VERB.findall(tool)}
    return next((effect for effect in _EFFECT_ORDER if effect in shown), "touched")


def _action(call: Call, result: Result | None) -> Action:
    status: Status = "no_result"
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
    return (path for path, _ in places_in(arguments))


def places_in(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield the files that arguments name and where in them, in order, lists of edits included."""
    # Last in, first out: children go in backwards to come out in order.
    pending: list[tuple[bool, Any, str]] = [(False, arguments, "")]
    while pending:
        is_path, value, anchor = pending.pop()
        if isinstance(value, dict):
            anchor = _anchor_in(value) or anchor
            pending += ((isinstance(key, str) and key.lower() in _PATH_KEYS, inner, anchor) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            pending += ((is_path, inner, anchor) for inner in reversed(value))
        # A longer one is no path but a text.
        elif is_path and isinstance(value, str) and value.strip() and len(value) <= 400 and "\n" not in value:  # noqa: PLR2004
            yield value, _anchor_of(value) or anchor


def _anchor_in(arguments: Mapping[Any, Any]) -> str:
    """Return the symbol, or the lines, a call names beside its path."""
    for key in _SYMBOL_KEYS:
        if isinstance(arguments.get(key), str) and arguments[key].strip():
            return _shown(arguments[key], _ANCHOR_SHOWN)
    for first, last in _LINE_KEYS:
        start, stop = arguments.get(first), arguments.get(last)
        # `True` is a 1 to Python and no line.
        if type(start) is int:
            return f"line {start}" if type(stop) is not int or stop == start else f"lines {start}-{stop}"
    return ""


def _anchor_of(path: str) -> str:
    found = _PATH_ANCHOR.fullmatch(path)
    if found is None:
        return ""
    return _shown(found["symbol"] or f"line {found['line']}", _ANCHOR_SHOWN)
