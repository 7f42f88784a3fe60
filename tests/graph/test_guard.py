from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, SummarizationMiddleware, wrap_model_call
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError
from langchain_ctxguard.graph.guard import ContextGuard
from tests.graph.models import (
    PINS,
    RULES,
    WORDS,
    Counter,
    Facts,
    Notes,
    ScriptedChat,
    StreamingChat,
    agent_of,
    assert_pinned,
    calling,
    chat,
    delete_order,
    guard_of,
    head_of,
    ids,
    look_up,
    rendered_names,
    said,
    system_texts,
    thread,
    wire,
)
from tests.support.builders import count_characters
from tests.support.providers import check_provider_valid

CACHED = {"type": "text", "text": "You run a shop.", "cache_control": {"type": "ephemeral"}}


def request_of(messages: list[BaseMessage], *, state: dict[str, Any] | None = None, model: Any = None, **settings: Any) -> ModelRequest[Any]:
    """Return a model request outside a graph: no runtime at all."""
    return ModelRequest(model=model or ScriptedChat(), messages=messages, state={"messages": messages, **(state or {})}, runtime=None, **settings)


def long_talk(turns: int, *, start: int = 0) -> list[BaseMessage]:
    """Return `turns` long turns with ids."""
    talk: list[BaseMessage] = []
    for turn in range(start, start + turns):
        talk += [HumanMessage(f"Turn {turn}: {WORDS * 4}", id=f"h{turn}"), AIMessage(f"answer {turn}", id=f"a{turn}")]
    return talk


def test_state_keeps_every_message() -> None:
    """A compaction changes what the model sees: every message stays in the state with its id, its content and its object's fields."""
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    messages: list[BaseMessage] = []
    for turn in range(10):
        now = chat(agent, 1, start=turn)["messages"]
        assert messages == now[: len(messages)]
        messages = copy.deepcopy(now)
    assert 20 == len(messages)
    assert len(set(ids(messages))) == len(messages)
    assert len(facts.made) >= 2
    assert len(model.seen[-1]) < 12


def test_pins_lead_every_model_call() -> None:
    """The rules stand verbatim, once, as the last block of the one leading system message of every call; other blocks keep `cache_control`."""
    script = lambda number, _: calling(f"k{number}") if number % 3 else f"answer {number}"  # noqa: E731
    model = ScriptedChat(script=script)
    facts = Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver(), system_prompt=SystemMessage([CACHED]))
    chat(agent, 8)
    assert len(model.seen) > 12
    assert facts.made
    for view in model.seen:
        assert_pinned(view)
        assert CACHED == view[0].content[0]
        assert [] == check_provider_valid(view)


def test_without_system_prompt_the_pins_are_the_only_block() -> None:
    """No empty text block is made up beside the pins."""
    model = ScriptedChat()
    chat(agent_of(model, guard_of(), checkpointer=InMemorySaver()), 1)
    assert [{"type": "text", "text": PINS}] == model.seen[0][0].content


def test_without_rules_a_short_conversation_is_sent_as_it_is() -> None:
    """A guard with nothing to pin and nothing to compact hands the request on untouched: the very same object."""
    guard = guard_of(constraints=())
    request = request_of([HumanMessage("hi", id="h")], system_message=SystemMessage("SYS"))
    sent: list[ModelRequest[Any]] = []
    guard.wrap_model_call(request, lambda asked: sent.append(asked) or ModelResponse(result=[AIMessage("yes")]))
    assert request is sent[0]


def test_nothing_in_the_state_is_mutated() -> None:
    """Compactions, elisions and views leave the caller's messages exactly as they were."""
    script = lambda number, _: calling("a", "b", "c", prefix=f"c{number}") if number % 2 == 0 else f"answer {number}"  # noqa: E731
    guard = guard_of(summarizer=None)
    model = ScriptedChat(script=script)
    talk = long_talk(6)
    talk[1] = AIMessage(f"see {WORDS * 40}", id="a0")
    before = copy.deepcopy(talk)
    agent_of(model, guard, tools=[look_up]).invoke({"messages": talk})
    assert before == talk
    assert [message.model_dump() for message in before] == [message.model_dump() for message in talk]


