from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.diff import diff_fields, stale_mentions, without_stale
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.domain.control import ControlField, FieldDiff

MONDAY = datetime(2026, 5, 4, 10, tzinfo=UTC)


def fields_of(text: str) -> list[ControlField]:
    return extract_fields(text, now=MONDAY)


def compare(before: str, after: str, **more: object) -> FieldDiff:
    return diff_fields(fields_of(before), fields_of(after), text=after, **more)  # type: ignore[arg-type]  # passed through


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("预算5万元", "The budget is 50,000 CNY"),
        ("预算5万元", "预算 ¥50000"),
        ("6月30日交", "Due 2026-06-30"),
        ("订单ＯＲＤ－７７１２", "order ORD-7712"),
        ("It takes 90 minutes", "用时1.5小时"),
        ("call +49 40 5550 7781", "phone +494055507781"),
        ("Remember: never call the client.", "The user said: remember, never call the client"),
        ("项目叫“星河计划”", "星河计划 goes on"),
        ("invoice INV-1", "the reference INV-1"),
    ],
)
def test_a_faithful_spelling_is_no_loss(before: str, after: str) -> None:
    """Dates compare as dates and money as money; width, space, language and the word beside an identifier are not the value."""
    assert compare(before, after).is_clean


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        ("budget $5,000", "budget $5,800", "digit"),
        ("deadline June 30", "deadline June 29", "shifted"),
        ("预算5万元", "预算5万美元", "unit"),
        ("order ORD-1", "order ORD-12", "extended"),
        ("order ORD-12", "order ORD-1", "truncated"),
        ("within 30 minutes", "within 30 hours", "unit"),
        ("Remember: never call the client", "Remember: call the client", "negated"),
        ("温度2℃", "温度2℉", "unit"),
        ("within 30 minutes", "within 45 minutes", "digit"),
        ("within 30 minutes", "within 45 hours", "value"),
        ("order ORD-7712", "order ORD-7713", "digit"),
        ("项目叫“星河计划”", "项目叫“银河计划”", "renamed"),
        ("Remember: call the client before lunch", "Remember: call the client before dinner", "value"),
        ("Remember: phone the bank", "Remember: phone the shop", "value"),
    ],
)
def test_a_changed_value_is_reported_with_how_it_changed(before: str, after: str, how: str) -> None:
    """Nothing that reads almost the same passes as the same."""
    assert [how] == [change.how for change in compare(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ("6月30日交货", "近期交货", "近期"),
        ("预算50000元", "有一笔预算", "一笔预算"),
        ("Pay by June 30.", "Payment is due soon.", "soon"),
        ("budget $5,000", "there is some budget", "some budget"),
    ],
)
def test_a_blurred_value_is_lost(before: str, after: str, word: str) -> None:
    """A vague word where a value stood is a loss, and the finding quotes it."""
    difference = compare(before, after)
    assert [("blurred", word)] == [(change.how, change.found) for change in difference.lost]
    assert () == difference.changed


@pytest.mark.parametrize("before", ["Pay by June 30.", "budget $5,000", "wait 3 hours"])
def test_a_thing_blurs_its_number_and_no_date_or_sum(before: str) -> None:
    """Where a date is gone, "the invoice" that stands there anyway is no vague word for it."""
    (change,) = compare(before, "Look at the invoice.").lost
    assert change.how != "blurred"
    (change,) = compare("Look at invoice INV-2041.", "Look at the invoice.").lost
    assert ("blurred", "the invoice") == (change.how, change.found)


def test_a_value_nobody_said_is_reported_as_added() -> None:
    """A number a summarizer made up is no field of the conversation."""
    assert ["$9"] == [field.raw for field in compare("budget $5", "budget $5, tax $9").added]


def test_house_terms_are_folded_by_the_glossary() -> None:
    """企业客户 and B 端客户 are one group of customers where the config says so."""
    before, after = "记住：只服务企业客户", "记住：只服务 B 端客户"
    assert not compare(before, after).is_clean
    assert compare(before, after, glossary={"B 端客户": "企业客户"}).is_clean


