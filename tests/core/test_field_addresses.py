"""Addresses, paths, numbers in groups and versions: each is found whole, wherever in a text it stands, and its punctuation is left outside."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.extract import extract_fields


def found(text: str) -> list[tuple[str, str]]:
    return [(field.kind.value, field.raw) for field in extract_fields(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"C:\a", [("path", r"C:\a")]),
        (r"Copy it to D:\tmp\x.txt please", [("path", r"D:\tmp\x.txt")]),
        (r"It is on C:\ now", []),
        ("Look into /srv/api now", [("path", "/srv/api")]),
        ("Look into docs/api.md now", [("path", "docs/api.md")]),
        ("We run node/20.x now", []),
    ],
)
def test_a_path_is_one_by_its_form(text: str, expected: list[tuple[str, str]]) -> None:
    """A drive alone is none, nor is a number behind a slash; a rooted path needs no extension."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://x.example/a_(b) there", "https://x.example/a_(b)"),
        ("(see https://x.example/a) there", "https://x.example/a"),
        ("See https://x.example/a[1] there", "https://x.example/a[1]"),
        ("[see https://x.example/a] there", "https://x.example/a"),
    ],
)
def test_a_bracket_belongs_to_the_address_that_opened_it(text: str, expected: str) -> None:
    """A round or square bracket that was opened before the address closes what is around it."""
    assert [("url", expected)] == found(text)


@pytest.mark.parametrize("lead", ["", "x ", "My card: "])
@pytest.mark.parametrize("number", ["4111 1111 1111 1111", "4111 1111 1111 1111/22", "4111 1111 1111 1111-07"])
def test_a_number_in_groups_is_found_with_what_is_joined_to_it(lead: str, number: str) -> None:
    """Also at the very start of a text, and at odd and even places."""
    assert [("id", number)] == found(f"{lead}{number} is it")


@pytest.mark.parametrize("lead", ["", "Use ", "Take this: "])
def test_an_account_number_with_wrong_check_digits_is_still_kept(lead: str) -> None:
    """It is no IBAN, but somebody's number all the same, and it is kept whole."""
    assert [("id", "DE89370400440532013001")] == found(f"{lead}DE89370400440532013001 please")


@pytest.mark.parametrize("lead", ["", "Use ", "We are on "])
def test_the_word_before_a_build_is_no_part_of_its_number(lead: str) -> None:
    """Wherever it stands."""
    assert [("version", "24.1")] == found(f"{lead}build 24.1 now")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ping 2001:db8::8a2e:370:7334 now", [("ip", "2001:db8::8a2e:370:7334")]),
        ("Ping 2001:db8::8a2e:370:7334- now", [("ip", "2001:db8::8a2e:370:7334")]),
        ("Ping 2001:db8::8a2e:370:7334-eth0 now", []),
    ],
)
def test_a_name_that_begins_like_a_network_address_is_none(text: str, expected: list[tuple[str, str]]) -> None:
    """What goes on behind a hyphen is a name; a hyphen alone is punctuation."""
    assert expected == found(text)


@pytest.mark.parametrize(
    ("text", "expected"), [(".ORD-7712 is it", ["ORD-7712"]), ("See .ORD-7712 there", ["ORD-7712"]), ("See a.ORD-7712 there", [])]
)
def test_a_mark_before_an_identifier_counts_where_a_name_stands_before_it(text: str, expected: list[str]) -> None:
    """At the start of a text or behind a blank it is a slip of the pen."""
    assert expected == [raw for _, raw in found(text)]