def test_the_current_request_stands_in_every_view_of_a_long_tool_loop() -> None:
    """One request and 60 tool calls: it is compacted again and again, stays whole, and the request stands verbatim exactly once."""
    asked = "Check every order and 报告每一个差异, then stop."
    script = lambda number, _: calling(f"k{number}") if number < 60 else "done"  # noqa: E731
    model, facts = ScriptedChat(script=script), Facts()
    agent = agent_of(model, guard_of(hooks=[facts], trigger=("tokens", 900), keep=("turns", 3)), tools=[look_up], checkpointer=InMemorySaver())
    state = agent.invoke(said(asked), {**thread(), "recursion_limit": 200})
    assert "done" == state["messages"][-1].content
    assert len(facts.made) >= 3
    for view in model.seen:
        assert 1 == sum(message.content == asked for message in view)
        assert [] == check_provider_valid(view)
        assert_pinned(view)
        assert count_characters(view) < 1_400


def checkpoints_of(saver: InMemorySaver, config: dict[str, Any]) -> list[Any]:
    return list(saver.list(config))


def test_an_idle_guard_adds_no_superstep_and_no_write() -> None:
    """Checkpoints, their channels and the pending writes of an idle run are those of an agent without middleware."""

    def run(*middleware: Any) -> tuple[int, list[set[str]], list[list[str]]]:
        saver = InMemorySaver()
        agent = agent_of(
            ScriptedChat(script=lambda number, _: calling("k") if number == 0 else "done"), *middleware, tools=[look_up], checkpointer=saver
        )
        agent.invoke(said("hi"), thread())
        agent.invoke(said("again"), thread())
        found = checkpoints_of(saver, thread())
        written = [sorted(channel for _, channel, _ in point.pending_writes or []) for point in found]
        return len(found), [set(point.checkpoint["channel_versions"]) for point in found], written

    assert run() == run(guard_of())


def test_an_idle_call_returns_the_bare_response() -> None:
    """Nothing rides on an idle answer: a command would be one more write."""
    answer = ModelResponse(result=[AIMessage("yes")])
    assert answer is guard_of().wrap_model_call(request_of([HumanMessage("hi", id="h")]), lambda _: answer)


def test_a_compacting_call_returns_the_head_beside_the_response() -> None:
    """The one write of a compaction is the head, under the guard's own key."""
    answer = ModelResponse(result=[AIMessage("yes")])
    talk = [*long_talk(8), HumanMessage("and now?", id="h")]
    found = guard_of().wrap_model_call(request_of(talk), lambda _: answer)
    assert isinstance(found, ExtendedModelResponse)
    assert answer is found.model_response
    assert ["ctxguard"] == list(found.command.update)
    assert {"schema_version", "version", "cut", "cool_down", "digest", "body"} == found.command.update["ctxguard"].keys()


def test_idle_calls_keep_every_byte_of_the_prefix() -> None:
    """Between two compactions each view begins with the bytes of the view before it."""
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=InMemorySaver(), system_prompt="SYS")
    compacted = []
    for turn in range(12):
        known = len(facts.made)
        chat(agent, 1, start=turn)
        compacted.append(len(facts.made) > known)
    assert 2 <= sum(compacted) < 8
    for turn in range(1, 12):
        if not compacted[turn]:
            assert wire(model.seen[turn]).startswith(wire(model.seen[turn - 1])[:-1])


@pytest.mark.parametrize("turns", [10, 200])
def test_an_idle_turn_counts_only_what_is_new(turns: int) -> None:
    """However long the thread, an idle turn shows the counter the two messages that are new and no tool twice."""
    counter = Counter()
    agent = agent_of(ScriptedChat(), guard_of(token_counter=counter, trigger=("tokens", 10**9)), tools=[look_up], checkpointer=InMemorySaver())
    agent.invoke({"messages": long_talk(turns)[:-1]}, thread())
    counter.shown = counter.tools_shown = 0
    agent.invoke(said("one more"), thread())
    assert 2 == counter.shown
    assert 0 == counter.tools_shown


def test_an_idle_turn_after_a_compaction_counts_only_what_is_new() -> None:
    """The same holds once a version stands for the older messages."""
    counter, facts = Counter(), Facts()
    agent = agent_of(ScriptedChat(), guard_of(token_counter=counter, hooks=[facts]), checkpointer=InMemorySaver())
    turn = 0
    while not facts.made:
        chat(agent, 1, start=turn)
        turn += 1
    agent.invoke(said("short"), thread())
    counter.shown = 0
    agent.invoke(said("short too"), thread())
    assert 1 == len(facts.made)
    assert 2 == counter.shown


