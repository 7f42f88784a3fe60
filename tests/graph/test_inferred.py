"""Rules said in passing: quoted with their source when their message leaves, in the user role, until a person decides."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ConstraintRegistry, GuardConfig
from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.errors import ConfigurationError
from tests.graph.models import WORDS, Facts, ScriptedChat, agent_of, chat, guard_of, said, system_texts, thread

BAN = "Never push to main."
ANN = ConstraintRegistry(MemoryLog()).writer("user", by="ann")


def evicted(guard: Any, *texts: str) -> tuple[Any, ScriptedChat]:
    """Return an agent in whose thread `texts` were said and left the view."""
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    for text in texts:
        agent.invoke(said(text), thread())
    chat(agent, 6)
    return agent, model


def evidence(view: Any) -> str:
    """Return the evidence message of a view."""
    return "".join(message.text for message in view if message.name == "context_evidence")


@pytest.mark.parametrize(("text", "rule"), [(f"Fix the build. {BAN}", BAN), ("先修一下构建。以后都必须用中文回答。", "以后都必须用中文回答。")])
def test_a_rule_said_in_passing_is_quoted_when_its_message_leaves(text: str, rule: str) -> None:
    """In the user role, with its source; never in the system message."""
    facts = Facts()
    agent, model = evicted(guard_of(hooks=[facts]), text)
    assert f'"{rule}"' in evidence(model.seen[-1])
    assert rule not in "".join(system_texts(model.seen[-1]))
    assert "inferred_found" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]
    assert rule not in str([fact for fact in facts.all if hasattr(fact, "kind")])
    assert agent.get_state(thread()).values["ctxguard"]["version"] >= 1


def test_a_later_rule_on_the_subject_takes_the_place_of_the_earlier_one() -> None:
    """The old text leaves the evidence."""
    _, model = evicted(guard_of(), "Use tabs for indentation.", "Use spaces for indentation instead of tabs.")
    assert "Use tabs for indentation." not in evidence(model.seen[-1])
    assert "spaces" in evidence(model.seen[-1])


SESAME, PEANUTS = "No sesame at the prep counter, ever.", "No peanuts at the prep counter, ever."


@pytest.mark.parametrize(("similar_rules", "left"), [("keep", [SESAME, PEANUTS]), ("replace", [PEANUTS])])
def test_a_rule_said_again_about_another_thing_ends_the_earlier_one_where_that_is_set(similar_rules: str, left: list[str]) -> None:
    """Over two compactions: quoted until the later one was said; then it is told by nothing, and the history of versions shows it go."""
    guard = guard_of(config=GuardConfig.from_dict({"similar_rules": similar_rules}), store="memory://")
    agent, model = evicted(guard, f"Fix the build. {SESAME}")
    assert f'"{SESAME}"' in evidence(model.seen[-1])
    first = guard.history(thread()).versions[-1].number
    agent.invoke(said(PEANUTS), thread())
    chat(agent, 6, start=10)

    state = agent.get_state(thread()).values
    assert left == [rule.text for rule in guard.inferred(state)]
    shown = "".join(message.text for message in model.seen[-1])
    assert left == [text for text in (SESAME, PEANUTS) if text in shown]
    diff = guard.history(thread()).diff(first, guard.history(thread()).versions[-1].number)
    assert ((SESAME,) if similar_rules == "replace" else ()) == diff.inferred.gone
    assert SESAME in str(state["messages"][0].content)

    agent.update_state(thread(), guard.disable_inferred(state, reason="none wanted"), as_node="model")
    assert () == guard.inferred(agent.get_state(thread()).values)


def test_a_confirmed_rule_is_pinned_and_no_longer_quoted() -> None:
    """The registry says who confirmed it and why; the next call has it among the rules."""
    registry = ConstraintRegistry(MemoryLog())
    guard = guard_of(registry=registry)
    agent, model = evicted(guard, f"Fix the build. {BAN}")
    state = agent.get_state(thread()).values
    (rule,) = [rule for rule in guard.inferred(state) if rule.text == BAN]

    agent.update_state(
        thread(), guard.settle_inferred(state, confirm=[rule.inferred_id], writer=registry.writer("user", by="ann"), reason="always"), as_node="model"
    )
    agent.invoke(said("go on"), thread())

    assert BAN in "".join(system_texts(model.seen[-1]))
    assert BAN not in evidence(model.seen[-1])
    assert () == tuple(other for other in guard.inferred(agent.get_state(thread()).values) if other.text == BAN)
    assert "ann" == guard.registry.history(f"inferred-{rule.inferred_id}")[0].event.by


def test_a_dropped_rule_does_not_come_back() -> None:
    """Neither at the next call nor at a later compaction."""
    guard = guard_of()
    agent, model = evicted(guard, f"Fix the build. {BAN}")
    state = agent.get_state(thread()).values
    ids = [rule.inferred_id for rule in guard.inferred(state)]

    agent.update_state(thread(), guard.settle_inferred(state, drop=ids, writer=ANN, reason="was a joke"), as_node="model")
    chat(agent, 8, start=10)

    assert all(BAN not in evidence(view) for view in model.seen[-8:])
    assert BAN not in "".join(system_texts(model.seen[-1]))


def test_an_unknown_id_changes_nothing() -> None:
    """The error says where to look."""
    guard = guard_of()
    agent, _ = evicted(guard, BAN)
    with pytest.raises(ConfigurationError, match="said-nobody"):
        guard.settle_inferred(agent.get_state(thread()).values, confirm=["said-nobody"], writer=ANN, reason="?")


@pytest.mark.parametrize("mode", ["ask", "off"])
def test_what_is_not_to_be_shown_is_not_shown(mode: str) -> None:
    """`ask`: kept for a person, not in sight. `off`: not even looked for."""
    guard = guard_of(config=GuardConfig.from_dict({"inferred": mode}))
    agent, model = evicted(guard, f"Fix the build. {BAN} {WORDS}")
    assert all(BAN.rstrip(".") not in evidence(view) for view in model.seen)
    found = [rule.text for rule in guard.inferred(agent.get_state(thread()).values)]
    assert (BAN in found) == (mode == "ask")


def test_the_hatch_forgets_them_and_looks_no_more() -> None:
    """Recorded with its reason."""
    facts = Facts()
    guard = guard_of(hooks=[facts])
    agent, model = evicted(guard, f"Fix the build. {BAN}")
    agent.update_state(thread(), guard.disable_inferred(agent.get_state(thread()).values, reason="too many false ones"), as_node="model")
    agent.invoke(said("Never use goto."), thread())
    chat(agent, 6, start=20)
    assert BAN not in evidence(model.seen[-1])
    assert "goto" not in evidence(model.seen[-1])
    assert "inferred_off" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]


def test_a_summary_sentence_against_a_pin_is_removed() -> None:
    """The rule stands in the pins; the sentence that turns it round does not stand beside it."""
    from langchain_ctxguard import compact_messages
    from langchain_ctxguard.domain.summary import Fact, SummaryDraft
    from langchain_ctxguard.testing.summarizers import ScriptedSummarizer

    draft = SummaryDraft(
        user_intent="tidy the orders",
        facts=(
            Fact(statement="Orders may be deleted when they are old."),
            Fact(statement="The warehouse is in Lyon and opens at eight."),
        ),
    )
    messages = [text for turn in range(20) for text in (("human", f"Question {turn}. {WORDS}"), ("ai", f"Answer {turn}. {WORDS}"))]
    result = compact_messages(messages, constraints=["Never delete an order."], summarizer=ScriptedSummarizer([draft]))
    summary = next(message.text for message in result.messages if message.name == "context_summary")
    assert "may be deleted" not in summary
    assert "Lyon" in summary
    assert 1 == result.record.distorted_sentences


def test_a_wish_for_this_time_ends_when_something_else_was_asked() -> None:
    """It is quoted while its task goes on, and forgotten after a later request."""
    agent, model = evicted(guard_of(), "For now, do not run the tests. Fix the build.")
    assert any("do not run the tests" in evidence(view) for view in model.seen)
    chat(agent, 6, start=30)
    assert "do not run the tests" not in evidence(model.seen[-1])
