from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.errors import ConfigurationError

MONDAY = datetime(2026, 5, 4, 10, tzinfo=UTC)


def found(text: str, **more: Any) -> list[tuple[str, str, str | None]]:
    return [(field.kind.value, field.raw, field.value) for field in extract_fields(text, now=MONDAY, **more)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pay by 30 June.", [("date", "30 June", "2026-06-30")]),
        ("下周五下午三点开会", [("datetime", "下周五下午三点", "2026-05-15T15:00")]),
        ("2026年11月15日办婚礼", [("date", "2026年11月15日", "2026-11-15")]),
        ("预算三十万元", [("amount", "三十万元", "300000 CNY")]),
        ("先付三成", [("percentage", "三成", "30%")]),
        ("The deposit is $1.5 million.", [("amount", "$1.5 million", "1500000 USD")]),
        ("Keep it at -18 °C.", [("temperature", "-18 °C", "-18 C")]),
        ("It runs two and a half hours.", [("duration", "two and a half hours", "PT2H30M")]),
        ("金额５００元", [("amount", "５００元", "500 CNY")]),
        ("Terms are NET 30.", [("payment_term", "NET 30", "NET 30")]),
        ("月结30天", [("payment_term", "月结30天", "NET 30")]),
        ("IBAN DE89 3704 0044 0532 0130 00", [("iban", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000")]),
        (
            "See api/orders.py::create and api/orders.py:77.",
            [("anchor", "api/orders.py::create", "api/orders.py::create"), ("anchor", "api/orders.py:77", "api/orders.py:77")],
        ),
        ("redis://:pw@cache.internal:6379/0", [("connection_string", "redis://:pw@cache.internal:6379/0", "redis://:pw@cache.internal:6379/0")]),
        ("线上报502错误", [("error_code", "502错误", "HTTP 502")]),
        ("commit 9f3c2ab broke it", [("commit", "9f3c2ab", "9f3c2ab")]),
        ("项目叫“星河计划”", [("name", "星河计划", "星河计划")]),
        ("We need 3 vegan meals.", [("quantity", "3 vegan meals", "3 vegan meals")]),
        ("30天内付款", [("duration", "30天", "P30D")]),
        ("共3天", [("duration", "3天", "P3D")]),
    ],
)
def test_a_value_is_found_whole_and_read(text: str, expected: list[tuple[str, str, str | None]]) -> None:
    """English and Chinese alike: the raw span as written, the value in its comparable form."""
    assert expected == found(text)


@pytest.mark.field("C085")
def test_every_exact_identifier_of_a_message_is_found() -> None:
    """UUIDs, addresses, commits, connection strings and order numbers are what a summary loses first."""
    text = (
        "Order ORD-48213, ticket INC-20441, trace c56a4180-65aa-42ec-a945-5fd21dec0538, host 10.60.2.9, commit 4b825dc642cb, "
        "https://api.example.com/v3/orders?limit=50, postgres://app:pw@db.internal:5432/shop, mail a.b@example.com, version 2.10.1, "
        "/var/log/nginx/error.log"
    )
    expected = ["order_id", "ticket_id", "uuid", "ip", "commit", "url", "connection_string", "email", "version", "path"]
    assert expected == [field.kind.value for field in extract_fields(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Is the June you mentioned the same June? May I write?",
        "我八成是把钥匙落车上了，十分抱歉。",
        "万一下雨就改室内，一万个放心。",
        "10x engineers, 24/7 uptime, 360° feedback",
        "It's not important, and I don't remember who told me.",
        "three of us, either and/or both, he/she",
        "In the novel Catch-22 the paperwork never ends.",
        "We need 3 vegan.",
        "第3天出发",
        "每3天备份一次",
        "The pairs 1234 5678 90 are odd.",
        "Make sure the door is shut?",
        "一定要关门？",
        "",
        " \n\t ",
    ],
)
def test_what_only_looks_like_a_value_is_none(text: str) -> None:
    """Names of months, idioms, ranks and scores hold nothing that must survive."""
    assert [] == found(text)


def test_only_whole_tokens_count() -> None:
    """ORD-1 is not in ORD-12 nor in ORD-1-2, and 500 is not in 500.50."""
    assert ["ORD-1", "ORD-12", "ORD-1-2"] == [field.raw for field in extract_fields("ORD-1, ORD-12, ORD-1-2")]
    assert ["€500.50"] == [field.raw for field in extract_fields("exactly €500.50 it is")]


def test_the_fields_of_messages_know_where_they_stand() -> None:
    """Turn, message id, origin and offset lead back to the source, in any form LangChain accepts."""
    messages = [
        SystemMessage("Refunds within 30 days.", id="s"),
        HumanMessage([{"type": "text", "text": "My order is ORD-77."}], id="h"),
        AIMessage("I see ORD-77.", id="a"),
        ToolMessage('{"order": {"id": "ORD-77", "total_usd": 51.09, "eta": "2026-06-01"}}', tool_call_id="c", id="t"),
        {"role": "user", "content": "Ship before June 9.", "id": "d"},
    ]
    fields = extract_fields(messages, now=MONDAY)
    assert [("s", 0, "system"), ("h", 1, "user"), ("a", 2, "ai"), ("t", 3, "tool"), ("t", 3, "tool"), ("t", 3, "tool"), ("d", 4, "user")] == [
        (field.message_id, field.source_turn, field.origin) for field in fields
    ]
    assert [("order.id", "ORD-77"), ("order.total_usd", "51.09"), ("order.eta", "2026-06-01")] == [(field.label, field.raw) for field in fields[3:6]]
    assert ["30 days", "ORD-77", "51.09"] == [fields[0].raw, fields[1].raw, fields[4].raw]
    assert "51.09 USD" == fields[4].value


def test_a_cut_off_tool_result_still_gives_what_it_holds() -> None:
    """A result is read token by token, so a document that ends early loses only its end."""
    assert [("id", "PAY-1"), ("amount", "12.50")] == [
        (field.label, field.raw)
        for field in extract_fields([ToolMessage('{"id": "PAY-1", "amount": 12.50, "currency": "EUR", "no', tool_call_id="c")])
    ]


def test_nesting_hides_nothing_and_costs_nothing() -> None:
    """A value a thousand brackets deep is found; its label is the innermost keys."""
    text = '{"a": ' * 1_000 + '{"order_id": "ORD-7"}' + "}" * 1_000
    assert [("a.a.a.a.a.a.a.a.order_id", "ORD-7")] == [(field.label, field.raw) for field in extract_fields([ToolMessage(text, tool_call_id="c")])]


def test_a_relative_date_hangs_on_the_moment_it_was_said() -> None:
    """The message's own time first, then the caller's; without any, the raw span stays and no value is made up."""
    said = HumanMessage("Deliver tomorrow.", additional_kwargs={"timestamp": "2026-02-01T23:30:00+00:00"})
    assert ["2026-02-02"] == [field.value for field in extract_fields([said], now=MONDAY)]
    assert ["2026-02-03"] == [field.value for field in extract_fields([said], now=MONDAY, timezone="Asia/Shanghai")]
    assert [("tomorrow", None)] == [(field.raw, field.value) for field in extract_fields("Deliver tomorrow.")]


def test_statements_are_the_users_and_the_systems() -> None:
    """What an assistant stresses or a tool prints decides nothing."""
    text = "Remember: never call the client. Let's go with oak, not pine."
    kinds = ["emphasis", "choice_confirmed", "choice_rejected"]
    assert kinds == [field.kind.value for field in extract_fields([HumanMessage(text)])]
    assert [] == extract_fields([AIMessage(text)])
    assert [] == extract_fields([ToolMessage(text, tool_call_id="c")])


def test_what_a_stressed_sentence_holds_is_critical() -> None:
    """A measurement in passing may go; the same measurement in a sentence that says 重要 may not."""
    plain, stressed = extract_fields("苹果重2公斤。"), extract_fields("重要：箱子重2公斤。")
    assert [False] == [field.critical for field in plain]
    assert [True, True] == [field.critical for field in stressed]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write at most 5 pages.", True),
        ("Write 5 pages at most.", True),
        ("The novel has 5 pages.", False),
        ("最多写5页", True),
        ("这本书有5页", False),
    ],
)
def test_a_quantity_is_critical_where_the_words_beside_it_limit_it(text: str, expected: bool) -> None:  # noqa: FBT001 - a column
    """Before it or behind it; any other is a mere reading."""
    assert [expected] == [field.critical for field in extract_fields(text) if field.kind is FieldKind.QUANTITY]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n2026-03-01 10:00:00 started", [False]),
        ("log\n2026-03-01 10:00:00 started\n[2026-03-01 10:00:05] ended", [False, False]),
        ("log\n10:00:05 ended", [False]),
        ("log\nmoved to 2026-03-01 10:00", [True]),
        ("2026-03-01 10:00:00 started", [True]),
    ],
)
def test_the_time_a_log_line_begins_with_is_not_critical(text: str, expected: list[bool]) -> None:
    """It says when something was logged; any other moment a tool reports may not be lost."""
    assert expected == [field.critical for field in extract_fields([ToolMessage(text, tool_call_id="c")])]


