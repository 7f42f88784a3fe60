from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.diff import stale_mentions, without_stale
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.ledger import Ledger, update_ledger
from langchain_ctxguard.domain.control import ControlField


def ledger_of(*said: Any, **more: Any) -> Ledger:
    """Return the ledger after each message in turn; a plain text is a user's."""
    ledger = Ledger(())
    for turn, item in enumerate(said):
        message = HumanMessage(item, id=str(turn)) if isinstance(item, str) else item
        ledger = update_ledger(ledger.fields, [message], start=turn, **more)
    return ledger


def shown(fields: tuple[ControlField, ...]) -> list[tuple[str, list[str]]]:
    return [(field.raw, [event.raw for event in field.history]) for field in fields]


@pytest.mark.field("C090", "C091")
@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [
        ("The deadline is June 30.", "The deadline is now July 15.", "June 30", "July 15"),
        ("Deadline of June 30, please.", "The due date is July 15.", "June 30", "July 15"),
        ("The budget is $5,000.", "Change the budget to $6,000.", "$5,000", "$6,000"),
        ("截止日期是6月30日。", "截止日期改成7月15日。", "6月30日", "7月15日"),
        ("预算5万元。", "把预算改成8万元吧。", "5万元", "8万元"),
        ("Rent is $2,000.", "Make it $1,900 instead.", "$2,000", "$1,900"),
        ("Use 10.0.0.5.", "Not 10.0.0.5 but 10.0.0.7.", "10.0.0.5", "10.0.0.7"),
        ("联系电话13912345678。", "不是13912345678，而是13987654321。", "13912345678", "13987654321"),
        ("We run v1.2.0.", "Upgraded from v1.2.0 to v1.3.0.", "v1.2.0", "v1.3.0"),
        ("Write to a@x.example.", "My email changed to b@x.example.", "a@x.example", "b@x.example"),
        ("I said 3 pm.", "Sorry, 4 pm.", "3 pm", "4 pm"),
    ],
)
def test_a_later_value_replaces_the_earlier_one_of_the_same_thing(first: str, second: str, old: str, new: str) -> None:
    """Whatever the wording, one value is in force and the old one is history."""
    ledger = ledger_of(first, second)
    assert [(new, [old])] == shown(ledger.fields)
    assert 2 == ledger.fields[0].version


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Order ORD-1 please.", "Order ORD-12 too."),
        ("The print deadline is May 3.", "The talk deadline is May 9."),
        ("He paid $20.", "She paid $30."),
        ("订单ORD-1。", "订单ORD-2。"),
    ],
)
def test_two_things_stay_two_fields(first: str, second: str) -> None:
    """A second order number, deadline or payment is no correction of the first."""
    assert [[], []] == [history for _, history in shown(ledger_of(first, second).fields)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            'The error code "E238" becomes "ERR_238".',
            'The error code "E428" becomes "ERR_428".',
            [("E238", []), ("ERR_238", []), ("E428", []), ("ERR_428", [])],
        ),
        ("The order is ORD-1, beside it ORD-7.", "ORD-1 becomes ORD-2.", [("ORD-2", ["ORD-1"]), ("ORD-7", [])]),
        ("订单是 ORD-1，另一个是 ORD-7。", "ORD-1 改为 ORD-2。", [("ORD-2", ["ORD-1"]), ("ORD-7", [])]),
    ],
)
def test_what_a_value_is_said_of_is_what_it_replaces(first: str, second: str, expected: list[tuple[str, list[str]]]) -> None:
    """A value that another one becomes is replaced where somebody had said it before, and nothing else of its kind is."""
    assert expected == shown(ledger_of(first, second).fields)


def test_the_same_word_about_two_orders_is_two_values() -> None:
    """The total of ORD-2 does not replace the total of ORD-1; a later total of ORD-1 does."""
    ledger = ledger_of("Order ORD-1, the total is $40.", "Order ORD-2, the total is $70.", "For ORD-1 the total is now $45.")
    assert [("ORD-1", []), ("$45", ["$40"]), ("ORD-2", []), ("$70", [])] == shown(ledger.fields)


def test_a_long_conversation_takes_linear_time() -> None:
    """Four times the messages take about four times as long, with a label in every one."""

    def seconds(size: int) -> float:
        messages = [HumanMessage(f"Order ORD-{index}, the total is ${index}.", id=str(index)) for index in range(size)]
        # What else the process holds is looked through at each collection, and is none of these messages' doing.
        gc.disable()
        try:
            started = time.thread_time()
            update_ledger((), messages)
            return time.thread_time() - started
        finally:
            gc.enable()

    seconds(50)
    assert min(seconds(1_600) for _ in range(2)) < 4 * 3 * seconds(400) + 0.05


