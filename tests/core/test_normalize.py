from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.normalize import comparable, is_same_field_value, is_same_value, normalize
from langchain_ctxguard.domain.control import ControlField, FieldKind

MONDAY = datetime(2026, 5, 4, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "spellings"),
    [
        ("amount", ["5万元", "50000元", "¥50,000", "￥50000.00", "50,000 CNY", "RMB 50000", "五万元", "人民币伍万元整", "５００００元"]),
        ("amount", ["$2 million", "USD 2,000,000", "2000000 dollars", "US$2m"]),
        ("amount", ["8万2千元", "82,000元", "¥8.2万"]),
        ("amount", ["$20", "twenty dollars", "USD 20"]),
        ("amount", ["$0.50", "50 cents"]),
        ("payment_term", ["due on receipt", "Payable upon receipt", "见票即付"]),
        ("amount", ["3万5", "35,000元", "3.5万元"]),
        ("amount", ["5角", "5毛钱", "0.50元"]),
        ("amount", ["2元5角5分", "2.55元"]),
        (
            "date",
            [
                "2026-06-30",
                "2026年6月30日",
                "June 30, 2026",
                "30 June 2026",
                "2026/6/30",
                "the 30th of June 2026",
                "06/30/2026",
                "二〇二六年六月三十日",
                "30.06.2026",
            ],
        ),
        ("datetime", ["2026-05-05 15:00", "明天下午三点", "tomorrow at 3 pm", "2026-05-05T15:00:00Z", "2026-05-05T17:00:00+02:00"]),
        ("time", ["15:30", "3:30 pm", "下午三点半", "15点30分", "3:30 p.m."]),
        ("duration", ["90 minutes", "1 h 30 min", "一个半小时", "1小时30分", "1.5 hours"]),
        ("duration", ["半年", "6个月", "six months"]),
        ("percentage", ["30%", "三成", "百分之三十", "30 percent", "30.0 %"]),
        ("percentage", ["0.3%", "千分之三", "3‰"]),
        ("temperature", ["-18 °C", "-18℃", "零下18度", "-18.0°C"]),
        ("quantity", ["1,420 kg", "1420公斤", "1.42吨"]),
        ("quantity", ["1 crate", "1 crates"]),
        ("phone", ["+49 40 5550 7781", "+494055507781", "+49-40-5550-7781"]),
        ("payment_term", ["NET 30", "net 30", "月结30天", "账期30天", "Net-30", "三十天账期"]),
        ("error_code", ["HTTP 502", "502错误", "状态码502"]),
        ("version", ["v2.10.0", "2.10.0", "V2.10.0"]),
        ("iban", ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000"]),
    ],
)
def test_all_spellings_of_a_value_compare_as_one(kind: str, spellings: list[str]) -> None:
    """Values compare as values: the spelling, the width and the language are the writer's business."""
    values = [normalize(kind, raw, at=MONDAY) for raw in spellings]
    assert None not in values
    assert 1 == len({comparable(FieldKind(kind), value or "") for value in values}), values


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("date", "上月底", "2026-04-30"),
        ("date", "上个月末", "2026-04-30"),
        ("date", "月底", "2026-05-31"),
        ("date", "这个月底", "2026-05-31"),
        ("date", "下月底", "2026-06-30"),
        ("date", "年底", "2026-12-31"),
        ("date", "end of last month", "2026-04-30"),
        ("time", "下午3:59", "15:59"),
        ("duration", "3 hours", "PT3H"),
        ("duration", "2.5 hours", "PT2H30M"),
        ("duration", "0.5 years", "P6M"),
        ("duration", "3 years", "P3Y"),
        ("error_code", "502错误", "HTTP 502"),
        ("error_code", "50错误", "50错误"),
        ("error_code", "5020错误", "5020错误"),
    ],
)
def test_a_value_is_read_up_to_its_bounds_and_not_beyond(kind: str, raw: str, expected: str) -> None:
    """The ends of the months around today, the last minute of an hour, and codes with as many digits as a status has, one less and one more."""
    assert expected == normalize(kind, raw, at=MONDAY)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("time", "下午3:60"),
        ("time", "15:60"),
        ("date", "下周五"),
        ("date", "2026-13-45"),
        ("date", "04/12/2026"),
        ("time", "25:70"),
        ("amount", "many"),
        ("duration", ""),
        ("datetime", "2026-02-30 10:00"),
    ],
)
def test_what_cannot_be_told_has_no_value(kind: str, raw: str) -> None:
    """A date without its moment, one no calendar has, and one two continents read differently stay as written."""
    assert None is normalize(kind, raw)


def test_days_are_counted_in_the_zone_of_the_config() -> None:
    """Half past eleven at night in London is tomorrow in Shanghai."""
    said = datetime(2026, 5, 4, 23, 30, tzinfo=UTC)
    assert "2026-05-05" == normalize("date", "今天", at=said, timezone=ZoneInfo("Asia/Shanghai"))
    assert "2026-05-04" == normalize("date", "今天", at=said)


def test_a_date_without_a_year_is_the_same_day_of_any_year() -> None:
    """Where nobody knows when it was said, 6月30日 and June 30, 2026 do not contradict."""
    assert "--06-30" == normalize("date", "6月30日")
    assert is_same_value(FieldKind.DATE, "--06-30", "2026-06-30")
    assert not is_same_value(FieldKind.DATE, "--06-30", "2026-07-30")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (("date", "--06-30"), ("date", "2026-06-30"), True),
        (("phone", "+494055507781"), ("phone", "04055507781"), True),
        (("phone", "+495550778"), ("phone", "05550778"), True),
        (("phone", "+49555077"), ("phone", "555077"), False),
        (("phone", "+4912345550778"), ("phone", "5550778"), False),
        (("order_id", "A-17"), ("ticket_id", "A-17"), True),
        (("order_id", "A-17"), ("ticket_id", "A-18"), False),
        (("phone", "494055507781"), ("order_id", "494055507781"), False),
        (("amount", "30"), ("percentage", "30"), False),
        (("amount", None), ("amount", "30"), False),
    ],
)
def test_two_fields_have_one_value_where_their_kinds_can_stand_for_one_another(
    one: tuple[str, str | None], other: tuple[str, str | None], *, is_same: bool
) -> None:
    """Whichever of them comes first."""
    first, second = (ControlField.model_validate({"kind": kind, "raw": value or "much", "value": value}) for kind, value in (one, other))
    assert [is_same, is_same] == [is_same_field_value(first, second), is_same_field_value(second, first)]


@pytest.mark.parametrize("kind", ["amount", "quantity", "temperature", "percentage"])
def test_a_value_of_the_applications_own_compares_as_it_is_written(kind: str) -> None:
    """A value without a number is the same as itself and as no other."""
    assert "a handful" == comparable(FieldKind(kind), "a handful")
    assert not is_same_value(FieldKind(kind), "a handful", "a bucket")


@given(st.sampled_from(list(FieldKind)), st.text(max_size=60))
def test_no_text_breaks_the_reading(kind: FieldKind, raw: str) -> None:
    """A span is outside text; it has a value or none, and a value compares with itself."""
    value = normalize(kind, raw, at=MONDAY)
    assert value is None or is_same_value(kind, value, value)


@pytest.mark.parametrize(("one", "other"), [("3 boxes", "3 box"), ("2 batches", "2 batch"), ("4 pages", "4 page"), ("5 houses", "5 house")])
def test_a_counted_thing_is_the_same_in_both_numbers(one: str, other: str) -> None:
    """One box and three boxes are counted in the same unit."""
    assert is_same_value(FieldKind.QUANTITY, one, other)