def test_an_order_to_remove_a_message_is_none() -> None:
    """An update of a graph's state is refused with its place, not read as nothing."""
    with pytest.raises(ConfigurationError, match=r"messages\[0\] is a RemoveMessage"):
        extract_fields([RemoveMessage(id="m")])


def test_patterns_of_the_config_are_fields_with_their_name_as_label() -> None:
    """They match whole tokens of the folded text, and what they match is critical."""
    fields = extract_fields("rack R-17, R-170, Ｒ－１８", patterns={"rack": r"R-[0-9]{2}"})
    assert [("rack", "R-17"), ("rack", "Ｒ－１８")] == [(field.label, field.raw) for field in fields if field.kind is FieldKind.PATTERN]
    assert all(field.critical for field in fields if field.kind is FieldKind.PATTERN)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(?<=a)b", "no lookaround"),
        (r"(a)\1", "no back-references"),
        (r"(ORD)-[0-9]+", "capture groups"),
        (r"[0-9]*", "empty text"),
        ("[", "missing"),
        ("", "non-empty"),
        ("\ud800", "surrogates"),
    ],
)
def test_a_pattern_that_cannot_run_is_refused_with_its_place(pattern: str, says: str) -> None:
    """The error names the key of the config file, so that it can be mended there."""
    with pytest.raises(ConfigurationError, match=r"control_fields\.patterns\.mine") as refused:
        extract_fields("x", patterns={"mine": pattern})
    assert says in str(refused.value)


