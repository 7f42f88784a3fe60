"""What worked with the stock memories works with ours, the same way."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from pydantic import ValidationError

from langchain_ctxguard.engine import counter_of
from tests.memory.stock import BUFFER_PAIR, FILLER, OURS, PAIRS, SUMMARY_PAIR, InMemory, deprecated, talk, telling, text_in, turn

RULE = "Never delete an order."


def both(pair: Any, **fields: Any) -> tuple[Any, Any]:
    """Return a stock memory and ours with the same fields and a model of its own each."""
    with deprecated():
        stock, ours = (kind(**{"llm": telling("They talk about a warehouse."), **copy.deepcopy(fields)}) for kind in pair)
    return stock, ours


def outcome(call: Any) -> Any:
    """Return what a call returns, or type and text of its error."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - errors are compared
        return type(error), str(error)


@pytest.mark.parametrize("pair", PAIRS)
def test_ours_is_one_of_theirs(pair: Any) -> None:
    """`isinstance` checks of chains and of users hold, and every field of the stock class is there; one is new."""
    stock, ours = pair
    assert issubclass(ours, stock)
    assert issubclass(ours, BaseMemory)
    assert {"guard"} == set(ours.model_fields) - set(stock.model_fields)
    assert set() == set(stock.model_fields) - set(ours.model_fields)


@pytest.mark.parametrize("return_messages", [False, True])
@pytest.mark.parametrize("memory_key", ["history", "chat_history"])
def test_a_short_conversation_reads_the_same(memory_key: str, *, return_messages: bool) -> None:
    """While everything fits, the buffer memory returns what the stock one returns, prefixes included."""
    stock, ours = both(BUFFER_PAIR, memory_key=memory_key, return_messages=return_messages, human_prefix="Customer", ai_prefix="Agent")
    for memory in (stock, ours):
        assert [memory_key] == memory.memory_variables
        memory.save_context({"input": "hi"}, {"output": "hello"})
        memory.save_context({"input": "我要退款"}, {"output": "好的"})
    assert stock.load_memory_variables({}) == ours.load_memory_variables({})
    assert stock.buffer == ours.buffer
    assert stock.chat_memory.messages == ours.chat_memory.messages


async def test_the_async_methods_return_the_same() -> None:
    """`aload_memory_variables`, `asave_context`, `abuffer` and `aclear` do what their sync twins do."""
    stock, ours = both(BUFFER_PAIR)
    for memory in (stock, ours):
        await memory.asave_context({"input": "hi"}, {"output": "hello"})
    assert await stock.aload_memory_variables({}) == await ours.aload_memory_variables({}) == ours.load_memory_variables({})
    assert await stock.abuffer() == await ours.abuffer()
    for memory in (stock, ours):
        await memory.aclear()
    assert await stock.aload_memory_variables({}) == await ours.aload_memory_variables({}) == {"history": ""}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("inputs", "outputs", "fields"),
    [
        ({"a": "1", "b": "2"}, {"output": "x"}, {}),
        ({}, {"output": "x"}, {}),
        ({"a": "1"}, {"x": "1", "y": "2"}, {}),
        ({"a": "1"}, {}, {}),
        ({"a": "1"}, {"output": "x"}, {"input_key": "missing"}),
        ({"a": "1"}, {"output": "x"}, {"output_key": "missing"}),
        ({"history": "only the memory's own"}, {"output": "x"}, {}),
    ],
)
def test_the_same_mistakes_are_told_the_same_way(pair: Any, inputs: dict[str, str], outputs: dict[str, str], fields: dict[str, str]) -> None:
    """Missing keys, several inputs and several outputs raise what they raise in the stock class, and nothing is stored."""
    stock, ours = both(pair, **fields)
    with deprecated():
        told = [outcome(lambda memory=memory: memory.save_context(dict(inputs), dict(outputs))) for memory in (stock, ours)]
    # The stock text lists keys in the order of a set.
    assert [told[0][0], sorted(told[0][1])] == [told[1][0], sorted(told[1][1])]
    assert [] == stock.chat_memory.messages == ours.chat_memory.messages


