"""Tool calls and results -> evidence. Read from the messages themselves: a summarizer cannot add an action or a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, FunctionMessage, HumanMessage

from langchain_ctxguard.core.evidence_places import effect_of, paths_in, shown_part
from langchain_ctxguard.core.file_effects import FileTouch, touched_by, written_action
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.recalled import RECALL_TOOLS
from langchain_ctxguard.core.references import references_in
from langchain_ctxguard.core.results import Result, reports_failure, results_in
from langchain_ctxguard.core.roles import Call, calls_of, function_call_of, text_of
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.core.units import Unit
from langchain_ctxguard.domain.evidence import Action, Artifact, ArtifactState, Evidence, Reference, Status
from langchain_ctxguard.domain.value import digest_of

__all__ = [
    "ARGUMENTS_SHOWN",
    "NAME_SHOWN",
    "REFERENCES_KEPT",
    "RESULT_SHOWN",
    "collect",
    "done_files",
    "effect_of",
    "is_changed",
    "is_refused_change",
    "listed_files",
    "paths_in",
]

NAME_SHOWN = 80
ARGUMENTS_SHOWN = 160
RESULT_SHOWN = 120
_LOOKED_AT = 4
"""How many times what is shown is read of a text: arguments may hold whole files."""

REFERENCES_KEPT = 60
"""Keys kept; of more the oldest are only counted, as the actions that held them are."""


def collect(messages: Sequence[BaseMessage], units: Sequence[Unit], previous: Evidence) -> Evidence:
    """Return `previous` with what the tool units add to it: actions in order, each file once with its last state, keys by name."""
    actions = list(previous.actions)
    artifacts = {artifact.path: artifact for artifact in previous.artifacts}
    references = {(known.name, known.value): known for known in previous.references}
    _answer_written(messages, units, actions, artifacts)
    for unit in units:
        function = function_call_of(messages[unit.start])
        if unit.kind != "tools" and function is None:
            _add_written(messages, unit, actions, artifacts)
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
            for touch in touched_by(call, "" if result is None else result.text):
                artifacts[touch.path] = _artifact(touch, action, artifacts.get(touch.path))
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


def _answer_written(messages: Sequence[BaseMessage], units: Sequence[Unit], actions: list[Action], artifacts: dict[str, Artifact]) -> None:
    """Settle an action written as text whose answer is the first message after the cut."""
    if not actions or actions[-1].status != "no_result" or actions[-1].call_id or not units:
        return
    told = messages[units[0].start]
    if not isinstance(told, HumanMessage):
        return
    text = text_of(told)
    actions[-1] = settled = actions[-1].model_copy(update=_outcome(Result("", text, reports_failure(text))))
    for artifact in [one for one in artifacts.values() if one.last_status == "no_result" and one.last_tool == settled.tool]:
        effect = effect_of(settled.tool) if artifact.state == "touched" else artifact.state
        artifacts[artifact.path] = _artifact(FileTouch(artifact.path, "", effect), settled, artifact)
    for touch in touched_by(Call(None, settled.tool, {}), text):
        artifacts[touch.path] = _artifact(touch, settled, artifacts.get(touch.path))


def _add_written(messages: Sequence[BaseMessage], unit: Unit, actions: list[Action], artifacts: dict[str, Artifact]) -> None:
    """Add the actions that the messages of a unit write as text: what a person's turn says next is what came of each."""
    for place in range(unit.start, unit.stop):
        call = written_action(messages[place])
        if call is None:
            continue
        answer = messages[place + 1] if place + 1 < len(messages) and isinstance(messages[place + 1], HumanMessage) else None
        told = None if answer is None else text_of(answer)
        action = _action(call, None if told is None else Result("", told, reports_failure(told)))
        actions.append(action)
        for touch in touched_by(call, told or ""):
            artifacts[touch.path] = _artifact(touch, action, artifacts.get(touch.path))


def done_files(evidence: Evidence) -> tuple[str, ...]:
    """Return the files a call changed with success, oldest first: what need not be done again."""
    return tuple(artifact.path for artifact in evidence.artifacts if artifact.is_done)


def is_changed(artifact: Artifact) -> bool:
    """Say whether a file was changed, or somebody tried to."""
    return artifact.state in ("written", "removed") or artifact.is_done


def is_refused_change(action: Action) -> bool:
    """Say whether a call was to change something and failed: what was tried and does not work."""
    return action.status == "failed" and effect_of(action.tool) in ("written", "removed")


def listed_files(evidence: Evidence) -> tuple[str, ...]:
    """Return those of `done_files` that the summary names."""
    done = done_files(evidence)
    return done if evidence.files_listed is None else done[len(done) - min(evidence.files_listed, len(done)) :]


def _artifact(touch: FileTouch, action: Action, known: Artifact | None) -> Artifact:
    effect = touch.effect
    state: ArtifactState = "touched" if known is None else known.state
    is_done = known is not None and known.is_done
    if action.status == "done" and (effect in ("written", "removed") or state not in ("written", "removed")):
        state = effect
    if effect in ("written", "removed"):
        is_done = action.status == "done"
    return Artifact(
        path=touch.path,
        last_tool=action.tool,
        last_status=action.status,
        anchor=touch.anchor or ("" if known is None else known.anchor),
        state=state,
        is_done=is_done,
    )


def _action(call: Call, result: Result | None) -> Action:
    arguments = call.arguments_text
    return Action(
        tool=shown_part(call.name, NAME_SHOWN) or "(unnamed tool)",
        call_id=call.call_id or "",
        arguments=shown_part(arguments, ARGUMENTS_SHOWN),
        argument_digest=digest_of(arguments)[:16],
        **_outcome(result),
    )


def _outcome(result: Result | None) -> dict[str, Any]:
    """Return what became of a call: its status, and the first line of its result."""
    if result is None:
        return {"status": "no_result", "result": ""}
    status: Status = "failed" if result.is_failed else "done"
    lines = result.text.lstrip()[: _LOOKED_AT * RESULT_SHOWN].splitlines()
    return {"status": status, "result": clipped(next((line for line in map(readable, lines) if line), ""), RESULT_SHOWN)}
