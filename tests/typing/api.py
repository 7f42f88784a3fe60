"""The public types as a user's type checker sees them: read by `make types`, never run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, assert_type

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.store.base import BaseStore

from langchain_ctxguard import (
    ChatModelSummarizer,
    CompactContext,
    Compaction,
    ConsentLedger,
    ConsentReader,
    Constraint,
    ContextCheckpointer,
    ContextGuard,
    ContextVerifier,
    Extensions,
    ExtractiveSummarizer,
    GuardConfig,
    GuardedState,
    GuardStore,
    Handoff,
    HandoffGuard,
    PolicyToolNode,
    RunInput,
    ToolGuard,
    ToolPolicy,
    ToolRequest,
    Verdict,
    VerifyContext,
    acompact_messages,
    authorize,
    compact_messages,
    guard_tools,
)
from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.core.invariants import Broken, broken
from langchain_ctxguard.core.standing import arguments_digest, standing_verdict
from langchain_ctxguard.domain.consent import Consent, Consents
from langchain_ctxguard.domain.invariant import StructuredState
from langchain_ctxguard.domain.log import Entry
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.upcoming import UpcomingCompaction
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.domain.work_metrics import WorkMetrics
from langchain_ctxguard.domain.worklog import WorkEntry
from langchain_ctxguard.events import CompactionFinished, StreamEvent, StreamEvents, read_event
from langchain_ctxguard.ports import BlobStore, ConsentReading, Log, Summarizer, TextIndex, TokenCounter, VerifiableLog
from langchain_ctxguard.tracing import LangSmithTracer, OpenTelemetryTracer


def compacts_objects(messages: list[BaseMessage]) -> None:
    """A list of messages goes in, a list of messages comes out."""
    compaction = compact_messages(messages, constraints=["Only query orders."], keep=("turns", 3), budget=4_000)
    assert_type(compaction, Compaction)
    assert_type(compaction.messages, list[BaseMessage])
    assert_type(compaction.tokens_before, int)
    assert_type(compaction.tokens_after, int)
    assert_type(compact_messages([*compaction.messages, HumanMessage("And now?")], previous=compaction.head), Compaction)


def compacts_dicts(messages: list[dict[str, Any]], counter: TokenCounter) -> None:
    """Dicts go in, and dicts come back from `to_dicts()`."""
    assert_type(compact_messages(messages, token_counter=counter).to_dicts(), list[dict[str, Any]])


async def compacts_without_blocking(messages: list[AnyMessage]) -> None:
    """The async form answers with the same type."""
    assert_type(await acompact_messages(messages, must_keep=["ORD-1"]), Compaction)


def judges_a_call(policy: ToolPolicy, path: Path, now: datetime) -> None:
    """A policy, a function, or several of them decide about a request."""
    request = ToolRequest(tool="pay", args={"amount": 5}, thread="t-1")

    def office_hours(call: ToolRequest) -> str | None:
        return "ask" if call.tool == "pay" else None

    assert_type(authorize(request, policy, now=now), Verdict)
    assert_type(authorize(request, [policy, ToolPolicy.from_file(path), office_hours], now=now).reason, str)
    assert_type(authorize(request, None, now=now).rules, tuple[str, ...])


def chooses_a_summarizer(model: BaseChatModel) -> list[Summarizer]:
    """Both summarizers fit the port."""
    return [ExtractiveSummarizer(), ChatModelSummarizer(model)]


def guards_an_agent(model: BaseChatModel) -> None:
    """The guard stands in a middleware list, alone or in the built-in summarizer's place."""
    guard = ContextGuard(constraints=["Only query orders.", Constraint.from_text("Never show a phone number.")], trigger=("tokens", 4_000))
    create_agent(model, middleware=[guard])
    create_agent(model, middleware=[guard.replacing_summarizer()])


def guards_tools(guard: ContextGuard, model: BaseChatModel, tools: list[BaseTool]) -> None:
    """Tools are wrapped, guarded by a middleware, or run in a node; a policy is a value, a mapping, a function or a file."""
    create_agent(model, guard.tools(tools), middleware=[guard, ToolGuard(guard)])
    StateGraph(GuardedState).add_node("tools", PolicyToolNode(tools, guard))
    assert_type(guard_tools(tools, ToolPolicy(), store="memory://", subject="user_id", audit="digest"), list[Any])
    guard_tools(tools, {"default": "deny"})
    guard_tools(tools, [ToolPolicy(), lambda request: "ask"])
    guard_tools(tools, "ctxguard.yaml")


def guards_a_graph(guard: ContextGuard, state: GuardedState) -> None:
    """A plain graph takes the node, and a model node sends the view."""
    graph = StateGraph(GuardedState)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("compact_by_config", CompactContext(GuardConfig()))
    assert_type(guard.view(state), list[BaseMessage])


