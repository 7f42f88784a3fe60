"""A repeated call returns what the first one returned, whatever its kind, or says what could not be kept."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import AgentState
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.graph.receipts import receipt_form, returned_from
from langchain_ctxguard.graph.tools import guard_tools
from tests.support.tool_calls import Ran, approve, calls, in_turns, questions, results, resume, say, thread

ONCE = ToolPolicy.from_dict({"rules": [{"tool": "pay", "irreversible": True}]})
CALL: dict[str, Any] = {"name": "pay", "args": {"amount": 1}, "id": "c0", "type": "tool_call"}
BLOCKS = [{"type": "text", "text": "paid"}, {"type": "image", "base64": "aGk=", "mime_type": "image/png"}]


class Strange:
    """Something without a JSON form."""


def paying(returns: Any, **settings: Any) -> tuple[BaseTool, list[int]]:
    """Return a guarded tool that returns this, and how often it ran."""
    ran: list[int] = []

    def pay(amount: int) -> Any:
        ran.append(amount)
        return returns

    one = StructuredTool.from_function(pay, name="pay", description="Pay.", **settings)
    return guard_tools([one], ONCE, store=GuardStore.open("memory://"))[0], ran


PAIR = {"response_format": "content_and_artifact"}


@pytest.mark.parametrize(
    ("returns", "settings"),
    [
        ("paid", {}),
        (BLOCKS, {}),
        ({"id": 7, "nested": [1.5, None, True]}, {}),
        (("paid", {"rows": [1, 2], "pair": (1, "2")}), PAIR),
        ((BLOCKS, ["a"]), PAIR),
        (("paid", None), PAIR),
        (ToolMessage("paid", tool_call_id="c0", artifact={"no": 77}, status="success", name="pay", additional_kwargs={"k": 1}), {}),
        (ToolMessage(BLOCKS, tool_call_id="c0", id="m-1"), {}),
        ((ToolMessage("paid", tool_call_id="c0", artifact=[1]), None), PAIR),
    ],
)
def test_the_very_call_returns_what_it_returned(returns: Any, settings: dict[str, Any]) -> None:
    """Content, blocks, artifact and status, as the model and the program saw them the first time."""
    pay, ran = paying(returns, **settings)
    first = pay.invoke(CALL, thread())
    again = pay.invoke(CALL, thread())
    assert [1] == ran
    assert first == again
    assert (first.artifact, first.status) == (again.artifact, again.status)


@pytest.mark.parametrize(("returns", "settings"), [("paid", {}), (("paid", {"no": 77}), PAIR), ((BLOCKS, {"no": 77}), PAIR)])
def test_another_call_gets_the_same_after_the_words_that_it_was_not_run_again(returns: Any, settings: dict[str, Any]) -> None:
    """Its content stands behind them, and its artifact is the first one's."""
    pay, ran = paying(returns, **settings)
    first = pay.invoke(CALL, thread())
    again = pay.invoke({**CALL, "id": "c1"}, thread())
    assert ([1], "c1", "success") == (ran, again.tool_call_id, again.status)
    assert "was not run again" in again.text
    if isinstance(first.content, list):
        assert first.content == again.content[1:]
    else:
        assert again.content.endswith(f"It returned: {first.content}")
    if settings:
        assert first.artifact == again.artifact


def test_what_could_not_be_kept_is_named() -> None:
    """The content is told, and that its artifact is missing."""
    pay, ran = paying(("paid", Strange()), **PAIR)
    pay.invoke(CALL, thread())
    again = pay.invoke(CALL, thread())
    assert [1] == ran
    assert again.content.endswith("It returned: paid Not kept of what it returned: artifact.")
    big, _ = paying([{"type": "text", "text": "x" * 1_100_000}])
    big.invoke(CALL, thread())
    assert "Not kept of what it returned: content, which is too large." in big.invoke(CALL, thread()).text


