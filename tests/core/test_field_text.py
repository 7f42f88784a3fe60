"""Text as the extractor reads it: folded one to one, in sentences."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.field_text import folded, sentences_of


@pytest.mark.parametrize("mark", ["\u2010", "\u2011", "\u2012", "\u2212", "\ufe63", "－"])
def test_every_hyphen_is_one(mark: str) -> None:
    """Whichever a word processor put there: an order number is the same number."""
    assert "ORD-7712" == folded(f"ORD{mark}7712")


def test_sentences_end_at_their_marks() -> None:
    """In order, without the mark; a full stop behind an abbreviation ends none."""
    text = "Ask Dr. Who. Pay now! 好的。 Then stop"
    assert ["Ask Dr. Who", "Pay now", "好的", "Then stop"] == [text[start:stop] for start, stop in sentences_of(text)]
    assert [] == sentences_of("")
    assert [] == sentences_of(" ... ")
