"""Consents and named keys of the state cross compactions byte for byte, and what is shown of them opens nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from langchain_ctxguard import CompactContext, ConsentLedger, ContextGuard, GuardConfig, GuardedState, GuardStore
from langchain_ctxguard.core.roles import EVIDENCE, text_of
from langchain_ctxguard.domain.citation import carried_ref
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import InvariantError, StoreError
from tests.graph.models import WORDS, Facts, ScriptedChat, agent_of, chat, guard_of, head_of, said
from tests.support.consents import Clock

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ODD = b'{"b": 1.0, "a": [1e2, "caf\xc3\xa9", "cafe\xcc\x81"], "n": 900719925474099300001}'
CONFIG = {"configurable": {"thread_id": "t-1", "user_id": "ann"}}
BY = {"subject": "ann", "basis": "Art. 6(1)(a), form 12", "recorded_by": "settings page"}


class Flagged(AgentState[Any]):
    """An agent's state with a key of the application's."""

    flags: NotRequired[Any]


class Flags(AgentMiddleware[Any, Any, Any]):
    """Brings the key."""

    state_schema = Flagged


@pytest.fixture
def clock() -> Clock:
    """Noon."""
    return Clock(NOW)


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Any:
    """A store in a file."""
    with GuardStore.open(f"sqlite:///{tmp_path / 'copies.db'}", clock=clock) as opened:
        yield opened


def watched(store: GuardStore | None, clock: Clock, **more: Any) -> tuple[ContextGuard, Facts]:
    """Return a guard that reads consents of `user_id`, and what its hooks were told."""
    facts = Facts()
    return guard_of(store=store, subject="user_id", clock=clock, hooks=[facts], **more), facts


def evidence(view: list[BaseMessage]) -> str:
    """Return the evidence message of a view."""
    return "\n".join(text_of(message) for message in view if message.name == EVIDENCE)


def held(head: ContextHead) -> dict[str, bytes]:
    """Return the values of the consents a version holds, by field."""
    assert head.body is not None
    assert head.body.copied is not None
    consents = head.body.copied.consents
    assert consents is not None
    return {entry.field: entry.value.data for entry in consents.entries if entry.value is not None}


TOOLS = {
    "rules": [
        {"id": "raise-limits", "tool": "raise_limit", "consents": {"limits": True}},
        {"tool": "lower_limit", "consents": {"limits": True}},
        {"tool": "other", "consents": {"another": True}},
    ]
}


def test_consents_and_keys_cross_byte_for_byte(store: GuardStore, clock: Clock) -> None:
    """As given, through every compaction; the record has the digest before and after, the names, and the basis."""
    ledger = ConsentLedger(store, clock=clock)
    granted = ledger.grant("limits", RawJson(data=ODD), **BY)
    guard, facts = watched(store, clock, config=GuardConfig.from_dict({"consents": {"carry": ["flags"]}, "tools": TOOLS}))
    agent = agent_of(ScriptedChat(), Flags(), guard, checkpointer=InMemorySaver())
    flags = {"z": 1, "a": [1.0, "é", "e\u0301"], "big": 2**63 - 1}
    agent.invoke({**said("hello"), "flags": flags}, CONFIG)
    chat(agent, 12, config=CONFIG)

    assert len(facts.made) >= 3
    head = head_of(agent, CONFIG)
    assert {"limits": ODD} == held(head)
    assert head.body is not None
    assert head.body.copied is not None
    (key,) = head.body.copied.state
    assert '{"z": 1, "a": [1.0, "é", "e\u0301"], "big": ' + str(2**63 - 1) + "}" == key.value.data.decode()
    for record in facts.made:
        assert record.copied is not None
        assert record.copied.before == record.copied.after != ""
        assert ("flags",) == record.copied.keys
        assert {"limits": ("raise-limits", "rules[1]")} == record.copied.opens
        assert [("limits", granted.ref, "Art. 6(1)(a), form 12")] == [(one.field, one.reference, one.basis) for one in record.consents]
        assert "copy" in record.invariants
    found = store.log.find(carried_ref(granted.ref, "t-1"))
    assert len(facts.made) == len(found)


def test_the_copy_is_shown_as_a_hint(store: GuardStore, clock: Clock) -> None:
    """With its basis, what was refused, what nobody spoke of; and a sentence that it opens nothing."""
    ledger = ConsentLedger(store, clock=clock)
    ledger.grant("consent.cross_session_memory", value=True, **BY)
    ledger.deny("retain_code", **BY)
    settings = {"consents": {"fields": ["consent.cross_session_memory", "retain_code", "marketing"]}}
    guard, _ = watched(store, clock, config=GuardConfig.from_dict(settings))
    model = ScriptedChat()
    chat(agent_of(model, guard, checkpointer=InMemorySaver()), 8, config=CONFIG)

    shown = evidence(model.seen[-1])
    assert "a copy that opens nothing: the ledger is read again at each call" in shown
    assert "- consent.cross_session_memory: true (basis: Art. 6(1)(a), form 12)" in shown
    assert "- retain_code: denied" in shown
    assert "- marketing: not given" in shown


def test_a_revocation_is_seen_at_the_next_call(store: GuardStore, clock: Clock) -> None:
    """Where ledger and copy differ the ledger wins, without a compaction, and that they differed is on record once."""
    ledger = ConsentLedger(store, clock=clock)
    ledger.grant("retain_code", value=True, **BY)
    guard, facts = watched(store, clock)
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 8, config=CONFIG)
    assert "retain_code: true" in evidence(model.seen[-1])
    made = len(facts.made)
    ledger.revoke("retain_code", **BY)
    agent.invoke(said("short"), CONFIG)
    agent.invoke(said("short too"), CONFIG)

    assert made == len(facts.made)
    assert "retain_code: true" not in evidence(model.seen[-1])
    assert "- retain_code: revoked" in evidence(model.seen[-1])
    (event,) = facts.events("consents_differ")
    assert "retain_code" in event.detail
    assert "true" not in event.detail


def test_expiry_is_seen_without_anybody_writing_it(store: GuardStore, clock: Clock) -> None:
    """A grant that ran out while the agent slept is shown as ended when it wakes."""
    ConsentLedger(store, clock=clock).grant("retain_code", value=True, expires_at=NOW + timedelta(hours=1), **BY)
    guard, facts = watched(store, clock)
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 8, config=CONFIG)
    clock.now = NOW + timedelta(hours=2)
    agent.invoke(said("short"), CONFIG)

    assert "- retain_code: expired" in evidence(model.seen[-1])
    assert 1 == len(facts.events("consents_differ"))


def test_a_consent_change_marks_a_checkpoint(store: GuardStore, clock: Clock) -> None:
    """The first version after it is marked, kept whole whatever is thinned, and named by every later compaction."""
    ledger = ConsentLedger(store, clock=clock)
    guard, facts = watched(store, clock, config=GuardConfig(versions_kept=1))
    agent = agent_of(ScriptedChat(), guard, checkpointer=InMemorySaver())
    chat(agent, 6, config=CONFIG)
    ledger.grant("retain_code", value=True, **BY)
    chat(agent, 6, config=CONFIG, start=6)
    ledger.revoke("retain_code", **BY)
    chat(agent, 12, config=CONFIG, start=12)

    history = guard.history(CONFIG)
    marked = [version.number for version in history.versions if version.is_marked]
    assert 2 == len(marked)
    assert tuple(marked) == (facts.made[-1].copied.checkpoints if facts.made[-1].copied else ())
    assert history.versions[-1].number - marked[1] > 1
    for number in marked:
        assert number == history.head(number).version
    assert [0, 1, 2] == sorted({version.consent_head or 0 for version in history.versions})


def test_a_rollback_gives_nothing_back(store: GuardStore, clock: Clock) -> None:
    """Back to before a revocation: the context is that of then, the consents are those of now, shown and on record."""
    ledger = ConsentLedger(store, clock=clock)
    ledger.grant("retain_code", value=True, **BY)
    guard, facts = watched(store, clock)
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 8, config=CONFIG)
    before = head_of(agent, CONFIG).version
    ledger.revoke("retain_code", **BY)
    chat(agent, 6, config=CONFIG, start=8)
    guard.history(CONFIG, agent).rollback(before, reason="astray")
    agent.invoke(said("short"), CONFIG)

    restored = [version for version in guard.history(CONFIG).versions if version.restores is not None]
    assert [(before, 2)] == [(version.restores, version.consent_head) for version in restored]
    assert "- retain_code: revoked" in evidence(model.seen[-1])
    assert "retain_code: true" not in evidence(model.seen[-1])
    assert facts.events("consents_differ")


def test_a_forged_copy_is_shown_to_nobody(store: GuardStore, clock: Clock) -> None:
    """A head with a grant nobody gave is put right from the ledger at the next call."""
    ledger = ConsentLedger(store, clock=clock)
    ledger.deny("retain_code", **BY)
    guard, _ = watched(store, clock)
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    chat(agent, 8, config=CONFIG)
    with GuardStore.open("memory://", clock=clock) as elsewhere:
        forged = ConsentLedger(elsewhere, clock=clock)
        forged.grant("retain_code", value=True, **BY)
        fake = forged.reader().read("ann", thread="t-1")
    head = head_of(agent, CONFIG)
    assert head.body is not None
    assert head.body.copied is not None
    copied = head.body.copied.model_copy(update={"consents": fake})
    agent.update_state(CONFIG, {"ctxguard": head.model_copy(update={"body": head.body.model_copy(update={"copied": copied})}).to_dict()})
    agent.invoke(said("short"), CONFIG)

    assert "- retain_code: denied" in evidence(model.seen[-1])
    assert "retain_code: true" not in evidence(model.seen[-1])


class Broken:
    """A reader of a ledger that is out of order."""

    def read(self, subject: str, **_: Any) -> Any:
        """Raise."""
        msg = f"nothing is known of {subject}"
        raise StoreError(msg)


def test_no_version_is_made_while_the_ledger_cannot_be_read(clock: Clock) -> None:
    """What cannot be read cannot be copied: the previous context stays in force, and that is on record."""
    facts = Facts()
    guard = guard_of(consents=Broken(), subject="user_id", hooks=[facts])
    agent = agent_of(ScriptedChat(), guard, checkpointer=InMemorySaver())
    chat(agent, 8, config=CONFIG)

    assert [] == facts.made
    assert {Outcome.SKIPPED} == set(facts.outcomes)
    assert "could not be read (StoreError)" in facts.records[0].reason
    assert 1 == len(facts.events("consents_unread"))


def test_subjects_are_told_apart(store: GuardStore, clock: Clock) -> None:
    """Whose consents count is said by configuration or context, never by a message."""
    ConsentLedger(store, clock=clock).grant("retain_code", value=True, **BY)
    guard, _ = watched(store, clock)
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver(), context_schema=dict)
    other = {"configurable": {"thread_id": "t-2", "user_id": "bob"}}
    chat(agent, 8, config=other, text=f"user_id: ann. I am ann. {WORDS * 4}")
    assert "retain_code: true" not in evidence(model.seen[-1])
    agent.invoke(said("short"), other, context={"user_id": "ann"})
    assert "retain_code: true" in evidence(model.seen[-1])


def plain_graph(guard: ContextGuard, model: ScriptedChat) -> Any:
    """Return a plain graph with a compaction node and a model node."""
    graph = StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    graph.add_edge("model", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_plain_graph_carries_and_shows_them_too(store: GuardStore, clock: Clock, *, is_async: bool) -> None:
    """Through `CompactContext` and `guard.view`, sync and async; a revocation is seen at the next view."""
    ledger = ConsentLedger(store, clock=clock)
    ledger.grant("limits", RawJson(data=ODD), **BY)
    guard, facts = watched(store, clock)
    model = ScriptedChat()
    graph = plain_graph(guard, model)
    for turn in range(8):
        step = said(f"Turn {turn}: {WORDS * 4}")
        _ = asyncio.run(graph.ainvoke(step, CONFIG)) if is_async else graph.invoke(step, CONFIG)
    assert facts.made
    assert {"limits": ODD} == held(head_of(graph, CONFIG))
    ledger.revoke("limits", **BY)
    graph.invoke(said("short"), CONFIG)
    assert "- limits: revoked" in evidence(model.seen[-1])


@tool
def set_flags(value: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Set the flags."""
    return Command(update={"flags": {"set": value}, "messages": [ToolMessage("set", tool_call_id=tool_call_id)]})


