"""Rules people said have room of their own, and are told once."""

from __future__ import annotations

import re

import pytest

from langchain_ctxguard import GuardConfig, compact_messages
from langchain_ctxguard.core.bounds import bounded_evidence, text_tokens
from langchain_ctxguard.core.render import render_evidence
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY
from langchain_ctxguard.core.subject import superseding
from langchain_ctxguard.domain.evidence import Evidence, Stated
from langchain_ctxguard.errors import ContextBudgetError
from tests.core.test_infer import said
from tests.support.builders import count_characters

RULES = tuple(f"Never open drawer {name} of the archive." for name in ("amber", "birch", "cedar", "daisy", "elder", "fern", "grass", "hazel"))
TALK = ("The kettle in the kitchen is slow today.", "Somebody watered the plants in the hall.", "It rained on the way to work.")


def spoken(*, turns: int = 30) -> list[tuple[str, str]]:
    """Return talk in which eight rules are said."""
    lines: list[tuple[str, str]] = []
    for turn in range(turns):
        words = RULES[turn // 3] if turn % 3 == 1 and turn // 3 < len(RULES) else f"{TALK[turn % 3]} That was turn {turn}."
        lines += [("user", words), ("assistant", "I see, let us go on.")]
    return lines


def shown(messages: list[tuple[str, str]], **options: object) -> dict[str, str]:
    done = compact_messages(messages, **options)  # type: ignore[arg-type] # passed through by name
    return {message.name or "": str(message.content) for message in done.messages}


def test_every_rule_is_quoted_and_none_is_told_twice() -> None:
    """A conversation has room for all of its rules, and the summary spends nothing on them."""
    view = shown(spoken(turns=70))
    assert all(rule in view[EVIDENCE] for rule in RULES)
    assert "not listed" not in view[EVIDENCE]
    assert not any(rule in view[SUMMARY] for rule in RULES)


def test_what_stays_is_not_told_in_the_summary() -> None:
    """A sentence that a kept message says again takes no line of the summary."""
    again = "The kettle in the kitchen is slow today."
    messages = [("user", again), ("assistant", "I see."), *spoken(), ("user", again), ("assistant", "Again."), ("user", "What now?")]
    facts = shown(messages)[SUMMARY].partition("Facts:")[2]
    assert again not in re.findall(r"^- \[claimed by user\] (.*)$", facts, re.MULTILINE)


def test_a_rule_that_ended_is_told_by_nothing() -> None:
    """Neither as a quote nor as a fact, a stressed sentence or an open item, in the same version or a later one."""
    early, late = "Never use tabs in the sheets.", "Always use tabs in the sheets."
    first = compact_messages([*spoken(), ("user", early), *spoken(turns=6)])
    assert early in "\n".join(str(message.content) for message in first.messages)
    talk = spoken(turns=9)
    views = (
        compact_messages([*spoken(), ("user", early), ("user", late), *talk]),
        compact_messages([*first.messages, ("user", late), *talk], previous=first.head),
    )
    for done in views:
        text = "\n".join(str(message.content) for message in done.messages)
        assert late in text
        assert early not in text


def test_a_budget_without_room_for_the_rules_is_refused_with_both_numbers() -> None:
    """Nothing is lost unseen, and what the error says is needed is the truth: so much is enough."""
    with pytest.raises(ContextBudgetError, match=r"needs (\d+) tokens and the budget is 100") as failed:
        compact_messages(spoken(), budget=100)
    needed = failed.value.needed
    assert needed is not None
    assert needed > 100
    view = shown(spoken(), budget=needed)
    assert all(rule.rstrip(".") in view[SUMMARY] for rule in RULES)


def test_rules_can_be_given_up_by_name() -> None:
    """Whoever says that rules are not looked for gets the smaller context."""
    config = GuardConfig.from_dict({"inferred": "off", "control_fields": {"on_loss": "warn"}})
    with pytest.raises(ContextBudgetError):
        compact_messages(spoken(), budget=100)
    assert compact_messages(spoken(), budget=100, config=config).tokens_after <= 100


def test_critical_values_people_gave_are_not_lost_in_a_budget() -> None:
    """They come before what a summary tells, and where they have no room the budget is refused."""
    values = [
        ("user", f"The invoice of client {name} is {number} EUR.") for number, name in enumerate(("Ada", "Bea", "Cem", "Dov", "Eva"), start=2_001)
    ]
    messages = [*values, *[("user", f"{TALK[turn % 3]} Turn {turn}.") for turn in range(60)]]
    with pytest.raises(ContextBudgetError, match="the budget is 60"):
        compact_messages(messages, budget=60)
    for budget in (160, 500):
        view = "\n".join(shown(messages, budget=budget).values())
        assert all(str(number) in view for number in range(2_001, 2_006))


def test_quotes_have_room_where_the_record_has_none() -> None:
    """`quoted_tokens` holds whatever else the evidence may take."""
    rules = said(*RULES)
    whole = Evidence(inferred=rules, inferred_shown=len(rules), omitted_actions=12)
    room = text_tokens(count_characters, render_evidence(Evidence(inferred=rules, inferred_shown=len(rules))))
    assert bounded_evidence(whole, max_tokens=0, count=count_characters).inferred_shown == 0
    assert bounded_evidence(whole, max_tokens=0, count=count_characters, quoted_tokens=room).inferred_shown == len(rules)


def test_what_is_not_shown_stays_known() -> None:
    """Bounds decide what is shown: what people stated, and how outdated quotes are marked, is carried on."""
    rules = said(*RULES)
    stated = (Stated(head="reviewer", value="Ben"),)
    evidence = Evidence(inferred=rules, inferred_shown=8, stated=stated, retold={rules[-1].inferred_id: "Never open [now: ivy]."})
    bounded = bounded_evidence(evidence, max_tokens=200, count=count_characters)
    assert 0 < bounded.inferred_shown < 8
    assert bounded.stated == stated
    assert "[now: ivy]" in render_evidence(bounded)


def test_bare_quotes_name_no_message() -> None:
    """Where room is short the words are shown and not where they were said."""
    rules = said(*RULES[:2])
    assert "(message " not in render_evidence(Evidence(inferred=rules, inferred_shown=2, inferred_bare=True))


def test_the_same_words_are_quoted_once() -> None:
    """A rule whose subject nobody can tell is not quoted again for being repeated; a wish for this time only ends no lasting rule."""
    words = "Never exceed without explicit approval."
    assert [rule.position for rule in superseding(said(words, words))] == [1]
    lasting, passing = said(words, words)
    assert len(superseding((lasting, passing.model_copy(update={"expires_with_task": True})))) == 2


@pytest.mark.parametrize(("turns", "budget", "is_named"), [(70, 700, False), (70, 1_500, False), (400, 12_000, True)])
def test_quotes_that_would_take_much_of_a_budget_name_no_message(turns: int, budget: int, is_named: bool) -> None:  # noqa: FBT001 - a column
    """Where there is room they say where each was said."""
    view = shown(spoken(turns=turns), budget=budget)[EVIDENCE]
    assert all(rule in view for rule in RULES)
    assert is_named is ("(message " in view)


def test_quotes_give_up_the_names_of_messages_before_one_is_left_out() -> None:
    """Without a budget of the caller's they take a share of the context at most: all of the words, if need be without where they were said."""
    for turns, is_named in ((26, False), (200, True)):
        view = shown([*spoken(turns=turns)], keep=("turns", 1))[EVIDENCE]
        assert all(rule in view for rule in RULES)
        assert is_named is ("(message " in view)