def test_the_higher_origin_wins_and_the_conflict_is_on_record() -> None:
    """An assistant that misremembers changes nothing; a system message outranks a user; both are in the history."""
    ledger = ledger_of("The budget is $5,000.", AIMessage("So the budget is $9,000.", id="a"))
    assert [("$5,000", "conflict")] == [(field.raw, field.history[0].reason) for field in ledger.fields]
    ledger = ledger_of("The budget is $5,000.", SystemMessage("The budget is $4,000.", id="s"), "The budget is $8,000.")
    assert [("$4,000", [("$5,000", "superseded"), ("$8,000", "conflict")])] == [
        (field.raw, [(event.raw, event.reason) for event in field.history]) for field in ledger.fields
    ]


def test_a_tools_newer_result_about_the_same_thing_replaces_the_older_one() -> None:
    """The path names the value and the identifier beside it the thing: another order's total is another field."""
    first = ToolMessage('{"order_id": "ORD-1", "eta": "2026-02-24"}', tool_call_id="a", id="1")
    second = ToolMessage('{"order_id": "ORD-1", "eta": "2026-02-26"}', tool_call_id="b", id="2")
    other = ToolMessage('{"order_id": "ORD-2", "eta": "2026-03-01"}', tool_call_id="c", id="3")
    assert [("ORD-1", []), ("2026-02-26", ["2026-02-24"]), ("ORD-2", []), ("2026-03-01", [])] == shown(ledger_of(first, second, other).fields)


def test_opposite_statements_leave_one_in_force() -> None:
    """A preference turned round, and a sentence with and without its negation."""
    assert ["not Postgres", "let's use MySQL"] == [
        field.raw for field in ledger_of("Let's go with Postgres.", "Actually, not Postgres; let's use MySQL.").fields
    ]
    assert ["Remember: email the client"] == [
        field.raw for field in ledger_of("Remember: never email the client.", "Remember: email the client.").fields
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The order is ORD-55, deadline June 30.", "The order is cancelled, forget the deadline."),
        ("会议时间是周五下午三点。", "会议取消了。"),
        ("订单ORD-9。", "订单ORD-9作废。"),
        ("The budget is $5k.", "Never mind the budget."),
    ],
)
def test_what_was_called_off_is_closed(first: str, second: str) -> None:
    """A field that ended stays in the ledger, is not critical any more, and its absence is no loss."""
    ledger = ledger_of(first, second)
    assert ledger.fields
    assert [] == [field.raw for field in ledger.live if field.source_turn == 0]
    assert not any(field.critical for field in ledger.fields if field.is_closed)


def test_an_assistant_calls_nothing_off() -> None:
    """Only the user or the application ends a matter."""
    ledger = ledger_of("The budget is $5k.", AIMessage("The budget is cancelled, then.", id="a"))
    assert [False] == [field.is_closed for field in ledger.fields]


def test_a_value_that_keeps_flipping_is_weak() -> None:
    """After three returns nobody knows what holds, so its loss only warns."""
    ledger = ledger_of(*(f"Budget is ${amount}k." for amount in (5, 6, 5, 6, 5)))
    assert [(3, True)] == [(field.flips, field.is_weak) for field in ledger.fields]
    assert not ledger_of("Budget is $5k.", "Budget is $6k.").fields[0].is_weak


def test_no_more_are_critical_than_the_cap_and_the_rest_is_named() -> None:
    """Statements and labelled values stay; what was ranked down is said, not dropped."""
    text = "Remember: the deadline is June 30. " + " ".join(f"Code C-{1000 + index}." for index in range(30))
    ledger = ledger_of(text)
    assert 20 == sum(field.critical for field in ledger.fields)
    assert len(ledger.fields) - 20 == len(ledger.demoted)
    assert {field.kind.value for field in ledger.fields if field.critical} >= {"emphasis", "date"}
    assert set(ledger.demoted) == {field.field_id for field in ledger.fields if not field.critical}


@pytest.mark.field("C094")
def test_the_caller_says_what_must_be_kept() -> None:
    """By value, by label, or by a sentence that holds the value."""
    assert [True] == [field.critical for field in ledger_of("箱子重2公斤。", must_keep=["2公斤"]).fields]
    assert [True] == [field.critical for field in ledger_of(AIMessage("The total is $40.", id="a"), must_keep=["total"]).fields]
    assert [False] == [field.critical for field in ledger_of(AIMessage("The total is $40.", id="a"), must_keep=["rent"]).fields]