class Counted(AgentState):
    """A state with a key of its own."""

    paid: Annotated[list[int], lambda old, new: old + new]
    note: Any


def ordering(update: dict[str, Any], ran: list[int]) -> BaseTool:
    """Return a tool that sets keys of the state, and notes what it ran with."""

    @tool
    def pay(amount: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Pay."""
        ran.append(amount)
        return Command(update={**update, "messages": [ToolMessage("paid", tool_call_id=tool_call_id)]})

    return pay


def test_a_commands_update_is_applied_when_its_node_begins_anew_and_not_for_another_call() -> None:
    """Another call of the same task asks a person, so the node's result did not reach the state; a later call gets no update a second time."""
    policy = ToolPolicy.from_dict({"rules": [{"tool": "pay", "irreversible": True}, {"tool": "ask", "verdict": "ask"}]})
    ran = Ran()
    tools = guard_tools([ordering({"paid": [1]}, ran_too := []), ran.tool("ask", "q")], policy, store=GuardStore.open("memory://"))
    model = in_turns(calls(("pay", {"amount": 1}), ("ask", {"q": "x"})), "ok", calls(("pay", {"amount": 1}), ids="d"), "ok")
    graph = StateGraph(Counted)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    plain: Any = graph.compile(checkpointer=InMemorySaver())
    (asked,) = questions(say(plain))
    assert ([1], []) == (ran_too, plain.get_state(thread()).values.get("paid", []))
    state = resume(plain, approve(digest=asked.value["digest"]))
    assert ([1], [1], ["ask"]) == (ran_too, state["paid"], ran.names)
    assert ["paid", "done"] == [message.content for message in results(state)]
    state = say(plain, "again")
    assert ([1], [1]) == (ran_too, state["paid"])
    assert "not applied again" in results(state)[-1].text


def test_of_a_command_that_could_not_be_kept_whole_nothing_is_applied() -> None:
    """Half of an update would be a state nobody wrote; the result names what is missing."""
    (pay,) = guard_tools([ordering({"paid": [1], "note": Strange()}, [])], ONCE, store=GuardStore.open("memory://"))
    call = {**CALL, "id": "c0"}
    assert isinstance(pay.invoke(call, thread()), Command)
    again = pay.invoke(call, thread())
    assert "Not kept of what it returned: `note` of its update." in again.text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_whatever_is_kept_is_what_it_was(content: Any, artifact: Any) -> None:
    """Lists stay lists, pairs pairs, and a key that looks like one of ours a key; through the text form it rests in."""
    form = receipt_form((content, artifact), has_artifact=True)
    returned = returned_from(json.loads(json.dumps(form)), "text")
    assert ((), content, artifact) == (returned.lost, returned.value, returned.artifact)
    assert repr(content) == repr(returned.value)


def test_messages_in_an_update_are_those_that_were_there() -> None:
    """Of every kind, removals among them; what names another node by a Send is not kept."""
    messages = [
        HumanMessage("a", id="1"),
        AIMessage("b", id="2", tool_calls=[CALL]),
        RemoveMessage(id="3"),
        ToolMessage("c", tool_call_id="x", id="4"),
    ]
    kept = Command(update={"messages": messages, "n": 1}, goto=["a", "b"], graph=Command.PARENT)
    found = returned_from(receipt_form(kept, has_artifact=False), "")
    assert kept == found.value
    sending = returned_from(receipt_form(Command(goto=[Send("a", {})]), has_artifact=False), "")
    assert ("its `goto`",) == sending.lost
    listed = Command(update=[("messages", messages)])
    assert listed == returned_from(receipt_form(listed, has_artifact=False), "").value


def test_a_form_of_a_later_version_is_not_guessed() -> None:
    """It says that it cannot be read."""
    form = json.dumps({"content": {"zz": 1}, "artifact": None, "lost": []})
    assert ("content, which this version cannot read",) == returned_from(form, "").lost
