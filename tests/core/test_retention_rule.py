"""A rule taken apart: its clauses, what it joins, the condition of a ban, what it bans and what a duty is to be done without."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_rule import rule_of
from langchain_ctxguard.core.retention_words import meaning_of


def meanings(*words: str) -> set[str | None]:
    return {meaning_of(word) for word in words}


def test_each_clause_has_its_own_words() -> None:
    """From its beginning to where the next one begins; what two clauses share tells neither from the other."""
    rule = rule_of("Translate the letter, archive the contract, never photograph the contract.")
    assert [["translate", "letter"], ["archive"], ["photograph"]] == [[token.text for token in clause] for clause in rule.clauses]
    assert [["翻译", "信件"], ["归档", "合同"]] == [[token.text for token in clause] for clause in rule_of("翻译信件，归档合同").clauses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never delete a file without approval.", {"approval"}),
        ("Never delete a file unless the manager agrees.", {"manager", "agree"}),
        ("Do not deploy before the review.", {"review"}),
        ("Never delete a file.", set()),
        ("Never delete a file without approval, and keep a copy.", {"approval"}),
    ],
)
def test_the_condition_of_a_ban_is_what_follows_the_word_that_sets_it(text: str, expected: set[str]) -> None:
    """In its clause, and nothing before the word."""
    assert meanings(*expected) == set(rule_of(text).condition)


def test_a_chinese_condition_is_the_clause_its_word_stands_in() -> None:
    """未经批准: what must be there comes before or behind the mark."""
    condition = rule_of("未经批准，不得删除文件").condition
    assert meaning_of("批准") in condition
    assert meaning_of("文件") not in condition


@pytest.mark.parametrize(
    ("text", "banned"),
    [
        ("Never delete a file.", "delete"),
        ("Never delete or edit a file.", "delete"),
        ("Deleting files is forbidden.", "delete"),
        ("Translating letters or archiving contracts is forbidden.", "archive"),
        ("Translate letters, never archive them.", "archive"),
        ("禁止删除文件", "删除"),
        ("Archive every letter.", None),
    ],
)
def test_what_a_ban_is_about(text: str, banned: str | None) -> None:
    """The first action after the ban, else the last one before it."""
    assert (None if banned is None else meaning_of(banned)) == rule_of(text).banned


@pytest.mark.parametrize(
    ("text", "withheld"),
    [("Grade the essay without looking at the name.", "look"), ("Grade the essay.", None), ("Never pay without approval.", None)],
)
def test_what_a_duty_is_to_be_done_without(text: str, withheld: str | None) -> None:
    """Only of a duty: a ban has a condition instead."""
    assert (None if withheld is None else meaning_of(withheld)) == rule_of(text).withheld


def test_what_is_joined_stands_on_both_sides() -> None:
    """Right before and right after `and` and `or`, within one clause."""
    pairs = rule_of("Keep letters and contracts, archive invoices or reports.").joined
    assert [("letters", "contracts"), ("invoices", "reports")] == [(one[0].text, other[0].text) for one, other in pairs]
    assert [("信件", "合同")] == [(one[0].text, other[0].text) for one, other in rule_of("保留信件和合同").joined]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Never delete a file.", {"forbids"}),
        ("Pay at most 500 EUR.", {"limits"}),
        ("Write only under /srv.", {"confines"}),
        ("Agents may refund.", {"grants"}),
        ("Agents should refund.", {"advises"}),
        ("Do not pay more than 500 EUR.", {"limits"}),
    ],
)
def test_what_kind_a_rule_is(text: str, kinds: set[str]) -> None:
    """A ban, a limit, a confinement, a permission or advice; a ban on more than so much is a limit."""
    rule = rule_of(text)
    assert kinds == {name for name in ("forbids", "limits", "confines", "grants", "advises") if getattr(rule, name)}
