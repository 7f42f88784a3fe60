"""What a writer says in his own voice: what he only shows is covered, and every character keeps its place."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.voice import COVER, own_voice, spoken_sentences


def spoken(text: str) -> list[str]:
    return [text[span.start : span.stop] for span in spoken_sentences(text)]


@pytest.mark.parametrize("lead", ["", "x", "xy", "xyz", "xyz\n", "xy\nx", "x\n\nxy"])
@pytest.mark.parametrize("shown", ["> Always stop.", "    code()", "```\ncode()\n```", "ERROR: stopped", "assistant: yes"])
def test_what_is_only_shown_is_covered_and_nothing_else(lead: str, shown: str) -> None:
    """Whatever lines stand before it, of odd and even length."""
    before, after = f"{lead}\n\n" if lead else "", "\n\nNever stop: yes.\nAnd go."
    covered = "\n".join(" " * len(line) for line in shown.split("\n"))
    assert f"{before}{covered}{after}" == own_voice(f"{before}{shown}{after}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said "stop" and I agree.', 'He said "####" and I agree.'),
        ("He said 'stop' and I agree.", "He said '####' and I agree."),
        ("Call `stop()` and go on.", "Call `######` and go on."),
        ("He said “stop” and I agree.", "He said “####” and I agree."),
        ('He said "stop and left.\nI agree.', 'He said "##############\nI agree.'),
        ("He said “stop and left.\nI agree.", "He said “##############\nI agree."),
        ('A 5" pipe is fine.', 'A 5" pipe is fine.'),
        ("Don't stop.", "Don't stop."),
    ],
)
def test_a_quotation_is_covered_to_its_end(text: str, expected: str) -> None:
    """What follows a closed one is the writer's again; one never closed covers its line and no more; inches and apostrophes quote nothing."""
    assert expected == own_voice(text).replace(COVER, "#")


LONG = "never delete anything in the production account without asking"


@pytest.mark.parametrize("lead", ["", "Hi.\n", "Hello.\n"])
@pytest.mark.parametrize("words", [LONG, f"{LONG} me"])
def test_a_line_an_editor_broke_is_one_sentence(lead: str, words: str) -> None:
    """A long one that ends and goes on in lower case, wherever it stands."""
    assert f"{words}\nthe team first." == spoken(f"{lead}{words}\nthe team first.")[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask me first\nkeep it short\nthen go on", ["ask me first", "keep it short", "then go on"]),
        (f"{LONG}\nThe team agrees", [LONG, "The team agrees"]),
        (f"{LONG}\n\nthe team agrees", [LONG, "the team agrees"]),
        (f"{LONG.upper()}\nthe team agrees", [LONG.upper(), "the team agrees"]),
        (f"{LONG}é\nthe team agrees", [f"{LONG}é", "the team agrees"]),
        (f"ask first\n{LONG}\nthe team", ["ask first", f"{LONG}\nthe team"]),
    ],
)
def test_a_line_its_writer_ended_is_a_sentence(text: str, expected: list[str]) -> None:
    """A short one, one before a capital or an empty line, one in capitals or in another script."""
    assert expected == spoken(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use tools, e.g. grep. Then stop.", ["Use tools, e.g. grep.", "Then stop."]),
        ("1. Ask first.\n2. Then go.", ["1. Ask first.", "2. Then go."]),
        ("It took 12. Then it ended.", ["It took 12.", "Then it ended."]),
        ("- 不要删除。好的！", ["不要删除。", "好的！"]),
        ("", []),
    ],
)
def test_a_sentence_ends_at_its_mark(text: str, expected: list[str]) -> None:
    """Not at an abbreviation, and not at the number of an item."""
    assert expected == spoken(text)