def test_ids_are_stable_and_unique() -> None:
    """The same conversation read in one go or message by message gives the same ledger."""
    said = ["Order ORD-1, budget $5k.", "Order ORD-2, budget $6k.", "He paid $20 and $20."]
    stepwise = ledger_of(*said)
    at_once = update_ledger((), [HumanMessage(text, id=str(turn)) for turn, text in enumerate(said)])
    assert stepwise == at_once
    assert len({field.field_id for field in at_once.fields}) == len(at_once.fields)


@pytest.mark.parametrize(
    ("first", "second", "new"),
    [
        ("The deadline is June 30.", "The deadline is now July 15.", "July 15"),
        ("Our venue budget is $900.", "Change the venue budget to $1,200.", "$1,200"),
        ("The tasting is on March 3.", "We moved it to March 10.", "March 10"),
        ("We need 40 chairs.", "Make that 55 chairs.", "55 chairs"),
        ("The rent is 800 EUR.", "Actually let's go with 750 EUR instead.", "750 EUR"),
        ("Delivery is on 4 May.", "Scratch that, it's 9 May.", "9 May"),
        ("The interest rate is 3.1%.", "The interest rate went up to 3.4%.", "3.4%"),
        ("The fee is £40.", "The fee was £40, is £55 now.", "£55"),
        ("Kick-off is May 4.", "Kick-off has been postponed until May 18.", "May 18"),
        ("Keep the oven at 180°C.", "Turn the oven down to 165°C from now on.", "165°C"),
        ("截止日期是6月30日。", "截止日期改成7月15日。", "7月15日"),
        ("预算5万元。", "预算调整为8万元。", "8万元"),
        ("评审定在3月3日。", "评审挪到3月10日了。", "3月10日"),
        ("订40把椅子。", "改成55把吧。", "55把"),
        ("租金是800元。", "不对，租金应该是750元。", "750元"),
        ("门禁码是K7-4410。", "门禁码换成K7-9921了。", "K7-9921"),
        ("项目代号是OAK-12。", "以后项目代号叫ELM-40。", "ELM-40"),
        ("水温26度。", "水温降到24度。", "24度"),
        ("交货期是5月4日。", "交货期往后推到5月18日。", "5月18日"),
        ("The gate code is QX-4410.", "The gate code changed to RT-9921.", "RT-9921"),
        ("We call the effort OAK-12.", "The codename is ELM-40 as of today.", "ELM-40"),
        ("The work is based on commit 9f3c1ab.", "We are now based on commit 77aa31b.", "77aa31b"),
        ("Total spending is capped at $900.", "Keep overall spend below six hundred dollars.", "six hundred dollars"),
        ("The party is for 30 people.", "It will be 45 people after all.", "45 people"),
        ("The meeting is at 3 pm.", "Let's push the meeting back to 4:30 pm.", "4:30 pm"),
        ("The warranty is 12 months.", "Correction: the warranty is 24 months.", "24 months"),
        ("发票税率是6%。", "税率上调到9%。", "9%"),
        ("押金2000元。", "押金说错了，是1500元。", "1500元"),
        ("会议时间是下午3点。", "会议改在下午4点半。", "下午4点半"),
        ("We ship to 3 Mill Lane on June 3, phone 020 7946 0018.", "The phone number is now 020 7946 0099.", "020 7946 0099"),
        ("Send it to old.box@mail.example.", "Use new.box@mail.example instead of old.box@mail.example.", "new.box@mail.example"),
    ],
)
def test_an_update_in_other_words_replaces_the_value(first: str, second: str, new: str) -> None:
    """However it is put, one value holds, the old one is its history, and nothing of it is left in a text put right."""
    fields = update_ledger((), [("human", first), ("ai", "Noted."), ("human", second)]).fields
    held = [field for field in fields if field.raw == new]
    assert [1] == [len(field.history) for field in held], shown(fields)
    old = held[0].history[0].raw
    assert old not in {field.raw for field in fields if not field.is_closed}
    assert old in {item.raw for item, _, _ in stale_mentions(extract_fields(first), fields)}
    assert old not in without_stale(first, extract_fields(first), fields)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The deadline for the talk is June 30.", "The deadline for the poster is July 2."),
        ("Order ORD-11 costs $40.", "Order ORD-12 costs $50."),
        ("The door code is AB-1200.", "The gate code is CD-3400."),
        ("Commit 9f3c1ab fixed the crash.", "Commit 77aa31b broke the build."),
        ("The venue budget is $900.", "The catering budget is $400."),
        ("We saw 3 boats on June 3.", "We saw 5 boats on June 9."),
        ("The promo code SUM-100 is live.", "The promo code WIN-200 is live."),
        ("Ticket BUG-101 is about the printer.", "Ticket BUG-102 is about the scanner."),
        ("场地预算5万元。", "餐饮预算3万元。"),
        ("工单GD-1001是打印机。", "工单GD-1002是扫描仪。"),
        ("大门密码AB-1200。", "车库密码CD-3400。"),
        ("Lunch was $12.", "Dinner was $30."),
        ("The concert is on May 3.", "The exhibition opens on May 9."),
    ],
)
def test_what_is_said_of_another_thing_replaces_nothing(first: str, second: str) -> None:
    """Two codes, two budgets, two commits stand side by side."""
    fields = update_ledger((), [("human", first), ("ai", "Noted."), ("human", second)]).fields
    assert [] == [entry for entry in shown(fields) if entry[1]]


