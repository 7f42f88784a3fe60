"""What a rule is about, and when two rules are about the same."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.subject import subject_of, superseding
from tests.core.test_infer import said


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Never write to the ledger.", "Never be writing to the ledger.", True),
        ("Never change the drawers.", "Never change the drawer.", True),
        ("Never open the care plan.", "Never open the car plan.", False),
        ("Never ring the bell.", "Never r the bell.", False),
        ("Never empty the bus.", "Never empty the bu.", False),
    ],
)
def test_the_forms_of_a_word_are_one_and_short_words_are_whole(one: str, other: str, *, is_same: bool) -> None:
    """Endings of long words are no other subject; a short word is never cut down to another one."""
    assert is_same == (subject_of(one, "ban").words == subject_of(other, "ban").words)


def test_a_number_at_the_beginning_names_an_item_of_an_agreement_alone() -> None:
    """In a wish it is what is wished for."""
    assert frozenset({"2"}) == subject_of("2 spaces is what I like, keep it so", "preference").values - {"space"}
    assert "2" not in subject_of("2. Indent with spaces, keep it so", "agreement").values


def test_a_rule_about_another_short_word_ends_nothing() -> None:
    """Both stand, in the order they were said."""
    rules = said("Never open the care plan.", "Never open the car plan.")
    assert tuple(rules) == superseding(rules)
