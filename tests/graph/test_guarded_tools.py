"""A guarded tool does all that the tool did: its class, its schema, its injections, its results, sync and async."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, ToolException, tool
from langgraph.config import get_stream_writer
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel, Field, field_validator

from langchain_ctxguard.domain.policy import Decision, ToolPolicy, ToolRequest
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.events import read_event
from langchain_ctxguard.graph.tools import guard_tools
from tests.support.tool_calls import agent_with, calls, raw_graph, results, say, thread, told

OPEN = ToolPolicy()


def guarded(one: Any, policy: Any = OPEN, **settings: Any) -> Any:
    """Return one tool guarded."""
    return guard_tools([one], policy, **settings)[0]


class Book(BaseTool):
    """A tool class with state, a private helper, and its own ideas of what it is passed."""

    name: str = "book"
    description: str = "Books."
    booked: list[str] = Field(default_factory=list)

    def _run(self, title: str, config: RunnableConfig, run_manager: CallbackManagerForToolRun | None = None) -> str:
        assert run_manager is not None
        self.booked.append(title)
        return f"booked {title} in {config['configurable']['thread_id']}"


@tool
def with_runtime(q: str, runtime: ToolRuntime) -> str:
    """Look with the runtime."""
    return f"{q} {len(runtime.state['messages'])} {runtime.tool_call_id}"


@tool
def with_state(q: str, messages: Annotated[list[Any], InjectedState("messages")], call: Annotated[str, InjectedToolCallId]) -> str:
    """Look with the state."""
    return f"{q} {len(messages)} {call}"


@tool
def with_store(q: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Look with the store."""
    store.put(("n",), "k", {"q": q})
    return "kept"


