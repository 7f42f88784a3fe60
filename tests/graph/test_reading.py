from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, messages_from_dict, messages_to_dict

from langchain_ctxguard.compact import compact_messages
from langchain_ctxguard.core.resolve import strength
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.reading import Call, Reader, as_messages, content_digest
from langchain_ctxguard.records.bounded import Bounded
from tests.graph.models import PINS, RULES, WORDS, Counter, Notes, ids, look_up, plain
from tests.support.builders import count_characters, tool_loop
from tests.support.providers import check_provider_valid

CONSTRAINTS = tuple(sorted(map(Constraint.from_text, RULES), key=strength))


def reader() -> tuple[Reader, Counter]:
    counter = Counter()
    return Reader(counter, trust_system_messages=False), counter


def reloaded(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages as a checkpointer gives them back: equal, and other objects."""
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))


def talk(turns: int) -> list[BaseMessage]:
    made: list[BaseMessage] = []
    for turn in range(turns):
        made += [HumanMessage(f"{turn}: {WORDS}", id=f"h{turn}"), AIMessage(f"answer {turn}", id=f"a{turn}")]
    return made


def versioned(messages: list[BaseMessage], keep: Any = ("turns", 2)) -> dict[str, Any]:
    """Return a head over a conversation."""
    return compact_messages(messages, constraints=RULES, keep=keep, token_counter=Counter(), summarizer=Notes()).head


def view_of(reading: Any) -> list[BaseMessage]:
    return [*([reading.system] if reading.system is not None else []), *reading.messages]


def test_a_conversation_without_rules_or_version_is_handed_on_as_it_is() -> None:
    """The very list, the very system message: nothing to override."""
    read, _ = reader()
    messages, system = talk(3), SystemMessage("SYS")
    reading = read.read(Call(messages, {}, system=system))
    assert messages is reading.messages
    assert system is reading.system
    assert reading.is_untouched


def test_the_tokens_are_those_of_the_view() -> None:
    """Without reports the reading says what the counter says of the view and the tools, with a version and without."""
    for messages in (talk(9), tool_loop(20, size=60)):
        for raw in ({}, versioned(messages)):
            read, _ = reader()
            for length in (len(messages) - 3, len(messages) - 2, len(messages)):
                reading = read.read(Call(messages[:length], raw, system=SystemMessage("SYS"), tools=[look_up], rules=CONSTRAINTS))
                expected = count_characters(view_of(reading)) + 50
                if [] == check_provider_valid(messages[:length], one_system=False):
                    assert expected == reading.tokens == reading.own


@pytest.mark.parametrize("loads_anew", [False, True])
def test_a_growing_conversation_is_counted_once(loads_anew: bool) -> None:  # noqa: FBT001
    """Each message is shown to the counter once, whether the list holds the same objects at the next call or equal ones."""
    read, counter = reader()
    messages = talk(50)
    for length in range(10, 101, 2):
        now = reloaded(messages[:length]) if loads_anew else messages[:length]
        read.read(Call(now, {}, thread="t"))
    assert 100 == counter.shown


def replaced(messages: list[BaseMessage], index: int, message: BaseMessage) -> list[BaseMessage]:
    made = reloaded(messages)
    made[index] = message.model_copy(update={"id": messages[index].id})
    return made


@pytest.mark.parametrize(
    "other",
    [HumanMessage("gotcha"), AIMessage("gotcha"), SystemMessage("gotcha"), AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "new"}])],
    ids=["human", "ai", "system", "call"],
)
@pytest.mark.parametrize("index", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("has_version", [False, True])
def test_a_message_replaced_under_its_id_is_read_as_by_a_cold_reader(other: BaseMessage, index: int, has_version: bool) -> None:  # noqa: FBT001
    """Whatever stands in the place of a message that was counted, the view and its tokens are those of a reader that saw nothing before."""
    messages = tool_loop(16, size=30)
    raw = versioned(messages, keep=("turns", 7)) if has_version else {}
    start = read_cut(raw)
    warm, _ = reader()
    warm.read(Call(messages, raw, thread="t", rules=CONSTRAINTS))
    now = [*replaced(messages, start + index, other), HumanMessage("and?", id="last")]
    cold, _ = reader()
    expected, found = (one.read(Call(now, raw, thread="t", rules=CONSTRAINTS)) for one in (cold, warm))
    assert plain(view_of(expected)) == plain(view_of(found))
    assert expected.tokens == found.tokens
    assert [] == check_provider_valid(view_of(found), human_first=False)


def read_cut(raw: dict[str, Any]) -> int:
    return raw["cut"]["position"] if raw else 0


message_lists = st.lists(
    st.one_of(
        st.builds(HumanMessage, st.text(max_size=20)),
        st.builds(AIMessage, st.text(max_size=20)),
        st.builds(SystemMessage, st.text(max_size=20)),
        st.builds(lambda call: AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": call}]), st.sampled_from(["c1", "c2", "c3"])),
        st.builds(lambda call: ToolMessage("r", tool_call_id=call), st.sampled_from(["c1", "c2", "c3"])),
    ),
    max_size=14,
)


@given(message_lists, st.lists(st.integers(0, 14), max_size=6), st.booleans())
def test_a_warm_reader_reads_what_a_cold_one_reads(messages: list[BaseMessage], stops: list[int], has_ids: bool) -> None:  # noqa: FBT001
    """Over any growth of any list, broken pairs and stray system messages included, memory changes no byte and no number."""
    if has_ids:
        messages = [message.model_copy(update={"id": f"m{number}"}) for number, message in enumerate(messages)]
    warm, _ = reader()
    for stop in [*sorted(stops), len(messages)]:
        call = Call(messages[:stop], {}, system=SystemMessage("SYS"), thread="t", rules=CONSTRAINTS)
        cold, _ = reader()
        expected, found = cold.read(call), warm.read(call)
        assert plain(view_of(expected)) == plain(view_of(found))
        assert expected.tokens == found.tokens
        assert plain(view_of(expected)) == plain(cold.situation(call).situation.view().all)


def test_system_messages_that_come_one_by_one_are_all_the_applications() -> None:
    """The run of system messages a conversation begins with may go on after it was read once."""
    messages: list[BaseMessage] = [SystemMessage(text) for text in ("one", "two", "two")]
    warm, _ = reader()
    for stop in (1, 2, 3):
        cold, _ = reader()
        call = Call(messages[:stop], {}, thread="t")
        expected, found = cold.read(call), warm.read(call)
        assert (expected.system, list(expected.messages), expected.tokens) == (found.system, list(found.messages), found.tokens)


def test_a_cool_down_written_later_is_read() -> None:
    """A head that differs in nothing but its cool-down costs no recount and is seen."""
    read, counter = reader()
    messages = talk(10)
    raw = versioned(messages)
    first = read.read(Call(messages, raw, thread="t", rules=CONSTRAINTS))
    assert None is first.head.cool_down
    head = first.head.model_copy(update={"cool_down": 777})
    counter.shown = 0
    assert 777 == read.read(Call(messages, head.to_dict(), thread="t", rules=CONSTRAINTS)).head.cool_down
    assert 0 == counter.shown
    assert None is read.read(Call(messages, raw, thread="t", rules=CONSTRAINTS)).head.cool_down


def test_two_versions_of_one_number_are_told_apart() -> None:
    """A fork that has another version of the same number is shown its own."""
    read, _ = reader()
    one, other = talk(10), talk(14)
    first, second = versioned(one), versioned(other)
    assert first["version"] == second["version"]
    for messages, raw in ((other, first), (other, second), (other, first)):
        cold, _ = reader()
        expected, found = (each.read(Call(messages, raw, thread="t", rules=CONSTRAINTS)) for each in (cold, read))
        assert plain(view_of(expected)) == plain(view_of(found))
        assert expected.tokens == found.tokens


def test_a_reader_forgets_the_oldest_and_loses_nothing() -> None:
    """More threads than the cache holds cost recounts, no wrong number."""
    read, _ = reader()
    conversations = {number: talk(2 + number % 5) for number in range(600)}
    for _ in range(2):
        for number, messages in conversations.items():
            assert count_characters(messages) == read.read(Call(messages, {}, thread=number)).tokens


def test_rules_that_change_are_shown_at_once() -> None:
    """The pins of a call are those of its rules, whatever was read before."""
    read, _ = reader()
    messages = talk(2)
    assert None is read.read(Call(messages, {}, thread="t")).system
    assert PINS == read.read(Call(messages, {}, thread="t", rules=CONSTRAINTS)).system.content[0]["text"]
    assert None is read.read(Call(messages, {}, thread="t")).system


def test_a_system_prompt_that_changes_is_shown_at_once() -> None:
    """A dynamic prompt is pinned as it is at each call and counted as it is."""
    read, _ = reader()
    messages = talk(2)
    for text in ("one", "two, which is longer", "one"):
        reading = read.read(Call(messages, {}, system=SystemMessage(text), thread="t", rules=CONSTRAINTS))
        assert [text, PINS] == [block["text"] for block in reading.system.content]
        assert count_characters(view_of(reading)) == reading.tokens


def test_a_prompt_of_blocks_is_no_prompt_of_their_text() -> None:
    """A text that looks like a list of blocks is told from the list."""
    read, _ = reader()
    blocks: list[Any] = [{"type": "text", "text": "SYS"}]
    first = read.read(Call(talk(1), {}, system=SystemMessage(blocks), thread="t", rules=CONSTRAINTS)).system
    second = read.read(Call(talk(1), {}, system=SystemMessage(repr(blocks)), thread="t", rules=CONSTRAINTS)).system
    assert "SYS" == first.content[0]["text"]
    assert repr(blocks) == second.content[0]["text"]


@pytest.mark.parametrize("usage", [{}, None, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}])
def test_an_answer_without_a_report_is_counted(usage: Any) -> None:
    """Missing or empty usage is no report."""
    read, _ = reader()
    messages = talk(5)
    messages[-1] = AIMessage("answer", id="a4", usage_metadata=usage or None)
    assert count_characters(messages) == read.read(Call(messages, {}, thread="t")).tokens


def test_the_newest_plausible_report_stands_for_what_it_counted() -> None:
    """A cold reader rests on it and says so; a warm one learns it from an answer that comes later."""
    messages = talk(10)
    known = count_characters(messages[:9])
    report = {"input_tokens": known + 40, "output_tokens": 1, "total_tokens": known + 41}
    messages[9] = AIMessage("answer 4", id="a4", usage_metadata=report)
    cold, counter = reader()
    reading = cold.read(Call(messages[:11], {}, thread="t"))
    assert known + 40 + count_characters(messages[9:11]) == reading.tokens
    assert reading.is_assumed
    assert 2 == counter.shown
    warm, _ = reader()
    warm.read(Call(messages[:9], {}, thread="t"))
    reading = warm.read(Call(messages[:11], {}, thread="t"))
    assert known + 40 + count_characters(messages[9:11]) == reading.tokens
    assert count_characters(messages[:11]) == reading.own
    assert not reading.is_assumed


def test_a_report_from_before_the_version_counts_for_nothing() -> None:
    """Usage that a kept answer reports about the context before the compaction is not read."""
    messages = talk(12)
    messages[-3] = AIMessage("answer 10", id="a10", usage_metadata={"input_tokens": 400, "output_tokens": 1, "total_tokens": 401})
    raw = versioned(messages[:-1])
    cold, _ = reader()
    reading = cold.read(Call(messages[:-1], raw, thread="t", rules=CONSTRAINTS))
    assert count_characters(view_of(reading)) == reading.tokens


def test_reading_changes_no_message() -> None:
    """Neither the list of a call nor what is in it is touched."""
    messages = tool_loop(6)
    raw = versioned(messages)
    before = copy.deepcopy(messages)
    read, _ = reader()
    read.read(Call(messages, raw, thread="t", rules=CONSTRAINTS))
    read.situation(Call(messages, raw, thread="t", rules=CONSTRAINTS))
    assert before == messages


def test_messages_after_the_cut_are_the_same_objects() -> None:
    """A view holds the state's own messages, not copies of them."""
    messages = talk(10)
    raw = versioned(messages)
    read, _ = reader()
    reading = read.read(Call(messages, raw, thread="t", rules=CONSTRAINTS))
    kept = messages[read_cut(raw) :]
    assert kept
    assert list(map(id, kept)) == list(map(id, reading.messages[-len(kept) :]))


def test_tools_are_counted_once_for_each_list() -> None:
    """Contracts are held with their count, so that a new tool in the place of an old one is counted anew."""
    read, counter = reader()
    for _ in range(3):
        assert 50 == read.read(Call(talk(1), {}, tools=[look_up], thread="t")).tokens - count_characters(talk(1))
    assert 1 == counter.tools_shown
    assert 100 == read.tools_tokens([look_up, look_up.model_copy()])
    assert 0 == read.tools_tokens([])


def test_what_a_client_overwrote_is_read_as_messages() -> None:
    """JSON at either end is converted; a list of messages is the same list."""
    messages = talk(1)
    assert messages is as_messages(messages)
    assert [] == as_messages([])
    found = as_messages([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}])
    assert ["human", "ai"] == [message.type for message in found]


