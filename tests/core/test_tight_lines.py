"""A label several lines share is written once, and whoever compares reads every line as it was said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.tight_lines import factored, label_of, lead, restored

WORDS = st.sampled_from(["It rains", "Go on!", "The host is db.internal.", "Never push", "还没有。", "See e.g. this one..", "Ask: who?"])
LABELS = st.sampled_from(["", "FACT: ", "SAFETY RULE: ", "House rule: ", "规则：", "规则: "])


@given(st.lists(st.builds("".join, st.tuples(LABELS, WORDS)), max_size=12))
def test_what_was_factored_is_restored(lines: list[str]) -> None:
    """Every line comes back with its label, but for blanks behind it and a full stop at its end."""

    def plain(line: str) -> str:
        label = label_of(line)
        return f"{label}{line[len(label) :].strip()}".rstrip(".")

    back = list(restored([lead(0), *factored(lines)]))
    assert sorted(map(plain, lines)) == sorted(map(plain, back))


def test_lines_of_one_label_stand_together_in_their_order() -> None:
    """Lines without a shared label come first, so that none of them seems to belong to one."""
    lines = ["FACT: one.", "Nothing.", "RULE: two.", "FACT: three."]
    assert factored(lines) == ["Nothing", "RULE: two", "FACT:", "one", "three"]


@pytest.mark.parametrize("line", ["FACT:", "Confirmed by tools:", "规则："])
def test_a_line_that_reads_like_a_label_of_ours_is_none(line: str) -> None:
    """What a person says cannot put their next words under another heading."""
    assert list(restored([lead(2), *factored([line, "It rains."])])) == [f"{line} …", "It rains."]


def test_what_stands_above_the_words_of_people_is_left_as_it_is() -> None:
    """Only below their heading are lines read as theirs."""
    assert list(restored(["Facts:", "- [claimed by ai] It rains", lead(0), "It pours"])) == ["Facts:", "- [claimed by ai] It rains", "It pours."]