@pytest.mark.parametrize("pair", PAIRS)
def test_keys_are_chosen_the_same_way(pair: Any) -> None:
    """`input_key` and `output_key` choose, `stop` is no input, and `output` is taken from several with the same warning."""
    for memory in both(pair, input_key="question", output_key="answer"):
        with deprecated():
            memory.save_context({"question": "q", "other": "o"}, {"answer": "a", "more": "m"})
        assert ["q", "a"] == [message.content for message in memory.chat_memory.messages]
    for memory in both(pair):
        with deprecated(), pytest.warns(UserWarning, match="got multiple output keys"):
            memory.save_context({"question": "q", "stop": "s"}, {"output": "a", "more": "m"})
        assert ["q", "a"] == [message.content for message in memory.chat_memory.messages]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_prompt_with_other_variables_is_refused(pair: Any) -> None:
    """A summary prompt takes `summary` and `new_lines`, no more and no less."""
    for kind in pair:
        with deprecated(), pytest.raises(ValidationError, match="unexpected prompt input variables"):
            kind(llm=telling("x"), prompt=PromptTemplate.from_template("{summary}"))
        with deprecated(), pytest.raises(ValidationError, match="llm"):
            kind()


@pytest.mark.parametrize("custom", [False, True])
def test_the_same_prompts_reach_a_completion_model(*, custom: bool) -> None:
    """The summary memory asks what the stock one asks, in its words: the last exchange is asked about one turn later, when it leaves the view."""
    fields = {"prompt": PromptTemplate.from_template("SO FAR {summary}\nNEW {new_lines}\nIN SHORT")} if custom else {}
    stock, _ = both(SUMMARY_PAIR, **fields)
    with deprecated():
        talk(stock, 4)
        ours = SUMMARY_PAIR[1].from_messages(telling("They talk about a warehouse."), stock.chat_memory, **fields)
    assert stock.llm.prompts[:3] == ours.llm.prompts


def test_the_buffer_memory_asks_about_what_leaves() -> None:
    """What no longer fits reaches the model in the stock prompt, line for line."""
    prompt = PromptTemplate.from_template("SO FAR {summary}\nNEW {new_lines}\nIN SHORT")
    _, ours = both(BUFFER_PAIR, prompt=prompt, max_token_limit=150)
    talk(ours, 8)
    first = ours.llm.prompts[0]
    assert first.startswith("SO FAR \nNEW Human: Question 0 about the warehouse.")
    assert first.endswith("\nIN SHORT")
    assert "Question 3" not in first
    assert ours.llm.prompts[-1].startswith("SO FAR They talk about a warehouse.\nNEW ")


def test_a_custom_prompt_reaches_a_chat_model() -> None:
    """A chat model is asked with the user's prompt where there is one, and its prose is the summary."""
    model = FakeListChatModel(responses=["They talk about a warehouse."])
    prompt = PromptTemplate.from_template("SO FAR {summary}\nNEW {new_lines}\nIN SHORT")
    _, ours = both(BUFFER_PAIR, llm=model, prompt=prompt, max_token_limit=60)
    talk(ours, 3)
    assert "They talk about a warehouse." in ours.moving_summary_buffer


def test_a_chat_model_is_asked_for_the_structured_summary() -> None:
    """Without a prompt of the user's own, a chat model summarizes as it does everywhere in this package."""
    model = FakeListChatModel(
        responses=['{"user_intent": "", "facts": [{"statement": "A crane was ordered from Ulm.", "said_by": "user", "source": 1}]}']
    )
    _, ours = both(BUFFER_PAIR, llm=model, max_token_limit=60)
    talk(ours, 3)
    assert "A crane was ordered from Ulm." in ours.moving_summary_buffer


def test_a_method_of_a_subclass_is_used() -> None:
    """Who overrides `predict_new_summary` is asked, as in the stock class."""

    class Own(SUMMARY_PAIR[1]):  # type: ignore[misc, name-defined]  # a class chosen at run time
        def predict_new_summary(self, messages: list[BaseMessage], existing_summary: str) -> str:
            return f"{len(messages)} messages were read by hand."

    with deprecated():
        memory = Own(llm=FakeListChatModel(responses=["no"]))
    talk(memory, 4)
    assert "messages were read by hand." in memory.buffer


