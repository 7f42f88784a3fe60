"""A person's answer held against what was asked: which decisions it holds, or why it opens nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_ctxguard.core.calls import open_questions
from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.policy import AskNeed
from langchain_ctxguard.domain.tool_call import CallLedger, DecisionType, Question

Fault = Literal["malformed", "digest", "ambiguous", "premature", "approver", "count", "edit"]

REMARKS: Mapping[str, str] = {
    "malformed": 'The answer could not be read. Answer {"decisions": [{"type": "approve" | "edit" | "reject" | "respond", ...}]}.',
    "digest": "The answer was for another question. Answer this one, with its `digest`.",
    "ambiguous": "Several questions are open in this step. Repeat the `digest` of this one in the answer.",
    "premature": "An answer came before this question was asked, so it was for another one. Answer this one.",
    "approver": "The answer came from somebody who may not give it: `approver` in the runtime context names the wrong role, or the requester.",
    "count": "The answer does not hold one decision for each call.",
    "edit": "The edited call cannot run here: no such tool, or arguments it does not take.",
}
"""What the person is told when the question is asked again."""


@dataclass(frozen=True, slots=True)
class Given:
    """One decision of an answer."""

    choice: DecisionType
    message: str | None = None
    tool: str | None = None
    args: Mapping[str, Any] | None = None


def read_answer(  # noqa: PLR0911 - one line for each way an answer fails
    value: Any, question: Question, ledger: CallLedger, approver: Approver, *, is_new: bool, is_alone: bool = True
) -> tuple[Given, ...] | Fault:
    """Return the decisions of an answer, one for each call asked about, or why it does not count.

    Args:
        value: What came back.
        question: What was asked.
        ledger: What is on record of the thread.
        approver: Who answers, as the runtime says.
        is_new: Whether the question went on record only now: then the answer cannot be to it.
        is_alone: Whether no other call asks in the same task.
    """
    if is_new:
        return "premature"
    raw = _decisions(value)
    if raw is None:
        return "malformed"
    echoed = {digest for digest in (_text(part, "digest") for part in (value, *raw)) if digest is not None}
    if echoed - {question.digest}:
        return "digest"
    if not echoed and (not is_alone or [one.digest for one in open_questions(ledger, question.task)] != [question.digest]):
        return "ambiguous"
    if len(raw) == 1 and echoed and raw[0].get("type") in {"approve", "reject"}:
        # The digest stands for all of them together: one word on it is a word on each.
        raw = raw * len(question.bindings)
    if len(raw) != len(question.bindings):
        return "count"
    given = [_given(part, question) for part in raw]
    if any(one is None for one in given):
        return "malformed"
    decisions = cast("list[Given]", given)
    if any(
        one.choice != "reject" and not may_answer(approver, needs, question.requester) for one, needs in zip(decisions, question.needs, strict=True)
    ):
        return "approver"
    return tuple(decisions)


def may_answer(approver: Approver, needs: Sequence[AskNeed], requester: str | None) -> bool:
    """Say whether somebody has a say in a call. Anybody may reject: that opens nothing."""
    return not needs or any(need.approver is None or _is_met(need.approver, approver, requester) for need in needs)


def _is_met(role: str, approver: Approver, requester: str | None) -> bool:
    # Where nobody knows who asked for a call, it may be the same person.
    return approver.role == role and requester is not None and approver.id != requester


def _decisions(value: Any) -> list[Mapping[str, Any]] | None:
    if not isinstance(value, Mapping):
        return None
    found = value.get("decisions", [value] if "type" in value else None)
    if not isinstance(found, list) or not found or any(not isinstance(part, Mapping) for part in found):
        return None
    return found


def _given(part: Mapping[str, Any], question: Question) -> Given | None:
    choice, message = part.get("type"), part.get("message")
    if message is not None and not isinstance(message, str):
        return None
    match choice:
        case "approve" | "reject":
            return Given(cast("DecisionType", choice), message)
        case "respond":
            return None if message is None else Given("respond", message)
        case "edit" if question.kind == "approval":
            action = part.get("edited_action")
            if not isinstance(action, Mapping) or not isinstance(action.get("name"), str) or not isinstance(action.get("args"), Mapping):
                return None
            return Given("edit", message, action["name"], action["args"])
        case _:
            return None


def _text(part: Any, key: str) -> str | None:
    found = part.get(key) if isinstance(part, Mapping) else None
    return None if found is None else str(found)
