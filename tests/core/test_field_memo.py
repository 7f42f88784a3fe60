"""What was read before: the same answers, bounded, whoever asks."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.crossing import watched
from langchain_ctxguard.core.extract import extract_fields, forget
from langchain_ctxguard.core.field_memo import Memo, Read, digest
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.control import FieldKind

TEXTS = (
    "The deadline is Friday and the budget is $5,000; order ORD-77120 must never be cancelled.",
    "预算改成5万元，明天下午3点开会，就用方案B吧",
    '{"order": {"id": "ORD-9911", "total": 45.5, "currency": "EUR", "due": "2026-06-30"}}',
    "nothing to see",
    "\ud800 broken 2026-06-30",
    "",
)


def read(text: str, kind: type[BaseMessage] = HumanMessage, **settings: Any) -> list[dict[str, Any]]:
    more = {"tool_call_id": "c"} if kind is ToolMessage else {}
    return [field.model_dump() for field in extract_fields([kind(text, id="m", **more)], **settings)]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [HumanMessage, AIMessage, ToolMessage])
def test_a_text_read_before_gives_what_it_gave(text: str, kind: type[BaseMessage]) -> None:
    """Memory changes no field, and the role it is said in still counts."""
    forget()
    for other in (HumanMessage, AIMessage, ToolMessage):
        read(text, other)
    remembered = read(text, kind)
    forget()

    assert read(text, kind) == remembered


def test_a_relative_date_hangs_on_the_day_it_was_said() -> None:
    """The same words on another day, in another zone or with another pattern are read anew."""
    forget()
    first = read("We meet tomorrow.", now=datetime(2026, 5, 4, 23, tzinfo=UTC))
    same_day = read("We meet tomorrow.", now=datetime(2026, 5, 4, 9, tzinfo=UTC))
    next_day = read("We meet tomorrow.", now=datetime(2026, 5, 5, 9, tzinfo=UTC))
    in_shanghai = read("We meet tomorrow.", now=datetime(2026, 5, 4, 23, tzinfo=UTC), timezone="Asia/Shanghai")

    assert ["2026-05-05"] == [field["value"] for field in first]
    assert ["2026-05-05"] == [field["value"] for field in same_day]
    assert datetime(2026, 5, 4, 9, tzinfo=UTC) == same_day[0]["at"]
    assert ["2026-05-06"] == [field["value"] for field in next_day]
    assert ["2026-05-06"] == [field["value"] for field in in_shanghai]


def test_other_patterns_are_another_reading() -> None:
    """A pattern that is new in the config file is looked for in texts that were read without it."""
    forget()
    assert [] == read("ship code zulu")
    assert ["zulu"] == [field["raw"] for field in read("ship code zulu", patterns={"code": "zulu"})]
    assert ["ship"] == [field["raw"] for field in read("ship code zulu", patterns={"code": "ship"})]


def test_each_message_has_fields_of_its_own() -> None:
    """Two messages with one text give fields that name each of them."""
    fields = extract_fields([HumanMessage("Order ORD-77120", id="a"), HumanMessage("Order ORD-77120", id="b")])

    assert [("a", 0), ("b", 1)] == [(field.message_id, field.source_turn) for field in fields]


def reading(fields: int) -> tuple[Read, ...]:
    return (Read(FieldKind.DATE, 0, 1, "", None, 1.0, critical=True, key="k"),) * fields


def test_the_oldest_readings_leave_first_and_a_huge_one_is_not_kept() -> None:
    """However much is read, memory is bounded."""
    memo = Memo(capacity=30)
    for number in range(100):
        memo.put(number, reading(9))
        memo.get(98)
    memo.put("huge", reading(10_000))

    assert memo.get("huge") is None
    assert memo.get(0) is None
    assert memo.get(98) is not None
    assert 3 == len(memo)


def test_threads_share_a_memory() -> None:
    """Many threads that read at once find what one would."""
    forget()
    texts = [f"Order ORD-{number}4711 is due on 2026-06-{number % 28 + 1:02}." for number in range(40)] * 5
    alone = [read(text) for text in texts]
    forget()
    with ThreadPoolExecutor(8) as pool:
        assert alone == list(pool.map(read, texts))


def test_no_two_texts_share_a_digest() -> None:
    """Half a surrogate pair counts as itself."""
    assert 4 == len({digest(""), digest("\ud800"), digest("\udc00"), digest("a")})


def spent_on(size: int) -> float:
    messages = [
        kind(f"{number}: the delivery of order ORD-{number}7 moved to June {number % 28 + 1} and costs ${number}.50, not less. " * 4, id=f"m{number}")
        for number in range(size // 2)
        for kind in (HumanMessage, AIMessage)
    ]
    messages = [message.model_copy(update={"id": f"{message.id}-{message.type}"}) for message in messages]
    forget()
    started = time.thread_time()
    watched((), messages[:-10], messages[-10:], keys=message_keys(messages), plan=FieldPlan())
    return time.thread_time() - started


def test_the_work_on_fields_grows_with_the_list_and_not_with_its_square() -> None:
    """Four times the messages, every one with fields and changes: far from sixteen times the time."""
    small = min(spent_on(500) for _ in range(2))
    large = min(spent_on(2_000) for _ in range(2))

    assert large < 8 * small
