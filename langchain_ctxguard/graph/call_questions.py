"""Questions about tool calls, put to a person by `interrupt()` in the shape that interfaces of LangChain's human-in-the-loop know."""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from langchain_ctxguard.core.call_texts import question_text
from langchain_ctxguard.core.effects import AskAboutCalls, AskedBefore, NobodyThere, PersonsAnswer, Shown
from langchain_ctxguard.domain.tool_call import Question
from langchain_ctxguard.graph.call_site import UNNAMED, Site

_CHOICES = {"approval": ("approve", "edit", "reject", "respond"), "outcome": ("approve", "reject", "respond")}


def ask_in_graph(effect: AskAboutCalls, site: Site) -> PersonsAnswer | NobodyThere:
    """Pause the run until a person answers; outside a run there is nobody."""
    if not site.can_pause:
        return NobodyThere()
    try:
        answer = interrupt(asked(effect.question, effect.shown, effect.remark))
    except (RuntimeError, KeyError):
        return NobodyThere()
    return PersonsAnswer(answer, site.approver or UNNAMED)


def let_pass(effect: AskedBefore, site: Site) -> PersonsAnswer | None:
    """Take an answer that is on record off the task's list. Where the run has none left, as after a replay, the person is asked again."""
    if not site.can_pause:
        return None
    return PersonsAnswer(interrupt(asked(effect.question, effect.shown, "")), site.approver or UNNAMED)


def asked(question: Question, shown: tuple[Shown, ...], remark: str) -> dict[str, Any]:
    """Return the question as a `HITLRequest`, and beside it what an answer may echo to name it."""
    requests, configs = [], []
    for one in shown:
        note = " ".join(filter(None, (one.note, remark)))
        requests.append({"name": one.request.tool, "args": dict(one.request.args), "description": question_text(one.request, one.verdict, note)})
        configs.append({"action_name": one.request.tool, "allowed_decisions": list(_CHOICES[question.kind])})
    return {
        "action_requests": requests,
        "review_configs": configs,
        "type": "tool_approval",
        "digest": question.digest,
        "tool_call_ids": [binding.call_id for binding in question.bindings],
        "requester": question.requester,
    }
