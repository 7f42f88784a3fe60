"""`ObedientModel` decides from the text it is sent and nothing else."""

from __future__ import annotations

import re

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, Sight, ToolUse

RULE = "Never delete an order.\n绝不删除订单。"
DELETE = Behaviour(
    when=re.compile(r"(?:delete|删除) ?(?P<order>\w+)"),
    call=lambda seen: ToolUse("delete_order", {"order_id": seen["order"]}),
    unless=RULE,
    refusal="No.",
)


@tool
def delete_order(order_id: str) -> str:
    """Delete an order."""
    return f"Deleted {order_id}."


@pytest.mark.parametrize("request_text", ["Please delete A7", "请删除 A7"])
def test_a_behaviour_acts_on_what_was_just_said(request_text: str) -> None:
    """A request that fits becomes the tool call, with arguments taken from the request."""
    answer = ObedientModel(behaviours=(DELETE,)).invoke([HumanMessage(request_text)])

    assert [("delete_order", {"order_id": "A7"})] == [(call["name"], call["args"]) for call in answer.tool_calls]


@pytest.mark.parametrize(
    "place",
    [
        [SystemMessage(f"Rules:\n{RULE}"), HumanMessage("delete A7")],
        [SystemMessage([{"type": "text", "text": "Hello."}, {"type": "text", "text": f"\n\n{RULE}"}]), HumanMessage("delete A7")],
        [HumanMessage(RULE), AIMessage("Fine."), HumanMessage("delete A7")],
        [
            HumanMessage("read it"),
            AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": "1"}]),
            ToolMessage(RULE, tool_call_id="1"),
            HumanMessage("delete A7"),
        ],
    ],
    ids=["system", "system block", "earlier message", "tool result"],
)
def test_a_rule_in_sight_stops_a_behaviour_wherever_it_stands(place: list[SystemMessage | HumanMessage | AIMessage | ToolMessage]) -> None:
    """`unless` is looked for in the whole input, and the answer is the refusal."""
    answer = ObedientModel(behaviours=(DELETE,)).invoke(place)

    assert ("No.", []) == (answer.text, answer.tool_calls)


@pytest.mark.parametrize("almost", ["Never delete an order.", RULE.replace("Never", "never"), RULE.replace("\n", " "), "Rules: none."])
def test_a_rule_that_is_not_there_verbatim_does_not_exist(almost: str) -> None:
    """A shortened, rewritten or dropped rule stops nothing."""
    answer = ObedientModel(behaviours=(DELETE,)).invoke([SystemMessage(almost), HumanMessage("delete A7")])

    assert ["delete_order"] == [call["name"] for call in answer.tool_calls]


def test_nothing_is_remembered_between_calls() -> None:
    """A rule that was visible in one input stops nothing in the next."""
    model = ObedientModel(behaviours=(DELETE,))
    model.invoke([SystemMessage(RULE), HumanMessage("delete A7")])

    assert model.invoke([HumanMessage("delete A7")]).tool_calls


def test_an_old_request_is_not_acted_on_again() -> None:
    """Only the newest message starts a behaviour that answers people; what else is visible does not."""
    model = ObedientModel(behaviours=(DELETE,), otherwise="Fine.")

    assert "Fine." == model.invoke([HumanMessage("delete A7"), AIMessage("Done."), HumanMessage("thanks")]).text


def test_the_first_behaviour_that_applies_decides() -> None:
    """Order is rank; a behaviour whose `given` is not in sight is passed over."""
    behaviours = (
        Behaviour(when=(), given="secret", call="first"),
        Behaviour(when=["hello", re.compile("there$")], call="second"),
        Behaviour(when=(), call="third"),
    )
    model = ObedientModel(behaviours=behaviours)

    assert ["first", "second", "third"] == [
        model.invoke([SystemMessage(system), HumanMessage(human)]).text
        for system, human in [("secret", "hello there"), ("open", "hello there"), ("open", "hello you")]
    ]


def test_a_tool_result_becomes_the_answer() -> None:
    """Results that just came in are given back, all of them, unless a behaviour for their tool applies."""
    calls = [{"name": "read", "args": {}, "id": "1"}, {"name": "log", "args": {}, "id": "2"}]
    messages = [
        HumanMessage("go"),
        AIMessage("", tool_calls=calls),
        ToolMessage("red", tool_call_id="1"),
        ToolMessage("delete A7", tool_call_id="2"),
    ]

    assert "red\ndelete A7" == ObedientModel(behaviours=(DELETE,)).invoke(messages).text
    assert "logged" == ObedientModel(behaviours=(Behaviour(after="log", when="A7", call="logged"),)).invoke(messages).text
    assert "red\ndelete A7" == ObedientModel(behaviours=(Behaviour(after="read", when="A7", call="logged"),)).invoke(messages).text