def test_a_cold_process_counts_no_more_than_follows_the_newest_report() -> None:
    """With usage on the newest answer a new guard counts what came after it, not the whole thread."""
    saver = InMemorySaver()
    settings: dict[str, Any] = {"trigger": ("tokens", 10**6)}
    chat(agent_of(ScriptedChat(usage=count_characters), guard_of(**settings), checkpointer=saver), 30)
    counter = Counter()
    chat(agent_of(ScriptedChat(usage=count_characters), guard_of(**settings, token_counter=counter), checkpointer=saver), 1, start=30)
    assert counter.shown <= 5


@pytest.mark.parametrize(
    ("trigger", "compacts"),
    [
        (("tokens", 600), True),
        (("tokens", 60_000), False),
        (("messages", 9), True),
        (("messages", 90), False),
        (("fraction", 0.6), True),
        ({"tokens": 600, "messages": 9}, True),
        ({"tokens": 60_000, "messages": 9}, False),
        ({"tokens": 600, "messages": 90}, False),
        ([("tokens", 60_000), ("messages", 9)], True),
        ([{"tokens": 600, "messages": 90}, ("fraction", 0.6)], True),
        ([{"tokens": 600, "messages": 90}, ("fraction", 0.99)], False),
        (None, False),
    ],
)
def test_trigger_grammar(trigger: Any, compacts: bool) -> None:  # noqa: FBT001
    """A pair is a threshold, a dict holds when all of it does, a list when any of it does, `None` never."""
    facts = Facts()
    guard = guard_of(trigger=trigger, hooks=[facts], keep=("turns", 1))
    talk = [*long_talk(6), HumanMessage("and now?", id="h")]
    answer = guard.wrap_model_call(request_of(talk, model=ScriptedChat(profile={"max_input_tokens": 1_000})), lambda _: ModelResponse(result=[]))
    assert compacts == isinstance(answer, ExtendedModelResponse)
    assert ([Outcome.ACCEPTED] if compacts else []) == facts.outcomes


@pytest.mark.parametrize(
    ("keep", "first_kept"),
    [
        (("turns", 0), "h"),
        (("turns", 1), "h"),
        (("turns", 2), "h7"),
        (("turns", 4), "h5"),
        (("messages", 3), "h7"),
        (("messages", 4), "a6"),
        (("tokens", 249), "h6"),
        (("fraction", 0.249), "h6"),
    ],
)
def test_keep_grammar(keep: Any, first_kept: str) -> None:
    """`keep` says where the view is cut: turns, messages, tokens, or a share of the window."""
    config = GuardConfig.from_dict({"compaction": {"min_kept": 0, "trigger": ["tokens", 700]}})
    guard = ContextGuard(config, constraints=RULES, keep=keep, token_counter=Counter(), summarizer=Notes())
    sent: list[ModelRequest[Any]] = []
    talk = [*long_talk(8), HumanMessage("and now?", id="h")]
    model = ScriptedChat(profile={"max_input_tokens": 1_000})
    guard.wrap_model_call(request_of(talk, model=model), lambda asked: sent.append(asked) or ModelResponse(result=[]))
    kept = [message.id for message in sent[0].messages if message.id in {given.id for given in talk}]
    assert first_kept == kept[0]
    assert ids(talk)[ids(talk).index(first_kept) :] == kept


@pytest.mark.parametrize(
    "settings",
    [
        {"trigger": ("tokens", 10)},
        {"trigger": ("tokens", 500), "keep": ("tokens", 500)},
        {"trigger": ("messages", 10), "keep": ("messages", 10)},
        {"trigger": ("fraction", 0.5), "keep": ("fraction", 0.5)},
        {"trigger": ("turns", 5)},
        {"trigger": []},
        {"trigger": {}},
        {"trigger": ("fraction", 75)},
        {"keep": ("turns", -1)},
        {"keep": ("turns", 1.5)},
        {"constraints": "one string"},
        {"constraints": [""]},
        {"summarizer": 42},
        {"token_counter": 42},
        {"hooks": [object()]},
    ],
)
def test_settings_that_cannot_work_are_refused_while_constructing(settings: dict[str, Any]) -> None:
    """Pins and `keep` above the trigger, unknown units and things that are no summarizer, counter or hook never reach a model call."""
    with pytest.raises(ConfigurationError):
        guard_of(**settings)


