"""Laws of `repair`, held against conversations broken in every way we know.

The leading system messages are the application's and are not `repair`'s business; every other one is.
"""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.units import repair
from tests.support.providers import call_ids_of, check_all_providers, check_provider_valid, check_signed_blocks, texts_of
from tests.support.strategies import BREAKERS, any_conversations, broken_conversations, content_call_only, conversations

ANY = any_conversations(system_prompt=False)


def human_leads(messages: list[BaseMessage]) -> bool:
    return bool(messages) and isinstance(messages[0], HumanMessage)


@given(conversations(system_prompt=False))
def test_a_valid_conversation_is_returned_as_it_is(messages: list[BaseMessage]) -> None:
    """Valid in: the same objects out, nothing reported."""
    repaired = repair(messages)

    assert [id(message) for message in messages] == [id(message) for message in repaired.messages]
    assert () == tuple(repaired.faults)


@given(ANY)
def test_every_repaired_list_is_provider_valid(messages: list[BaseMessage]) -> None:
    """Whatever comes in, pairs are whole, directly behind each other, and every id is used once."""
    repaired = list(repair(messages).messages)

    if messages:
        assert [] == check_provider_valid(repaired, human_first=human_leads(messages), given=messages)
        assert not any(isinstance(message, SystemMessage) for message in repaired)
    else:
        assert [] == repaired


@given(
    st.one_of(
        conversations(system_prompt=False),
        broken_conversations(breakers=tuple(breaker for breaker in BREAKERS if breaker is not content_call_only), system_prompt=False),
    )
)
def test_the_conversion_code_of_the_providers_agrees(messages: list[BaseMessage]) -> None:
    """What ChatOpenAI and ChatAnthropic would send passes strict checks of the bodies."""
    if messages:
        assert [] == check_all_providers(list(repair(messages).messages), human_first=human_leads(messages))


@given(ANY)
def test_repairing_twice_changes_nothing_more(messages: list[BaseMessage]) -> None:
    """A repaired list comes back as the same objects."""
    once = list(repair(messages).messages)

    twice = repair(once)

    assert [id(message) for message in once] == [id(message) for message in twice.messages]
    assert () == tuple(twice.faults)


@given(ANY)
def test_every_text_is_still_there(messages: list[BaseMessage]) -> None:
    """No words vanish: what cannot stay in its place stays as text."""
    shown = html.unescape("\n".join(text for message in repair(messages).messages for text in texts_of(message)))

    for message in messages:
        for text in texts_of(message):
            assert html.unescape(text).strip() in shown


@given(ANY)
def test_what_is_unchanged_is_the_same_object(messages: list[BaseMessage]) -> None:
    """A message that equals one of the input is that one; nobody gets a copy."""
    theirs = {id(message) for message in messages}

    for message in repair(messages).messages:
        assert id(message) in theirs or message not in messages


@given(ANY)
def test_nothing_is_paired_by_position(messages: list[BaseMessage]) -> None:
    """A result in the repaired list either came with the words of its own call, or is an error made for a missing one."""
    given_texts = {(message.tool_call_id, str(message.content)) for message in messages if isinstance(message, ToolMessage)}
    known_texts = {text for _, text in given_texts}

    for message in repair(messages).messages:
        if isinstance(message, ToolMessage) and str(message.content) in known_texts:
            mark = re.search("⟦for:(.*?)⟧", str(message.content))
            assert mark is not None
            assert (mark[1], str(message.content)) in given_texts
            assert mark[1]
            assert message.tool_call_id == mark[1] or mark[1] in message.tool_call_id
        elif isinstance(message, ToolMessage):
            assert "error" == message.status


@given(ANY)
def test_messages_that_are_no_results_keep_their_order(messages: list[BaseMessage]) -> None:
    """Repair moves results and nothing else."""
    position = {id(message): n for n, message in enumerate(messages)}
    kept = [position[id(message)] for message in repair(messages).messages if id(message) in position and not isinstance(message, ToolMessage)]

    assert sorted(kept) == kept
    assert sum(isinstance(message, HumanMessage) for message in messages) == sum(isinstance(messages[n], HumanMessage) for n in kept)