def test_house_terms_are_folded_in_values_too() -> None:
    """A house term can be the unit of a number that is itself spelled in another way; another number stays another."""
    assert not compare("订三箱", "order 3 cartons").is_clean
    assert compare("订三箱", "order 3 cartons", glossary={"箱": "cartons"}).is_clean
    assert ["digit"] == [change.how for change in compare("订三箱", "order 4 cartons", glossary={"箱": "cartons"})]


def test_a_statement_about_something_else_takes_no_place() -> None:
    """What was stressed is lost then, and what is stressed now is new."""
    difference = compare("Remember: never call the client", "Remember: the key is under the mat")
    assert ["Remember: never call the client"] == [change.before.raw for change in difference.lost]
    assert () == difference.changed
    assert ["Remember: the key is under the mat"] == [field.raw for field in difference.added]


def test_a_comparator_of_the_application_can_tell_statements_alike() -> None:
    """It is asked only about what the rules find different."""
    asked: list[tuple[str, str]] = []

    def same(one: str, other: str) -> bool:
        asked.append((one, other))
        return True

    assert compare("Remember: phone first", "Remember: call ahead", same_text=same).is_clean
    assert [("Remember: phone first", "Remember: call ahead")] == asked


def test_closed_fields_are_not_missed_and_weak_ones_only_warn() -> None:
    """The finding is there; whether it is critical the field decides."""
    closed, weak, sure = (
        field.model_copy(update=update) for field, update in zip(fields_of("$1, $2, $3"), ({"is_closed": True}, {"confidence": 0.5}, {}), strict=True)
    )
    difference = diff_fields([closed, weak, sure], [])
    assert ["$2", "$3"] == [change.before.raw for change in difference]
    assert ["$3"] == [change.before.raw for change in difference.critical]


def test_replaced_values_are_found_in_a_summary_and_put_right() -> None:
    """A summary that still tells the old deadline gets the one in force; a value somebody else has stays."""
    ledger = update_ledger((), [("human", "The deadline is June 30, the talk is on July 2."), ("human", "The deadline is now July 15.")], now=MONDAY)
    summary = "Deadline June 30, talk July 2."
    found = fields_of(summary)
    assert ["June 30"] == [item.raw for item, _, _ in stale_mentions(found, ledger.fields)]
    assert "Deadline July 15, talk July 2." == without_stale(summary, found, ledger.fields)


TEXTS = st.lists(
    st.sampled_from(
        [
            "$5",
            "5万元",
            "ORD-1",
            "ORD-12",
            "June 30",
            "6月30日",
            "30%",
            "三成",
            "Remember: call",
            "not the oak",
            "a@b.example",
            "10.0.0.1",
            "2 kg",
            "90 minutes",
            "soon",
            "近期",
            "\n",
            "x",
        ]
    ),
    max_size=12,
).map(". ".join)


@given(TEXTS, TEXTS)
def test_nothing_is_lost_against_itself_and_nothing_is_counted_twice(one: str, other: str) -> None:
    """A text compared with itself is clean; with another, every field before is kept, changed or lost exactly once."""
    assert compare(one, one).is_clean
    before = fields_of(one)
    difference = diff_fields(before, fields_of(other), text=other)
    assert len(before) == difference.kept + len(difference.lost) + len(difference.changed)


def test_many_lost_values_beside_a_long_text_are_compared_in_seconds() -> None:
    """What is looked for in the text is looked for once, not once for each value and each other value."""
    known = [ControlField(kind="order_id", raw=f"ORD-{number:05d}", value=f"ORD-{number:05d}") for number in range(2_000)]
    text = " ".join(field.raw for field in known[:1_000]) + " stranger ORD-99999"
    began = time.process_time()
    diff = diff_fields(known, known[:1_000], text=text)
    assert time.process_time() - began < 10
    assert ({"ORD-99999"}, {"digit"}, 1_000) == ({change.found for change in diff.lost}, {change.how for change in diff.lost}, len(diff.lost))


def test_a_date_that_lost_its_year_is_blurred() -> None:
    """The other way round nothing is lost: a day without a year that got one says more than before."""
    full, short = extract_fields("Due on 2026-06-30."), extract_fields("Due on June 30.")

    diff = diff_fields(full, short, text="Due on June 30.")
    assert [("blurred", "June 30")] == [(change.how, change.found) for change in diff.lost]
    assert () == diff.changed
    assert diff_fields(short, full, text="Due on 2026-06-30.").is_clean
