"""What an identifier names: by its form, by the nearest word before it, and how sure that is."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_ids import Named, identify, is_bare_number


def kinds(text: str) -> list[tuple[str, str]]:
    return [(field.kind.value, field.raw) for field in extract_fields(text)]


def named(text: str, token: str) -> Named | None:
    start = text.index(token)
    return identify(text, start, start + len(token), {})


@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        (",", "order_id"),
        (" ->", "order_id"),
        ("\n", "id"),
        (";", "id"),
        ("!", "id"),
        ("?", "id"),
        ("。", "id"),
        ("；", "id"),
        (". Then", "id"),
        (" no.", "order_id"),
    ],
)
def test_a_word_of_an_earlier_sentence_names_nothing(stop: str, kind: str) -> None:
    """A comma does not end one, nor does the full stop of `no.`."""
    assert [(kind, "123456789012")] == kinds(f"That is the order{stop} 123456789012")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Order 48213", "order_id"),
        ("Invoice is 48213.", "invoice_id"),
        ("The order number is 48213", "order_id"),
        ("Invoice for the order 48213", "order_id"),
        ("Order of invoice 48213", "invoice_id"),
        ("The order, I think, was ticket 48213", "ticket_id"),
        ("订单的发票是48213", "invoice_id"),
        ("收据号48213", "invoice_id"),
        ("原单48213", "order_id"),
        ("原单号48213", "id"),
    ],
)
def test_the_nearest_word_names_a_number(text: str, kind: str) -> None:
    """Words that only join it to the number may stand between."""
    assert [(kind, "48213")] == kinds(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("order 482", []),
        ("order 4821", [("order_id", "4821")]),
        ("order 48213", [("order_id", "48213")]),
        ("commit 123456 broke it", []),
        ("commit 1234567 broke it", [("commit", "1234567")]),
        ("commit 12345678 broke it", [("commit", "12345678")]),
    ],
)
def test_a_short_number_is_no_identifier(text: str, found: list[tuple[str, str]]) -> None:
    """An order has four digits at least, a commit seven; longer ones are as good."""
    assert found == kinds(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABC123 came", [("id", "ABC123")]),
        ("ABCD123 came", [("id", "ABCD123")]),
        ("AB1234 came", [("id", "AB1234")]),
        ("AB123 came", []),
        ("ABCDE12 came", []),
        ("Abcd123 came", []),
        ("abcd123g came", []),
    ],
)
def test_capitals_and_digits_are_an_identifier_where_there_are_enough_of_both(text: str, found: list[tuple[str, str]]) -> None:
    """Without any word that says so; a name with a number behind it is none."""
    assert found == kinds(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Order INV-2024-7", "invoice_id"),
        ("Order INV-A.204", "invoice_id"),
        ("Invoice ORD-A.204", "order_id"),
        ("The number is PO-7731", "order_id"),
        ("The ref is PO-7731", "order_id"),
        ("The reference is PO-7731", "order_id"),
        ("Our own reference: PO-7731", "order_id"),
        ("编号是 PO-7731", "order_id"),
        ("The invoice is PO-7731", "invoice_id"),
        ("The customer is PO-7731", "id"),
    ],
)
def test_a_prefix_says_what_a_word_leaves_open(text: str, kind: str) -> None:
    """One that everybody knows outweighs a word; the others outweigh a word that stands before any number."""
    assert [kind] == [found for found, _ in kinds(text)]


@pytest.mark.parametrize("token", ["ABCD123", "ABC-12-3", "abc-1234", "7f3A91c2e", "usr_a1b2c3"])
def test_what_only_its_form_names_is_less_sure_than_what_a_word_names(token: str) -> None:
    """So that of two readings the named one counts."""
    by_form, by_word = named(f"we saw {token}", token), named(f"our order {token}", token)
    assert by_form is not None
    assert by_word is not None
    assert by_form.confidence < by_word.confidence <= 1


@pytest.mark.parametrize(
    ("text", "is_bare"),
    [
        ("my number is ", True),
        ("the lab number is ", True),
        ("numbers are ", True),
        ("the order number is ", False),
        ("my number was ", False),
        ("", False),
        ("x " * 40 + "my number is ", True),
        ("my number is " + "x " * 40, False),
    ],
)
def test_a_number_is_bare_where_nobody_says_of_what(text: str, *, is_bare: bool) -> None:
    """Right before it, however long the text."""
    assert is_bare == is_bare_number(f"{text}48213", len(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("upgrade to version 10.2.3.4", "version"),
        ("版本10.2.3.4", "version"),
        ("10.2.3.4 is the version", "ip"),
        ("The host is 10.2.3.4", "ip"),
        ("The version runs on host 10.2.3.4", "ip"),
        ("version 10.2.3.256", "version"),
    ],
)
def test_four_numbers_are_an_address_unless_a_word_before_them_says_version(text: str, kind: str) -> None:
    """What is no address by its numbers is a version anyway."""
    assert [kind] == [found for found, _ in kinds(text)]


@pytest.mark.parametrize(("text", "kind"), [("see PR-77", "ticket_id"), ("see MR-77", "ticket_id"), ("see PR-2024-7", "id"), ("see MR-12-3", "id")])
def test_a_request_has_one_number(text: str, kind: str) -> None:
    """With a year before it, it is something else."""
    assert [kind] == [found for found, _ in kinds(text)]