def test_an_unknown_time_zone_is_refused() -> None:
    """A typo in the config must not silently count days in UTC."""
    with pytest.raises(ConfigurationError, match="Mars/Olympus"):
        extract_fields("tomorrow", timezone="Mars/Olympus")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My card number there is 4400 7781 02.", ["4400 7781 02"]),
        ("My card number there is 4400 7781 02-2.", ["4400 7781 02-2"]),
        ("The lab number is 020 7946 0018.", ["020 7946 0018"]),
        ("Ring 01 23 45 67 89.", ["01 23 45 67 89"]),
        ("hemoglobin 11.2 g/dL, 9.5 m2 and 180㎡", ["11.2 g/dL", "9.5 m2", "180㎡"]),
        ("The log is %TEMP%\\setup\\log.txt.", ["%TEMP%\\setup\\log.txt"]),
        ("公证书编号（2026）沪证字第1182号。", ["（2026）沪证字第1182号"]),
        ("耗时3分12秒", ["3分12秒"]),
        ("版权所有 2015-2026 云溪科技", []),
        ("Spend at most five hundred dollars.", ["five hundred dollars"]),
        ("See ref 1234 5678 90.", ["1234 5678 90"]),
        ("They counted 1234 5678 9012 3456.", ["1234 5678 9012 3456"]),
        ("Make sure the door is shut.", ["Make sure the door is shut"]),
        ("一定要关门。", ["一定要关门"]),
    ],
)
def test_what_people_write_otherwise_is_found_whole(text: str, found: list[str]) -> None:
    """Compound units, numbers in groups, files of an office, spans in minutes and seconds: the whole span, or nothing of it."""
    assert found == [field.raw for field in extract_fields(text)]


def test_a_found_field_has_every_attribute_of_its_class() -> None:
    """Fields are made without validation, so a new attribute must be given here too."""
    (field,) = extract_fields("The budget is 5万元.")
    assert set(ControlField.model_fields) <= set(field.__dict__)
    assert field == ControlField.model_validate(field.model_dump())


@pytest.mark.parametrize("piece", ["%41", "a.", "-1", "a@", "1,", "/a", "张", "%41 " * 3 + "%41"])
def test_a_run_without_a_blank_is_read_in_linear_time(piece: str) -> None:
    """Patterns that end only where a run ends look ahead so far and no further: a tool's result cannot stop a compaction."""
    text = piece * (180_000 // len(piece))
    start = time.thread_time()
    extract_fields(text)

    # It takes half a second; without a bound on looking ahead, half a minute.
    assert time.thread_time() - start < 8


def test_a_value_is_found_wherever_a_long_run_is_cut() -> None:
    """Where the look ahead ends is no end of a value."""
    for shift in range(3_600, 4_100, 7):
        text = f"{'第' * (shift // 3)}订单ORD-20260501-7788付款1234.50元，写给bob.long.name@mail.example.com。" + "好" * 4_000
        raws = {field.raw for field in extract_fields(text)}
        assert {"ORD-20260501-7788", "1234.50元", "bob.long.name@mail.example.com"} <= raws, shift


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See #77.", 0.8),
        ("Ticket #77 is open.", 1.0),
        ("他叫“阿福”。", 0.9),
        ("“小白兔奶糖”项目", 0.9),
        ("“小白兔计划”", 0.9),
        ("“小白兔奶糖”", 0.75),
        ("“小小小白兔奶糖”", None),
        ("口号“小白兔计划”", None),
    ],
)
def test_a_value_is_as_sure_as_what_stands_around_it(text: str, expected: float | None) -> None:
    """A number behind a hash is most likely a ticket; words in quotes are a name where they are called one, go on as one, or end as one."""
    assert ([] if expected is None else [expected]) == [field.confidence for field in extract_fields(text)]
