from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ExtendedModelResponse, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard
from langchain_ctxguard.core.fingerprint import SERIALIZER_VERSION
from langchain_ctxguard.core.remind import with_reminder
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import DriftReason, Price, PriceTable
from langchain_ctxguard.graph import prefix
from langchain_ctxguard.graph.prefix import PrefixWatch, StableTools
from langchain_ctxguard.graph.thread import thread_of
from tests.graph.models import Facts, ScriptedChat, StreamingChat, look_up, said, thread
from tests.support.builders import ai, count_characters, human, tool_loop

MODEL = ScriptedChat()


class Ticking:
    """A clock that shows what it is told."""

    def __init__(self) -> None:
        """Begin at 100 seconds."""
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def answer(given: int = 1_000, out: int = 10, **details: int) -> ModelResponse[Any]:
    used = {"input_tokens": given, "output_tokens": out, "total_tokens": given + out, "input_token_details": details}
    return ModelResponse(result=[AIMessage("ok", usage_metadata=used)])


class Watching(AgentMiddleware[Any, Any, Any]):
    """Watches the calls of an agent, as a guard would."""

    def __init__(self, watch: PrefixWatch) -> None:
        """Bind the watch."""
        super().__init__()
        self.watch = watch
        self.reports: list[Any] = []

    def _watched(self, request: Any) -> Any:
        return self.watch.before(
            thread_of(request.runtime), model=request.model, messages=request.messages, system=request.system_message, tools=request.tools
        )

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._watched(request) as watched:
            response = handler(request)
        self.reports.append(watched.after(response))
        return response

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        with self._watched(request) as watched:
            response = await handler(request)
        self.reports.append(watched.after(response))
        return response


def report_of(watch: PrefixWatch, messages: Sequence[BaseMessage], *, key: Any = "t", response: Any = None, **inputs: Any) -> Any:
    with watch.before(key, model=inputs.pop("model", MODEL), messages=messages, **inputs) as watched:
        pass
    return watched.after(answer() if response is None else response)


def test_a_growing_conversation_reports_what_it_shares() -> None:
    """The first call has nothing to compare with; the next one shares all the first one sent."""
    watch = PrefixWatch()
    first = report_of(watch, [human("a")], tokens=40)
    assert (None, None, None, 40) == (first.common_prefix_tokens, first.drift_reason, first.first_changed_offset, first.tokens)
    second = report_of(watch, [human("a"), ai("b"), human("c")], tokens=90)
    assert (40, None, None, 90) == (second.common_prefix_tokens, second.drift_reason, second.first_changed_offset, second.tokens)
    assert first.prefix_fingerprint == second.prefix_fingerprint
    assert SERIALIZER_VERSION == second.serializer_version


def test_without_a_count_of_the_caller_the_shared_part_is_counted() -> None:
    """Where no tokens are passed in, the counter counts the messages that come again and nothing else."""
    watch = PrefixWatch(count=count_characters)
    system = SystemMessage("You serve.")
    report_of(watch, [human("a" * 30)], system=system)
    second = report_of(watch, [human("a" * 30), ai("b" * 300)], system=system)
    assert count_characters([system, human("a" * 30)]) == second.common_prefix_tokens


def test_usage_and_cost_are_reported() -> None:
    """Hits, misses and cost come from what the provider reports and the table given."""
    prices = PriceTable(prices={"ScriptedChat": Price(input=Decimal(2), cached_input=Decimal(1), output=Decimal(10))})
    report = report_of(PrefixWatch(prices), [human("a")], response=answer(1_000, 100, cache_read=800))
    assert (800, 200) == (report.prompt_cache_hit_tokens, report.prompt_cache_miss_tokens)
    assert Decimal("0.0022") == report.cost


@pytest.mark.parametrize(
    "response",
    [
        ModelResponse(result=[]),
        ModelResponse(result=[HumanMessage("?")]),
        AIMessage("bare"),
        ExtendedModelResponse(ModelResponse([AIMessage("x")])),
        None,
    ],
)
def test_an_answer_without_usage_is_reported_without_numbers(response: Any) -> None:
    """Unknown is `None`, never zero; any form of answer will do."""
    watched = PrefixWatch(PriceTable(prices={})).before("t", model=MODEL, messages=[human("a")])
    report = watched.after(response)
    assert report is not None
    assert (None, None, None) == (report.prompt_cache_hit_tokens, report.prompt_cache_miss_tokens, report.cost)


