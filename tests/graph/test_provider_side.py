"""Providers that compact on their side, over their own HTTP forms: noticed, on record, and answered by saying again what may be gone."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.nodes import CompactContext
from langchain_ctxguard.graph.state import GuardedState
from langchain_ctxguard.records.provider_compactions import ProviderCompactionLog
from langchain_ctxguard.testing.summarizers import ScriptedSummarizer
from tests.graph.models import WORDS, Facts, thread
from tests.support.compacting_server import Turn, after_compaction, compacting

RULE = "Never refund more than 50 EUR."
ASKED = "My order is ORD-4711 and the deadline is 2026-12-15. Refund 40 EUR."
WINDOW = {"max_input_tokens": 200_000, "tool_calling": True}
DIALECTS = ["anthropic", "openai"]


@tool
def look_up() -> str:
    """Return the order."""
    return "Order ORD-4711: invoice INV-2026-0077, status shipped."


def client_of(dialect: str, url: str, **settings: Any) -> BaseChatModel:
    if dialect == "anthropic":
        edits = {"edits": [{"type": "compact_20260112"}]}
        return ChatAnthropic(
            model="claude-of-the-test",
            api_key="k",
            base_url=url,
            max_retries=0,
            profile=WINDOW,
            context_management=edits,
            betas=["compact-2026-01-12"],
            **settings,
        )
    return ChatOpenAI(
        model="gpt-of-the-test", api_key="k", base_url=f"{url}/v1", max_retries=0, profile=WINDOW, use_responses_api=True, store=False, **settings
    )


async def say(agent: Any, text: str, how: str) -> None:
    given = {"messages": [HumanMessage(text)]}
    if how == "sync":
        agent.invoke(given, thread())
    elif how == "async":
        await agent.ainvoke(given, thread())
    else:
        async for _ in agent.astream(given, thread(), stream_mode="messages"):
            pass


def events_of(facts: Facts, kind: str) -> list[ContextEvent]:
    return [event for event in facts.all if isinstance(event, ContextEvent) and event.kind == kind]


@pytest.mark.parametrize("how", ["sync", "async", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_behind_a_providers_summary_rules_values_and_request_stand_again(dialect: str, how: str) -> None:
    """In the middle of a turn the provider summarizes everything; the next request tells the model the rule, the values and the request."""
    with compacting(Turn("summarized", tool="look_up"), Turn()) as provider:
        facts, store = Facts(), GuardStore.open("memory://")
        guard = ContextGuard(constraints=[RULE], hooks=[facts], store=store)
        agent = create_agent(client_of(dialect, provider.url, streaming=how == "stream"), [look_up], middleware=[guard], checkpointer=InMemorySaver())
        await say(agent, ASKED, how)

        shown = provider.shown()
        assert RULE in shown
        assert "2026-12-15" in shown
        assert "ORD-4711 and the deadline" in shown, "the current request, word for word"
        (event,) = events_of(facts, "provider_compacted")
        assert event.compacted is not None
        assert ("summarized", dialect) == (event.compacted.kind, event.compacted.provider)
        (entry,) = ProviderCompactionLog(store).all("t-1")
        assert event.compacted == entry.compaction


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_without_the_guard_they_are_gone(dialect: str) -> None:
    """The server of these tests does lose them: without a guard the same run shows the model no value."""
    with compacting(Turn("summarized", tool="look_up"), Turn()) as provider:
        agent = create_agent(client_of(dialect, provider.url), [look_up], system_prompt=RULE, checkpointer=InMemorySaver())
        await say(agent, ASKED, "sync")
        assert "2026-12-15" not in provider.shown()
        assert (dialect == "anthropic") == (RULE in provider.shown()), "Anthropic keeps `system` apart"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_evidence_and_summary_of_our_own_compaction_stand_again(dialect: str) -> None:
    """What stands for messages that we took out stands in front of the view, which the provider drops: it stands behind its summary too."""
    with compacting(Turn(), Turn(), Turn(), Turn("summarized"), Turn()) as provider:
        summarizer = ScriptedSummarizer([SummaryDraft(user_intent="Settle order ORD-4711.", pending_items=["Mail the ledger to Ana."])])
        guard = ContextGuard(constraints=[RULE], trigger=("tokens", 900), keep=("turns", 1), summarizer=summarizer)
        agent = create_agent(client_of(dialect, provider.url), [], middleware=[guard], checkpointer=InMemorySaver())
        for text in (f"{ASKED} Mail the ledger to Ana.", "And then?", "And after that?", "Go on.", "What is left?"):
            await say(agent, f"{text} {WORDS * 12 if text != 'What is left?' else ''}", "sync")

        listed = provider.bodies[-1].get("messages") or provider.bodies[-1]["input"]
        assert listed != after_compaction(listed), "the provider did drop something"
        shown = provider.shown()
        assert "context_summary" in shown
        assert "ledger" in shown
        assert "2026-12-15" in shown


async def test_values_of_cleared_tool_results_stand_again_and_nothing_else() -> None:
    """Where the provider clears results of tools, what people said is still there; only critical values of tools are said again."""
    with compacting(Turn(tool="look_up"), Turn("cleared"), Turn()) as provider:
        facts = Facts()
        settings: Any = {"control_fields": {"critical": ["INV-2026-0077"]}}
        guard = ContextGuard(GuardConfig.model_validate(settings), constraints=[RULE], hooks=[facts])
        agent = create_agent(client_of("anthropic", provider.url), [look_up], middleware=[guard], checkpointer=InMemorySaver())
        await say(agent, ASKED, "sync")
        await say(agent, "Thanks. And now?", "sync")

        (event,) = events_of(facts, "provider_compacted")
        assert event.compacted is not None
        assert (2, 700) == (event.compacted.cleared_tool_uses, event.compacted.cleared_tokens)
        sent = str(provider.bodies[-1]["messages"])
        note = sent[sent.index("provider_compaction") :]
        assert "INV-2026-0077" in note
        assert "- deadline" not in note


async def test_a_summary_that_failed_changes_nothing() -> None:
    """Anthropic's block without content is a no-op for its server, and for us."""
    with compacting(Turn("failed"), Turn()) as provider:
        facts = Facts()
        agent = create_agent(
            client_of("anthropic", provider.url), [], middleware=[ContextGuard(constraints=[RULE], hooks=[facts])], checkpointer=InMemorySaver()
        )
        await say(agent, ASKED, "sync")
        await say(agent, "And now?", "sync")
        assert [] == events_of(facts, "provider_compacted")
        assert "provider_compaction" not in str(provider.bodies[-1])