def opens_a_store(base: BaseStore) -> tuple[Log, VerifiableLog, BlobStore, TextIndex]:
    """A store opens by URL or on a LangGraph store, and its parts fit the ports; so does a log in memory."""
    with GuardStore.open("sqlite:///ctxguard.db", tenant="red") as store:
        assert_type(store, GuardStore)
        assert_type(store.log.append(store.stream("audit", "t"), [b"{}"], expected=0), list[Entry])
        assert_type(store.blobs.get("t", ["0"]), dict[str, bytes])
    return MemoryLog(), GuardStore.open(base).log, store.blobs, store.index


def hands_over(guard: ContextGuard, model: BaseChatModel, tools: list[BaseTool], base: BaseStore) -> None:
    """A hand-over guard registers with a guard over a folder or a store, and stands in a middleware list; what it keeps is read as values."""
    handoff = HandoffGuard(guard, Path("checkout"), check=["pytest", "-q"], check_timeout_s=60, folder=".ctxguard", mode="auto", model=model)
    create_agent(model, tools, middleware=[guard, handoff])
    HandoffGuard(ContextGuard(), base, mode="explore")
    assert_type(handoff.newest("t-1"), Handoff | None)
    assert_type(handoff.entries("t-1"), tuple[WorkEntry, ...])
    assert_type(handoff.metrics("t-1", {}), WorkMetrics)
    assert_type(Handoff.from_markdown(Handoff.from_json("{}").to_markdown()), Handoff)
    StateGraph(GuardedState).add_node("hand_over", handoff.node())
    guard.end_phase("t-1", "the parser is finished")


def verifies_somebody_elses_compaction(guard: ContextGuard, model: BaseChatModel) -> None:
    """The verifier stands in a middleware list, the node and its reader in a graph; a config may take the guard's place."""
    create_agent(model, middleware=[ContextVerifier(guard, on_loss="rollback", on_change="ask")])
    verify = VerifyContext(GuardConfig(), before="messages", after="summarized_messages")
    graph = StateGraph(GuardedState)
    graph.add_node("read", verify.reader)
    graph.add_node("verify", verify)


def reads_consents(store: GuardStore) -> None:
    """A ledger writes, a reader answers, and a guard shows what reads."""
    ledger = ConsentLedger(store, surface="settings page")
    assert_type(ledger.grant("send_mail", value=True, subject="u-1", basis="consent", recorded_by="u-1"), Consent)
    assert_type(ledger.reader(), ConsentReader)
    assert_type(ContextGuard(store=store).consents, ConsentReading | None)
    reading: ConsentReading = ConsentReader(store)
    assert_type(reading.read("u-1", thread="t-1"), Consents)


def holds_what_stands(guard: ContextGuard, model: BaseChatModel, state: StructuredState) -> None:
    """An application sets where a thread stands and says what must hold; a gate of its own asks the pure judgement."""
    guard.set_mode("t-1", "plan", by="ann")
    standing = guard.standing("t-1")
    standing.set_permissions({"send_mail": "deny"})
    assert_type(standing.state, StandingState)
    assert_type(standing_verdict("write", standing.state, tool="send_mail", arguments=arguments_digest({"to": "a"})), str | None)
    assert_type(ContextGuard.synthetic("Continue."), HumanMessage)
    create_agent(model, middleware=[RunInput(guard), guard])
    graph = StateGraph(GuardedState)
    graph.add_node("input", RunInput(guard))
    Extensions(invariants={"rules": lambda before, after: set(before.constraints) <= set(after.constraints)})
    assert_type(broken((), state, state), tuple[Broken, ...])


async def wraps_a_saver(inner: BaseCheckpointSaver[str], store: GuardStore) -> None:
    """A saver in, a saver out, for any agent."""
    saver = ContextCheckpointer(inner, store=store, channels=("messages",))
    assert_type(saver, ContextCheckpointer)
    create_agent("openai:gpt-5", checkpointer=saver)
    assert_type(saver.unwrap("thread"), int)
    assert_type(await saver.acollect("thread"), int)
    ContextCheckpointer(inner, store="sqlite:///ctxguard.db")


def listens_to_a_stream(guard: ContextGuard, model: BaseChatModel) -> None:
    """A chunk becomes a value of a closed set, or none of ours."""
    for chunk in create_agent(model, middleware=[guard]).stream({"messages": []}, stream_mode="custom"):
        event = read_event(chunk)
        assert_type(event, StreamEvent | None)
        if isinstance(event, CompactionFinished):
            assert_type(event.tokens_after, int)
    ContextGuard(hooks=[StreamEvents(only=["policy.denied"]), LangSmithTracer(content="full"), OpenTelemetryTracer()])


def has_a_say() -> Extensions:
    """A word before, a word after; a lambda will do."""

    def before(ahead: UpcomingCompaction) -> str | None:
        return None if ahead.is_full else "later"

    def after(record: CompactionRecord) -> str | None:
        return f"{record.evicted_messages} messages left."

    Extensions(before_compaction=lambda ahead: ahead.tokens > 1_000, after_compaction=lambda _: None)
    return Extensions(before_compaction=before, after_compaction=after)
