"""Numbers with a measure, and what only looks like one."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.domain.control import FieldKind


def found(text: str) -> list[tuple[str, str]]:
    return [(field.kind.value, field.raw) for field in extract_fields(text)]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("by -20% now", "-20%"),
        ("on -20% now", "-20%"),
        ("ab-20%", "20%"),
        ("abc-20% it", "20%"),
        ("10-20% b", "10-20%"),
        ("-20%", "-20%"),
    ],
)
def test_a_sign_belongs_to_a_share_unless_it_joins_it_to_a_word(text: str, share: str) -> None:
    """Wherever in the text it stands."""
    assert [("percentage", share)] == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("做了二十年", [("duration", "二十年")]),
        ("那是二十年代的事", []),
        ("做了九十年", [("duration", "九十年")]),
        ("九十年级", []),
    ],
)
def test_a_decade_is_no_span_of_time(text: str, expected: list[tuple[str, str]]) -> None:
    """The character behind it tells."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("走了五公里路", [("quantity", "五公里")]),
        ("走了五公里", [("quantity", "五公里")]),
        ("五公里店", []),
        ("三公里桥", []),
    ],
)
def test_a_place_named_after_a_distance_is_none(text: str, expected: list[tuple[str, str]]) -> None:
    """A shop or bridge stands behind it."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wait 4d", [("duration", "4d")]),
        ("a 3d model", []),
        ("the 2d plot", []),
        ("wait 90s", [("duration", "90s")]),
        ("since the 1990s", []),
        ("wait a few seconds", []),
        ("she is 9d old", []),
    ],
)
def test_dimensions_decades_and_ages_are_no_spans_of_time(text: str, expected: list[tuple[str, str]]) -> None:
    """They are written alike."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("budget 86k", [("amount", "86k")]),
        ("the agreed salary 15k", [("amount", "15k")]),
        ("86k people", []),
        ("about 15k", []),
    ],
)
def test_a_bare_scale_is_money_where_the_words_before_it_say_so(text: str, expected: list[tuple[str, str]]) -> None:
    """Else it may count anything."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他们半斤八两", []),
        ("买半斤肉", [("quantity", "半斤")]),
        ("买半公斤肉", [("quantity", "半公斤")]),
        ("买半升油", [("quantity", "半升")]),
        ("买十斤米", [("quantity", "十斤")]),
    ],
)
def test_six_of_one_and_half_a_dozen_of_the_other_is_no_quantity(text: str, expected: list[tuple[str, str]]) -> None:
    """The idiom weighs nothing."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("take the box--5 kg of flour", [("quantity", "5 kg")]),
        ("it is now --5 kg", [("quantity", "-5 kg")]),
        ("it is now -5 kg", [("quantity", "-5 kg")]),
    ],
)
def test_a_dash_that_ends_a_word_is_no_sign(text: str, expected: list[tuple[str, str]]) -> None:
    """What stands before it tells."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("花了一元。再买糖", [("amount", "一元")]),
        ("一块钱买的糖", [("amount", "一块钱")]),
        ("一块儿走", []),
        ("去一元店", []),
        ("三万元素", []),
    ],
)
def test_one_of_a_currency_is_money_where_the_sentence_ends_behind_it(text: str, expected: list[tuple[str, str]]) -> None:
    """Else it is a word like others, whatever follows later."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("一共两元五角", "2.5 CNY"),
        ("三块二毛一个", "3.2 CNY"),
        ("找您十二元五角三分", "12.53 CNY"),
        ("两元零五分", "2.05 CNY"),
        ("五毛钱", "0.5 CNY"),
        ("人民币三元五角", "3.5 CNY"),
        ("2元5角", "2.5 CNY"),
    ],
)
def test_small_change_belongs_to_the_sum(text: str, value: str) -> None:
    """A sum in jiao and fen is the whole sum, in Chinese numerals as in digits."""
    assert [value] == [field.value for field in extract_fields([HumanMessage(text)])]


@pytest.mark.parametrize("text", ["他们在五角大楼开会", "一毛不拔", "画一个三角", "加八角两个"])
def test_what_is_called_by_such_a_word_is_no_sum(text: str) -> None:
    """A building, a saying, a shape, a spice."""
    assert [] == [field for field in extract_fields([HumanMessage(text)]) if field.kind is FieldKind.AMOUNT]