@given(ANY)
def test_units_tile_the_repaired_list(messages: list[BaseMessage]) -> None:
    """Every message is in exactly one unit, in order."""
    repaired = repair(messages)

    at = 0
    for unit in repaired.units:
        assert at == unit.start
        assert unit.start < unit.stop
        at = unit.stop
    assert len(repaired.messages) == at


@given(ANY)
def test_no_pair_crosses_a_unit(messages: list[BaseMessage]) -> None:
    """A call and its results are in one unit, which holds no other call and nothing else."""
    repaired = repair(messages)

    for unit in repaired.units:
        inside = list(repaired.messages[unit.start : unit.stop])
        calls = [call for message in inside for call in call_ids_of(message)]
        answers = [message.tool_call_id for message in inside if isinstance(message, ToolMessage)]
        assert set(answers) <= set(calls)
        if calls:
            assert "tools" == unit.kind
            assert isinstance(inside[0], AIMessage)
            assert len(inside) - 1 == len(answers)
        else:
            assert unit.kind in ("request", "note", "reply")
            assert 1 == len(inside)


@given(ANY)
def test_a_request_unit_is_a_human_message_of_the_input(messages: list[BaseMessage]) -> None:
    """Nothing a tool or a system message said is taken for a request."""
    theirs = {id(message) for message in messages if isinstance(message, HumanMessage)}
    repaired = repair(messages)

    requests = {id(repaired.messages[unit.start]) for unit in repaired.units if unit.kind == "request"}
    assert theirs == requests


@given(ANY)
def test_signed_blocks_are_carried_byte_for_byte(messages: list[BaseMessage]) -> None:
    """A repair of calls does not touch the thinking beside them."""
    assert [] == check_signed_blocks(messages, repair(messages).messages)


@given(ANY)
def test_the_input_is_not_changed(messages: list[BaseMessage]) -> None:
    """Neither the list nor one of its messages."""
    before = [(id(message), message.model_dump_json()) for message in messages]

    repair(messages)

    assert before == [(id(message), message.model_dump_json()) for message in messages]


@given(ANY)
def test_faults_are_reported_by_known_identities(messages: list[BaseMessage]) -> None:
    """Every fault names a message of the input; a list that was changed has at least one."""
    repaired = repair(messages)

    ids = {message.id for message in messages if message.id}
    for fault in repaired.faults:
        assert fault.message_id
        assert fault.message_id in ids or "@" in fault.message_id
    if [id(message) for message in messages] != [id(message) for message in repaired.messages]:
        assert repaired.faults


@given(conversations(ids="all", system_prompt=False), st.data())
def test_a_result_taken_away_is_the_only_fault(messages: list[BaseMessage], data: st.DataObject) -> None:
    """One defect is reported once and nothing else is touched."""
    results = [n for n, message in enumerate(messages) if isinstance(message, ToolMessage)]
    newest = max((n for n, message in enumerate(messages) if isinstance(message, AIMessage)), default=-1)
    settled = [n for n in results if n < newest]
    if not settled:
        return
    n = data.draw(st.sampled_from(settled))
    gone = messages[n]
    assert isinstance(gone, ToolMessage)
    rest = messages[:n] + messages[n + 1 :]

    repaired = repair(rest)

    assert [("missing_result", gone.tool_call_id)] == [(fault.kind, fault.call_id) for fault in repaired.faults]
    assert [id(message) for message in rest] == [id(message) for message in repaired.messages if any(message is other for other in rest)]
    assert len(messages) == len(repaired.messages)


@given(broken_conversations(breakers=(content_call_only,), max_breaks=1, system_prompt=False))
def test_calls_in_the_content_need_no_repair(messages: list[BaseMessage]) -> None:
    """A `tool_use` block with its result is a pair like any other."""
    assert () == tuple(repair(messages).faults)
