"""A hand-over says what evidence says: what took effect is done, what is open is not, and what people forbade stays forbidden."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from langchain_ctxguard.core.handoff import Known, handoff_from
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.summary import Decision, StructuredSummary
from langchain_ctxguard.domain.worklog import FileState, WorkEntry
from tests.core.test_infer import said
from tests.support.builders import ai, human

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def entry(number: int, state: str, text: str, **about: object) -> WorkEntry:
    by = {} if state == "done" else {"said_by": "agent"}
    return WorkEntry.model_validate({"number": number, "state": state, "text": text, "at": NOW, **by, **about})


def made(known: Known, **options: str) -> Handoff:
    return handoff_from(known, thread="t", namespace="", at=NOW, **options)  # type: ignore[arg-type]  # passed through by name


def log(*entries: WorkEntry) -> Known:
    return Known(messages=(), summary=StructuredSummary(), entries=entries)


ENTRIES = (
    entry(1, "done", "edit cart.py"),
    entry(2, "next", "rename total()"),
    entry(3, "blocked", "deploy: no key"),
    entry(4, "decided", "httpx", decision=Decision(chosen="httpx")),
    entry(5, "done", "edit tax.py"),
)


def test_only_what_took_effect_is_done() -> None:
    """What is to be done, or cannot be, is open; what was chosen is a decision."""
    handoff = made(log(*ENTRIES))
    assert [(1, "edit cart.py"), (5, "edit tax.py")] == [(item.trace, item.text) for item in handoff.done]
    assert {("rename total()", False), ("deploy: no key", True)} == {(item.text, item.is_blocked) for item in handoff.not_done}
    assert (["httpx"], 5) == ([decision.chosen for decision in handoff.decisions], handoff.trace)


def test_of_many_steps_the_newest_are_listed_and_the_last_on_each_file() -> None:
    """An early step whose file nobody touched since is still what that file is."""
    early = entry(1, "done", "edit old.py", files=[FileState(path="old.py", sha256="1" * 64)])
    steps = [entry(number, "done", f"edit {number}", files=[FileState(path="new.py", sha256="2" * 64)]) for number in range(2, 400)]
    numbers = [item.trace for item in made(log(early, *steps)).done]
    assert (1, 399) == (numbers[0], numbers[-1])
    assert numbers[1:] == list(range(400 - len(numbers[1:]), 400))
    assert len(numbers) < 200


@pytest.mark.parametrize(
    ("entries", "told", "expected"),
    [
        (ENTRIES, "  write the changelog ", "write the changelog"),
        (ENTRIES, "", "rename total()"),
        ((ENTRIES[1], entry(6, "next", "add a test")), "", "add a test"),
        ((ENTRIES[2],), "", "fix the shop"),
        ((), "", "fix the shop"),
    ],
    ids=["told", "said", "said last", "blocked", "nothing said"],
)
def test_what_comes_next_is_what_can_be_done(entries: tuple[WorkEntry, ...], told: str, expected: str) -> None:
    """In the agent's words, else what it said last that it would do, else the first of what is open and not blocked."""
    known = Known(messages=[human("fix the shop"), ai("ok")], summary=StructuredSummary(), entries=entries)
    assert expected == made(known, next_action=told).next_action


def test_what_is_only_blocked_comes_next_never() -> None:
    """Then nothing is said of it."""
    assert "" == made(log(ENTRIES[2])).next_action


def test_every_ban_is_handed_over_once() -> None:
    """Rules that forbid and what people forbade, each with why; what only bids is none."""
    rules = (Constraint(constraint_id="a", text="Never delete an order."), Constraint(constraint_id="b", text="Always be polite."))
    known = Known(messages=(), summary=StructuredSummary(), rules=rules, inferred=said("Never push to main.", "Always run the tests."))
    assert ["Never delete an order.", "Never push to main."] == [ban.text for ban in made(known).do_not]
    assert {"a person said so"} == {ban.why for ban in made(known).do_not[1:]}
    assert () == made(log()).do_not


def test_of_too_many_bans_the_last_stand() -> None:
    """What people said last goes before what came first, and the order stays."""
    told = said(*(f"Never open drawer number {number}." for number in range(300)))
    bans = [ban.text for ban in made(Known(messages=(), summary=StructuredSummary(), inferred=told)).do_not]
    assert 0 < len(bans) < 300
    assert [rule.text for rule in told][-len(bans) :] == bans


def test_the_request_at_hand_is_open_once() -> None:
    """Nobody compacts in the middle of a request that is done with; one that is listed already is not listed again."""
    long = "Please rename every variable in the module that deals with taxes. " * 20
    for text in ("fix the shop", long):
        known = Known(messages=[human(text), ai("ok")], summary=StructuredSummary())
        (item,) = made(known).not_done
        assert (text[:12], "person") == (item.text[:12], item.said_by)
        assert 1 == len(made(Known(known.messages, known.summary, entries=(entry(1, "next", item.text),))).not_done)


def test_first_and_last_request_are_the_goal() -> None:
    """Verbatim; the last only where it is another one."""
    twice = Known(messages=[human("fix the shop"), ai("ok"), human("and the door")], summary=StructuredSummary())
    assert "fix the shop\n\nAsked last: and the door" == made(twice).goal
    assert "fix the shop" == made(Known(messages=twice.messages[:2], summary=StructuredSummary())).goal
    assert "" == made(log()).goal
