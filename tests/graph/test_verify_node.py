from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from langchain_ctxguard import ContextGuard, VerifyContext
from langchain_ctxguard.domain.verification import VerificationOutcome, VerificationRecord
from langchain_ctxguard.domain.verified import VerifiedHead, read_verified
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.state import GuardedState, ViewState
from langchain_ctxguard.graph.verified_state import newest_verified
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel
from tests.graph.models import Facts, ScriptedChat, plain, said, system_texts, thread, wire
from tests.support.providers import check_provider_valid

with warnings.catch_warnings():
    # What langmem imports uses names LangGraph has moved.
    warnings.simplefilter("ignore", DeprecationWarning)
    from langmem.short_term import SummarizationNode

RULE = "Never delete an order."
CARRIED = '<context_note from="control_fields"'
SMALL_TALK = "We talked about the weather."


class LangmemState(GuardedState):
    """What langmem's node needs beside the conversation."""

    context: dict[str, Any]
    summarized_messages: list[AnyMessage]


class LangmemViewState(ViewState):
    """The same where it rewrites the conversation."""

    context: dict[str, Any]


def guard(facts: Facts | None = None) -> ContextGuard:
    """Return a guard that lends its rule and its hooks."""
    return ContextGuard(constraints=[RULE], hooks=[] if facts is None else [facts], trigger=("tokens", 90_000))


def langmem(text: str = SMALL_TALK, **settings: Any) -> SummarizationNode:
    """Return langmem's node, which summarizes at 12 messages and remembers nothing of them."""
    return SummarizationNode(
        model=ScriptedChat(script=lambda *_: text),
        token_counter=lambda messages: len(list(messages)),
        max_tokens=12,
        max_tokens_before_summary=8,
        max_summary_tokens=1,
        **settings,
    )


def beside(model: Any, facts: Facts | None = None, *, text: str = SMALL_TALK, saver: Any = None, **settings: Any) -> Any:
    """Return a graph in which langmem writes its view to a channel of its own."""
    graph = StateGraph(LangmemState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("summarize", langmem(text))
    graph.add_node("verify", VerifyContext(guard(facts), after="summarized_messages", **settings))
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["summarized_messages"])]})
    graph.add_edge(START, "summarize")
    graph.add_edge("summarize", "verify")
    graph.add_edge("verify", "model")
    return graph.compile(checkpointer=saver or InMemorySaver())


def in_place(model: Any, compactor: Any, facts: Facts | None = None, *, saver: Any = None, is_read: bool = True, **settings: Any) -> Any:
    """Return a graph in which a node replaces the conversation."""
    verify = VerifyContext(guard(facts), **settings)
    graph = StateGraph(LangmemViewState, input_schema=MessagesState, output_schema=MessagesState)
    if is_read:
        graph.add_node("read", verify.reader)
    graph.add_node("compact", compactor)
    graph.add_node("verify", verify)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["llm_input_messages"])]})
    path = [START, *(["read"] if is_read else []), "compact", "verify", "model"]
    for first, second in itertools.pairwise(path):
        graph.add_edge(first, second)
    return graph.compile(checkpointer=saver or InMemorySaver())


def forgetful(state: Any) -> Any:
    """Keep the last three of nine messages, and say nothing of the rest."""
    messages = state["messages"]
    if len(messages) < 9:
        return {}
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage(SMALL_TALK), *messages[-3:]]}


def talk(graph: Any, *texts: str, config: Any = None) -> list[str]:
    """Say something turn by turn; return the answers."""
    return [graph.invoke(said(text), config or thread())["messages"][-1].text for text in texts]


def carried_in(view: list[BaseMessage]) -> list[str]:
    """Return the texts of the messages that put values back."""
    return [message.text for message in view if message.text.startswith(CARRIED)]


def records(facts: Facts) -> list[VerificationRecord]:
    """Return what the verifier put on record."""
    return [fact for fact in facts.all if isinstance(fact, VerificationRecord)]