def test_the_phone_of_another_place_replaces_nothing() -> None:
    """What the assistant says of one thing after another under a bare label are values of two things."""
    ledger = update_ledger((), [("ai", "电话是010-58168888。"), ("human", "博物馆呢？"), ("ai", "电话是010-88369280。")])

    assert {"010-58168888", "010-88369280"} <= {field.raw for field in ledger.live}


@pytest.mark.parametrize("said", [("12 red apples, please.", "Remember: 12 red apples."), ("Remember: 12 red apples.", "12 red apples, please.")])
def test_a_value_that_was_stressed_once_is_critical(said: tuple[str, str]) -> None:
    """Whether it was said in passing before or afterwards."""
    assert [True] == [field.critical for field in ledger_of(*said).fields if field.raw == "12 red apples"]


@pytest.mark.parametrize("said", [("See #7712.", "Ticket #7712 is open."), ("Ticket #7712 is open.", "See #7712.")])
def test_a_value_is_as_sure_as_the_clearest_words_that_say_it(said: tuple[str, str]) -> None:
    """What was said clearly once does not become doubtful again."""
    assert [1.0] == [field.confidence for field in ledger_of(*said).fields]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (("The taxi was 500 EUR.", "Dinner was $20."), [("400 EUR", ["500 EUR"]), ("$20", [])]),
        (("Dinner was $20.", "The taxi was 500 EUR."), [("$20", []), ("400 EUR", ["500 EUR"])]),
        (("Dinner was $20.",), [("$20", []), ("400 EUR", [])]),
    ],
)
def test_a_change_is_of_the_last_value_in_the_same_unit(said: tuple[str, ...], expected: list[tuple[str, list[str]]]) -> None:
    """Euros correct no dollars, however recently those were spoken of."""
    assert expected == shown(ledger_of(*said, "Make it 400 EUR instead.").fields)


@pytest.mark.parametrize("before", ["", "Ask a@x.example: ", "Ask a@x.example or b@x.example: ", "Ask a@x.example, b@x.example or c@x.example: "])
def test_what_is_named_as_old_is_replaced_by_what_follows_it(before: str) -> None:
    """However many other values the sentence names before them; another of its kind stays."""
    fields = shown(ledger_of("Use 10.0.0.5.", "And 10.0.0.9 too.", f"{before}not 10.0.0.5 but 10.0.0.7.").fields)
    assert [("10.0.0.7", ["10.0.0.5"]), ("10.0.0.9", [])] == fields[:2]
    assert 2 + before.count("@") == len(fields)


def test_words_that_end_something_said_over_and_over_take_little_time() -> None:
    """A sentence that never ends is read in pieces, each once."""
    began = time.process_time()
    update_ledger([], [HumanMessage("The deadline is May 9. " + "no longer " * 2_000)])
    assert time.process_time() - began < 2


def test_a_question_in_a_result_leaves_nothing_open() -> None:
    """The newer result of the same order holds, whatever its note asks."""

    def result(day: str) -> list[dict[str, object]]:
        call = {"id": f"call-{day}", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "A-1"}'}}
        answer = f'{{"order_id": "A-1", "due_date": "{day}", "note": "is that fine?"}}'
        return [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": f"call-{day}", "content": answer}]

    fields = update_ledger([], [{"role": "user", "content": "Look up A-1."}, *result("2026-06-03"), *result("2026-06-09")]).fields
    assert [field.raw for field in fields if field.kind == "date" and not field.is_closed] == ["2026-06-09"]