@pytest.mark.field("C122")
def test_the_window_is_the_models_own() -> None:
    """A fraction is of the window in the model's profile: 750 of 1,000 tokens, and nothing near 200k on a model of a million."""
    talk = [*long_talk(7), HumanMessage("and now?", id="h")]
    assert 750 < count_characters(talk) < 1_000
    small, large = ({"profile": {"max_input_tokens": size}} for size in (1_000, 1_000_000))
    for settings, compacts in ((small, True), (large, False)):
        guard = ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes(), keep=("turns", 1))
        answer = guard.wrap_model_call(request_of(talk, model=ScriptedChat(**settings)), lambda _: ModelResponse(result=[]))
        assert compacts == isinstance(answer, ExtendedModelResponse)


def test_an_unknown_window_is_assumed_with_one_warning() -> None:
    """Where the model does not say, 128,000 tokens are assumed, and it is said once."""
    guard = ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes())
    model = ScriptedChat()
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    with pytest.warns(UserWarning, match="128,000 tokens are assumed") as caught:
        chat(agent, 3)
    assert 1 == len(caught)


def test_a_trigger_in_tokens_needs_no_window() -> None:
    """No warning where nothing depends on the window."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chat(agent_of(ScriptedChat(), guard_of(), checkpointer=InMemorySaver()), 8)


def test_trigger_none_only_pins() -> None:
    """Without a trigger every message is sent, whatever the window, and the rules with them."""
    model, facts = ScriptedChat(profile={"max_input_tokens": 300}), Facts()
    agent = agent_of(model, guard_of(trigger=None, hooks=[facts]), checkpointer=InMemorySaver())
    chat(agent, 10)
    assert 20 == len(model.seen[-1])
    assert_pinned(model.seen[-1])
    assert [] == facts.all


def _stopping(**compaction: Any) -> ContextGuard:
    config = GuardConfig.from_dict({"compaction": {"on_full": "stop", "keep": ["turns", 1], **compaction}})
    return ContextGuard(config, constraints=RULES, token_counter=Counter(), summarizer=Notes())


def test_on_full_stop_refuses_instead_of_compacting() -> None:
    """A full window without a trigger ends the run with both numbers in the error, before the model is called."""
    model = ScriptedChat(profile={"max_input_tokens": 500})
    talk = [*long_talk(6), HumanMessage("and now?", id="h")]
    needed = count_characters([SystemMessage([{"type": "text", "text": PINS}]), *talk])
    with pytest.raises(ContextBudgetError) as caught:
        _stopping(trigger=None).wrap_model_call(request_of(talk, model=model), lambda _: ModelResponse(result=[]))
    assert (needed, 500) == (caught.value.needed, caught.value.budget)
    assert str(needed) in str(caught.value)
    assert "500" in str(caught.value)


def test_on_full_stop_leaves_the_state_as_it_was() -> None:
    """After the refusal the thread holds what it held; a model with a larger window goes on."""
    saver = InMemorySaver()
    agent = agent_of(ScriptedChat(profile={"max_input_tokens": 500}), _stopping(trigger=None), checkpointer=saver)
    with pytest.raises(ContextBudgetError):
        chat(agent, 10)
    assert {} == agent.get_state(thread()).values.get("ctxguard", {})
    larger = ScriptedChat(profile={"max_input_tokens": 5_000})
    chat(agent_of(larger, _stopping(trigger=None), checkpointer=saver), 1)
    assert 1 == len(larger.seen)


def test_pins_that_do_not_fit_name_both_numbers() -> None:
    """A window smaller than pins and request is refused, not truncated."""
    guard = ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes())
    with pytest.raises(ContextBudgetError) as caught:
        guard.wrap_model_call(
            request_of([HumanMessage(WORDS * 20, id="h")], model=ScriptedChat(profile={"max_input_tokens": 200})), lambda _: ModelResponse(result=[])
        )
    assert 200 == caught.value.budget
    assert caught.value.needed > 200


def test_works_without_a_runtime() -> None:
    """`runtime=None` costs the caches their names, nothing else: the next call finds the version it is given."""
    guard = guard_of()
    talk = [*long_talk(6), HumanMessage("and now?", id="h")]
    first = guard.wrap_model_call(request_of(talk), lambda _: ModelResponse(result=[AIMessage("yes", id="a")]))
    sent: list[ModelRequest[Any]] = []
    later = [*talk, AIMessage("yes", id="a"), HumanMessage("next", id="h9")]
    request = request_of(later, state=first.command.update)
    second = guard.wrap_model_call(request, lambda asked: sent.append(asked) or ModelResponse(result=[]))
    assert isinstance(second, ModelResponse)
    assert ["context_summary"] == rendered_names(sent[0].messages)
    assert "next" == sent[0].messages[-1].content


def test_works_without_a_state() -> None:
    """A request that carries no state is pinned like any other."""
    request = ModelRequest(model=ScriptedChat(), messages=[HumanMessage("hi")], state=None, runtime=None)
    sent: list[ModelRequest[Any]] = []
    guard_of().wrap_model_call(request, lambda asked: sent.append(asked) or ModelResponse(result=[]))
    assert [PINS] == system_texts([sent[0].system_message])


class Verdict(BaseModel):
    """What the agent answers with."""

    ok: bool
    why: str


def test_structured_output_survives_a_compaction() -> None:
    """An answer by tool strategy is parsed as ever in the very call that compacts."""
    final = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"ok": True, "why": "fine"}, "id": "v1", "type": "tool_call"}])
    facts = Facts()
    agent = agent_of(
        ScriptedChat(script=lambda *_: final), guard_of(hooks=[facts]), response_format=ToolStrategy(Verdict), checkpointer=InMemorySaver()
    )
    state = agent.invoke({"messages": [*long_talk(8), HumanMessage("verdict?", id="h")]}, thread())
    assert Verdict(ok=True, why="fine") == state["structured_response"]
    assert [Outcome.ACCEPTED] == facts.outcomes
    assert 1 == head_of(agent).version


def test_three_parallel_tool_calls_stay_together() -> None:
    """Three calls of one message are kept or evicted with all their results, in every view of a run that compacts between them."""
    script = lambda number, _: calling("a", "b", "c", prefix=f"p{number}") if number < 12 else "done"  # noqa: E731
    model, facts = ScriptedChat(script=script), Facts()
    agent = agent_of(model, guard_of(hooks=[facts], trigger=("tokens", 900)), tools=[look_up], checkpointer=InMemorySaver())
    agent.invoke(said("go"), {**thread(), "recursion_limit": 100})
    assert len(facts.made) >= 2
    for view in model.seen:
        assert [] == check_provider_valid(view)
        assert 0 == sum(isinstance(message, ToolMessage) for message in view) % 3


@pytest.mark.field("C111")
def test_tools_and_system_prompt_are_counted() -> None:
    """A small history with large contracts triggers: 20 tools of 50 tokens weigh what they weigh."""
    talk = [*long_talk(3), HumanMessage("and now?", id="h")]
    assert count_characters(talk) < 400
    tools = [look_up.model_copy(update={"name": f"look_up_{number}"}) for number in range(20)]
    facts = Facts()
    guard = guard_of(trigger=("tokens", 1_400), hooks=[facts])
    assert isinstance(guard.wrap_model_call(request_of(talk), lambda _: ModelResponse(result=[])), ModelResponse)
    assert isinstance(guard.wrap_model_call(request_of(talk, tools=tools), lambda _: ModelResponse(result=[])), ExtendedModelResponse)
    assert facts.records[0].tokens_before >= 1_400


def test_stale_usage_never_triggers_again() -> None:
    """A kept answer that reports the tokens of the context before the compaction starts no second one, in this process or the next."""
    saver, facts = InMemorySaver(), Facts()
    huge = ScriptedChat(usage=lambda messages: 640 if len(messages) > 7 else count_characters(messages))
    agent = agent_of(huge, guard_of(hooks=[facts]), checkpointer=saver)
    turn = 0
    while not facts.made:
        chat(agent, 1, start=turn)
        turn += 1
    made = len(facts.records)
    silent = ScriptedChat()
    again = agent_of(silent, guard_of(hooks=[facts]), checkpointer=saver)
    agent_of(silent, guard_of(hooks=[facts]), checkpointer=saver)
    for _ in range(3):
        again.invoke(said("ok"), thread())
    assert made == len(facts.records)


def test_a_report_of_another_context_starts_nothing() -> None:
    """A report far above what the messages weigh is checked against an own count before anything is compacted for it."""
    talk = long_talk(2)
    talk[-1] = AIMessage("answer 1", id="a1", usage_metadata={"input_tokens": 550, "output_tokens": 99, "total_tokens": 649})
    facts = Facts()
    guard = guard_of(trigger=("tokens", 500), hooks=[facts])
    answer = guard.wrap_model_call(request_of([*talk, HumanMessage("next", id="h")]), lambda _: ModelResponse(result=[]))
    assert isinstance(answer, ModelResponse)
    assert [] == facts.all


@pytest.mark.field("C113")
def test_a_streaming_model_without_usage_triggers_by_the_own_count() -> None:
    """No answer reports usage, and the compaction comes when the own count says so."""
    model, facts = StreamingChat(), Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    for turn in range(8):
        for _ in agent.stream(said(f"Turn {turn}: {WORDS * 4}"), thread(), stream_mode="messages"):
            pass
    messages = agent.get_state(thread()).values["messages"]
    assert all(message.usage_metadata is None for message in messages if isinstance(message, AIMessage))
    assert facts.made
    assert all(record.tokens_before < 1_000 for record in facts.made)


@pytest.mark.field("C125")
def test_a_decision_is_made_once_and_kept() -> None:
    """With a checkpointer one compaction serves the calls after it: 5 short turns later there is still the one."""
    notes, facts = Notes(), Facts()
    agent = agent_of(ScriptedChat(), guard_of(summarizer=notes, hooks=[facts]), checkpointer=InMemorySaver())
    turn = 0
    while not facts.made:
        chat(agent, 1, start=turn)
        turn += 1
    head = head_of(agent)
    for _ in range(5):
        agent.invoke(said("ok"), thread())
    assert head == head_of(agent)
    assert 1 == len(notes.requests)


def test_no_summary_token_reaches_the_message_stream() -> None:
    """The agent's own model summarizes, and `stream_mode="messages"` shows its answers and nothing of the summary."""
    summary = '{"user_intent": "SECRETSUMMARY of the talk"}'

    def script(number: int, messages: list[BaseMessage]) -> str:
        return summary if "You keep the notes" in str(messages[0].content) else "a plain answer"

    model, facts = StreamingChat(script=script), Facts()
    agent = agent_of(model, guard_of(summarizer=None, hooks=[facts]), checkpointer=InMemorySaver())
    shown = ""
    for turn in range(8):
        for token, _ in agent.stream(said(f"Turn {turn}: {WORDS * 4}"), thread(), stream_mode="messages"):
            shown += str(token.content) if token.type in ("ai", "AIMessageChunk") else ""
    assert [Outcome.ACCEPTED] == list(dict.fromkeys(facts.outcomes))
    assert "a plain answer" * 8 == shown
    assert any("SECRETSUMMARY" in str(message.content) for message in model.seen[-1])


