"""What LangSmith is shown of compactions, calls and rollbacks, and what it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from langsmith import Client, tracing_context
from langsmith.anonymizer import create_anonymizer

from langchain_ctxguard import ChatModelSummarizer, ContextGuard, Extensions, GuardConfig, GuardedState, GuardStore, RollbackContext, compact_messages
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.engine import Engine
from langchain_ctxguard.graph.tools import guard_tools
from langchain_ctxguard.testing.langsmith_server import Received, langsmith_server
from langchain_ctxguard.tracing import LangSmithTracer
from tests.support.tool_calls import Ran, agent_with, approve, calls, thread

SAID = "the parcel for Zyxwvut stands in aisle nine and costs 4711 EUR"
NOTES = '{"user_intent": "find the Qqqq parcel", "facts": [{"statement": "The parcel stands in aisle nine."}]}'
POLICY = {"default": "deny", "rules": [{"tool": "look", "effect": "read"}, {"tool": "pay", "verdict": "ask"}]}


@pytest.fixture
def server() -> Iterator[Received]:
    """A LangSmith of the test's own."""
    with langsmith_server() as received:
        yield received


def client_of(server: Received, **settings: Any) -> Client:
    return Client(api_url=server.url, api_key="none", auto_batch_tracing=True, **settings)


def guarded(tracer: LangSmithTracer, tools: Any = (), **settings: Any) -> tuple[Any, ContextGuard]:
    settings = {"trigger": ("messages", 5), "keep": ("messages", 1), **settings}
    summarizer = ChatModelSummarizer(FakeListChatModel(responses=[NOTES]))
    guard = ContextGuard(constraints=["Never delete an order."], summarizer=summarizer, hooks=[tracer], **settings)
    model = FakeListChatModel(responses=[f"Answer: {SAID}. " * 20])
    return create_agent(model, list(tools), middleware=[guard], checkpointer=InMemorySaver()), guard


def talk(agent: Any, turns: int) -> None:
    for number in range(turns):
        agent.invoke({"messages": [HumanMessage(f"Question {number}: {SAID}. " * 20)]}, thread())


def traced(server: Received, turns: int = 3, *, content: Any = "full", client: Client | None = None, **settings: Any) -> None:
    """Let an agent talk under tracing until it compacts."""
    client = client or client_of(server)
    tracer = LangSmithTracer(client=client, content=content, feedback=False)
    with tracing_context(enabled=True, client=client):
        talk(guarded(tracer, **settings)[0], turns)
    client.flush()


def own(server: Received) -> list[dict[str, Any]]:
    """Return the runs that are ours: the model's own runs are LangChain's to show."""
    return [run for run in server.runs.values() if run["run_type"] == "chain" and run["name"].startswith(("ctxguard.", "ContextGuard."))]


def test_by_default_no_run_of_ours_holds_a_word(server: Received) -> None:
    """Neither of the conversation nor of the summarizer, in an agent that says both."""
    traced(server, 6, content="counts")

    text = json.dumps(own(server))
    assert "ctxguard.compaction" in text
    assert "Zyxwvut" not in text
    assert "Qqqq" not in text
    assert "4711" not in text


def test_words_of_an_applications_check_are_not_sent(server: Received) -> None:
    """A check may say what it saw; the record's sentence would hold it."""
    answers = iter([f"I saw {SAID}"])
    traced(server, content="counts", extensions=Extensions(invariants={"mine": lambda *_: next(answers, True)}))

    outputs = server.named("ctxguard.compaction")[0]["outputs"]
    assert ["mine"] == outputs["broken"]
    assert "" == outputs["reason"]
    assert "Zyxwvut" not in json.dumps(own(server))


def test_full_content_shows_what_left_and_what_it_became(server: Received) -> None:
    """The messages as text, the summary before and after, the draft, and the values of the fields."""
    traced(server, 6)

    first, second = server.named("ctxguard.leaving")[:2]
    assert [("human", True), ("ai", True)] == [(one["role"], SAID in one["content"]) for one in first["inputs"]["messages"]][:2]
    assert "" == first["inputs"]["summary"]
    assert "find the Qqqq parcel" in second["inputs"]["summary"]
    compaction = server.named("ctxguard.compaction")[0]
    assert first["parent_run_id"] == compaction["id"]
    assert "find the Qqqq parcel" in compaction["outputs"]["summary"]
    assert "4711 EUR" in {one["value"] for one in compaction["outputs"]["control_fields"]}
    drafts = [run["outputs"]["draft"] for run in server.named("ctxguard.summarize") if run["run_type"] == "chain"]
    assert "find the Qqqq parcel" == drafts[0]["user_intent"]


