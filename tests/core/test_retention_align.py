"""A rule and a passage side by side: one word exchanged, one stretch put in or left out, the rest the same."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_align import substituted
from langchain_ctxguard.core.retention_passage import Passage
from langchain_ctxguard.core.retention_rule import rule_of
from langchain_ctxguard.core.retention_text import sentences_of


def seen(rule: str, passage: str) -> tuple[str, str] | None:
    found = substituted(rule_of(rule), Passage(rule_of(rule), sentences_of(passage)))
    return None if found is None else (found[0].value, found[1])


@pytest.mark.parametrize(
    ("rule", "passage", "expected"),
    [
        ("Never delete the customer files of the archive.", "Never delete the customer files of the museum.", ("mutated", "name")),
        ("Keep the customer files of the archive.", "Keep the customer files of the museum.", ("mutated", "name")),
        ("Every invoice needs a stamp.", "Large invoice needs a stamp.", ("weakened", "narrowed")),
        ("Check all invoices of the bank.", "Check large invoices of the bank.", ("weakened", "narrowed")),
        ("Every invoice needs a stamp from the lead.", "Every invoice needs a blue stamp from the lead.", ("weakened", "narrowed")),
        ("Never delete files or contracts of any customer.", "Never delete files of any customer.", ("weakened", "part_missing")),
        ("Send the report of the bank to Alice and Bob.", "Send the report of the bank to Alice.", ("weakened", "part_missing")),
    ],
)
def test_one_change_is_told_by_what_it_is(rule: str, passage: str, expected: tuple[str, str]) -> None:
    """Another name, fewer cases, a part that is gone."""
    assert expected == seen(rule, passage)


@pytest.mark.parametrize(
    ("rule", "passage"),
    [
        ("Every invoice needs a stamp from the lead.", "Every invoice needs a stamp from the lead."),
        ("Every invoice needs a stamp from the lead.", "Each invoice needs the stamp of a lead."),
        ("Never delete the customer files of the archive.", "Never frobnicate the customer files of the archive."),
        ("Agents must keep the customer files of the archive.", "Agents frobnicate the customer files of the archive."),
        ("Never delete the customer files of the archive.", "Never export the customer files of the archive."),
        ("Keep the customer files of the archive.", "The parcel is late."),
        ("保留客户的文件和合同", "Keep the files and contracts of customers."),
    ],
)
def test_nothing_is_said_of_what_is_no_such_change(rule: str, passage: str) -> None:
    """The same, another deed in the place of the one a ban is about, a deed with its force gone, another subject or language."""
    assert seen(rule, passage) is None


def test_a_rule_too_long_to_be_laid_beside_anything_is_left_to_others() -> None:
    """A few words more decide nothing, and hundreds would take long."""
    words = " ".join(f"{name}{kind}" for name in ("amber", "birch", "cedar", "daisy", "elder") for kind in ("house", "field", "wood", "lane", "bank"))
    for times, expected in ((1, ("mutated", "name")), (5, None), (20, None)):
        rule = f"Keep the {' and the '.join(words.split())} of the archive.".replace("archive", " ".join(["archive", *["room"] * 20 * (times - 1)]))
        assert expected == seen(rule, rule.replace("cedarwood", "mapletree"))
