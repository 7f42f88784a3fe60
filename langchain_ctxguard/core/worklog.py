"""What a work log adds up to: how each file was left, what is open, what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_ctxguard.domain.approval import arguments_digest
from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState


def effect_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a name for what a call does: equal for two calls that do the same, whatever their ids.

    >>> effect_digest("edit", {"a": 1, "b": 2}) == effect_digest("edit", {"b": 2, "a": 1})
    True
    """
    try:
        digest = arguments_digest(arguments)
    except (TypeError, ValueError):
        digest = digest_of(canonical_json(arguments))
    return digest_of(canonical_json([tool, digest]))


def files_left(entries: Sequence[WorkEntry]) -> dict[str, FileState]:
    """Return how each file was left by the last step that changed it, by path, in order of the first change."""
    left: dict[str, FileState] = {}
    for entry in entries:
        # Also a call that failed may have changed files: what it left is what there is.
        if entry.files:
            left.update((state.path, state) for state in entry.files)
    return left


def last_step_on(entries: Sequence[WorkEntry], path: str) -> WorkEntry | None:
    """Return the last step that changed a file, `None` where none did."""
    return next((entry for entry in reversed(entries) if entry.state is WorkState.DONE and any(one.path == path for one in entry.files)), None)


def open_entries(entries: Sequence[WorkEntry]) -> tuple[WorkEntry, ...]:
    """Return what is still to be done and what is still in the way, oldest first."""
    closed = {number for entry in entries for number in entry.closes}
    # What the harness found half done is settled by the next step on the same files that succeeds.
    left = {state.path: entry.number for entry in entries if entry.state is WorkState.DONE for state in entry.files}
    closed |= {
        entry.number
        for entry in entries
        if entry.said_by == "harness" and entry.files and all(left.get(state.path, 0) > entry.number for state in entry.files)
    }
    return tuple(entry for entry in entries if entry.state in (WorkState.NEXT, WorkState.BLOCKED) and entry.number not in closed)


def closed_entries(entries: Sequence[WorkEntry]) -> tuple[WorkEntry, ...]:
    """Return what was next and was closed since by whoever said so, oldest first: nothing but their word says that it is finished."""
    closed = {number for entry in entries for number in entry.closes}
    return tuple(entry for entry in entries if entry.state is WorkState.NEXT and entry.number in closed)


def places_done_since(entries: Sequence[WorkEntry], number: int, places: Sequence[CodePlace]) -> frozenset[CodePlace]:
    """Return the places at which a step stands that came after an entry. A step on a file is none at each symbol in it."""
    later = [entry for entry in entries if entry.state is WorkState.DONE and entry.number > number]
    at = {str(place) for entry in later for place in entry.places} | {state.path for entry in later for state in entry.files}
    return frozenset(place for place in places if str(place) in at)


def decisions_in(entries: Sequence[WorkEntry]) -> tuple[Decision, ...]:
    """Return what was decided, oldest first."""
    return tuple(entry.decision for entry in entries if entry.decision is not None)
