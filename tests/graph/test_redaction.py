"""A redactor in an agent: beside LangChain's own, in either order, sync and async."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard, Extensions
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from tests.graph.models import ScriptedChat
from tests.support.builders import count_characters
from tests.support.models import SpySummarizer, WatchedModel

EMAIL = "zoe.chan@example.com"
PHONE = "555-0199"
NOTES = json.dumps({"user_intent": "Help with the order", "facts": ["The parcel is late and will be sent again."]})


class Records:
    """A hook that keeps the records."""

    def __init__(self) -> None:
        """Keep none yet."""
        self.records: list[CompactionRecord] = []

    def span(self, name: str, facts: Any) -> Any:
        from contextlib import nullcontext

        return nullcontext()

    def record(self, fact: Any) -> None:
        if isinstance(fact, CompactionRecord) and fact.outcome is not Outcome.SKIPPED:
            self.records.append(fact)


def without_phone(text: str) -> str:
    return text.replace(PHONE, "[phone]")


def agent_with(summarizer: Any, records: Records, *, guard_first: bool, redact: Any = without_phone) -> Any:
    guard = ContextGuard(
        trigger=("tokens", 900),
        keep=("turns", 1),
        summarizer=summarizer,
        token_counter=count_characters,
        hooks=[records],
        extensions=Extensions(redact=redact),
    )
    pii = PIIMiddleware("email", strategy="redact", apply_to_input=True, apply_to_output=True, apply_to_tool_results=True)
    model = ScriptedChat(script=lambda number, _: f"Answer {number}: I wrote to {EMAIL}, telephone {PHONE}. " + "word " * 60)
    return create_agent(model, middleware=[guard, pii] if guard_first else [pii, guard], checkpointer=InMemorySaver())


@pytest.mark.field("C164")
@pytest.mark.parametrize("guard_first", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_either_removes_reaches_neither_model_nor_summary(guard_first: bool, is_async: bool) -> None:  # noqa: FBT001 - parameters of a test
    """LangChain's redaction of the state and ours of what leaves the view hold together, whoever stands first."""
    model, records = (
        WatchedModel(reply=lambda call, messages: AIMessage('{"user_intent": "Help with the order", "facts": ["The parcel is late."]}')),
        Records(),
    )
    agent = agent_with(model, records, guard_first=guard_first)
    config = {"configurable": {"thread_id": "t"}}
    for turn in range(6):
        given = {"messages": [HumanMessage(f"Turn {turn}: my address is {EMAIL}, call {PHONE}. " + "text " * 60)]}
        if is_async:
            await agent.ainvoke(given, config)
        else:
            agent.invoke(given, config)

    assert records.records
    assert model.seen
    prompts = "\n".join(str(message.content) for prompt in model.seen for message in prompt)
    assert "[phone]" in prompts
    assert EMAIL not in prompts
    assert PHONE not in prompts
    body = json.dumps(agent.get_state(config).values["ctxguard"], default=str)
    assert EMAIL not in body
    assert PHONE not in body


def shown(seen: list[list[BaseMessage]]) -> str:
    """Return what the agent's model was shown in place of what left its view."""
    return "\n".join(str(message.content) for prompt in seen for message in prompt if message.name in ("context_summary", "context_evidence"))


def test_every_part_of_what_stands_for_the_past_is_redacted() -> None:
    """First request, last request, evidence, quotes of the fallback: none is taken from the message as it was."""
    records = Records()
    guard = ContextGuard(
        trigger=("tokens", 2_500),
        keep=("turns", 1),
        summarizer=ExtractiveSummarizer(),
        token_counter=count_characters,
        hooks=[records],
        extensions=Extensions(redact=without_phone),
    )
    model = ScriptedChat(script=lambda number, _: AIMessage(f"I will call {PHONE}. " + "word " * 300))
    agent = create_agent(model, middleware=[guard], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    for turn in range(8):
        agent.invoke({"messages": [HumanMessage(f"Never call {PHONE} in turn {turn} before noon. " + "text " * 300)]}, config)

    assert Outcome.ACCEPTED in {record.outcome for record in records.records}
    assert "[phone]" in shown(model.seen)
    assert PHONE not in shown(model.seen)


def test_where_the_redactor_fails_no_model_is_asked() -> None:
    """The fallback quotes what could be redacted; what could not is withheld; the record names the error, not the text."""

    def failing(text: str) -> str:
        if PHONE in text:
            msg = f"cannot handle {text}"
            raise RuntimeError(msg)
        return text

    spy, records = SpySummarizer(), Records()
    agent = agent_with(spy, records, guard_first=True, redact=failing)
    model_config = {"configurable": {"thread_id": "t"}}
    for turn in range(6):
        text = f"Turn {turn}: the order is late. {PHONE if turn == 0 else ''} " + "text " * 60
        agent.invoke({"messages": [HumanMessage(text)]}, model_config)

    assert records.records
    assert spy.requests == []
    assert all("redact: RuntimeError" in record.failures for record in records.records)
    assert PHONE not in json.dumps(agent.get_state(model_config).values["ctxguard"], default=str)
    assert PHONE not in "".join(record.model_dump_json() for record in records.records)
