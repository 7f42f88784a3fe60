"""Texts are cut into sentences once and found again by what they are about."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_text import LONGEST_SENTENCE, Reading, rule_sentences, sentences_of


@pytest.mark.parametrize("lead", range(18))
@pytest.mark.parametrize("abbreviation", ["Dr.", "e.g.", "Prof.", "9 a.m."])
def test_an_abbreviation_ends_no_sentence(abbreviation: str, lead: int) -> None:
    """Wherever it stands in the text."""
    text = f"{'y' * lead} call {abbreviation} Weber before noon. Then rest."
    assert [f"{'y' * lead} call {abbreviation} Weber before noon.".strip(), "Then rest."] == [sentence.text for sentence in sentences_of(text)]


@pytest.mark.parametrize("lead", range(4))
@pytest.mark.parametrize("mark", ["，", ", ", "、", " "])
def test_what_runs_on_is_cut_behind_a_mark(mark: str, lead: int) -> None:
    """So that no piece is longer than a sentence may be, none begins with the mark, and nothing is lost."""
    text = "y" * lead + mark.join(f"part{number}" for number in range(200))
    pieces = [sentence.text for sentence in sentences_of(text)]
    assert len(pieces) > 1
    assert all(len(piece) <= LONGEST_SENTENCE for piece in pieces)
    assert not any(piece.startswith(mark.strip() or " ") for piece in pieces)
    assert text.replace(" ", "") == "".join(pieces).replace(" ", "")


def test_a_run_without_a_mark_is_cut_all_the_same() -> None:
    """At the length of the longest sentence."""
    assert [LONGEST_SENTENCE, LONGEST_SENTENCE, 200] == [len(sentence.text) for sentence in sentences_of("好" * (2 * LONGEST_SENTENCE + 200))]


def test_a_rule_is_found_word_for_word_wherever_it_stands() -> None:
    """Each place once, across the ends of sentences, in any case and layout; not where a Chinese number goes on."""
    reading = Reading(("Hello. Never delete a file. Ask first!", "He said:\n\n- never delete a file -\n- ASK first."))
    assert [(1, 2), (4, 5)] == reading.verbatim(rule_sentences("Never delete a file. Ask first."))
    assert [(1, 1), (4, 4)] == reading.verbatim(rule_sentences("never delete a file"))
    assert [] == reading.verbatim(rule_sentences("delete a folder"))
    assert [] == Reading(("限额五十万",)).verbatim(rule_sentences("限额五十"))


def test_what_has_most_in_common_comes_first() -> None:
    """The earlier of two that have as much; what has nothing in common never, what has too little not where a share is asked for."""
    reading = Reading(("The kettle is slow. Delete the report. Never delete the monthly report. Delete the report.",))
    rule = rule_sentences("Never delete the monthly report.")
    assert [2, 1, 3] == reading.nearest(rule, 9)
    assert [2, 1] == reading.nearest(rule, 2)
    assert [2] == reading.nearest(rule, 9, share=0.9)