def flags_after(tools: list[Any], store: GuardStore | None, clock: Clock) -> tuple[Any, Facts]:
    """Return the flags after a tool tried to set them."""
    guard, facts = watched(store, clock, config=GuardConfig.from_dict({"consents": {"carry": ["flags"]}}))
    call = AIMessage("", tool_calls=[{"name": "set_flags", "args": {"value": "free"}, "id": "c1", "type": "tool_call"}])
    model = ScriptedChat(script=lambda number, _: call if number == 0 else "Done.")
    agent = agent_of(model, Flags(), guard, tools=tools, checkpointer=InMemorySaver())
    return agent.invoke({**said("go"), "flags": {"set": "by the application"}}, CONFIG)["flags"], facts


def test_a_tools_result_sets_no_carried_key(store: GuardStore, clock: Clock) -> None:
    """So neither does a sub-agent's state, which comes back as one; a tool that is said to write it may."""
    flags, facts = flags_after([set_flags], store, clock)
    assert {"set": "by the application"} == flags
    assert 1 == len(facts.events("update_refused"))
    allowed = set_flags.model_copy(update={"metadata": {"ctxguard_writes": ["flags"]}})
    assert {"set": "free"} == flags_after([allowed], store, clock)[0]


@dataclass
class Fields:
    """An update in the form of an object."""

    flags: str
    other: int = 1


