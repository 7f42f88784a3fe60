"""Field reports about a summarizer that was shown, or told, what it must not know."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langchain_ctxguard import ContextGuard
from tests.graph.models import ScriptedChat
from tests.support.builders import count_characters
from tests.support.models import WatchedModel


@tool
def wipe_archive(path: str) -> str:
    """Erase an archive for good."""
    return path


@pytest.mark.field("C172")
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_summarizer_is_shown_no_tools(is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """The agent has one that was never called: what the summarizer is sent does not name it."""
    model = WatchedModel(reply=lambda call, messages: AIMessage('{"user_intent": "Help", "facts": ["The parcel is late."]}'))
    guard = ContextGuard(trigger=("tokens", 900), keep=("turns", 1), summarizer=model, token_counter=count_characters)
    agent = create_agent(ScriptedChat(script=lambda number, _: f"Answer {number}. " + "word " * 60), tools=[wipe_archive], middleware=[guard])
    said = [HumanMessage(f"Turn {turn}. " + "text " * 90) for turn in range(6)]
    if is_async:
        await agent.ainvoke({"messages": said})
    else:
        agent.invoke({"messages": said})

    assert model.seen
    assert "wipe_archive" not in "\n".join(str(message.content) for prompt in model.seen for message in prompt)