def test_several_calls_go_out_at_once_with_ids_of_their_own() -> None:
    """A tuple of tool uses is one message with parallel calls; the same words said twice in a thread give new ids."""
    model = ObedientModel(behaviours=(Behaviour(when=(), call=(ToolUse("a"), ToolUse("b"))),))
    first = model.invoke([HumanMessage("go", id="1")])
    second = model.invoke([HumanMessage("go", id="2")])

    assert ["a", "b"] == [call["name"] for call in first.tool_calls]
    assert 4 == len({call["id"] for message in (first, second) for call in message.tool_calls})


def test_the_same_input_gives_the_same_answer() -> None:
    """Nothing random: two models with the same behaviours answer alike, call ids included."""
    answers = [ObedientModel(behaviours=(DELETE,)).invoke([HumanMessage("delete A7")]) for _ in range(2)]

    assert answers[0].tool_calls == answers[1].tool_calls


def test_it_calls_no_tool_it_was_not_offered() -> None:
    """A missing tool is said, not called; nobody has to guess why nothing happened."""
    model = ObedientModel(behaviours=(DELETE,)).bind_tools([{"type": "web_search"}, {"name": "read", "description": "", "parameters": {}}])

    assert frozenset({"web_search", "read"}) == model.offered
    assert "I have no tool called 'delete_order'." == model.invoke([HumanMessage("delete A7")]).text


def test_inputs_are_recorded_through_bind_tools() -> None:
    """Whoever holds the model sees what an agent sent to its bound copy."""
    model = ObedientModel()
    model.bind_tools([delete_order], tool_choice="any").invoke([HumanMessage("你好")])

    assert ["你好"] == [message.text for message in model.inputs[0]]


def test_a_callable_sees_the_whole_input() -> None:
    """What a callable is given is the visible text, earlier tool calls included, and nothing hidden."""
    sights: list[Sight] = []
    model = ObedientModel(behaviours=(Behaviour(when=(), call=lambda seen: sights.append(seen) or "ok"),))
    model.invoke([SystemMessage("S"), AIMessage("", tool_calls=[{"name": "read", "args": {"id": "订单"}, "id": "1"}]), HumanMessage("H")])

    assert ("H", 'S\n\nread {"id": "订单"}\nH') == (sights[0].newest, sights[0].visible)


def test_usage_is_reported_when_a_counter_is_given() -> None:
    """With a counter answers carry usage; without one they carry none."""
    model = ObedientModel(token_counter=lambda messages: 10 * len(messages))
    usage = model.invoke([SystemMessage("S"), HumanMessage("H")]).usage_metadata

    assert {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30} == usage
    assert ObedientModel().invoke([HumanMessage("H")]).usage_metadata is None


@pytest.mark.parametrize("messages", [[HumanMessage("")], [SystemMessage("S")], [AIMessage("A")], [HumanMessage("\ud800")]])
def test_any_input_gets_an_answer(messages: list[HumanMessage | SystemMessage | AIMessage]) -> None:
    """No request, an empty one, or broken text: the model says it understood and calls nothing."""
    answer = ObedientModel(behaviours=(DELETE,)).invoke(messages)

    assert ("Understood.", []) == (answer.text, answer.tool_calls)


def test_a_long_history_is_read_to_its_beginning() -> None:
    """A rule before 5,000 messages is still in sight."""
    chatter = [message for _ in range(2_500) for message in (HumanMessage("more"), AIMessage("ok"))]

    assert "No." == ObedientModel(behaviours=(DELETE,)).invoke([SystemMessage(RULE), *chatter, HumanMessage("delete A7")]).text


def test_an_agent_runs_on_it() -> None:
    """In a real agent the tool runs and its result is the answer."""
    agent = create_agent(ObedientModel(behaviours=(DELETE,)), [delete_order])

    assert "Deleted A7." == agent.invoke({"messages": [HumanMessage("delete A7")]})["messages"][-1].text


async def test_an_agent_runs_on_it_async_and_streaming() -> None:
    """The same run in an async agent streams the same messages."""
    agent = create_agent(ObedientModel(behaviours=(DELETE,)), [delete_order])
    texts = [chunk.text async for chunk, _ in agent.astream({"messages": [HumanMessage("delete A7")]}, stream_mode="messages")]

    assert "Deleted A7." == texts[-1]
