"""Text with what does not show made visible."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.report.visible import pieces, visible


def test_a_reversed_name_shows_how_it_is_written() -> None:
    """Bidirectional controls, nulls, tags, escapes and halves of pairs stand under their numbers."""
    assert "invoice⟦U+202E⟧fdp.exe" == visible("invoice\u202efdp.exe")
    assert "⟦U+0000⟧⟦U+001B⟧⟦U+E0041⟧⟦U+D83D⟧⟦U+2066⟧⟦U+FEFF⟧⟦U+200B⟧" == visible("\0\x1b\U000e0041\ud83d\u2066\ufeff\u200b")


def test_what_scripts_need_stays() -> None:
    """Joiners of emoji and of Persian, line ends and tabs are left alone."""
    text = "👩\u200d💻 می\u200cخواهم\tx\ny"
    assert text == visible(text)


@given(st.text(st.characters(codec=None)))
def test_nothing_that_steers_is_left(text: str) -> None:
    """No control but line end and tab, nothing that turns the direction round, no half of a pair; all the rest is as it was."""
    shown = visible(text)
    left = {character for character in shown if unicodedata.category(character) in {"Cc", "Cs"}}
    turning = {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}
    assert left <= {"\n", "\t"}
    assert not [character for character in shown if unicodedata.bidirectional(character) in turning]
    assert {character for piece in pieces(text) if not piece.name for character in piece.text} <= set(text)