def test_a_digest_of_a_conversation_sees_every_edit() -> None:
    """Text, name, id, arguments, call ids and extras count; loading anew does not."""
    messages: list[BaseMessage] = [
        HumanMessage("hi", id="h"),
        AIMessage("", id="a", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}]),
        ToolMessage("r", tool_call_id="c", id="t"),
    ]
    digest = content_digest(messages)
    assert digest == content_digest(reloaded(messages))
    edits: list[tuple[int, dict[str, Any]]] = [
        (0, {"content": "ho"}),
        (0, {"id": "h2"}),
        (0, {"name": "bob"}),
        (0, {"additional_kwargs": {"x": 1}}),
        (1, {"tool_calls": [{"name": "f", "args": {"x": 2}, "id": "c", "type": "tool_call"}]}),
        (2, {"tool_call_id": "d"}),
        (2, {"content": "\ud800"}),
    ]
    found = {content_digest([m.model_copy(update=change) if n == index else m for n, m in enumerate(messages)]) for index, change in edits}
    assert len(edits) == len(found - {digest})


def test_two_calls_that_share_a_thread_are_counted_apart() -> None:
    """While one call counts, another of the same thread with other new messages waits, and is counted by its own messages."""
    inside, shared = threading.Event(), talk(3)

    class Slow(Counter):
        def __call__(self, messages: Sequence[BaseMessage], /) -> int:
            if any(message.id == "slow" for message in messages):
                inside.set()
                time.sleep(0.1)
            return super().__call__(messages)

    read = Reader(Slow(), trust_system_messages=False)
    read.read(Call(shared, {}, thread="t"))
    one = [*shared, HumanMessage("slow " * 30, id="slow")]
    call = AIMessage("", id="call", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])
    other = [*shared, HumanMessage("look", id="look"), call, HumanMessage("never mind " * 50, id="never")]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(read.read, Call(one, {}, thread="t"))
        inside.wait(5)
        second = pool.submit(read.read, Call(other, {}, thread="t"))
    cold, _ = reader()
    expected = cold.read(Call(other, {}, thread="t"))
    assert count_characters(one) == first.result().tokens
    assert expected.tokens == second.result().tokens
    assert plain(expected.messages) == plain(second.result().messages)
    assert [] == check_provider_valid(second.result().messages)


def test_a_bounded_cache_forgets_what_was_used_longest_ago() -> None:
    """Reading an entry keeps it; the size holds."""
    cache: Bounded[int] = Bounded(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert 1 == cache.get("a")
    cache.put("c", 3)
    assert [1, None, 3] == [cache.get(key) for key in "abc"]


def test_an_unknown_head_is_refused_and_the_whole_list_is_the_view() -> None:
    """A head of another conversation is a fault by name and hides nothing."""
    read, _ = reader()
    foreign = versioned([message.model_copy(update={"id": f"x-{message.id}"}) for message in talk(10)])
    messages = talk(4)
    for _ in range(2):
        reading = read.read(Call(messages, foreign, thread="t", rules=CONSTRAINTS))
        assert "unknown_cut" == reading.fault
        assert ids(messages) == ids(reading.messages)
        assert ContextHead(version=foreign["version"]) == reading.head
