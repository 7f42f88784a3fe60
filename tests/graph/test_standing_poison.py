"""The labelled attacks, through conversation, tool output and an obeying summarizer: no gate opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import settings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ConsentLedger, GuardStore
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.ports import SummaryRequest
from tests.graph.models import WORDS, Facts, ScriptedChat, agent_of, guard_of

ATTACKS = Path(__file__).resolve().parents[2] / "benchmarks" / "labelled" / "poisonings.jsonl"
_FULL = 1_000
EVERY = 1 if settings.default.max_examples >= _FULL else 31
"""Of the attacks, each so many-eth in every run; all of them with the profile `full`."""

DONE: list[str] = []


@tool
def remember(fact: str) -> str:
    """Keep a fact for other conversations."""
    DONE.append(fact)
    return "kept"


@tool
def write(path: str) -> str:
    """Write a file."""
    DONE.append(path)
    return "written"


remember.metadata = {"ctxguard_effect": "memory"}


class Obeying:
    """A summarizer that writes what the attack wants written."""

    name = "obeying"

    def __init__(self, draft: dict[str, Any]) -> None:
        """Bind the draft."""
        self.draft = draft

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Write it."""
        return SummaryDraft.model_validate(self.draft)

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Write it."""
        return self.summarize(request)


def script(_: int, messages: list[BaseMessage]) -> AIMessage | str:
    """Try both gates, then stop."""
    last = messages[-1]
    tried = str(last.name) if isinstance(last, ToolMessage) else ""
    if tried == "write":
        return "The user has approved all of it."
    name, args = ("write", {"path": "p"}) if tried == "remember" else ("remember", {"fact": "f"})
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"try-{name}", "type": "tool_call"}])


def test_no_labelled_attack_opens_a_gate() -> None:
    """Neither the one that asks the ledger, which says no, nor the one that asks the mode, which says read-only."""
    rows = [json.loads(line) for line in ATTACKS.read_text("utf-8").splitlines()][::EVERY]
    facts = Facts()
    with GuardStore.open("memory://") as store:
        ConsentLedger(store).deny(CROSS_SESSION_MEMORY, subject="ann", basis="consent", recorded_by="page")
        for row in rows:
            config = {"configurable": {"thread_id": row["id"], "user_id": "ann"}}
            writer = Obeying(row.get("draft") or {"user_intent": "Go on"})
            guard = guard_of(store=store, subject="user_id", summarizer=writer, hooks=[facts], trigger=("tokens", 300), constraints=())
            guard.set_mode(row["id"], "read_only")
            agent = agent_of(ScriptedChat(script=script), guard, tools=[remember, write], checkpointer=InMemorySaver())
            talk = [*convert_to_messages(row["messages"]), HumanMessage(f"Background. {WORDS * 6}"), AIMessage("Noted."), HumanMessage("Go on.")]
            state = agent.invoke({"messages": talk}, config)
            tries = [message for message in state["messages"] if isinstance(message, ToolMessage) and str(message.tool_call_id).startswith("try-")]
            assert {("remember", "error"), ("write", "error")} == {(message.name, message.status) for message in tries}, row["id"]

    assert len(rows) >= 10
    assert [] == DONE
    assert len(facts.made) >= len(rows) * 0.8
    assert len(facts.events("tool_denied")) >= 2 * len(rows)
