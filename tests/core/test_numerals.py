"""Amounts as people write them are read as the numbers they mean."""

from __future__ import annotations

from decimal import Decimal

import pytest

from langchain_ctxguard.core.numerals import amount, clock, plain_number, scaled, word_number, zh_number


@pytest.mark.parametrize(
    ("words", "value", "taken"),
    [
        ("five", 5, 1),
        ("zero", 0, 1),
        ("nineteen pages", 19, 1),
        ("twenty five", 25, 2),
        ("ninety nine pages", 99, 2),
        ("twenty ten", 20, 1),
        ("twenty twenty", 20, 1),
        ("fifteen five", 15, 1),
        ("twenty five five", 25, 2),
        ("two hundred", 200, 2),
        ("twenty five hundred", 2_500, 3),
        ("three million euros", 3_000_000, 2),
        ("two thousand five hundred", 2_500, 4),
        ("one million two hundred thousand", 1_200_000, 5),
        ("one hundred twenty five pages", 125, 4),
        ("one hundred five", 105, 3),
        ("two hundred thousand", 200_000, 3),
        ("five thousand twenty", 5_020, 3),
        ("two thousand million", 2_000_000_000, 3),
        ("two thousand pages", 2_000, 2),
        ("two thousand half", 2_000, 2),
        ("two thousand hundred", 2_000, 2),
        ("zero five", 0, 1),
        ("half five", -1, 1),
        ("half", -1, 1),
    ],
)
def test_english_words_are_read_as_one_number_as_far_as_they_are_one(words: str, value: int, taken: int) -> None:
    """A unit joins tens, units and tens join hundreds, and a scale multiplies its own group and nothing before it."""
    assert (Decimal(value), taken) == word_number(words.split())


@pytest.mark.parametrize("words", ["", "pages", "hundred", "million", "a"])
def test_words_that_begin_no_number_are_none(words: str) -> None:
    """A scale without a number before it is no number."""
    assert word_number(words.split()) is None


@pytest.mark.parametrize(
    ("hours", "minutes", "half", "expected"),
    [("3", "00", "pm", "15:00"), ("3", "15", "am", "3:15"), ("12", "30", "pm", "12:30"), ("11", "59", "pm", "23:59"), ("15", "05", "", "15:05")],
)
def test_an_afternoon_hour_is_twelve_later(hours: str, minutes: str, half: str, expected: str) -> None:
    """Noon is twelve already; the morning and the long form are as they are."""
    hour, minute = expected.split(":")
    assert clock(hour, minute) == clock(hours, minutes, half)
    assert clock(hours, minutes, half).number == int(hour) * 60 + int(minute)


@pytest.mark.parametrize(("number", "unit", "hour"), [(3, "pm", 15), (12, "pm", 12), (3, "am", 3), (11, "pm", 23), (14, "点", 14)])
def test_a_bare_hour_is_the_clock_time_it_names(number: int, unit: str, hour: int) -> None:
    """`3 pm` is `15:00`."""
    assert clock(str(hour), "0") == amount(Decimal(number), unit)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((120, "seconds"), (2, "minutes"), True),
        ((2, "weeks"), (14, "days"), True),
        ((9, "折"), (90, "折"), True),
        ((10, "折"), (100, "折"), False),
        ((24, "month"), (2, "岁"), True),
        ((60, "month"), (5, "岁"), True),
        ((2, "month"), (24, "岁"), False),
        ((20, "度"), (20, "celsius"), True),
        ((20, "度"), (20, "fahrenheit"), False),
        ((5, ""), (5, "days"), True),
        ((5, ""), (5, "hours"), True),
        ((5, ""), (5, "kg"), False),
        ((5, ""), (5, "EUR".lower()), False),
        ((5, "usd"), (5, "eur"), False),
        ((1, "mb"), (1_000, "kb"), True),
        ((1, "mb"), (1, "mib"), False),
    ],
)
def test_amounts_are_one_value_if_they_measure_the_same(one: tuple[int, str], other: tuple[int, str], expected: bool) -> None:  # noqa: FBT001 - a column
    """In either order; a number without a unit is no sum of money and no weight."""
    first, second = amount(Decimal(one[0]), one[1]), amount(Decimal(other[0]), other[1])
    assert (expected, expected) == (first.is_same(second), second.is_same(first))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("两万五千", 25_000),
        ("十", 10),
        ("十五", 15),
        ("三千五", 3_500),
        ("三千零五", 3_005),
        ("一百五", 150),
        ("一百零五", 105),
        ("一亿二千万", 120_000_000),
        ("二十五万", 250_000),
        ("一亿零五百万三千", 105_003_000),
        ("一万二千亿", 1_200_000_000_000),
        ("一万亿", 1_000_000_000_000),
        ("两亿五", 250_000_000),
        ("万", 10_000),
        ("十万", 100_000),
        ("二〇二三", 2_023),
        ("半", Decimal("0.5")),
        ("三半", Decimal("3.5")),
        ("半三", None),
        ("半百", None),
        ("", None),
    ],
)
def test_a_chinese_numeral_is_read_with_its_scales(text: str, expected: int | Decimal | None) -> None:
    """A last digit right behind a scale counts the next smaller one."""
    assert expected == zh_number(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("10,000", "10000"), ("10'000", "10000"), ("1.5", "1.5"), ("-3", "-3"), ("1,5", "1.5"), ("1.2.3", None), ("", None)]
)
def test_separators_group_thousands(text: str, expected: str | None) -> None:
    """A comma before less than three digits is a decimal one."""
    assert (None if expected is None else Decimal(expected)) == plain_number(text)


@pytest.mark.parametrize(("word", "expected"), [("million", 2_000_000), ("k", 2_000), ("万", 20_000), ("pages", None)])
def test_a_scale_multiplies(word: str, expected: int | None) -> None:
    """What names no scale multiplies nothing."""
    assert expected == scaled(Decimal(2), word)