def test_latency_is_measured_around_the_call() -> None:
    """The clock runs from entering to the report; without streaming there is no first token."""
    clock = Ticking()
    with PrefixWatch(clock=clock).before("t", model=MODEL, messages=[human("a")]) as watched:
        clock.now += 1.5
    report = watched.after(answer())
    assert (1.5, None) == (report.total_latency_s, report.time_to_first_token_s)


def test_threads_do_not_mix() -> None:
    """Each thread is compared with itself; without a thread nothing is compared."""
    watch = PrefixWatch()
    for key in ("one", "two"):
        report_of(watch, [human(f"first of {key}")], key=key)
    assert None is report_of(watch, [human("first of one"), ai("x")], key="one").drift_reason
    assert None is report_of(watch, [human("anything")], key=None).common_prefix_tokens
    assert None is report_of(watch, [human("else")], key=None).drift_reason


def test_messages_loaded_anew_are_the_same_messages() -> None:
    """Equal messages in other objects share their prefix; an edited one among them is found where it is."""
    watch = PrefixWatch()
    said_so_far = tool_loop(40)
    report_of(watch, said_so_far)
    assert None is report_of(watch, copy.deepcopy(said_so_far)).first_changed_offset
    edited = copy.deepcopy(said_so_far)
    edited[7] = edited[7].model_copy(update={"content": "other"})
    assert DriftReason.UNKNOWN is report_of(watch, edited).drift_reason


def test_a_message_replaced_among_the_same_objects_is_found_at_once() -> None:
    """An edit far from both ends of a list of the same objects is a change of that very call."""
    watch = PrefixWatch()
    said_so_far = [human(f"m{n}") for n in range(400)]
    report_of(watch, said_so_far)
    said_so_far[20] = human("other")
    assert DriftReason.UNKNOWN is report_of(watch, said_so_far).drift_reason
    assert None is report_of(watch, said_so_far).drift_reason


def test_in_a_long_list_an_edit_is_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many messages to compare, or they are edited in place, it takes at most as many calls as there are messages."""
    monkeypatch.setattr(prefix, "_EXACT", 10)
    watch = PrefixWatch()
    said_so_far = [human(f"m{n}") for n in range(40)]
    report_of(watch, said_so_far)
    said_so_far[20] = human("other")
    said_so_far[5].content = "edited in place"
    reasons = [report_of(watch, said_so_far).drift_reason for _ in range(40)]
    assert reasons.count(DriftReason.UNKNOWN) >= 1
    assert None is report_of(watch, said_so_far).drift_reason


def test_messages_of_threads_not_used_lately_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the threads used last hold their messages; the others are known by numbers, and still compared."""
    monkeypatch.setattr(prefix, "_RECENT", 2)
    watch = PrefixWatch()
    for key in "abc":
        report_of(watch, [human(key), human("x")], key=key)
    assert [True, False, False] == [entry.seen is None for entry in watch._threads._entries.values()]
    assert None is report_of(watch, [human("a"), human("x"), human("y")], key="a").drift_reason


def test_a_reminder_at_the_end_is_no_drift() -> None:
    """The reminder of the call before is gone and another stands at the end: the prefix only grew."""
    watch = PrefixWatch()
    rules = (Constraint.from_text("Never delete."),)
    report_of(watch, with_reminder([human("a")], rules))
    second = report_of(watch, with_reminder([human("a"), ai("b"), human("c")], rules))
    assert (None, None) == (second.drift_reason, second.first_changed_offset)


