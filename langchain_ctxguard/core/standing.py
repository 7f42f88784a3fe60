"""What the standing state of a thread says to a tool call, and what its events add up to. Read from a store, never from messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from langchain_ctxguard.domain.standing import (
    ArgumentsReleased,
    ArgumentsReplaced,
    Effect,
    MarkedSynthetic,
    Mode,
    ModeSet,
    Permission,
    PermissionsSet,
    PhaseClosed,
    PhaseEnded,
    QuestionAnswered,
    QuestionAsked,
    Replaced,
    StandingChange,
    StandingEvent,
    StandingState,
)
from langchain_ctxguard.domain.value import canonical_json, digest_of

_KEPT = 200
"""Replaced arguments and marked messages that are remembered; the oldest are forgotten first."""

_MODES = {
    Mode.PLAN: "the thread is in plan mode, which changes nothing. Present the plan; a person ends the mode, through the application",
    Mode.READ_ONLY: "the thread is read-only. Only a person changes that, through the application: report what you would do",
}


def standing_verdict(effect: Effect | None, standing: StandingState, *, tool: str = "", arguments: str | None = None) -> str | None:
    """Return why a call must not run now, or `None`.

    Args:
        effect: What the tool does; `None`: nobody said, which counts as changing something.
        standing: The standing state of the root thread.
        tool: Its name, for the permission map and for replaced arguments.
        arguments: Digest of the arguments that would run, as `arguments_digest` makes it.

    >>> standing_verdict("read", StandingState(mode=Mode.PLAN)) is None
    True
    >>> print(standing_verdict("write", StandingState(mode=Mode.READ_ONLY)))
    the thread is read-only. Only a person changes that, through the application: report what you would do
    """
    if standing.permissions.get(tool) == "deny":
        return "the permissions of this thread deny it. Do without it, or say that it is needed"
    if effect == "read":
        return None
    if standing.mode is not Mode.ACT:
        return _MODES[standing.mode]
    if standing.question is not None:
        return "your question has no answer from a person yet. Wait for it; nothing that was put in since stands for one"
    if replaced_by(standing, tool, arguments) is not None:
        return "a person replaced these very arguments by others. Use those, or ask the person before you go back"
    return None


def permission_of(tool: str, standing: StandingState) -> Permission | None:
    """Return what the thread's permission map says of a tool; `None`: nothing."""
    return standing.permissions.get(tool)


def replaced_by(standing: StandingState, tool: str, arguments: str | None) -> Replaced | None:
    """Return the replacement a call would undo, `None` where it undoes none."""
    if arguments is None:
        return None
    return next((one for one in reversed(standing.replaced) if one.tool == tool and one.digest == arguments), None)


def arguments_digest(arguments: Mapping[str, Any] | str) -> str:
    """Return what tells the arguments of a call from any others, whatever the order of their keys.

    >>> arguments_digest({"a": 1, "b": 2}) == arguments_digest({"b": 2, "a": 1}), arguments_digest({"a": 1}) == arguments_digest({"a": 1.0})
    (True, False)
    """
    return digest_of(arguments if isinstance(arguments, str) else canonical_json(arguments))


def folded(events: Iterable[tuple[int, StandingEvent]], state: StandingState | None = None) -> StandingState:
    """Return what numbered events make of a state, oldest first."""
    now = state or StandingState()
    for seq, event in events:
        now = _after(now, event).model_copy(update={"seq": seq})
    return now


def _after(state: StandingState, event: StandingEvent) -> StandingState:
    return state.model_copy(update=_update(state, event.change))


def _update(state: StandingState, change: StandingChange) -> dict[str, Any]:
    update: dict[str, Any] = {}
    match change:
        case ModeSet():
            update["mode"] = change.mode
        case PermissionsSet():
            update["permissions"] = change.permissions
        case QuestionAsked():
            update["question"] = change.question
        case QuestionAnswered():
            # An answer to a question that another one has taken the place of answers nothing.
            if state.question is not None and state.question.message == change.message:
                update["question"] = None
        case ArgumentsReplaced():
            new = change.replaced
            # What a person put in is allowed again, whatever they thought of it before.
            rest = [one for one in state.replaced if (one.tool, one.digest) not in {(new.tool, new.digest), (new.tool, new.by)}]
            update["replaced"] = (*rest, new)[-_KEPT:]
        case ArgumentsReleased():
            update["replaced"] = tuple(one for one in state.replaced if one.tool != change.tool or change.digest not in {"", one.digest})
        case PhaseEnded() | PhaseClosed():
            update["phase"] = change.reason if isinstance(change, PhaseEnded) else ""
        case MarkedSynthetic():
            update["synthetic"] = tuple(dict.fromkeys((*state.synthetic, *change.messages)))[-_KEPT:]
        case _:
            assert_never(change)
    return update
