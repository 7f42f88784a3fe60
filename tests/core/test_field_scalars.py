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
