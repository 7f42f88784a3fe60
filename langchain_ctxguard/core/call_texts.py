"""What a model reads in the place of a tool's result when the tool did not run, and what a person reads in a question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from langchain_ctxguard.domain.policy import ToolRequest, Verdict

NOTHING_HAPPENED = "Nothing happened: the tool did not run."


def denied_text(verdict: Verdict) -> str:
    """Say what was refused, that nothing happened, and what to do instead."""
    return " ".join(filter(None, (f"Denied `{verdict.tool}`: {verdict.reason}.", NOTHING_HAPPENED, verdict.instead)))


def cannot_tell_text(tool: str, what: str) -> str:
    """Say that the guard could not judge; by the type of the fault alone, for its words may be anybody's."""
    return (
        f"Denied `{tool}`: it could not be judged ({what}). {NOTHING_HAPPENED} "
        "Do not try another way around it: go on without it, or say that it is needed and failed."
    )


def nobody_text(verdict: Verdict) -> str:
    """Say that a person would have to agree and none can be asked."""
    return (
        f"Denied `{verdict.tool}`: {verdict.reason}, so a person has to agree, and nobody can be asked here. {NOTHING_HAPPENED} "
        "Call it in a run of a graph with a checkpointer, which can wait for an answer."
    )


def no_thread_text(tool: str) -> str:
    """Say that a call needs a thread."""
    return (
        f"Denied `{tool}`: what a person agreed to, and what may run once, is known by thread, and the call belongs to none. {NOTHING_HAPPENED} "
        "Run it with `configurable: {thread_id: ...}`."
    )


def exceeded_text(tool: str, rule: str, reason: str) -> str:
    """Say that a budget does not hold the call."""
    return f"Denied `{tool}`: rule '{rule}': {reason}. {NOTHING_HAPPENED} Do without it, or ask the user for more."


def running_text(tool: str, until: datetime) -> str:
    """Say that the same call was begun before and may be running."""
    return (
        f"Denied `{tool}`: the same call was begun before and its outcome is unknown; it counts as running until {_moment(until)}. "
        "It was not started again. Look up what came of it, or ask after that time: a person then decides."
    )


def unknown_text(tool: str) -> str:
    """Say that the outcome of the same call is unknown and nobody can be asked about it."""
    return (
        f"Denied `{tool}`: the same call was begun before and its outcome is unknown. It was not started again. "
        "Look up what came of it; only a person can let it run once more."
    )


def unknown_outcome_note(begun: datetime) -> str:
    """Say in a question that an earlier attempt may have done it already."""
    return (
        f"An earlier attempt was begun at {_moment(begun)} and its outcome is unknown: it may have been carried out. "
        "Approve to run it again, answer with what came of it, or reject."
    )


def receipt_text(tool: str, at: datetime | None, content: Any) -> str:
    """Say that a call ran before, and what it returned then."""
    kept = "What it returned was not kept." if content is None else f"It returned: {content}"
    return f"{receipt_lead(tool, at)} {kept}"


def receipt_lead(tool: str, at: datetime | None) -> str:
    """Say that a call ran before, what it returned then apart."""
    when = "" if at is None else f" at {_moment(at)}"
    return f"`{tool}` has run with these arguments{when} and was not run again."


def not_kept_text(lost: Sequence[str]) -> str:
    """Say what of a result is not in its receipt."""
    return f"Not kept of what it returned: {', '.join(lost)}."


def edited_text(tool: str, arguments: str) -> str:
    """Say to a model that a person made another call of its own."""
    return f"A person changed this call before it ran: `{tool}` ran with {arguments}. Do not repeat the call you made."


def rejected_text(tool: str, reason: str | None) -> str:
    """Say that a person said no."""
    why = f" with the reason: {reason}" if reason else ""
    return f"Denied `{tool}`: a person rejected the call{why}. {NOTHING_HAPPENED} Do not try it again unless the user asks for it."


def edit_failed_text(tool: str) -> str:
    """Say that what a person made of the call cannot run here."""
    return f"Denied `{tool}`: a person changed the call into one that cannot run here. {NOTHING_HAPPENED}"


def question_text(request: ToolRequest, verdict: Verdict, note: str = "") -> str:
    """Say to a person what is asked and why. The arguments stand beside it, not in it."""
    roles = list(dict.fromkeys(need.approver for need in verdict.asks if need.approver))
    who = f" It takes the role {' and '.join(map(repr, roles))}, and somebody else than who asked for it." if roles else ""
    whose = f" Asked for by {request.requester}." if request.requester else ""
    return " ".join(filter(None, (f"A person has to agree to `{request.tool}`: {verdict.reason}.{who}{whose}", note)))


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