def test_update_streams_show_the_head_only_when_it_changes() -> None:
    """`updates` carries the channel in the step that compacts and in no other; `values` keeps every message."""
    facts = Facts()
    agent = agent_of(ScriptedChat(), guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    writes, made = [], []
    for turn in range(8):
        known = len(facts.made)
        for mode, part in agent.stream(said(f"Turn {turn}: {WORDS * 4}"), thread(), stream_mode=["updates", "values"]):
            if mode == "updates":
                writes.append("ctxguard" in str(part["model"]))
            else:
                last = part
        made.append(len(facts.made) > known)
    assert made == writes
    assert True in made
    assert 16 == len(last["messages"])


def test_output_and_input_know_no_head() -> None:
    """The channel is in neither schema of the agent, so no answer shows it and no caller hands one in."""
    agent = agent_of(ScriptedChat(), guard_of(), checkpointer=InMemorySaver())
    state = chat(agent, 8)
    assert "ctxguard" not in state
    assert "ctxguard" not in agent.get_input_jsonschema().get("properties", {})


def test_a_second_compactor_before_the_guard_warns_once() -> None:
    """LangChain's own summarizer beside the guard is told about once, its summary is no request and the pins stay."""
    other = SummarizationMiddleware(ScriptedChat(script=lambda *_: "OTHER SUMMARY"), trigger=("messages", 6), keep=("messages", 3))
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, other, guard_of(hooks=[facts], trigger=("tokens", 5_000)), checkpointer=InMemorySaver())
    with pytest.warns(UserWarning, match="Use one compactor") as caught:
        chat(agent, 8)
    assert 1 == len(caught)
    assert 1 == len(facts.events("second_compactor"))
    assert any("OTHER SUMMARY" in str(message.content) for message in model.seen[-1])
    for view in model.seen:
        assert_pinned(view)