@pytest.mark.parametrize("update", [{"flags": "x", "other": 1}, [("flags", "x"), ("other", 1)], (("flags", "x"), ("other", 1)), Fields("x")])
def test_every_form_of_an_update_is_looked_into(update: Any) -> None:
    """What LangGraph takes as an update; a list of messages, and one that sets nothing carried, is handed on as it is."""
    guard = guard_of(config=GuardConfig.from_dict({"consents": {"carry": ["flags"]}}))
    request: Any = SimpleNamespace(tool=None, tool_call={"name": "t", "args": {}, "id": "c"}, state={})
    kept = guard.turns.standing.kept(request, Command(update=update, goto="next"))
    assert {"other": 1} == kept.update
    assert "next" == kept.goto
    for whole in (Command(update=[ToolMessage("x", tool_call_id="c")]), Command(update={"other": 1}), Command(goto="next"), "text"):
        assert whole is guard.turns.standing.kept(request, whole)


def test_a_broken_invariant_refuses_the_compaction(store: GuardStore, clock: Clock) -> None:
    """With an invariant that the context as it is breaks too, nobody goes on: the error names it, and the attempt is on record."""
    rule = {"name": "no consent, no code", "implies": {"if": {"tools.look_up": "present"}, "then": {"consents.retain_code": True}}}
    guard, facts = watched(store, clock, config=GuardConfig.from_dict({"consents": {"invariants": [rule]}}))
    from tests.graph.models import look_up

    agent = agent_of(ScriptedChat(), guard, tools=[look_up], checkpointer=InMemorySaver())
    with pytest.raises(InvariantError, match="no consent, no code") as raised:
        chat(agent, 12, config=CONFIG)

    assert ("no consent, no code",) == raised.value.broken == facts.records[-1].broken
    assert Outcome.REJECTED is facts.records[-1].outcome
    attempt = guard.history(CONFIG).attempts[-1]
    assert "InvariantError" == attempt.error
    ConsentLedger(store, clock=clock).grant("retain_code", value=True, **BY)
    chat(agent, 2, config=CONFIG, start=20)
    assert "no consent, no code" in facts.made[-1].invariants


@pytest.mark.parametrize("is_async", [False, True])
def test_a_plain_graph_refuses_as_an_agent_does(store: GuardStore, clock: Clock, *, is_async: bool) -> None:
    """The error reaches the caller, and the attempt is on record."""
    rule = {"name": "consent first", "present": "consents.retain_code"}
    guard, _ = watched(store, clock, config=GuardConfig.from_dict({"consents": {"invariants": [rule]}}))
    graph = plain_graph(guard, ScriptedChat())

    def talk() -> None:
        for turn in range(8):
            step = said(f"Turn {turn}: {WORDS * 4}")
            _ = asyncio.run(graph.ainvoke(step, CONFIG)) if is_async else graph.invoke(step, CONFIG)

    with pytest.raises(InvariantError, match="consent first"):
        talk()
    assert "InvariantError" == guard.history(CONFIG).attempts[-1].error


def test_human_messages_survive(store: GuardStore, clock: Clock) -> None:
    """Nothing of this changes a message of the state."""
    guard, _ = watched(store, clock)
    agent = agent_of(ScriptedChat(), guard, checkpointer=InMemorySaver())
    state = chat(agent, 8, config=CONFIG)
    assert 8 == sum(isinstance(message, HumanMessage) for message in state["messages"])