@tool
def with_command(q: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Set the state."""
    return Command(update={"mood": q, "messages": [ToolMessage("set", tool_call_id=call)]})


@tool(response_format="content_and_artifact")
def with_artifact(q: str) -> tuple[str, dict[str, str]]:
    """Return more than words."""
    return q, {"more": q}


@tool
def with_stream(q: str) -> str:
    """Tell on the way."""
    get_stream_writer()(f"half of {q}")
    return q


class Moody(AgentState[Any]):
    """A state with a channel of its own."""

    mood: str


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (Book(), "booked x in t"),
        (with_runtime, "x 2 c0"),
        (with_state, "x 2 c0"),
        (with_store, "kept"),
        (with_command, "set"),
        (with_artifact, "x"),
        (with_stream, "x"),
        (Tool("single", lambda q: f"one {q}", "Takes one."), "one x"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_every_kind_of_tool_works_guarded(one: BaseTool, expected: str, is_async: bool) -> None:  # noqa: FBT001
    """State, store, runtime, call id, config and run manager arrive; commands, artifacts and streams leave."""
    name = "title" if one.name == "book" else "__arg1" if one.name == "single" else "q"
    agent = agent_with([guarded(one)], calls((one.name, {name: "x"})), "ok", store=InMemoryStore(), state_schema=Moody)
    state = say(agent, is_async=is_async)
    assert [expected] == [message.content for message in results(state)]
    assert ["success"] == [message.status for message in results(state)]
    if one is with_command:
        assert "x" == state["mood"]
    if one is with_artifact:
        assert {"more": "x"} == results(state)[0].artifact


def test_what_a_tool_tells_on_the_way_is_streamed() -> None:
    """The writer of the graph is the tool's own."""
    agent = agent_with([guarded(with_stream)], calls(("with_stream", {"q": "x"})), "ok")
    chunks = agent.stream({"messages": [("user", "go")]}, thread(), stream_mode="custom")
    assert ["half of x"] == [chunk for chunk in chunks if read_event(chunk) is None]


def test_class_data_and_schema_are_the_tools_own() -> None:
    """A guarded tool is an instance of the tool's class over the same data, and shows a model the same schema."""
    book = Book()
    twin = guarded(book)
    assert isinstance(twin, Book)
    twin.invoke({"title": "x"}, thread())
    assert ["x"] == book.booked
    for one in (book, with_runtime, with_state, with_artifact):
        twin = guarded(one)
        assert one.args == twin.args
        schema, own = one.tool_call_schema, twin.tool_call_schema
        assert isinstance(schema, type)
        assert isinstance(own, type)
        assert schema.model_json_schema() == own.model_json_schema()


def test_a_copy_of_a_guarded_tool_is_guarded() -> None:
    """Frameworks copy tools; the guard goes with the copy."""
    deny = ToolPolicy.from_dict({"default": "deny"})
    assert "error" == guarded(with_artifact, deny).model_copy().invoke({"q": "x"}).status


class Amount(BaseModel):
    """Arguments that change what they are given."""

    amount: int = 5

    @field_validator("amount")
    @classmethod
    def _doubled(cls, amount: int) -> int:
        return amount * 2


def test_the_arguments_that_run_are_the_ones_judged() -> None:
    """Defaults, conversions and validators have had their say before anybody judges."""
    seen: list[Any] = []
    ran: list[int] = []

    def judge(request: ToolRequest) -> Decision:
        seen.append(request.args["amount"])
        return Decision.ALLOW

    one = StructuredTool.from_function(lambda amount: ran.append(amount) or "ok", name="pay", description="Pay.", args_schema=Amount)  # type: ignore[func-returns-value]  # it notes and goes on
    twin = guarded(one, judge)
    twin.invoke({"amount": "60"})
    twin.invoke({})
    assert [120, 5] == seen == ran


def test_injected_arguments_are_neither_judged_nor_digested() -> None:
    """A rule and a digest see what a model wrote, never the state or the runtime beside it."""
    seen: list[Any] = []

    def judge(request: ToolRequest) -> Decision:
        seen.append(dict(request.args))
        return Decision.ALLOW

    for one in (with_runtime, with_state, with_store):
        say(agent_with([guarded(one, judge)], calls((one.name, {"q": "x"})), "ok", store=InMemoryStore()), name=one.name)
    assert [{"q": "x"}] * 3 == seen


async def _fetch(runtime: Annotated[object | None, InjectedToolArg()] = None, **given: Any) -> tuple[list[dict[str, str]], dict[str, Any]]:
    assert isinstance(runtime, ToolRuntime)
    return [{"type": "text", "text": f"got {given['url']}"}], {"structured": given}


def mcp_tool() -> BaseTool:
    """Return a tool as the adapters of MCP servers make them: a JSON schema, async only, a runtime, content and artifact."""
    schema = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    return StructuredTool(name="fetch", description="Fetch.", args_schema=schema, coroutine=_fetch, response_format="content_and_artifact")


def test_tools_of_mcp_servers_are_guarded() -> None:
    """A rule about addresses holds for a tool that comes from a server, and its content and artifact pass."""
    policy = ToolPolicy.from_dict({"rules": [{"tool": "fetch", "urls": {"arg": "url", "hosts": ["good.org"]}, "else": "deny"}]})
    surfaces: list[str] = []

    def watch(request: ToolRequest) -> None:
        surfaces.append(request.surface)

    tools = guard_tools([mcp_tool()], [policy, watch])
    turns = [calls(("fetch", {"url": "https://good.org/a"}), ("fetch", {"url": "https://evil.org"})), "ok"]
    state = say(agent_with(tools, *turns), is_async=True)
    good, bad = results(state)
    assert ([{"type": "text", "text": "got https://good.org/a"}], {"structured": {"url": "https://good.org/a"}}) == (good.content, good.artifact)
    assert "error" == bad.status
    assert "Denied `fetch`" in str(bad.content)
    assert ["mcp", "mcp"] == surfaces


def test_a_tool_that_fails_fails_as_before() -> None:
    """An exception of the tool reaches its caller as it was; one it is told to handle becomes the text it wants."""

    @tool
    def breaks(q: str) -> str:
        """Break."""
        raise ToolException(q)

    with pytest.raises(ToolException, match="x"):
        guarded(breaks).invoke({"q": "x"})
    breaks.handle_tool_error = True
    assert "x" == guarded(breaks).invoke({"q": "x"})
    with pytest.raises(ValueError, match="q"):
        guarded(breaks).invoke({})


def test_a_class_with_a_way_in_of_its_own_cannot_be_guarded() -> None:
    """A tool whose `invoke` does the work would be called past the guard: that is said when it is wrapped."""

    class Sly(Book):
        def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:  # noqa: A002 - as LangChain spells it
            return "sly"

    with pytest.raises(ConfigurationError, match="has a `invoke` of its own"):
        guarded(Sly())


def test_the_ways_in_are_all_guarded() -> None:
    """`invoke`, `run`, `batch`, `stream`, and their async forms: none leads past the policy."""
    ran: list[str] = []

    @tool
    def act(q: str) -> str:
        """Act."""
        ran.append(q)
        return q

    twin = guarded(act, {"default": "deny"})
    twin.invoke({"q": "a"})
    twin.run({"q": "a"})
    twin.batch([{"q": "a"}])
    list(twin.stream({"q": "a"}))

    async def all_of_them() -> None:
        await twin.ainvoke({"q": "a"})
        await twin.arun({"q": "a"})
        await twin.abatch([{"q": "a"}])

    asyncio.run(all_of_them())
    twin._run(q="a", config={})  # the last way in there is
    assert [] == ran


def test_a_guarded_tool_that_calls_another_is_judged_for_each() -> None:
    """What one call was allowed opens no other."""
    ran: list[str] = []

    @tool
    def inner(q: str) -> str:
        """Act."""
        ran.append(q)
        return q

    policy = ToolPolicy.from_dict({"default": "deny", "rules": [{"tool": "outer"}]})
    denied = guarded(inner, policy)

    @tool
    def outer(q: str) -> str:
        """Call the other one."""
        return str(denied.invoke({"q": q}).content)

    assert "Denied `inner`" in guarded(outer, policy).invoke({"q": "x"})
    assert [] == ran


@pytest.mark.field("C180", "C182")
def test_a_denial_says_what_was_refused_and_that_nothing_happened() -> None:
    """A denied tool stays in sight, its call has a result, and the result says plainly what did not happen and what to do."""
    policy = ToolPolicy.from_dict({"rules": [{"tool": "with_artifact", "verdict": "deny", "reason": "no saving here", "instead": "Show it."}]})
    agent = agent_with(guard_tools([with_artifact, with_stream], policy), calls(("with_artifact", {"q": "x"}), ("nothing", {})), "ok")
    state = say(agent)
    denied = next(message for message in results(state) if message.name == "with_artifact")
    assert "Denied `with_artifact`: no saving here. Nothing happened: the tool did not run. Show it." == denied.content
    assert ["c0", "c1"] == [message.tool_call_id for message in results(state)]
    assert ["error", "error"] == [message.status for message in results(state)]


@pytest.mark.field("C179")
@pytest.mark.parametrize(("name", "expected"), [("free", "ran"), ("asked", "asked"), ("barred", "denied"), ("unlisted", "denied")])
def test_four_outcomes_are_bound_when_the_call_is_made(name: str, expected: str) -> None:
    """Allowed, asked, denied, unlisted: and no question is put for what is denied anyway."""
    ran: list[str] = []
    one = StructuredTool.from_function(
        lambda q: ran.append(q) or "ok", name=name, description="Acts.", args_schema={"type": "object", "properties": {"q": {"type": "string"}}}
    )  # type: ignore[func-returns-value]  # it notes and goes on
    rules = [{"tool": "free"}, {"tool": "asked", "verdict": "ask"}, {"tool": ["barred", "asked*"], "when": {"q": "bad"}, "verdict": "deny"}]
    policy = ToolPolicy.from_dict({"default": "deny", "rules": [*rules, {"tool": "barred", "verdict": "deny"}]})
    state = say(agent_with(guard_tools([one], policy), calls((name, {"q": "x"})), "ok"))
    found = "ran" if ran else "asked" if state.get("__interrupt__") else "denied" if "Denied" in told(state) else ""
    assert expected == found
    if name == "asked":
        state = say(agent_with(guard_tools([one], policy), calls((name, {"q": "bad"})), "ok"))
        assert not state.get("__interrupt__")
        assert "Denied `asked`" in told(state)


def test_a_forged_runtime_argument_of_a_model_is_dropped() -> None:
    """A model cannot name the argument under which the runtime comes."""
    agent = raw_graph(guard_tools([with_stream], OPEN), calls(("with_stream", {"q": "x", "ctxguard_runtime": {"state": {}}})), "ok")
    assert "x" == told(say(agent))