async def test_what_stands_again_stays_where_it_is() -> None:
    """It stands behind the answer that tells of the compaction, in every later request the same bytes: the prompt cache reads it again."""
    with compacting(Turn("summarized"), Turn(), Turn()) as provider:
        agent = create_agent(client_of("anthropic", provider.url), [], middleware=[ContextGuard(constraints=[RULE])], checkpointer=InMemorySaver())
        for text in (ASKED, "And now?", "The deadline is now 2027-01-31."):
            await say(agent, text, "sync")
        second, third = (body["messages"] for body in provider.bodies[1:])
        assert second[:2] == third[:2]
        assert str(second[2]["content"]).count("2026-12-15") == str(third[2]["content"]).count("2026-12-15") > 0


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_plain_graphs_say_it_again_too(dialect: str, is_async: bool) -> None:  # noqa: FBT001
    """`guard.view` shows it, and `CompactContext` finds the compaction in the state and puts it on record."""
    with compacting(Turn("summarized"), Turn(), Turn()) as provider:
        facts, store = Facts(), GuardStore.open("memory://")
        guard = ContextGuard(constraints=[RULE], hooks=[facts], store=store)
        model = client_of(dialect, provider.url)
        builder = StateGraph(GuardedState)
        builder.add_node("compact", CompactContext(guard, model=model))
        builder.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})
        builder.add_edge(START, "compact")
        builder.add_edge("compact", "model")
        graph = builder.compile(checkpointer=InMemorySaver())
        for text in (ASKED, "And now?", "And then?"):
            await say(graph, text, "async" if is_async else "sync")

        assert RULE in provider.shown()
        assert "2026-12-15" in provider.shown()
        assert 1 == len(events_of(facts, "provider_compacted"))
        assert 1 == len(ProviderCompactionLog(store).all("t-1"))


@pytest.mark.parametrize(
    "settings",
    [
        {"truncation": "auto"},
        {"context_management": [{"type": "compaction", "compact_threshold": 1000}]},
        {"use_previous_response_id": True},
        {"extra_body": {"transforms": ["middle-out"]}},
    ],
)
async def test_a_setting_that_may_drop_rules_is_warned_about_once(settings: dict[str, Any]) -> None:
    """However many calls are made, one warning and one event name the setting."""
    with compacting() as provider:
        facts = Facts()
        guard = ContextGuard(constraints=[RULE], hooks=[facts])
        agent = create_agent(client_of("openai", provider.url, **settings), [], middleware=[guard], checkpointer=InMemorySaver())
        with pytest.warns(UserWarning, match="may drop rules"):
            await say(agent, ASKED, "sync")
        await say(agent, "And now?", "sync")  # a second warning would fail the test
        assert 1 == len(events_of(facts, "provider_may_drop_rules"))


async def test_a_store_that_refuses_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compaction is told to the hooks, and so is the store's refusal; the model's answer is handed on."""

    def refuse(*_: Any, **__: Any) -> bool:
        msg = "down"
        raise StoreError(msg)

    monkeypatch.setattr(ProviderCompactionLog, "note", refuse)
    with compacting(Turn("summarized")) as provider:
        facts = Facts()
        guard = ContextGuard(constraints=[RULE], hooks=[facts], store=GuardStore.open("memory://"))
        agent = create_agent(client_of("anthropic", provider.url), [], middleware=[guard], checkpointer=InMemorySaver())
        answer = agent.invoke({"messages": [HumanMessage(ASKED)]}, thread())["messages"][-1]
        assert isinstance(answer, AIMessage)
        assert 1 == len(events_of(facts, "store_failed"))
        assert 1 == len(events_of(facts, "provider_compacted"))


def test_the_server_of_these_tests_drops_what_stands_before_a_compaction() -> None:
    """And nothing where there is none."""
    listed = [{"role": "user", "content": "a"}, {"type": "compaction", "encrypted_content": "x"}, {"role": "user", "content": "b"}]
    assert listed[1:] == after_compaction(listed)
    assert listed[:1] == after_compaction(listed[:1])