@pytest.mark.parametrize("pair", PAIRS)
def test_a_conversation_chain_runs(pair: Any) -> None:
    """`ConversationChain` takes ours where it takes the stock one; the rules stand in its prompt word for word."""
    seen = telling("Fine.")
    with deprecated():
        memory = pair[1](llm=telling("They talk about a warehouse."), guard=[RULE])
        chain = ConversationChain(llm=seen, memory=memory)
        for number in range(4):
            assert "Fine." == chain.predict(input=turn(number)[0]["input"])
    assert all(RULE in prompt for prompt in seen.prompts)
    assert "Question 2" in seen.prompts[-1]
    assert 8 == len(memory.chat_memory.messages)


@pytest.mark.parametrize("pair", PAIRS)
async def test_a_chain_of_one_prompt_runs_without_blocking(pair: Any) -> None:
    """`LLMChain` over a chat prompt with a placeholder takes the messages, sync and async."""
    prompt = ChatPromptTemplate.from_messages([("system", "You help."), MessagesPlaceholder("chat_history"), ("human", "{question}")])
    with deprecated():
        memory = pair[1](llm=telling("They talk."), memory_key="chat_history", return_messages=True, guard=[RULE])
        chain = LLMChain(llm=FakeListChatModel(responses=["Fine."]), prompt=prompt, memory=memory)
        assert "Fine." == (await chain.ainvoke({"question": "hi"}))["text"]
        assert "Fine." == chain.invoke({"question": "bye"})["text"]
    assert ["hi", "Fine.", "bye", "Fine."] == [message.content for message in memory.chat_memory.messages]


@pytest.mark.parametrize("kind", OURS)
def test_rules_lead_in_every_turn(kind: Any) -> None:
    """Pins stand word for word in what the memory returns: before the first turn, after a summary, after a clear; as messages in the system role."""
    for return_messages in (False, True):
        with deprecated():
            memory = kind(llm=telling("Deleting orders is fine now."), guard=[RULE], return_messages=return_messages)
        for _ in range(5):
            value = memory.load_memory_variables({})["history"]
            if return_messages:
                assert isinstance(value[0], SystemMessage)
                assert RULE in str(value[0].content)
                assert not any(isinstance(message, SystemMessage) for message in value[1:])
            else:
                assert value.startswith("<context_rules ")
                assert f"\n- {RULE}\n</context_rules>" in value
            talk(memory, 1)
        memory.clear()
        assert RULE in text_in(memory)
        assert [] == memory.chat_memory.messages


@pytest.mark.parametrize("pair", PAIRS)
def test_the_summary_is_readable_and_assignable(pair: Any) -> None:
    """A stock memory's plain text goes on in ours, as an earlier summary nobody vouches for, and reads back as it was put there."""
    name = "buffer" if pair is SUMMARY_PAIR else "moving_summary_buffer"
    earlier = "The human asked for 30 chairs by 2026-12-15.\nThe AI found a supplier in Ulm."
    history = InMemory([HumanMessage("hi"), AIMessage("hello")])
    _, ours = both(pair, **{name: earlier})
    ours.chat_memory = history
    assert earlier == getattr(ours, name)
    shown = text_in(ours)
    assert "- [claimed] The human asked for 30 chairs by 2026-12-15." in shown
    # The summary memory's text stands for everything said so far; the buffer memory's for what was said before the messages it still has.
    assert (pair is BUFFER_PAIR) == ("Human: hi" in shown)
    talk(ours, 5)
    assert "30 chairs" in text_in(ours)
    assert "2026-12-15" in text_in(ours)
    setattr(ours, name, "Start again from here.")
    assert "- [claimed] Start again from here." in text_in(ours)
    assert "30 chairs" not in text_in(ours)
    setattr(ours, name, "")
    assert "Start again" not in text_in(ours)


@pytest.mark.parametrize("kind", OURS)
def test_copies_go_on_by_themselves(kind: Any) -> None:
    """A pickled, deep-copied or dumped memory tells what the original told, and what is said to one is not heard by the other."""
    with deprecated():
        limit = {"max_token_limit": 100} if kind is BUFFER_PAIR[1] else {}
        memory = kind(llm=FakeListLLM(responses=["They talk about a warehouse."]), guard=[RULE], chat_memory=InMemory(), **limit)
    talk(memory, 6)
    told = memory.load_memory_variables({})
    for twin in (pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory), memory.model_copy(deep=True)):  # noqa: S301 - our own bytes
        assert told == twin.load_memory_variables({})
        talk(twin, 3, start=6)
        assert told == memory.load_memory_variables({})
    dumped = memory.model_dump(exclude={"llm", "chat_memory", "prompt"})
    again = kind(llm=memory.llm, chat_memory=memory.chat_memory, **dumped)
    assert "They talk about a warehouse." in text_in(again)
    assert RULE in text_in(again)
    assert not kind.is_lc_serializable()


