"""Where sentences begin and end, what their words show, and which part of one holds what is to be kept."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.sentences import LONGEST, Sentence, Sign, around_values, parts_of, requests_in, sentences, signs_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("这么多好玩的地方啊，真好，我想找人均消费500-1000元的餐馆，有啥好地方推荐一个呗。", "…我想找人均消费500-1000元的餐馆…"),
        ("听说那边有很多老房子，我们喜欢逛街，想找人均消费500-1000元的餐馆，有啥好地方推荐一个呗。", "…我们喜欢逛街，想找人均消费500-1000元的餐馆…"),
        (
            "We met at the harbour, the room has a view, we pay 80 EUR for it, and that is that.",
            "…the room has a view, we pay 80 EUR for it…",
        ),
    ],
)
def test_a_value_is_told_with_the_clause_before_it_unless_that_only_exclaims(text: str, shown: str) -> None:
    """What stands right before a value says what it is a value of; a cry of joy says nothing."""
    assert shown == around_values(Sentence(text, 0)).shown


def test_the_clauses_between_two_values_stay() -> None:
    """From the first that holds a value to the last, whatever stands between them."""
    text = "We met at the harbour, the room has a view, we pay 80 EUR for it, the owner is kind, breakfast is 12 EUR, and that is that."
    assert "…the room has a view, we pay 80 EUR for it, the owner is kind, breakfast is 12 EUR…" == around_values(Sentence(text, 0)).shown


@pytest.mark.parametrize("length", range(20, 40))
def test_a_cut_that_saves_next_to_nothing_is_not_made(length: int) -> None:
    """A mark of the cut and a cry of joy are of one length, however long the rest is."""
    rest = f"我想找人均消费500元的餐馆{'呀' * length}"
    assert f"好啊，{rest}" == around_values(Sentence(f"好啊，{rest}", 0)).shown
    assert f"…{rest}" == around_values(Sentence(f"这么多好玩的地方啊，{rest}", 0)).shown


def words(count: int) -> str:
    return " ".join(f"word{number}" for number in range(count))


@pytest.mark.parametrize("text", [f"Note {words(200)}", "x" * 1_000, f"- {words(90)}. Done.", ",".join("ab" * 20 for _ in range(30))])
def test_what_runs_on_is_cut_into_pieces_that_hold_all_of_it(text: str) -> None:
    """Nothing is lost but blanks, each piece stands where it says, and a mark shows where a sentence was cut."""
    pieces = list(sentences(text))
    assert all(text.startswith(piece.text, piece.start) for piece in pieces)
    assert all(len(piece.text) <= LONGEST for piece in pieces)
    assert "".join(text.removeprefix("- ").split()) == "".join("".join(piece.text for piece in pieces).split())
    assert not pieces[0].begins_early
    assert pieces[0].shown.endswith("…")
    assert pieces[1].shown.startswith("…")
    assert not pieces[-1].goes_on


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1])
def test_a_sentence_is_cut_only_where_it_is_too_long(length: int) -> None:
    """At the limit it stays whole."""
    pieces = list(sentences("x" * length))
    assert (length > LONGEST) == (len(pieces) > 1)
    assert (length > LONGEST) == pieces[0].goes_on


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("Use tabs instead of spaces", Sign.DECISION),
        ("I'll have the soup instead", Sign.CHOICE),
        ("No, the other one", Sign.CORRECTION),
    ],
)
def test_only_the_signs_asked_for_are_told(text: str, sign: Sign) -> None:
    """Those that take a judgement are no exception."""
    pieces = list(sentences(text))
    assert [{sign}] == signs_of(text, pieces, (sign,))
    assert [set()] == signs_of(text, pieces, (Sign.TIME,))
    assert sign in signs_of(text, pieces)[0]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Add it", True),
        ("add", True),
        ("We will add", True),
        ("(add)", True),
        ("The address is here", False),
        ("It is madd", False),
        ("A ladder", False),
        ("Two7add", False),
        ("Add7 it", False),
        ("请查", True),
        ("敬请查看x", True),
    ],
)
def test_a_phrase_counts_as_words_of_its_own(text: str, *, is_one: bool) -> None:
    """At either end of a text as well, and never inside of another word; Chinese has no blanks to ask for."""
    assert is_one == requests_in(text)


def test_each_sentence_shows_what_stands_in_it() -> None:
    """A phrase counts for the sentence it stands in, the first and the last among them."""
    text = "Please look. Nothing here. Delete it"
    assert [True, False, True] == [Sign.REQUEST in signs for signs in signs_of(text, list(sentences(text)))]


@pytest.mark.parametrize(
    ("text", "marks", "parts"),
    [
        ("Use A instead of B", ("instead of", "rather than"), ("Use A ", " B")),
        ("Tea rather than milk, instead of both", ("instead of", "rather than"), ("Tea ", " milk, instead of both")),
        ("RATHER THAN milk", ("rather than",), ("", " milk")),
        ("用方案B而不是A", ("而不是",), ("用方案B", "A")),
        ("Use A", ("instead of", "rather than"), None),
        ("", ("instead of",), None),
        ("Use A instead of B", (), None),
    ],
)
def test_a_text_is_parted_at_the_first_mark(text: str, marks: tuple[str, ...], parts: tuple[str, str] | None) -> None:
    """Both parts as they are written, in any case of the mark; `None` where none of the marks stands in it."""
    assert parts == parts_of(text, marks)
