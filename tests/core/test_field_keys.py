"""What the key of a JSON value says about it, the key above it where the last says nothing."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.field_keys import KeyMeaning, meaning_of
from langchain_ctxguard.domain.control import FieldKind


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("weight_kg", KeyMeaning(FieldKind.QUANTITY, unit="kg")),
        ("floorAreaM2", KeyMeaning(FieldKind.QUANTITY, unit="m2")),
        ("kg", KeyMeaning()),
        ("fee_eur", KeyMeaning(FieldKind.AMOUNT, currency="EUR", is_money=True)),
    ],
)
def test_a_unit_at_the_end_of_a_name_is_the_values_unit(key: str, expected: KeyMeaning) -> None:
    """Two words are enough; a unit alone names nothing that is measured in it."""
    assert expected == meaning_of(key)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("value", KeyMeaning(is_money=True)),
        ("at", KeyMeaning()),
        ("retry_count.value", KeyMeaning(is_counter=True)),
        ("weight_kg.value", KeyMeaning(FieldKind.QUANTITY, unit="kg")),
        ("invoices.no", KeyMeaning(FieldKind.INVOICE_ID)),
    ],
)
def test_a_key_that_says_nothing_is_read_by_the_one_above(path: str, expected: KeyMeaning) -> None:
    """Where there is one above."""
    assert expected == meaning_of(path)


@pytest.mark.parametrize(
    ("key", "expected"),
    [("买家发票号码", FieldKind.INVOICE_ID), ("关联工单号", FieldKind.TICKET_ID), ("主采购单号", FieldKind.ORDER_ID), ("快件编号", FieldKind.ID)],
)
def test_a_chinese_key_is_read_by_its_end(key: str, expected: FieldKind) -> None:
    """Words stand before the noun without a mark between them."""
    assert expected is meaning_of(key).kind
