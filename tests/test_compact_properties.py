"""Laws of `compact_messages`, held against whole and broken conversations, at any keep and any budget, over several rounds."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from langchain_ctxguard.compact import Compaction, acompact_messages, compact_messages
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ContextBudgetError, ContextGuardError
from tests.support.builders import SYNTHETIC_REQUEST, ai, count_characters, human, result, tool_loop
from tests.support.providers import check_all_providers, check_provider_valid, check_signed_blocks, texts_of
from tests.support.strategies import (
    BREAKERS,
    any_conversations,
    as_dicts,
    broken_conversations,
    content_call_only,
    conversations,
    keeps,
    rule_texts,
)

RULES = ["Only query orders; never add, change or delete one.", '绝不显示电话号码；"引号" <b>&</b> bleiben.']
RENDERED = ("context_summary", "context_evidence", "context_note")
"""Names under which something of ours may stand in a view."""


def compact(messages: Any, **settings_: Any) -> Compaction:
    """Compact with a counter a test can predict."""
    return compact_messages(messages, **{"token_counter": count_characters, **settings_})


def plain(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Return everything a message says, as data."""
    return [message.model_dump() for message in messages]


def same_objects(expected: list[BaseMessage], actual: list[BaseMessage]) -> bool:
    return len(expected) == len(actual) and all(one is other for one, other in zip(expected, actual, strict=True))


def says_something(messages: list[BaseMessage]) -> bool:
    """Say whether there is more than system messages."""
    return any(not isinstance(message, SystemMessage) for message in messages)


def human_leads(messages: list[BaseMessage]) -> bool:
    rest = [message for message in messages if not isinstance(message, SystemMessage)]
    return bool(rest) and isinstance(rest[0], HumanMessage)


def system_text(view: list[BaseMessage]) -> str:
    return "".join(texts_of(view[0])) if view and isinstance(view[0], SystemMessage) else ""