def test_a_guard_alone_warns_of_no_second_compactor() -> None:
    """Its own summaries are none of another tool."""
    facts = Facts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chat(agent_of(ScriptedChat(), guard_of(hooks=[facts]), checkpointer=InMemorySaver()), 12)
    assert len(facts.made) > 1
    assert [] == facts.events("second_compactor")


def test_two_middleware_that_write_do_not_collide() -> None:
    """Another middleware may return a command in the call that compacts."""

    class Marks(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:
            return ExtendedModelResponse(model_response=handler(request), command=Command(update={"ctxguard": {"version": 99}}))

    facts = Facts()
    agent = agent_of(ScriptedChat(), Marks(), guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    chat(agent, 8)
    assert facts.made
    assert facts.made[-1].version == head_of(agent).version


def test_an_inner_middleware_may_answer_with_a_message() -> None:
    """A wrap inside the guard that returns a bare AI message is as good as a response."""

    @wrap_model_call
    def short(request: ModelRequest[Any], handler: Any) -> AIMessage:
        return AIMessage(f"short cut after {len(request.messages)}")

    agent = agent_of(ScriptedChat(), guard_of(), short, checkpointer=InMemorySaver())
    state = chat(agent, 8)
    assert state["messages"][-1].content.startswith("short cut after ")
    assert head_of(agent).version >= 1


def test_hooks_that_raise_never_reach_the_run() -> None:
    """A hook that fails everywhere is warned about once; the compaction and the other hooks go on."""

    class Broken:
        def span(self, name: str, facts: Any) -> Any:
            raise RuntimeError(name)

        def record(self, fact: Any) -> None:
            raise RuntimeError

    facts = Facts()
    agent = agent_of(ScriptedChat(), guard_of(hooks=[Broken(), facts]), checkpointer=InMemorySaver())
    with pytest.warns(RuntimeWarning, match="hook Broken failed") as caught:
        chat(agent, 10)
    assert 1 == len(caught)
    assert len(facts.made) >= 2
    assert facts.made[-1].version == head_of(agent).version


def test_a_guard_can_be_named_once_only() -> None:
    """The same guard twice in a list is told by LangChain itself; the twin that replaces a summarizer has that name."""
    guard = guard_of()
    assert "ContextGuard" == guard.name
    assert "SummarizationMiddleware" == guard.replacing_summarizer().name
    assert "ContextGuard" == guard.name
    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent_of(ScriptedChat(), guard, guard_of())


def test_a_thread_of_5000_messages() -> None:
    """2,500 turns at once: one compaction, one bounded view, and everything still in the state."""
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, guard_of(hooks=[facts], trigger=("tokens", 20_000), summarizer=None), checkpointer=InMemorySaver())
    talk = long_talk(2_500)[:-1]
    state = agent.invoke({"messages": talk}, thread())
    assert 5_000 == len(state["messages"])
    assert 1 == len(facts.made)
    view = model.seen[-1]
    assert count_characters(view) < 20_000
    assert talk[-1].content == view[-1].content
    assert_pinned(view)


def test_a_chinese_conversation_is_compacted_like_any_other() -> None:
    """Chinese text is counted, summarized in its language and its request stands verbatim."""
    model, facts = ScriptedChat(script=lambda number, _: f"已经处理了第{number}个订单。"), Facts()
    agent = agent_of(
        model,
        ContextGuard(constraints=RULES, trigger=("tokens", 1_500), keep=("turns", 1), summarizer=None, hooks=[facts]),
        checkpointer=InMemorySaver(),
    )
    for turn in range(12):
        agent.invoke(said(f"第{turn}步：请核对订单 ORD-{turn:04d} 的金额和发货状态，" + "不要修改任何数据，只读查询。" * 20), thread())
    assert len(facts.made) >= 2
    view = model.seen[-1]
    assert view[-1].content.startswith("第11步：")
    assert_pinned(view)
    assert "zh" == head_of(agent).body.summary.language


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
def test_a_person_in_the_loop_decides_and_the_thread_goes_on(decision: str) -> None:
    """Approved, edited or rejected by `HumanInTheLoopMiddleware`: over several compactions pairs stay whole and pins stand in every call."""
    script = lambda number, _: calling(f"{number}") if number % 2 == 0 else f"answer {number}"  # noqa: E731
    answers: dict[str, dict[str, Any]] = {
        "approve": {"type": "approve"},
        "edit": {"type": "edit", "edited_action": {"name": "look_up", "args": {"key": "EDITED"}}},
        "reject": {"type": "reject", "message": "no"},
    }
    model, facts, notes = ScriptedChat(script=script), Facts(), Notes()
    person = HumanInTheLoopMiddleware(interrupt_on={"look_up": True})
    agent = agent_of(model, person, guard_of(hooks=[facts], summarizer=notes), tools=[look_up], checkpointer=InMemorySaver())
    for turn in range(6):
        asked = agent.invoke(said(f"Turn {turn}: {WORDS * 4}"), thread())
        assert asked["__interrupt__"]
        agent.invoke(Command(resume={"decisions": [answers[decision]]}), thread())
    tried = [record for record in facts.records if record.attempts]
    assert 2 <= len(facts.made)
    assert len(tried) == len(notes.requests)
    assert 4 * 6 == len(agent.get_state(thread()).values["messages"])
    assert (decision == "edit") == any("EDITED" in str(message.content) for view in model.seen for message in view)
    for view in model.seen:
        assert_pinned(view)
        assert [] == check_provider_valid(view)


@pytest.mark.field("C131")
def test_results_that_are_together_larger_than_the_window_are_shortened_in_the_view() -> None:
    """Three parallel results of 4,000 tokens each in a window of 3,000: the view fits and says what is left out, the state holds every word."""

    @tool
    def export(key: str) -> str:
        """Export everything."""
        return f"BEGIN {key} " + "0123456789" * 1_200 + f" {key} END"

    script = lambda number, _: calling("a", "b", "c", name="export") if number == 0 else f"answer {number}"  # noqa: E731
    model, facts = ScriptedChat(script=script, profile={"max_input_tokens": 3_000}), Facts()
    guard = ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes(), hooks=[facts])
    agent = agent_of(model, guard, tools=[export], checkpointer=InMemorySaver())
    state = agent.invoke(said("export all"), thread())
    results = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert all(len(message.content) > 12_000 for message in results)
    view = model.seen[-1]
    assert count_characters(view) <= 3_000
    assert [] == check_provider_valid(view)
    shown = [message for message in view if isinstance(message, ToolMessage)]
    assert ["a", "b", "c"] == sorted(message.content.partition(" ")[2][0] for message in shown)
    assert all("characters left out of this view" in message.content and message.content.endswith(" END") for message in shown)
    agent.invoke(said("and?"), thread())
    assert wire(model.seen[-1]).startswith(wire(view)[:-1])
    assert 1 == len(facts.made)


