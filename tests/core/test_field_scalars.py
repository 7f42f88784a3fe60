"""Values of a JSON text, by their form and by what their keys say."""

from __future__ import annotations

import json

import pytest

from langchain_ctxguard.core.extract import extract_fields


def found(**values: str) -> list[tuple[str, str, str]]:
    return [(field.kind.value, field.raw, field.label) for field in extract_fields(json.dumps(values))]


@pytest.mark.parametrize(
    ("value", "beside", "kind"),
    [
        ("INC-1423", {}, "ticket_id"),
        ("INC-1423", {"status": "open"}, "ticket_id"),
        ("#1423", {}, "id"),
        ("#1423", {"title": "x"}, "id"),
        ("#1423", {"status": "open"}, "ticket_id"),
        ("#1423", {"assignee": "Ann"}, "ticket_id"),
        ("ORD-1423", {}, "order_id"),
    ],
)
def test_an_id_is_of_a_ticket_by_its_form_or_by_what_stands_beside_it(value: str, beside: dict[str, str], kind: str) -> None:
    """A form that anything may have is one where a state or an assignee stands in the same object."""
    assert (kind, value, "id") in found(id=value, **beside)


@pytest.mark.parametrize(("value", "is_id"), [("123", False), ("1234", True), ("1.5", False), ("1.25", True), ("A1", True), ("none", False)])
def test_a_short_number_under_the_key_of_an_id_is_none(value: str, *, is_id: bool) -> None:
    """From four characters on it is one, and with letters from the first."""
    assert ([("id", value, "id")] if is_id else []) == found(id=value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"status_code": 503}', "error_code"),
        ('{"quantity": 12, "unit": "kg"}', "quantity"),
        ('{"amount": 12.5, "currency": "EUR"}', "amount"),
        ('{"discount_percent": 12}', "percentage"),
        ('{"timeout_ms": 1500}', "duration"),
        ('{"order_id": 48213}', "order_id"),
        ('{"id": "ORD-1177"}', "order_id"),
    ],
)
def test_what_a_key_says_is_as_sure_as_can_be(text: str, kind: str) -> None:
    """No surer than one, and by no means so unsure that its loss would only warn."""
    (field,) = extract_fields(text)
    assert (kind, False) == (field.kind.value, field.is_weak)
    assert field.confidence <= 1
