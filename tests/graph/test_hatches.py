"""Ways out for when the context itself is the trouble: each does one thing, says why, and touches no rule."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.errors import ConfigurationError
from tests.graph.models import Facts, ScriptedChat, agent_of, assert_pinned, chat, guard_of, said, system_texts, thread


def test_an_invalidated_prefix_is_another_one_for_every_later_call() -> None:
    """A mark behind the system prompt, the same until the next invalidation; the pins stay as they were."""
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(hooks=[facts])
    agent = agent_of(model, guard, checkpointer=InMemorySaver(), system_prompt="SYS")
    agent.invoke(said("one"), thread())
    guard.hatches.invalidate_prefix(reason="the provider answered from a poisoned cache")
    agent.invoke(said("two"), thread())
    agent.invoke(said("three"), thread())

    first, second, third = map(system_texts, model.seen)
    assert first != second
    assert second == third
    assert '\n\n<context_prefix generation="1"/>' in second
    for view in model.seen:
        assert_pinned(view)
    assert ["prefix_invalidated"] == [fact.kind for fact in facts.all]


def test_a_rebuilt_context_starts_from_the_originals() -> None:
    """The summary is gone at the next call; the messages never were."""
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(hooks=[facts], trigger=("tokens", 1_000))
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 8)
    assert any("context_summary" in str(message.name) for message in model.seen[-1])
    state = agent.get_state(thread())
    version = state.values["ctxguard"]["version"]

    agent.update_state(thread(), guard.hatches.rebuild_context(state.values, reason="the summary is wrong", thread="t-1"), as_node="model")
    head = agent.get_state(thread()).values["ctxguard"]

    assert version + 1 == head["version"]
    assert head["body"] is None
    agent.invoke(said("next"), thread())
    assert "context_rebuilt" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]
    assert DriftReason.REBUILD == facts.reports[-1].drift_reason
    assert len(agent.get_state(thread()).values["messages"]) == 18


def test_full_evidence_shows_the_whole_history_for_so_many_calls() -> None:
    """Then the view in force is back; nothing was written."""
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(hooks=[facts])
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 6)
    head = agent.get_state(thread()).values["ctxguard"]

    guard.hatches.full_evidence("t-1", reason="a dispute about turn 1")
    agent.invoke(said("what did I say first?"), thread())
    agent.invoke(said("and now?"), thread())

    assert any(message.text.startswith("Turn 0") for message in model.seen[-2])
    assert not any(message.text.startswith("Turn 0") for message in model.seen[-1] if message.name is None)
    assert head["version"] <= agent.get_state(thread()).values["ctxguard"]["version"]
    assert "full_evidence" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]


def test_no_hatch_opens_without_a_reason() -> None:
    """All a later reader of the record has is the reason."""
    hatches = guard_of().hatches
    with pytest.raises(ConfigurationError, match="reason"):
        hatches.invalidate_prefix(reason=" ")
    with pytest.raises(ConfigurationError, match="reason"):
        hatches.rebuild_context({}, reason="")
    with pytest.raises(ConfigurationError, match="reason"):
        hatches.full_evidence("t-1", reason="")
    with pytest.raises(ConfigurationError, match="at least one"):
        hatches.full_evidence("t-1", reason="why", calls=0)