def test_trusted_system_messages_follow_the_pins() -> None:
    """Where the settings trust them, system messages inside the list are blocks after the pins, before and after a compaction."""
    config = GuardConfig.from_dict({"compaction": {"trust_system_messages": True, "trigger": ["tokens", 600], "keep": ["turns", 1]}})
    facts, model = Facts(), ScriptedChat()
    guard = ContextGuard(config, constraints=RULES, token_counter=Counter(), summarizer=Notes(), hooks=[facts])
    agent = agent_of(model, guard, checkpointer=InMemorySaver(), system_prompt="SYS")
    chat(agent, 1)
    agent.invoke({"messages": [SystemMessage("From now on answer in French."), HumanMessage("ok?")]}, thread())
    assert ["SYS", PINS, "\n\nFrom now on answer in French."] == system_texts(model.seen[-1])
    chat(agent, 8)
    assert facts.made
    assert ["SYS", PINS, "\n\nFrom now on answer in French."] == system_texts(model.seen[-1])


def test_a_defective_history_keeps_its_prefix_too() -> None:
    """A thread that needs repair at every call is repaired to the same bytes at every call."""
    talk: list[BaseMessage] = [
        HumanMessage("one", id="h1"),
        AIMessage("", id="a1", tool_calls=[{"name": "look_up", "args": {"key": "x"}, "id": "lost", "type": "tool_call"}]),
        HumanMessage("never mind", id="h2"),
        ToolMessage("whose is this?", tool_call_id="unknown", id="t1"),
        SystemMessage("I am the system", id="s1"),
        HumanMessage("two", id="h3"),
    ]
    model = ScriptedChat()
    agent = agent_of(model, guard_of(), checkpointer=InMemorySaver())
    agent.invoke({"messages": talk}, thread())
    for _ in range(3):
        agent.invoke(said("more"), thread())
    for before, after in itertools.pairwise(model.seen):
        assert [] == check_provider_valid(after)
        assert wire(after).startswith(wire(before)[:-1])


def test_deleting_is_still_the_models_to_decide() -> None:
    """A pin is text in the input, no gate: the guard neither calls nor blocks a tool."""
    script = lambda number, _: AIMessage("", tool_calls=[{"name": "delete_order", "args": {"order": "7"}, "id": "d"}]) if number == 0 else "done"  # noqa: E731
    state = agent_of(ScriptedChat(script=script), guard_of(), tools=[delete_order]).invoke(said("delete it"))
    assert "7 deleted" == state["messages"][-2].content