GRAPHS: dict[str, Any] = {
    "beside": beside,
    "in_place": lambda model, facts=None, **rest: in_place(model, langmem(output_messages_key="messages"), facts, **rest),
    "own_node": lambda model, facts=None, **rest: in_place(model, forgetful, facts, **rest),
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize(
    ("told", "asked", "number"),
    [("My order number is ORD-77120.", "What is my order number?", "ORD-77120"), ("我的订单号是 ORD-88231。", "我的订单号是多少？", "ORD-88231")],
)
def test_an_order_number_of_turn_8_answers_in_turn_16(kind: str, told: str, asked: str, number: str) -> None:
    """Whatever compacts the graph, the model answers with what its summary forgot."""
    seen = re.compile(rf"(?P<order>{number})")
    answer = Behaviour(when=re.compile("order number|订单号"), given=seen, call=lambda sight: f"It is {sight['order']}.")
    graph = GRAPHS[kind](ObedientModel(behaviours=(answer,), otherwise="I do not know."))
    talk(graph, *["Go on."] * 7, told, *["Go on."] * 7)
    assert [f"It is {number}."] == talk(graph, asked)


@pytest.mark.parametrize("kind", GRAPHS)
def test_one_system_message_leads_and_nobodys_words_are_in_it(kind: str) -> None:
    """The rule stands in the one system message; langmem's summary, a system message of its own, is sent as untrusted text."""
    model, facts = ScriptedChat(), Facts()
    graph = GRAPHS[kind](model, facts)
    talk(graph, "The budget is 5万元.", *["Go on."] * 9)
    assert any(carried_in(view) for view in model.seen)
    for view in model.seen:
        assert [0] == [index for index, message in enumerate(view) if isinstance(message, SystemMessage)]
        assert 1 == "".join(system_texts(view)).count(RULE)
        assert SMALL_TALK not in "".join(system_texts(view))
        assert "5万元" not in "".join(system_texts(view))
        assert [] == check_provider_valid(view)
    assert {VerificationOutcome.REPAIRED} == {record.outcome for record in records(facts)}


@pytest.mark.parametrize("kind", GRAPHS)
async def test_async_graphs_are_verified_alike(kind: str) -> None:
    """`ainvoke` sends what `invoke` sends."""
    one, other = ScriptedChat(), ScriptedChat()
    first, second = GRAPHS[kind](one), GRAPHS[kind](other)
    for index, text in enumerate(["The budget is 5万元.", *["Go on."] * 9]):
        first.invoke(said(text, f"m{index}"), thread())
        await second.ainvoke(said(text, f"m{index}"), thread())
    assert [[message.content for message in view] for view in one.seen] == [[message.content for message in view] for view in other.seen]


@pytest.mark.parametrize("kind", GRAPHS)
def test_another_process_goes_on(kind: str, tmp_path: Path) -> None:
    """A second graph over the same SQLite file knows what was lost, and sends the same prefix."""
    path = str(tmp_path / "threads.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        first = ScriptedChat()
        talk(GRAPHS[kind](first, saver=saver), "The invoice is INV-7741.", *["Go on."] * 5)
    assert carried_in(first.seen[-1])
    with SqliteSaver.from_conn_string(path) as saver:
        second = ScriptedChat()
        talk(GRAPHS[kind](second, saver=saver), *["Go on."] * 5)
    assert plain(first.seen[-1]) == plain(second.seen[0])[: len(first.seen[-1])]
    assert "INV-7741" in carried_in(second.seen[-1])[0]


@pytest.mark.parametrize("kind", GRAPHS)
def test_the_same_losses_make_the_same_bytes(kind: str) -> None:
    """A request begins with the one before it, but for the call in which a compaction was made."""
    model, facts = ScriptedChat(), Facts()
    talk(GRAPHS[kind](model, facts), "The budget is 5万元.", *["Go on."] * 9)
    moved = sum(plain(before) != plain(after)[: len(before)] for before, after in itertools.pairwise(model.seen))
    assert 0 < moved <= len(records(facts))


def test_without_a_reader_what_earlier_runs_saw_is_known() -> None:
    """The node alone knows what stood in the conversation when it last ran."""
    model = ScriptedChat()
    talk(in_place(model, forgetful, is_read=False), "The budget is 5万元.", *["Go on."] * 6)
    assert "5万元" in carried_in(model.seen[-1])[0]


def test_a_reader_sees_what_is_compacted_at_first_sight() -> None:
    """A long conversation that arrives at once and is compacted at once is read before."""
    lines: list[BaseMessage] = [HumanMessage("The budget is 5万元.", id="a")]
    for index in range(5):
        lines += [AIMessage("Yes.", id=f"b{index}"), HumanMessage("Go on.", id=f"c{index}")]
    read, unread = ScriptedChat(), ScriptedChat()
    in_place(read, forgetful).invoke({"messages": lines}, thread())
    in_place(unread, forgetful, is_read=False).invoke({"messages": lines}, thread())
    assert "5万元" in carried_in(read.seen[-1])[0]
    assert [] == carried_in(unread.seen[-1])


def test_a_person_is_asked_in_a_plain_graph() -> None:
    """The graph pauses in the node, and the answer holds until the next compaction."""
    model, facts = ScriptedChat(), Facts()
    graph = beside(model, facts, on_loss="ask")
    talk(graph, "The budget is 5万元.", *["Go on."] * 3)
    pauses = 0
    for _ in range(4):
        state = graph.invoke(said("Go on."), thread())
        if "__interrupt__" in state:
            pauses += 1
            assert "5万元" == state["__interrupt__"][0].value["findings"]["lost"][0]["raw"]
            graph.invoke(Command(resume="repair"), thread())
    assert pauses == len(records(facts)) >= 1
    assert "5万元" in carried_in(model.seen[-1])[0]


def test_rollback_sends_the_conversation_that_is_still_there() -> None:
    """Where the compactor leaves the conversation alone, rolling back is sending it."""
    model, facts = ScriptedChat(), Facts()
    talk(beside(model, facts, on_loss="rollback"), "The budget is 5万元.", *["Go on."] * 9)
    assert {VerificationOutcome.ROLLED_BACK} == {record.outcome for record in records(facts)}
    assert list(range(1, 11)) == [sum(message.type == "human" for message in view) for view in model.seen]


def test_a_system_prompt_outside_the_state_leads() -> None:
    """`system=` stands before the rules, in the one system message."""
    model = ScriptedChat()
    talk(beside(model, system="You are kind."), "Hello.")
    assert system_texts(model.seen[0])[0] == "You are kind."
    assert RULE in system_texts(model.seen[0])[1]


def test_a_conversation_without_ids_is_compared_by_what_it_says() -> None:
    """A state without `add_messages` gives no ids; losses are found all the same."""

    class Plain(MessagesState):
        history: list[AnyMessage]
        short: list[AnyMessage]
        ctxguard_verified: Annotated[dict[str, Any], newest_verified]

    verify = VerifyContext(guard(), before="history", after="short")
    graph = StateGraph(Plain)
    graph.add_node("shorten", lambda state: {"short": [SystemMessage(f"Summary: {SMALL_TALK}"), *state["history"][-2:]]})
    graph.add_node("verify", verify)
    graph.add_edge(START, "shorten")
    graph.add_edge("shorten", "verify")
    history = [HumanMessage("The budget is 5万元."), AIMessage("Yes."), HumanMessage("Go on."), AIMessage("Yes."), HumanMessage("And on.")]
    view = graph.compile().invoke({"messages": [], "history": history})["short"]
    assert "5万元" in carried_in(view)[0]
    assert SMALL_TALK not in view[0].text
    assert ["system", "human", "human", "ai", "human"] == [message.type for message in view]


def test_a_view_given_back_is_not_taken_for_the_compactors() -> None:
    """Running the node twice over its own output changes nothing."""
    verify = VerifyContext(guard(), after="summarized_messages")
    history = [HumanMessage("The budget is 5万元.", id="a"), AIMessage("Yes.", id="b"), HumanMessage("Go on.", id="c")]
    state = {"messages": history, "summarized_messages": [HumanMessage(SMALL_TALK, id="s"), history[-1]]}
    first = verify.invoke(state)
    again = verify.invoke({**state, **first})
    assert wire(first["summarized_messages"]) == wire(again["summarized_messages"])
    assert isinstance(read_verified(first["ctxguard_verified"]), VerifiedHead)
    assert "ctxguard_verified" not in again


def test_a_state_without_the_channel_is_refused_where_it_is_needed() -> None:
    """Without the channel nobody knows what was there before; the error says which state has it."""
    verify = VerifyContext(guard())
    with pytest.raises(ConfigurationError, match="ViewState"):
        verify.invoke({"messages": [HumanMessage("Hello.")]})


@pytest.mark.parametrize("channel", ["messages", "summarized_messages"])
def test_a_channel_that_is_not_there_is_named(channel: str) -> None:
    """A misspelt channel is told."""
    state = {"messages": [HumanMessage("Hello.")], "summarized_messages": []}
    del state[channel]
    with pytest.raises(ConfigurationError, match=channel):
        VerifyContext(guard(), after="summarized_messages").invoke(state)


def test_the_conversation_is_no_place_for_a_view() -> None:
    """What is put back for one call must not become part of the conversation."""
    with pytest.raises(ConfigurationError, match="output"):
        VerifyContext(guard(), output="messages")