def last_human(messages: list[BaseMessage]) -> HumanMessage | None:
    return next((message for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def faults_in(view: list[BaseMessage], given_messages: list[BaseMessage]) -> list[str]:
    return check_provider_valid(view, human_first=human_leads(given_messages), given=given_messages)


def names_both(text: str, *numbers: int) -> bool:
    """Say whether `text` names the numbers, however it groups their digits."""
    bare = text.replace(",", "").replace("_", "")
    return all(str(number) in bare for number in numbers)


# What every view is ---------------------------------------------------------------------------------------------------------------------


@given(any_conversations(), keeps, rule_texts)
def test_every_view_is_provider_valid(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """Whatever comes in and however little is kept, a strict provider takes the view."""
    view = compact(messages, keep=keep, constraints=rules).messages

    if says_something(messages):
        assert [] == faults_in(view, messages)


@given(
    st.one_of(conversations(), broken_conversations(breakers=tuple(breaker for breaker in BREAKERS if breaker is not content_call_only))),
    keeps,
    rule_texts,
)
def test_the_conversion_code_of_the_providers_agrees(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """What ChatOpenAI and ChatAnthropic would send of a view passes strict checks of the bodies."""
    view = compact(messages, keep=keep, constraints=rules).messages

    if says_something(messages):
        assert [] == check_all_providers(view, human_first=human_leads(messages))


@given(any_conversations(), keeps, rule_texts)
def test_the_last_human_message_stands_verbatim_exactly_once(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """Law 11: whatever its age, the current request is in the view as the same object."""
    request = last_human(messages)
    assume(request is not None)

    view = compact(messages, keep=keep, constraints=rules).messages

    assert 1 == sum(message is request for message in view)


@given(any_conversations(), keeps, rule_texts)
def test_every_rule_stands_verbatim_in_the_one_leading_system_message(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """Law 1: pins are copied, never described; byte for byte and once."""
    assume(messages)

    view = compact(messages, keep=keep, constraints=rules).messages

    assert [1] * len(rules) == [system_text(view).count(rule) for rule in rules]
    assert not any(isinstance(message, SystemMessage) for message in view[1:])


@given(any_conversations(system_prompt=False), keeps)
def test_nothing_said_inside_the_list_becomes_system_text(messages: list[BaseMessage], keep: Any) -> None:
    """Law 5: what a user, a tool, a model or a client's system message said stays out of the system role."""
    assume(messages and isinstance(messages[0], HumanMessage))

    view = compact(messages, keep=keep, constraints=RULES).messages

    assert "⟦" not in system_text(view)


@given(conversations(), keeps)
def test_kept_messages_are_the_same_objects_in_order(messages: list[BaseMessage], keep: Any) -> None:
    """Of a valid conversation, the view shows a run of messages up to the newest, and before it at most the request."""
    compaction = compact(messages, keep=keep)

    position = {id(message): n for n, message in enumerate(messages)}
    kept = [position[id(message)] for message in compaction.messages if id(message) in position and not isinstance(message, SystemMessage)]
    ours = [message for message in compaction.messages if id(message) not in position and not isinstance(message, SystemMessage)]
    assert {message.name for message in ours} <= set(RENDERED)
    assert sorted(set(kept)) == kept
    request = position[id(last_human(messages))]
    run = kept[1:] if kept and kept[0] == request and kept[1:2] != [request + 1] else kept
    assert list(range(len(messages) - len(run), len(messages))) == run


@given(any_conversations(), keeps)
def test_signed_blocks_are_byte_identical_or_gone(messages: list[BaseMessage], keep: Any) -> None:
    """Law 10 with thinking: a signature never stands beside a changed or halved thought."""
    assert [] == check_signed_blocks(messages, compact(messages, keep=keep).messages)


@given(conversations(), st.integers(0, 6))
def test_the_last_turns_stay_raw(messages: list[BaseMessage], turns: int) -> None:
    """`keep=("turns", n)`: a turn begins at a human message, and in a tool loop at each AI message after results."""
    body = [message for message in messages if not isinstance(message, SystemMessage)]
    begins = [
        n
        for n, message in enumerate(body)
        if isinstance(message, HumanMessage) or (isinstance(message, AIMessage) and n and isinstance(body[n - 1], ToolMessage))
    ]
    start = begins[max(0, len(begins) - turns)] if turns else len(body)

    view = compact(messages, keep=("turns", turns)).messages

    shown = {id(message) for message in view}
    assert [] == [message for message in body[start:] if id(message) not in shown]


@given(conversations(), st.integers(0, 12))
def test_the_last_messages_stay_raw(messages: list[BaseMessage], count: int) -> None:
    """`keep=("messages", n)`: at least the last n, more where a pair would be split."""
    body = [message for message in messages if not isinstance(message, SystemMessage)]

    view = compact(messages, keep=("messages", count)).messages

    shown = {id(message) for message in view}
    assert [] == [message for message in body[len(body) - min(count, len(body)) :] if id(message) not in shown]


@given(any_conversations(), keeps, rule_texts)
def test_the_input_is_never_changed(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """Law 2: the list and its messages are the caller's."""
    objects = [id(message) for message in messages]
    before = copy.deepcopy(plain(messages))

    compact(messages, keep=keep, constraints=rules)

    assert objects == [id(message) for message in messages]
    assert before == plain(messages)


@given(any_conversations(), keeps, rule_texts)
def test_the_same_call_gives_the_same_bytes(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """A compaction is a pure function of its input: view, head and record."""
    first, second = (compact(copy.deepcopy(messages), keep=keep, constraints=rules) for _ in range(2))

    assert plain(first.messages) == plain(second.messages)
    assert first.head == second.head
    assert first.record == second.record


@given(any_conversations(), keeps)
def test_the_numbers_are_those_of_the_view(messages: list[BaseMessage], keep: Any) -> None:
    """`tokens_after` is one call of the counter on what the model would see."""
    compaction = compact(messages, keep=keep, constraints=RULES)

    assert count_characters(compaction.messages) == compaction.tokens_after
    assert compaction.tokens_after == compaction.record.tokens_after
    assert compaction.outcome == compaction.record.outcome


@pytest.mark.field("C022")
@pytest.mark.parametrize("arguments", [{}, {"constraints": RULES}, {"budget": 10}, {"keep": ("messages", 0)}, {"previous": {}}])
async def test_an_empty_list_stays_empty(arguments: dict[str, Any]) -> None:
    """Nothing in, nothing out, no error; rules alone are no conversation."""
    compaction = compact([], **arguments)
    later = await acompact_messages([], token_counter=count_characters, **arguments)

    assert [] == compaction.messages
    assert [] == later.messages
    assert Outcome.SKIPPED == compaction.outcome


# Budgets --------------------------------------------------------------------------------------------------------------------------------


@given(any_conversations(), st.integers(1, 1_500), rule_texts, st.one_of(st.none(), keeps))
def test_a_view_is_within_its_budget_or_both_numbers_are_named(messages: list[BaseMessage], budget: int, rules: list[str], keep: Any) -> None:
    """Law 13: refuse, do not truncate; and never an empty list."""
    assume(messages)
    arguments = {} if keep is None else {"keep": keep}
    try:
        compaction = compact(messages, budget=budget, constraints=rules, **arguments)
    except ContextBudgetError as error:
        assert budget == error.budget
        assert error.needed > budget
        assert names_both(str(error), error.needed, error.budget)
        return

    assert compaction.messages
    if says_something(messages):
        assert [] == faults_in(compaction.messages, messages)
    if compaction.tokens_after > budget:
        assert Outcome.REJECTED == compaction.outcome
        assert names_both(compaction.record.reason, compaction.tokens_after, budget)


@given(any_conversations(), st.integers(1, 1_500), rule_texts)
def test_the_request_and_the_rules_survive_any_budget(messages: list[BaseMessage], budget: int, rules: list[str]) -> None:
    """However tight, neither is paid for with the other."""
    request = last_human(messages)
    assume(request is not None)
    try:
        view = compact(messages, budget=budget, constraints=rules).messages
    except ContextBudgetError:
        return

    assert 1 == sum(message is request for message in view)
    assert [1] * len(rules) == [system_text(view).count(rule) for rule in rules]


@given(conversations(system_prompt=False))
def test_a_list_that_fits_is_skipped_and_untouched(messages: list[BaseMessage]) -> None:
    """With a budget, nothing is compacted before it has to be."""
    compaction = compact(messages, budget=count_characters(messages))

    assert Outcome.SKIPPED == compaction.outcome
    assert same_objects(messages, compaction.messages)


@given(conversations())
def test_half_of_the_tokens_is_kept_to_or_refused(messages: list[BaseMessage]) -> None:
    """The commonest demand: half of what there is."""
    before = count_characters(messages)
    try:
        compaction = compact(messages, budget=before // 2)
    except ContextBudgetError as error:
        assert error.needed > before // 2
        return

    assert compaction.tokens_after <= before // 2 or Outcome.REJECTED == compaction.outcome


@pytest.mark.field("C023")
@pytest.mark.parametrize("rules", [[], RULES])
def test_a_single_message_over_the_budget_names_both_numbers(rules: list[str]) -> None:
    """One message of three times the budget: an error that says so before any provider does, never an empty list."""
    with pytest.raises(ContextBudgetError) as caught:
        compact([human("长" * 900)], budget=100, constraints=rules)

    assert 100 == caught.value.budget
    assert caught.value.needed > 300
    assert names_both(str(caught.value), 100, caught.value.needed)


def test_system_messages_over_the_budget_name_both_numbers() -> None:
    """A list of nothing but a system message is held to its budget as well."""
    with pytest.raises(ContextBudgetError) as caught:
        compact([SystemMessage("rules of the house " * 40)], budget=60)

    assert names_both(str(caught.value), 60, caught.value.needed)


def test_rules_that_do_not_fit_name_both_numbers() -> None:
    """Pins are never cut to fit."""
    messages = [human("q"), ai("a" * 900), human("next")]

    with pytest.raises(ContextBudgetError) as caught:
        compact(messages, budget=60, constraints=["Never delete an order. " * 40])

    assert names_both(str(caught.value), 60, caught.value.needed)
    assert caught.value.needed > 60


# Rounds ---------------------------------------------------------------------------------------------------------------------------------


def rounds(messages: list[BaseMessage], splits: list[int]) -> list[list[BaseMessage]]:
    """Cut a list into the parts that arrive round by round."""
    edges = sorted({0, *(split % (len(messages) + 1) for split in splits), len(messages)})
    return [messages[start:stop] for start, stop in itertools.pairwise(edges)]


def assert_both_ways_are_equal(parts: list[list[BaseMessage]], **arguments: Any) -> None:
    """Compact the growing original, and the last view plus what is new, and hold the two together in each round.

    A view in which a result had to be shortened holds less than the original: from there on the two may be summarized differently.
    """
    original: list[BaseMessage] = []
    view: list[BaseMessage] = []
    head_of_original: Any = None
    head_of_view: Any = None
    for part in parts:
        original = [*original, *part]
        from_original = compact(original, previous=head_of_original, **arguments)
        from_view = compact([*view, *part], previous=head_of_view, **arguments)
        assert plain(from_original.messages) == plain(from_view.messages)
        assert from_original.head == from_view.head
        assert from_original.outcome == from_view.outcome
        if from_view.record.elided_results:
            return
        head_of_original, head_of_view, view = from_original.head, from_view.head, from_view.messages


splits = st.lists(st.integers(0, 60), min_size=1, max_size=4)


@given(conversations(max_turns=6), splits, keeps, rule_texts)
def test_original_plus_new_equals_view_plus_new(messages: list[BaseMessage], at: list[int], keep: Any, rules: list[str]) -> None:
    """A caller may keep the whole history or only the last view: the same result, round after round, wherever the rounds end."""
    assert_both_ways_are_equal(rounds(messages, at), keep=keep, constraints=rules)


@given(conversations(max_turns=6, min_turns=3), splits, st.integers(150, 1_200))
def test_original_plus_new_equals_view_plus_new_within_a_budget(messages: list[BaseMessage], at: list[int], budget: int) -> None:
    """The same with a budget, where most rounds compact nothing."""
    try:
        assert_both_ways_are_equal(rounds(messages, at), budget=budget, constraints=RULES, keep=("turns", 1))
    except ContextBudgetError:
        assume(False)  # noqa: FBT003 - hypothesis takes it by position


@given(broken_conversations(), splits, keeps)
def test_original_plus_new_equals_view_plus_new_for_broken_lists(messages: list[BaseMessage], at: list[int], keep: Any) -> None:
    """The same where the list needs repair."""
    assert_both_ways_are_equal(rounds(messages, at), keep=keep, constraints=RULES)


@given(any_conversations(), splits, st.lists(keeps, min_size=5, max_size=5), rule_texts)
def test_every_round_holds_the_laws(messages: list[BaseMessage], at: list[int], keep: list[Any], rules: list[str]) -> None:
    """Views of views: still valid, the request once, every rule once, at most one summary and one evidence message."""
    view: list[BaseMessage] = []
    head: Any = None
    seen: list[BaseMessage] = []
    for number, part in enumerate(rounds(messages, at)):
        seen += part
        compaction = compact([*view, *part], previous=head, keep=keep[number], constraints=rules)
        view, head = compaction.messages, compaction.head
        if not says_something(seen):
            continue
        assert [] == check_provider_valid(view, human_first=human_leads(seen), given=seen)
        request = last_human(seen)
        if request is not None:
            assert 1 == sum(message is request for message in view)
        assert [1] * len(rules) == [system_text(view).count(rule) for rule in rules]
        names = [message.name for message in view if message.name in ("context_summary", "context_evidence")]
        assert len(set(names)) == len(names)


@given(conversations(min_turns=6, max_turns=9), keeps)
def test_nothing_new_means_nothing_to_do(messages: list[BaseMessage], keep: Any) -> None:
    """Compacting a view again, with nothing but the old summary before what is kept, is skipped and changes no byte."""
    first = compact(messages, keep=keep, constraints=RULES)
    assume(Outcome.ACCEPTED == first.outcome)

    again = compact(first.messages, keep=keep, constraints=RULES, previous=first.head)

    assert Outcome.SKIPPED == again.outcome
    assert plain(first.messages) == plain(again.messages)
    assert first.head == again.head


@pytest.mark.parametrize("between", [human("wait, 先等一下", "h"), SystemMessage("reminder", id="s")])
def test_a_late_result_takes_the_place_we_held_for_it(between: BaseMessage) -> None:
    """A call was answered by our placeholder in one view; when its result comes, the result stands, whichever list the caller kept."""
    before = [human("q", "m0"), ai(calls=["a"], message_id="m1"), between]
    late = result("a", "late but real", message_id="m2")

    assert_both_ways_are_equal([before, [late]], keep=("turns", 2), constraints=RULES)
    view = compact(before, keep=("turns", 2)).messages
    again = compact([*view, late], keep=("turns", 2)).messages

    assert ["late but real"] == [message.content for message in again if isinstance(message, ToolMessage)]
    assert [] == check_provider_valid(again)


@pytest.mark.parametrize("keep", [("turns", 3), ("messages", 2), ("turns", 0)])
def test_what_was_evicted_does_not_come_back(keep: Any) -> None:
    """A cut after messages that repair had put in another order: from the original, nothing before the cut is seen again."""
    long = "please check order ORD-1. " * 24
    first = [human("q", "m0"), ai(long, calls=["b"], message_id="m1"), result("ghost", "boo", message_id="g"), result("b", long, message_id="m2")]
    new = [ai("so", message_id="m3"), human("go on", "m4")]
    compacted = compact(first, keep=("turns", 0))
    # What a tool asks for is no fact, so the order's number is carried.
    assert Outcome.REPAIRED == compacted.outcome

    from_original = compact([*first, *new], previous=compacted.head, keep=keep)
    from_view = compact([*compacted.messages, *new], previous=compacted.head, keep=keep)

    assert plain(from_view.messages) == plain(from_original.messages)
    assert from_view.head == from_original.head
    assert not [message for message in from_original.messages if message.id in ("g", "m2")]


@pytest.mark.parametrize("missing", [None, ""])
def test_a_call_without_an_id_gets_one_name(missing: str | None) -> None:
    """The id we give it is the same whether the original or the last view comes back."""
    messages = [human("q", "m0"), ai(calls=[missing], message_id="m1"), ai("well", message_id="m2"), human("and?", "m3")]

    for split in range(1, len(messages)):
        assert_both_ways_are_equal([messages[:split], messages[split:]], keep=("turns", 0), constraints=RULES)


def test_a_placeholder_is_never_quoted_as_what_a_tool_said() -> None:
    """Our own words for a missing result are no fact and no claim of anybody."""
    messages = [
        human("q", "m0"),
        ai(calls=["a"], message_id="m1"),
        human("never mind", "m2"),
        ai("Checked. " * 100, message_id="m3"),
        human("go on", "m4"),
    ]

    compaction = compact(messages, keep=("messages", 1))

    assert Outcome.ACCEPTED == compaction.outcome
    summary = "".join(text for message in compaction.messages if message.name == "context_summary" for text in texts_of(message))
    assert "No result of this call" not in summary
    assert "may or may not" not in summary


# Law 11 ---------------------------------------------------------------------------------------------------------------------------------


def request_count(view: list[BaseMessage]) -> int:
    return sum(message.content == SYNTHETIC_REQUEST and isinstance(message, HumanMessage) for message in view)


def test_one_request_and_three_hundred_tool_units_stay_compactable() -> None:
    """Below 30% of the tokens, round after round, the request verbatim exactly once, every pair whole."""
    messages = tool_loop(300)
    head: Any = None
    for start in range(300, 700, 100):
        compaction = compact(messages, previous=head, constraints=RULES)

        assert Outcome.ACCEPTED == compaction.outcome
        assert count_characters(messages) * 0.3 > compaction.tokens_after
        assert 1 == request_count(compaction.messages)
        assert [] == check_provider_valid(compaction.messages)
        assert [] == check_all_providers(compaction.messages)
        head = compaction.head
        messages = [*compaction.messages, *tool_loop(100, start=start, request=None)]


def test_three_hundred_tool_units_meet_a_budget_of_thirty_percent() -> None:
    """The same with a budget, from the growing original."""
    messages = tool_loop(300)
    head: Any = None
    for start in range(300, 600, 100):
        budget = int(count_characters(messages) * 0.3)
        compaction = compact(messages, previous=head, constraints=RULES, budget=budget)

        assert compaction.tokens_after <= budget
        assert 1 == request_count(compaction.messages)
        assert [] == check_provider_valid(compaction.messages)
        head = compaction.head
        messages = [*messages, *tool_loop(100, start=start, request=None)]


# Forms of input -------------------------------------------------------------------------------------------------------------------------


@given(conversations(thinking=False, images=False, ids="none"), keeps)
def test_dicts_are_compacted_like_messages(messages: list[BaseMessage], keep: Any) -> None:
    """The OpenAI form in: the same view, and the OpenAI form out."""
    from_dicts = compact(as_dicts(messages), keep=keep, constraints=RULES)
    dicts = from_dicts.to_dicts()

    assert [] == check_provider_valid(from_dicts.messages)
    assert len(from_dicts.messages) == len(dicts)
    assert {dict} == {type(item) for item in dicts}
    assert {item["role"] for item in dicts} <= {"system", "user", "assistant", "tool"}
    request = last_human(messages)
    assert request is not None
    assert 1 == sum(item["role"] == "user" and item["content"] == request.content for item in dicts)


@given(conversations(thinking=False, images=False, ids="none"))
def test_dicts_that_fit_come_back_as_they_were(messages: list[BaseMessage]) -> None:
    """A dialect is not rewritten where nothing is compacted."""
    dicts = as_dicts(messages)

    assert dicts == compact(dicts, budget=10**9).to_dicts()


def test_any_form_langchain_accepts_is_accepted() -> None:
    """Strings, pairs and dicts beside message objects."""
    forms: list[Any] = [
        ("system", "be kind"),
        "hello",
        ("ai", "hi"),
        {"role": "user", "content": "再查一次"},
        {"type": "ai", "content": "done"},
        human("bye"),
    ]

    view = compact(forms, budget=10_000).messages

    assert ["system", "human", "ai", "human", "ai", "human"] == [message.type for message in view]


@pytest.mark.parametrize("messages", [[human("q", "1"), RemoveMessage(id="1")], [RemoveMessage(id="__remove_all__"), human("q")]])
def test_a_remove_message_is_refused(messages: list[BaseMessage]) -> None:
    """It is an order to a reducer, not something that was said; a list that holds one is no conversation."""
    with pytest.raises((ContextGuardError, ValueError, TypeError)) as caught:
        compact(messages)

    assert "RemoveMessage" in str(caught.value) or "remove" in str(caught.value).lower()


def test_an_empty_human_message_is_still_the_request() -> None:
    """What a person sent is not judged by its length."""
    messages = [human("q"), ai(calls=["a"]), result("a", "x" * 600), ai("done"), human("")]

    view = compact(messages, keep=("messages", 1)).messages

    assert 1 == sum(message is messages[-1] for message in view)


@settings(max_examples=20)
@given(conversations(), keeps, rule_texts)
async def test_async_gives_the_same(messages: list[BaseMessage], keep: Any, rules: list[str]) -> None:
    """`acompact_messages` is `compact_messages`."""
    sync = compact(messages, keep=keep, constraints=rules)
    later = await acompact_messages(messages, keep=keep, constraints=rules, token_counter=count_characters)

    assert plain(sync.messages) == plain(later.messages)
    assert sync.head == later.head
    assert sync.record == later.record
