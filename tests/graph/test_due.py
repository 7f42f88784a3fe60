"""When a compaction is due again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.measuring import conversation
from langchain_ctxguard.core.compaction import COOL_DOWN
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.graph.guard import ContextGuard
from tests.graph.models import Facts
from tests.support.tool_calls import Messages


@pytest.mark.parametrize("window", [300, 400, 500])
def test_a_compaction_in_a_small_window_does_not_start_the_next_one(window: int) -> None:
    """After one that was accepted, the view grows by a fifth before anything is compacted again, unless the window is full."""
    facts, asked = Facts(), [0]

    def answer(_: Any) -> AIMessage:
        asked[0] += 1
        return AIMessage(conversation(1, start=asked[0])[0].text[:48])

    guard = ContextGuard(GuardConfig.from_dict({"compaction": {"window": window}}), constraints=["Never delete an order."], hooks=[facts])
    agent = create_agent(Messages(answer=answer), [], middleware=[guard], checkpointer=InMemorySaver())
    for turn in range(30):
        agent.invoke({"messages": [("user", conversation(1, start=500 + turn)[0].text[:48])]}, {"configurable": {"thread_id": "t"}})

    pairs = [(one, two) for one, two in itertools.pairwise(facts.records) if one.outcome in {Outcome.ACCEPTED, Outcome.FELL_BACK}]
    assert len(pairs) > 3
    early = [(one.tokens_after, two.tokens_before) for one, two in pairs if two.tokens_before < int(one.tokens_after * COOL_DOWN)]
    assert [] == [pair for pair in early if pair[1] <= window]