def test_a_history_is_summarized_as_it_is_given() -> None:
    """`from_messages` reads an existing history and changes nothing in it."""
    history = InMemory([message for number in range(6) for message in (HumanMessage(f"Question {number}. {FILLER}"), AIMessage(FILLER))])
    before = list(history.messages)
    memory = SUMMARY_PAIR[1].from_messages(telling("They talk about a warehouse."), history, memory_key="past", guard=[RULE])
    assert before == history.messages
    assert ["past"] == memory.memory_variables
    assert "They talk about a warehouse." in memory.buffer
    assert "Human: Question 5." in memory.buffer
    assert "Human: Question 4." not in memory.buffer
    assert RULE in memory.load_memory_variables({})["past"]


def test_an_existing_summary_is_taken_along_by_from_messages() -> None:
    """A text given with a history is what was said before it."""
    history = InMemory([HumanMessage(f"Question. {FILLER * 3}"), AIMessage(FILLER), HumanMessage("And now?"), AIMessage("Now.")])
    memory = SUMMARY_PAIR[1].from_messages(telling("They talk about a warehouse."), history, buffer="Before, chairs for 4,500 EUR were ordered.")
    assert memory.llm.prompts
    assert "Before, chairs for 4,500 EUR were ordered." in memory.llm.prompts[0]
    assert "4,500 EUR" in memory.buffer


def test_a_limit_of_zero_keeps_the_last_exchange() -> None:
    """The smallest limit leaves the last exchange: half of it would read as a question still open."""
    _, ours = both(BUFFER_PAIR, max_token_limit=0)
    talk(ours, 4)
    shown = text_in(ours)
    assert "Human: Question 3" in shown
    assert "AI: Answer 3" in shown
    assert "Human: Question 2" not in shown


@pytest.mark.parametrize("limit", [100, 250, 600])
def test_the_limit_holds_for_what_stays_raw(limit: int) -> None:
    """Messages in sight stay within `max_token_limit`, last exchange apart."""
    _, ours = both(BUFFER_PAIR, max_token_limit=limit)
    count = counter_of(None)
    ours.return_messages = True
    for number in range(20):
        talk(ours, 1, start=number)
        raw = [message for message in ours.load_memory_variables({})["history"] if message.name is None]
        assert count(raw) <= max(limit, count(raw[-2:])) + 160


def test_prune_summarizes_what_was_added_behind_its_back() -> None:
    """`prune` and `aprune` do at once what the next save would do."""
    _, ours = both(BUFFER_PAIR, max_token_limit=60)
    ours.chat_memory.add_messages([message for number in range(5) for message in (HumanMessage(turn(number)[0]["input"]), AIMessage(FILLER))])
    ours.prune()
    assert "They talk about a warehouse." in ours.moving_summary_buffer
    assert "Human: Question 3" not in text_in(ours)


async def test_prune_works_without_blocking() -> None:
    """`aprune` asks the model through its async method."""
    _, ours = both(BUFFER_PAIR, max_token_limit=60)
    ours.chat_memory.add_messages([message for number in range(5) for message in (HumanMessage(turn(number)[0]["input"]), AIMessage(FILLER))])
    await ours.aprune()
    assert "They talk about a warehouse." in ours.moving_summary_buffer


def test_a_summary_class_of_the_users_own_is_used() -> None:
    """`summary_message_cls` chooses the role of the summary, the system's excepted."""
    _, ours = both(SUMMARY_PAIR, return_messages=True, summary_message_cls=AIMessage)
    talk(ours, 4)
    assert any(
        isinstance(message, AIMessage) and "They talk about a warehouse." in str(message.content)
        for message in ours.load_memory_variables({})["history"]
    )
    with deprecated(), pytest.raises(ValidationError, match="never a system message"):
        SUMMARY_PAIR[1](llm=telling("x"), summary_message_cls=SystemMessage)
