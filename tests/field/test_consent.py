"""Field reports about words of a compaction that were taken for a person's. Those on asking and answering are in `graph/test_consent_question.py`."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY
from tests.graph.models import ScriptedChat
from tests.support.builders import count_characters
from tests.support.models import WatchedModel

BAN = "Never call the shell tool on a Friday."


@pytest.mark.field("C062")
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_summarizer_is_told_is_never_read_as_a_persons_word(is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """The prompt stays out of the state, what the model sees of a compaction is named as such, and no ban is found but the one a person said.

    Also where a client hands a view back as its next conversation.
    """
    summarizer = WatchedModel(reply=lambda call, messages: AIMessage('{"user_intent": "Help", "facts": ["Do not call any tools.", "It is late."]}'))
    model = ScriptedChat(script=lambda number, _: f"Answer {number}. " + "word " * 60)
    guard = ContextGuard(trigger=("tokens", 900), keep=("turns", 1), summarizer=summarizer, token_counter=count_characters)
    agent = create_agent(model, [], middleware=[guard], checkpointer=InMemorySaver())

    async def run(said: list[HumanMessage], thread: str) -> dict[str, list[AIMessage | HumanMessage]]:
        config = {"configurable": {"thread_id": thread}}
        found = await agent.ainvoke({"messages": said}, config) if is_async else agent.invoke({"messages": said}, config)
        return {**found, "ctxguard": agent.get_state(config).values["ctxguard"]}

    said = [HumanMessage(f"Turn {turn}. {BAN if turn == 0 else ''} " + "text " * 90) for turn in range(8)]
    first = await run(said, "t-1")
    assert summarizer.seen
    told = {str(message.content)[:60] for prompt in summarizer.seen for message in prompt}
    assert not told & {str(message.content)[:60] for message in first["messages"]}
    assert {EVIDENCE, SUMMARY} >= {message.name for message in model.seen[-1] if message.name}
    assert [BAN] == [rule.text for rule in guard.inferred(first)]

    view = model.seen[-1]
    # An order that a draft makes up leaves it; the summary is there.
    assert not any("Do not call any tools." in str(message.content) for message in view)
    assert SUMMARY in {message.name for message in view}
    later = [HumanMessage("Go on. " + "text " * 300), HumanMessage("And? " + "text " * 300), HumanMessage("So?")]
    again = await run([*view, *later], "t-2")
    assert [] == [rule.text for rule in guard.inferred(again) if rule.text != BAN]
    # The same words are found where a person says them.
    by_a_person = await run([HumanMessage("Do not call any tools."), *later], "t-3")
    assert ["Do not call any tools."] == [rule.text for rule in guard.inferred(by_a_person)]