def test_equal_prompts_and_tools_in_new_objects_are_no_drift() -> None:
    """An agent that builds its prompt, rules and tool dicts anew for every call keeps its fingerprint; a change in one of them is a change."""
    watch = PrefixWatch()

    def call(text: str, enum: list[str]) -> Any:
        parts = {"name": "t", "input_schema": {"type": "object", "properties": {"a": {"enum": enum}}}}
        rules = [Constraint.from_text("Never delete.")]
        return report_of(watch, [human("a")], system=SystemMessage([{"type": "text", "text": text}]), tools=[parts, look_up], rules=rules)

    assert call("You serve.", ["x"]).prefix_fingerprint == call("You serve.", ["x"]).prefix_fingerprint
    assert None is call("You serve.", ["x"]).drift_reason
    assert DriftReason.UNKNOWN is call("You help.", ["x"]).drift_reason
    assert DriftReason.TOOL_CHANGE is call("You help.", ["y"]).drift_reason


def test_a_broken_watch_warns_once_and_lets_the_run_go_on() -> None:
    """Whatever fails inside, the caller gets no exception, no report, one warning and a count."""

    def broken(_: Any) -> int:
        raise OSError

    watch = PrefixWatch(count=broken)
    messages = [human("a"), human("b"), human("c")]
    report_of(watch, messages)
    with pytest.warns(RuntimeWarning, match="OSError.*The run goes on"):
        assert None is report_of(watch, [human("a"), human("x"), human("c"), human("d")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert None is report_of(watch, [human("a"), human("y"), human("c"), human("d"), human("e")])
    assert 2 == watch.failures


@pytest.mark.parametrize("model", [None, object(), "openai:gpt-x", type("Odd", (), {"_get_ls_params": lambda self: 1 / 0, "model": "m"})()])
def test_any_model_can_be_watched(model: Any) -> None:
    """Who serves a model is read as far as its object says."""
    assert 32 == len(report_of(PrefixWatch(), [human("a")], model=model).prefix_fingerprint)


def test_a_model_renamed_in_place_is_another_model() -> None:
    """Name and provider are what LangChain reports of the model."""
    from langchain_openai import ChatOpenAI

    watch = PrefixWatch()
    model = ChatOpenAI(model="gpt-x", api_key="none")  # type: ignore[arg-type]  # LangChain takes text too
    report_of(watch, [human("a")], model=model)
    model.model_name = "gpt-y"
    report = report_of(watch, [human("a")], model=model)
    assert (DriftReason.MODEL_CHANGE, 0, 0) == (report.drift_reason, report.first_changed_offset, report.common_prefix_tokens)


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads used longest ago are forgotten, by their number and by their messages; a forgotten one is begun anew."""
    monkeypatch.setattr(prefix, "_THREADS", 3)
    monkeypatch.setattr(prefix, "_MESSAGES", 100)
    watch = PrefixWatch()
    for key in "abcd":
        report_of(watch, [human("x")], key=key, tokens=1)
    assert None is report_of(watch, [human("x")], key="a", tokens=1).common_prefix_tokens
    assert 1 == report_of(watch, [human("x")], key="d", tokens=1).common_prefix_tokens
    report_of(watch, [human("x")] * 98, key="d")
    assert 98 >= watch._threads._held - 2
    report_of(watch, [human("x")] * 300, key="e", tokens=5)
    assert ["e"] == list(watch._threads._entries)
    assert 300 == watch._threads._held
    assert 5 == report_of(watch, [human("x")] * 300, key="e", tokens=5).common_prefix_tokens


def test_an_agent_is_watched_over_its_runs() -> None:
    """Over several runs and tool loops of a real agent nothing drifts, and every call shares what the one before sent."""
    watching = Watching(PrefixWatch(count=count_characters))
    script = lambda number, _: ai(calls=[f"c{number}"], tool="look_up") if number % 2 == 0 else "done"  # noqa: E731
    model = ScriptedChat(script=script)
    agent = create_agent(model, [look_up], system_prompt="You serve.", middleware=[watching], checkpointer=InMemorySaver())
    for turn in range(3):
        agent.invoke(said(f"turn {turn}"), thread())
    assert 6 == len(watching.reports)
    assert {None} == {report.drift_reason for report in watching.reports}
    assert 1 == len({report.prefix_fingerprint for report in watching.reports})
    shared = [report.common_prefix_tokens for report in watching.reports]
    assert None is shared[0]
    tools = shared[1] - count_characters(model.seen[0])
    assert [count_characters(view) + tools for view in model.seen[:-1]] == shared[1:]


def test_the_first_token_is_timed_where_the_answer_is_streamed() -> None:
    """Streaming shows when the first token came, if the watch listens; without streaming nothing is shown, and no model is made to stream."""
    for is_streaming, is_listening in ((True, True), (False, True), (True, False)):
        watching = Watching(PrefixWatch(is_listening=is_listening))
        agent = create_agent(StreamingChat(script=lambda _number, _messages: "three short words"), middleware=[watching])
        if is_streaming:
            list(agent.stream(said("hi"), stream_mode="messages"))
        else:
            agent.invoke(said("hi"))
        (report,) = watching.reports
        assert (is_streaming and is_listening) == (report.time_to_first_token_s is not None)
        assert (report.time_to_first_token_s or 0) <= report.total_latency_s


async def test_the_first_token_is_timed_without_blocking() -> None:
    """An agent driven asynchronously is watched and timed alike."""
    watching = Watching(PrefixWatch())
    agent = create_agent(StreamingChat(script=lambda _number, _messages: "three short words"), middleware=[watching])
    assert [chunk async for chunk in agent.astream(said("hi"), stream_mode="messages")]
    (report,) = watching.reports
    assert 0 <= report.time_to_first_token_s <= report.total_latency_s


def test_an_empty_first_chunk_is_no_token() -> None:
    """Many providers open a stream with an empty chunk; a tool call without text is an answer all the same."""
    clock = Ticking()
    with PrefixWatch(clock=clock).before("t", model=MODEL, messages=[]) as watched:
        watched._listener.on_llm_new_token("")
        clock.now += 1
        watched._listener.on_llm_new_token("word")
        clock.now += 1
        watched._listener.on_llm_new_token("more")
    assert 1.0 == watched.after(answer()).time_to_first_token_s
    with PrefixWatch(clock=clock).before("t", model=MODEL, messages=[]) as calling:
        calling._listener.on_stream_event({"event": "message-start"})
        clock.now += 2
        calling._listener.on_stream_event({"event": "content-block-delta"})
    assert 2.0 == calling.after(answer()).time_to_first_token_s


def test_listening_costs_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener is not shown the prompt: LangChain would write the whole conversation out for it at every call."""
    from langchain_core.callbacks import manager

    written: list[Any] = []
    monkeypatch.setattr(manager, "get_buffer_string", written.append)

    class Naive(BaseCallbackHandler):
        """Listens to tokens and says nothing of chat models."""

    agent = create_agent(ScriptedChat(), middleware=[Watching(PrefixWatch())])
    agent.invoke(said("hi"))
    assert [] == written
    agent.invoke(said("hi"), {"callbacks": [Naive()]})
    assert [] != written


def test_stable_tools_keep_their_order_from_call_to_call() -> None:
    """The same tools leave in the same order and as the same objects, whichever order the agent lists them in."""

    @tool
    def another(key: str) -> str:
        """Do another thing."""
        return key

    shelf = StableTools()
    first = shelf.arranged([look_up, {"name": "b", "x": {"z": 1, "a": 2}}])
    assert ["b", "look_up"] == [prefix.tool_name(item) for item in first]
    again = shelf.arranged([look_up, another])
    assert ["look_up", "another"] == [item.name for item in again]  # type: ignore[attr-defined]  # both are tools
    listed = [look_up, another]
    assert listed is shelf.arranged(listed)
    swapped = shelf.arranged([another, look_up])
    assert look_up is swapped[0]
    assert swapped is shelf.arranged([another, look_up])


def test_a_report_names_its_place_and_hands_rules_to_hooks_only() -> None:
    """Thread and version stand in the report; the rules are objects for whoever is told, and in no written form."""
    facts = Facts()
    guard = ContextGuard(constraints=["Never delete an order."], hooks=[facts], trigger=("tokens", 60_000))
    agent = create_agent(ScriptedChat(), [], middleware=[guard], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "Hello.")]}, {"configurable": {"thread_id": "t-9"}})
    (report,) = facts.reports
    assert ("t-9", "", 0, False) == (report.thread, report.namespace, report.context_version, report.is_reminded)
    assert ["Never delete an order."] == [rule.text for rule in report.rules]
    assert "Never delete" not in report.model_dump_json() + repr(report)