def test_full_content_shows_fields_a_draft_changed(server: Received) -> None:
    """With what the draft told in their place."""
    client = client_of(server)
    said = [HumanMessage("The budget is 4711 EUR for all of it."), *[HumanMessage(f"And then {n}? " * 30) for n in range(6)]]
    wrong = FakeListChatModel(responses=['{"facts": [{"statement": "The budget is 9999 EUR for all of it."}]}'])
    guard = ContextGuard(trigger=("messages", 5), keep=("messages", 1), summarizer=ChatModelSummarizer(wrong), hooks=[full(client)])
    with tracing_context(enabled=True, client=client):
        create_agent(FakeListChatModel(responses=["ok"]), middleware=[guard]).invoke({"messages": said})
    client.flush()

    fields = server.named("ctxguard.compaction")[0]["outputs"]["control_fields"]
    (found,) = [one for one in fields if one["value"] == "4711 EUR"]
    assert found["became"] in {"changed", "lost"}


def full(client: Client) -> LangSmithTracer:
    return LangSmithTracer(client=client, content="full", feedback=False)


def test_what_the_client_hides_is_hidden_of_words_too(server: Received) -> None:
    """Inputs and outputs are the client's to hide."""
    traced(server, client=client_of(server, hide_inputs=True, hide_outputs=True))

    assert {} == server.named("ctxguard.leaving")[0]["inputs"]
    assert {} == server.named("ctxguard.compaction")[0]["outputs"]
    assert "Zyxwvut" not in json.dumps(own(server))


def test_the_clients_anonymizer_sees_words(server: Received) -> None:
    """Before they are sent."""
    anonymizer = create_anonymizer([{"pattern": r"Zyxwvut|Qqqq", "replace": "[name]"}])
    traced(server, client=client_of(server, anonymizer=anonymizer))

    assert "[name]" in json.dumps(server.named("ctxguard.leaving")[0]["inputs"])
    assert "Zyxwvut" not in json.dumps(own(server))
    assert "Qqqq" not in json.dumps(own(server))


