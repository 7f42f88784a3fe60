from __future__ import annotations

import pytest

from langchain_ctxguard.core.sentences import Sentence, Sign, signs_of
from langchain_ctxguard.core.worth import ERROR, STRESSED, Standing, worth
from langchain_ctxguard.domain.origin import Origin


def judged(text: str, speaker: Origin, **standing: bool) -> float:
    return worth(text, signs_of(text, [Sentence(text, 0)])[0], Standing(speaker, **standing))


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("The limit is 500 EUR.", "The limit is low."),
        ("Actually, I meant the second one.", "I took the second one."),
        ("不对，改成周五。", "那就周五。"),
    ],
)
def test_values_and_corrections_are_missed_more(more: str, less: str) -> None:
    """What a user put right, or put a number on, outweighs the same without."""
    assert judged(more, "user") > judged(less, "user")


@pytest.mark.parametrize("text", ["Error: flight HAT271 not available", "E999 SyntaxError: unmatched ']'", "错误：余额不足", "ValueError: bad date"])
def test_an_error_message_comes_before_everything_else(text: str) -> None:
    """Whoever prints it, an error outweighs the most stressed sentence of a user."""
    assert ERROR == judged(text, "tool")
    assert judged(text, "user") > judged("Never pay more than 500 EUR!", "user")


def test_code_about_errors_is_no_error() -> None:
    """A listing that handles errors can be read again."""
    assert judged("1480: except (TypeError, ValueError) as error:", "tool") < 0


def test_where_it_stands_counts() -> None:
    """An answer outweighs a thought on the way, a typed sentence one of a pasted text, and a short result's outcome a long one's."""
    text = "The parcel is at customs."
    assert judged(text, "ai", is_reply=True) > judged(text, "ai")
    assert judged(text, "user") > judged(text, "user", is_pasted=True)
    assert judged("No content could be found.", "tool", is_brief=True) > judged("No content could be found.", "tool")


def test_a_brief_answer_outweighs_a_sentence_of_a_long_one() -> None:
    """All of it is the outcome, and more so where it says that something was done; a question of the user's is none."""
    text = "The parcel is at customs."
    assert judged(text, "ai", is_reply=True, is_brief=True) > judged(text, "ai", is_reply=True)
    done = worth(text, {Sign.DONE}, Standing("ai", is_reply=True))
    assert done > worth(text, set(), Standing("ai", is_reply=True))
    assert worth(text, {Sign.DONE}, Standing("tool", is_reply=True)) == worth(text, set(), Standing("tool", is_reply=True))


@pytest.mark.parametrize("speaker", ["user", "tool", "system", "registry"])
def test_only_the_assistant_is_held_to_narrate(speaker: Origin) -> None:
    """What the assistant says it is about to do is not missed; in anybody else's mouth the same sign takes nothing away."""
    text = "Now the parcel is looked for."
    assert worth(text, {Sign.NARRATION}, Standing("ai")) < worth(text, set(), Standing("ai"))
    assert worth(text, {Sign.NARRATION}, Standing(speaker)) == worth(text, set(), Standing(speaker))


def test_a_script_costs_what_it_takes_and_nothing_raises() -> None:
    """Long sentences count for less; empty text and lone surrogates are text."""
    assert judged("价格是5元" + "，还有别的" * 40, "user") < judged("价格是5元", "user")
    assert isinstance(judged("", "user"), float)
    assert isinstance(judged("\ud800 7", "tool"), float)


@pytest.mark.parametrize(
    ("noted", "talk"),
    [
        ("GOAL: move the login to OAuth soon", "We moved the login to OAuth, and"),
        ("Status - half of it is done", "By now half of it is finished"),
        ("The current task is a new login.", "A login that is new is a nice one."),
        ("The user would like short answers.", "The answers were short and I liked."),
        ("备注：打印机在二楼的走廊", "打印机在二楼的走廊那边呢"),
        ("用户希望用中文回答问题", "大家昨天用中文回答问题"),
    ],
)
def test_what_people_note_down_outweighs_talk(noted: str, talk: str) -> None:
    """In a person's mouth only, and not in what they pasted: a tool gives no orders, and every line of a log has a label."""
    assert judged(noted, "user") > judged(talk, "user") + 15
    assert judged(noted, "user", is_pasted=True) < judged(talk, "user")
    plain = {Sign.TIME}
    for speaker in ("ai", "tool", "system"):
        assert worth(noted, plain, Standing(speaker)) - worth(talk, plain, Standing(speaker)) < 15


def test_a_note_is_never_urgent() -> None:
    """What is stressed and what was put right come before it, and of two notes the one that would be missed more stays before the other."""
    note, valued = "NOTE: the cellar is dry.", "NOTE: the cellar is 12 degrees."
    assert judged(note, "user") < judged(valued, "user") < STRESSED
    assert judged("Never open the cellar.", "user") > judged(valued, "user")
    assert judged("Contact: the desk.", "user", is_form=True) < judged("Contact: the desk.", "user")
    assert judged("It is dry.", "user") < judged("It is dry.", "user", follows_note=True) < judged("NOTE: dry.", "user")
