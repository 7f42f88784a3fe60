"""What people said is told in their words, once, and what would be missed most has the first claim on a small room."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.infer import infer, merged
from langchain_ctxguard.core.people_said import STATED, ranked, said_by_people, with_open, with_said, without_rules
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.domain.summary import Fact, PendingItem, StructuredSummary
from tests.support.builders import ai, human


def said(*messages: BaseMessage, infers: bool = True) -> list[str]:
    keys = message_keys(messages)
    rules = merged((), infer(messages, keys)) if infers else ()
    return [fact.statement for fact in said_by_people(messages, keys, rules, infers=infers)]


def claim(text: str, source: str = "m1") -> Fact:
    return Fact(statement=text, said_by="user", source=source)


def order(*facts: Fact, **options: frozenset[str]) -> list[str]:
    return [one.fact.statement for one in ranked(facts, rules=(), **options)]


def test_only_people_are_quoted_and_thanks_are_not() -> None:
    """What the assistant says is no claim of a user's, and neither thanks nor an announcement tell anything."""
    assert said(human("The host is db.internal. Thanks!"), ai("The host is db2.internal."), human("OK."), human("As follows:")) == [
        "The host is db.internal."
    ]


def test_what_is_said_again_stands_where_it_was_said_last() -> None:
    """Then it holds from there."""
    assert said(human("It rains."), human("It is cold."), human("It rains!")) == ["It is cold.", "It rains!"]


def test_a_rule_is_told_whole_and_one_that_ended_not_at_all() -> None:
    """The sentence a rule is part of tells it too."""
    messages = (human("Never use tabs in the sheets. The limit is 40 EUR. You may open the gate, but never open the door."), ai("ok"))
    assert "Never use tabs in the sheets." in said(*messages)
    assert "You may open the gate, but never open the door." in said(*messages)
    assert "Never use tabs in the sheets." not in said(*messages, human("Always use tabs in the sheets."))


def test_where_rules_are_not_looked_for_their_sentences_are_like_others() -> None:
    """`inferred: off` gives up the room of their own, not the words."""
    assert said(human("Never use tabs."), human("Always use tabs."), infers=False) == ["Never use tabs.", "Always use tabs."]


def test_talk_comes_last() -> None:
    """Before it: what a person labelled, a value, a name, a wish."""
    talk = claim("Somebody watered the plants in the hall before we came in.", "t")
    stated = (
        claim("FACT: The gate is red.", "a"),
        claim("The contact code is ZK-207.", "b"),
        claim("I would rather get short answers.", "c"),
        claim("Ben Okafor now owns the pager.", "d"),
    )
    assert order(talk, *stated)[-1] == talk.statement
    scores = {one.fact.source: one.score for one in ranked((talk, *stated), rules=())}
    assert scores["t"] < STATED
    assert min(scores[name] for name in "abd") >= STATED


def test_a_critical_value_is_paid_for_once() -> None:
    """The sentence that tells it first outranks everything; one that only names it again does not."""
    first, again = claim("FACT: The code name is Otter-41.", "a"), claim("Look at Otter-41 again some day soon, would be my wish.", "b")
    scores = {one.fact.source: one.score for one in ranked((first, again), rules=(), critical={"Otter-41"})}
    assert scores["a"] >= 1_000 > scores["b"]


def test_of_two_that_go_on_the_one_that_stands_alone_is_missed_more() -> None:
    """A message that told its values already can spare the rest."""
    facts = (
        claim("GOAL: Branch spike/ab-1 is ready.", "a"),
        claim("The soil test comes after it.", "a"),
        claim("GOAL: The beds are planned.", "b"),
        claim("The seed order comes after it.", "b"),
    )
    assert order(*facts)[-2:] == ["The seed order comes after it.", "The soil test comes after it."]


def test_each_sentence_stands_once_and_earlier_ones_keep_their_order() -> None:
    """A summarizer that tells earlier facts in another order moves nothing."""
    earlier = (claim("One.", "a"), claim("Two.", "b"))
    told = (claim("Two.", "b"), claim("Thr…", "c"), claim("One.", "a"))
    now = with_said(told, (claim("Three.", "c"), claim("Pinned words.", "d")), earlier=earlier, pinned=["Never. Pinned words. Ever."])
    assert [fact.statement for fact in now] == ["One.", "Two.", "Three."]