def test_hiding_by_environment_is_respected(server: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    """`LANGSMITH_HIDE_INPUTS` and `LANGSMITH_HIDE_OUTPUTS`, as the client reads them."""
    from langsmith import utils

    monkeypatch.setenv("LANGSMITH_HIDE_INPUTS", "true")
    monkeypatch.setenv("LANGSMITH_HIDE_OUTPUTS", "true")
    utils.get_env_var.cache_clear()
    try:
        traced(server)
    finally:
        utils.get_env_var.cache_clear()

    assert "ctxguard.leaving" in server.text
    assert "Zyxwvut" not in json.dumps(own(server))


def test_a_trace_that_is_not_drawn_sends_no_words(server: Received) -> None:
    """Sampling is the client's."""
    traced(server, client=client_of(server, tracing_sampling_rate=0.0))

    assert {} == server.runs


def test_what_the_applications_redactor_takes_is_in_no_run(server: Received) -> None:
    """It sees what leaves the view first; with full content as well."""
    redact = Extensions(redact=lambda text: text.replace("Zyxwvut", "[gone]").replace("4711 EUR", "[sum]"))
    traced(server, extensions=redact)

    text = json.dumps(own(server))
    assert "[gone]" in text
    assert "Zyxwvut" not in text
    assert "4711 EUR" not in text


def test_each_verdict_is_a_run_below_the_tools_own(server: Received) -> None:
    """Denied, allowed, asked: by metadata and tag; a call that waits for a person is no error of ours."""
    client = client_of(server)
    ran = Ran()
    tools = guard_tools([ran.tool("drop", "q"), ran.tool("look", "q"), ran.tool("pay", "amount:int")], POLICY)
    agent = agent_with(tools, calls(("drop", {"q": SAID}), ("look", {"q": SAID}), ("pay", {"amount": 7})), "ok")
    with tracing_context(enabled=True, client=client):
        agent.invoke({"messages": [("user", "go")]}, thread())
    client.flush()

    by_tool = {run["extra"]["metadata"]["ctxguard_tool"]: run for run in server.named("ctxguard.tool_call")}
    assert {"drop": "deny", "look": "allow", "pay": "ask"} == {name: run["extra"]["metadata"]["ctxguard_decision"] for name, run in by_tool.items()}
    assert all(server.runs[run["parent_run_id"]]["name"] == name for name, run in by_tool.items())
    assert {"decision:deny", "ctxguard"} <= set(by_tool["drop"]["tags"])
    assert {"decision:ask", "paused"} <= set(by_tool["pay"]["tags"])
    assert [None, None, None] == [run.get("error") for run in by_tool.values()]
    assert "Zyxwvut" not in json.dumps(list(by_tool.values()))


def test_an_approval_is_on_the_run_it_opened(server: Received) -> None:
    """Each step of a call is an event of its run, and what came of it its outputs."""
    client = client_of(server)
    agent = agent_with(guard_tools([Ran().tool("pay", "amount:int")], POLICY), calls(("pay", {"amount": 7})), "ok")
    agent.invoke({"messages": [("user", "go")]}, thread())
    (question,) = agent.get_state(thread()).interrupts
    with tracing_context(enabled=True, client=client):
        agent.invoke(Command(resume={question.id: approve()}), thread())
    client.flush()

    (run,) = server.named("ctxguard.tool_call")
    steps = [event["name"] for event in run["events"]]
    assert ["approval.answered", "policy.allowed", "tool.ran"] == [step for step in steps if step != "policy.asked"]
    assert ("finished", "approve") == (run["outputs"]["outcome"], run["extra"]["metadata"]["ctxguard_choice"])


def test_a_tool_that_fails_is_shown_with_the_type_of_its_error(server: Received) -> None:
    """Its words are the tool's, and may be the conversation's."""
    client = client_of(server)
    agent = agent_with(guard_tools([Ran().tool("look", "q", raises=LookupError(SAID))], POLICY), calls(("look", {"q": "x"})), "ok")
    with tracing_context(enabled=True, client=client), pytest.raises(LookupError):
        agent.invoke({"messages": [("user", "go")]}, thread())
    client.flush()

    (run,) = server.named("ctxguard.tool_call")
    assert "LookupError" == run["error"]
    assert "Zyxwvut" not in json.dumps(run)


def test_a_rollback_is_a_run(server: Received) -> None:
    """With the version it made and the one it restored."""
    client = client_of(server)
    with GuardStore.open("memory://") as store:
        agent, guard = guarded(LangSmithTracer(client=client), store=store)
        talk(agent, 4)
        with tracing_context(enabled=True, client=client):
            version = guard.history(thread(), agent).rollback(1)
    client.flush()

    (run,) = server.named("ctxguard.rollback")
    assert (version.number, 1) == (run["extra"]["metadata"]["ctxguard_version"], run["extra"]["metadata"]["ctxguard_restored"])


async def test_a_rollback_in_a_graph_is_below_its_node(server: Received) -> None:
    """`RollbackContext` makes it where it stands, and so does `arollback` for whoever awaits it."""
    client, saver = client_of(server), InMemorySaver()
    with GuardStore.open("memory://") as store:
        guard = ContextGuard(store=store, trigger=("messages", 5), keep=("messages", 1), hooks=[full(client)])
        agent = create_agent(FakeListChatModel(responses=["ok"]), middleware=[guard], checkpointer=saver)
        talk(agent, 4)
        back = StateGraph(GuardedState)
        back.add_node("back", RollbackContext(guard, to=1))
        back.add_edge(START, "back")
        with tracing_context(enabled=True, client=client):
            await back.compile(checkpointer=saver).ainvoke({"messages": []}, thread())
            await guard.history(thread(), agent).arollback(1)
    client.flush()

    below, alone = server.named("ctxguard.rollback")
    assert "back" == server.runs[below["parent_run_id"]]["name"]
    assert alone.get("parent_run_id") is None
    assert "holds what version 1 held" in below["outputs"]["detail"]


def test_a_prefix_report_is_no_run_of_its_own(server: Received) -> None:
    """It stands in the metadata of the guard's hook around the model call: one more run for each call would drown the others."""
    traced(server, content="counts")

    assert [] == server.named("ctxguard.prefix")
    hooks = server.named("ContextGuard.wrap_model_call")
    assert 3 == len(hooks)
    assert all(run["extra"]["metadata"]["ctxguard_prefix_fingerprint"] for run in hooks)
    assert "compaction" == hooks[-1]["extra"]["metadata"]["ctxguard_prefix_drift"]


def test_the_metadata_of_a_compaction_are_complete(server: Received) -> None:
    """What a dashboard filters by."""
    traced(server, content="counts")

    metadata = server.named("ctxguard.compaction")[0]["extra"]["metadata"]
    named = "thread version parent trigger strategy outcome tokens_before tokens_after constraints consents package"
    assert [] == [name for name in named.split() if f"ctxguard_{name}" not in metadata]
    shown = tuple(metadata[f"ctxguard_{name}"] for name in ("thread", "version", "parent", "trigger", "strategy"))
    assert ("t", 1, 0, "messages", "chat_model:FakeListChatModel") == shown


@pytest.mark.field("C157")
def test_a_compaction_says_how_much_it_dropped(server: Received) -> None:
    """Tokens before and after, how many messages left, and with full content which ones and what the summary says."""
    traced(server, 11, trigger=("messages", 20))

    (run,) = server.named("ctxguard.compaction")
    metadata, leaving = run["extra"]["metadata"], server.named("ctxguard.leaving")[0]["inputs"]["messages"]
    assert metadata["ctxguard_tokens_before"] > metadata["ctxguard_tokens_after"]
    assert metadata["ctxguard_evicted_messages"] == len(leaving) == len({one["id"] for one in leaving})
    assert run["outputs"]["summary"]


def test_a_compaction_inside_a_guarded_call_keeps_its_own_numbers(server: Received) -> None:
    """The record goes to the compaction's run, though the call's is open around it."""
    client = client_of(server)

    @tool
    def look(q: str) -> str:
        """Look, and compact what was found."""
        return compact_messages([HumanMessage(f"{q} {n}. " * 30) for n in range(9)], keep=("messages", 1)).outcome

    agent = agent_with(guard_tools([look], POLICY), calls(("look", {"q": SAID})), "ok")
    with tracing_context(enabled=True, client=client):
        agent.invoke({"messages": [("user", "go")]}, thread())
    client.flush()

    (call,), (compaction,) = server.named("ctxguard.tool_call"), server.named("ctxguard.compaction")
    assert "ran" == call["outputs"]["step"]
    assert "requested" == compaction["outputs"]["trigger"] == compaction["extra"]["metadata"]["ctxguard_trigger"]
    assert compaction["trace_id"] == call["trace_id"]
    assert compaction["dotted_order"].startswith(call["dotted_order"])


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_summarizer_that_is_timed_is_below_its_step(server: Received, is_async: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Whoever waits for it in another thread takes the context along."""
    client = client_of(server)
    config = GuardConfig.from_dict({"compaction": {"summarizer_timeout_s": 30}})
    agent, _ = guarded(full(client), config=config)
    with tracing_context(enabled=True, client=client):
        for number in range(3):
            given = {"messages": [HumanMessage(f"Question {number}: {SAID}. " * 20)]}
            await agent.ainvoke(given, thread()) if is_async else agent.invoke(given, thread())
    client.flush()

    (model,) = [run for run in server.runs.values() if run["run_type"] == "llm" and run["name"] == "ctxguard.summarize"]
    step = server.runs[model["parent_run_id"]]
    assert ("ctxguard.summarize", "ctxguard.compaction") == (step["name"], server.runs[step["parent_run_id"]]["name"])


def test_metadata_of_a_run_around_it_are_not_a_runs_own(server: Received) -> None:
    """LangSmith hands them down; what a run says of itself stays what it said."""
    client = client_of(server)
    tracer = full(client)
    with (
        tracing_context(enabled=True, client=client),
        tracer.span("tool_call", {"parent": 1, "tool": "look"}),
        tracer.span("compaction", {"parent": 2}),
    ):
        pass
    client.flush()

    (call,), (compaction,) = server.named("ctxguard.tool_call"), server.named("ctxguard.compaction")
    assert (1, 2) == tuple(run["extra"]["metadata"]["ctxguard_parent"] for run in (call, compaction))


def test_off_asks_once_and_does_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is made, no words are gathered, nothing is raised."""
    import langsmith
    from langsmith import utils

    asked: list[int] = []

    def never() -> bool:
        asked.append(1)
        return False

    monkeypatch.setattr(utils, "tracing_is_enabled", never)
    monkeypatch.setattr(langsmith, "trace", lambda *_, **__: pytest.fail("a run was made"))
    tracer = LangSmithTracer(content="full")
    with tracer.span("compaction", {}):
        tracer.record(ContextEvent(kind="rolled_back", detail="", version=2))
    assert not tracer.wants_texts
    tracer.show(CompactionTexts(summary_after=SAID))

    assert 4 == len(asked)


def test_a_tracer_that_cannot_make_runs_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine warns once and goes on without it."""
    import langsmith

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(SAID)

    monkeypatch.setattr(langsmith, "trace", refuse)
    with tracing_context(enabled=True), pytest.warns(RuntimeWarning, match="LangSmithTracer failed with RuntimeError") as warned:
        done = compact_messages([HumanMessage(f"{SAID} {n}. " * 30) for n in range(9)], keep=("messages", 1))
    assert 1 == done.record.version
    assert 1 == len(warned)
    assert not any("Zyxwvut" in str(one.message) for one in warned)


def test_a_config_file_can_be_traced_without_a_hook(server: Received) -> None:
    """Every engine has a tracer; one that was given takes its place."""
    client = client_of(server)
    with tracing_context(enabled=True, client=client):
        Engine().record(ContextEvent(kind="rolled_back", detail="Version 2 holds what version 1 held.", version=2, restored=1))
        ContextGuard(GuardConfig(), hooks=[LangSmithTracer(client=client, tags=["mine"])]).turns.engine.record(
            ContextEvent(kind="head_refused", detail=SAID, version=1)
        )
    client.flush()

    (rollback,), (refused,) = server.named("ctxguard.rollback"), server.named("ctxguard.head_refused")
    assert "mine" not in rollback["tags"]
    assert "mine" in refused["tags"]
    assert "Zyxwvut" not in json.dumps(refused)
