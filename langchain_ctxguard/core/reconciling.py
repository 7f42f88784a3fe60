"""How a reconciliation goes on: what its events add up to, and what the next call that changes something leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from langchain_ctxguard.domain.reconcile import (
    Began,
    Checked,
    Confirmed,
    Contradiction,
    Held,
    Noticed,
    ReconcileEvent,
    ReconcileState,
    SearchSeen,
    Stated,
    Waived,
)

_HELD_KEPT = 50
_SEARCHES_KEPT = 200
_TOLD_KEPT = 1_000

NextStep = Literal["pass", "state", "confirm", "hold_again", "block"]
"""Let it run; write the status first; hold the files against the log once more; deny it as before; deny it unless the check passes now."""


@dataclass(frozen=True, slots=True)
class AskedCall:
    """What of a call decides whether it may run."""

    call_id: str | None = None
    siblings: tuple[str, ...] = ()
    touches: tuple[str, ...] | None = ()
    """Files it names; `None`: nobody can tell which it changes."""

    is_reading: bool = False
    """Whether it changes nothing in the workspace."""

    @property
    def all_calls(self) -> tuple[str, ...]:
        """Ids of all calls of its message, its own among them."""
        return tuple(dict.fromkeys((*self.siblings, *([self.call_id] if self.call_id else []))))


def next_step(state: ReconcileState, call: AskedCall) -> NextStep:
    """Return what a call leads to."""
    if call.is_reading:
        return "pass"
    if state.held_for(call.call_id) is not None:
        return "hold_again"
    match state.phase:
        case "due":
            return "state"
        case "stated":
            return "confirm"
        case "idle" | "settled":
            return "block" if state.is_blocking and not mends(state, call) else "pass"
        case _:
            assert_never(state.phase)


def mends(state: ReconcileState, call: AskedCall) -> bool:
    """Say whether a call changes only files that may be changed while the check fails."""
    return bool(call.touches) and set(call.touches or ()) <= set(state.may_mend)


def untold(state: ReconcileState, found: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """Return the contradictions that have denied no call yet."""
    return tuple(one for one in found if one.name not in state.told)


def folded(events: Iterable[ReconcileEvent], state: ReconcileState | None = None) -> ReconcileState:
    """Return what events make of a state, oldest first."""
    now = state or ReconcileState()
    for event in events:
        now = now.model_copy(update=_update(now, event))
    return now


def _update(state: ReconcileState, event: ReconcileEvent) -> dict[str, Any]:  # noqa: PLR0911 - one case for each event
    match event:
        case Began():
            return {} if state.baseline is not None else {"baseline": event}
        case Noticed():
            return {} if event.version == state.version else {"version": event.version, "phase": "due"}
        case Stated():
            # A status of a context that is no longer the newest says nothing of this one.
            return {} if event.version != state.version or state.phase != "due" else _stated(event)
        case Confirmed():
            return {"phase": "settled"} if state.phase == "stated" else {}
        case Held():
            told = tuple(dict.fromkeys((*state.told, *(one.name for one in event.contradictions))))
            mend = tuple(dict.fromkeys((*state.may_mend, *event.may_mend)))
            return {"phase": "settled", "told": told[-_TOLD_KEPT:], "held": (*state.held, event)[-_HELD_KEPT:], "may_mend": mend}
        case Checked():
            return {"check": event.check, "is_blocking": event.is_blamed, "may_mend": event.may_mend, "print": event.print}
        case Waived():
            return _waived(state, event)
        case SearchSeen():
            rest = tuple(one for one in state.searches if one.effect != event.effect)
            return {"searches": (*rest, event)[-_SEARCHES_KEPT:]}
        case _:
            assert_never(event)


def _stated(event: Stated) -> dict[str, Any]:
    about = {"check": event.check, "is_blocking": event.is_blamed, "may_mend": event.may_mend, "print": event.print}
    return {"phase": "stated", "stated": event, **about}


def _waived(state: ReconcileState, event: Waived) -> dict[str, Any]:
    update: dict[str, Any] = {}
    if event.what in {"check", "all"}:
        update["is_blocking"] = False
    if event.what in {"contradictions", "all"} and state.stated is not None:
        update["told"] = tuple(dict.fromkeys((*state.told, *state.stated.contradictions)))[-_TOLD_KEPT:]
    return update