def test_what_was_asked_before_and_is_open_is_among_their_words() -> None:
    """Also the first request of a conversation that had the ordinary form; what is asked in what leaves now stands there itself."""
    items = (PendingItem(text="Book the van.", asked_by="user", source="x"), PendingItem(text="Test the gate.", asked_by="user", source="y"))
    summary = StructuredSummary(facts=(claim("It rains."),), pending_items=(*items, PendingItem(text="Step 1", asked_by="ai", source="z")))
    assert [fact.statement for fact in with_open(summary, goal="Plan it.", evicted=["y"])] == ["Plan it.", "It rains.", "Book the van."]


def test_a_rule_that_does_not_stand_is_no_fact_and_no_open_item() -> None:
    """Only where a person said it: what a tool found out is no rule."""
    words = "Never use tabs."
    summary = StructuredSummary(
        facts=(claim(words), Fact(statement=words, said_by="tool", source="t")), pending_items=(PendingItem(text=words, asked_by="user"),)
    )
    left = without_rules(summary, {words})
    assert ([fact.said_by for fact in left.facts], left.pending_items) == (["tool"], ())


def test_a_request_that_was_nothing_but_rules_that_ended_is_told_no_more() -> None:
    """Not in the words of another request, and not as the first: the earliest of the others stands there."""
    ended = {folded(text) for text in ("Never use tabs.", "Never use blanks;", "and count them.")}
    asked = ("Fix it. Never use tabs.", "Never use blanks; and count them.", "Never use tabs.", "!!", "Build it.")
    left = without_rules(StructuredSummary(original_goal="Never use tabs.", user_intent=asked), ended)
    assert ("Build it.", ("Fix it. Never use tabs.", "!!", "Build it.")) == (left.original_goal, left.user_intent)
    assert ("", ()) == (without_rules(StructuredSummary(original_goal="Never use tabs."), ended).original_goal, ())


def test_what_matters_is_ranked_however_much_is_said_after_it() -> None:
    """A value stated early stands before hundreds of later remarks."""
    early = claim("The budget is 500 EUR.", "m0")
    talk = [claim(f"It was nice in town number {number} again.", f"t{number}") for number in range(450)]
    assert early.statement == order(early, *talk)[0]


def test_only_what_people_asked_for_and_nothing_else_shows_is_told_as_open() -> None:
    """An item of nobody, of the assistant, without a message, or whose message leaves now is no claim of theirs."""
    items = (
        PendingItem(text="Water the plants", asked_by="user", source="m1"),
        PendingItem(text="Feed the cat", source="m2"),
        PendingItem(text="Sweep the hall", asked_by="ai", source="m3"),
        PendingItem(text="Call Ada", asked_by="user"),
        PendingItem(text="Paint the door", asked_by="user", source="m4"),
    )
    facts = with_open(StructuredSummary(pending_items=items), goal="Keep the house", evicted={"m4"})
    assert [("Keep the house", None), ("Water the plants", "m1")] == [(fact.statement, fact.source) for fact in facts]


def test_a_rule_is_not_ranked_and_hides_nothing_behind_it() -> None:
    """It is shown in any case; what was said after it is ranked like before."""
    rule, value, talk = claim("Never use tabs.", "m1"), claim("The host is db.internal.", "m2"), claim("It was nice.", "m3")
    found = ranked((rule, value, talk), rules={folded(rule.statement)})
    assert {value.statement, talk.statement} == {one.fact.statement for one in found}


def test_the_labels_of_a_form_and_of_a_log_say_nothing() -> None:
    """Lines somebody pasted are no notes; a label people note under is one."""
    form = [claim(text, "form") for text in ("From: Ada", "To: Ben", "Subject: lunch")]
    assert order(*form, claim("Note: the cellar is dry.", "m2"))[0] == "Note: the cellar is dry."
    assert max(one.score for one in ranked(form, rules=())) < STATED
