"""A value that is found late is carried by the next version, unless it is told already or no longer holds."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.crossing import Watched, invented, watched, with_found_late
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.field_settings import FieldSettings
from tests.core.test_compaction import RULES, Drive, plan, situation
from tests.support.builders import count_characters, human


@pytest.fixture(scope="module")
def head() -> ContextHead:
    """Return the head of a conversation that named no value."""
    return Drive(situation(), plan()).done.head


def late(head: ContextHead, text: str, *, is_closed: bool = False) -> ContextHead | None:
    """Return the head after what a text says was found late."""
    fields = [field.model_copy(update={"is_closed": is_closed}) for field in extract_fields(text)]
    return with_found_late(head, fields, rules=RULES, share_tokens=500, cap=100, count=count_characters)


def test_a_critical_value_that_is_found_late_is_carried(head: ContextHead) -> None:
    """In a version of its own, and once: found again, it is told already."""
    found = late(head, "Refund order ORD-9911.")
    assert found is not None
    assert found.body is not None
    assert head.version + 1 == found.version
    assert 1 == len(found.body.evidence.carried)
    assert any("ORD-9911" in message.text for message in rendered(found.body, version=found.version))
    assert late(found, "Refund order ORD-9911.") is None


@pytest.mark.parametrize(("text", "is_closed"), [("Refund order ORD-9911.", True), ("12 red apples", False), ("", False)])
def test_what_is_over_or_not_critical_makes_no_version(head: ContextHead, text: str, *, is_closed: bool) -> None:
    """A value that no longer holds is not brought back."""
    assert late(head, text, is_closed=is_closed) is None


def test_without_a_summary_nothing_is_carried() -> None:
    """There is no version that could carry it."""
    assert late(ContextHead(version=0), "Refund order ORD-9911.") is None


def seen(*leaving: str, staying: tuple[str, ...] = (), request: int | None = None) -> Watched:
    """Return the values around a cut between messages of a person."""
    messages = [human(text, f"m{number}") for number, text in enumerate((*leaving, *staying))]
    keys = message_keys(messages)
    # As it comes from a store: equal to the key of the message, and another object.
    key = None if request is None else keys[request].encode().decode()
    return watched((), messages[: len(leaving)], messages[len(leaving) :], keys=keys, plan=FieldPlan(), request_key=key)


def test_a_value_leaves_unless_a_message_in_sight_tells_it() -> None:
    """One that stays, or the request that stands in the view all the same."""
    first, second = "Refund order ORD-9911.", "Refund order ORD-9922."
    assert ["ORD-9911", "ORD-9922"] == [field.raw for field in seen(first, second).leaving]
    assert ["ORD-9911"] == [field.raw for field in seen(first, second, staying=("And ORD-9922?",)).leaving]
    assert ["ORD-9911"] == [field.raw for field in seen(first, second, request=1).leaving]


@pytest.mark.parametrize(
    ("told", "values"),
    [
        ("Refund order ORD-9911.", []),
        ("Refund order ORD-9912.", ["ORD-9912"]),
        ("Refund order ORD-9911, then order ORD-9912.", ["ORD-9912"]),
        ("You must refund order ORD-9911.", []),
        ("We decided to use tabs instead of spaces.", []),
        ("", []),
    ],
)
def test_a_value_nobody_said_is_invented(told: str, values: list[str]) -> None:
    """What somebody said is not, whichever words stand around it, and no sentence is a value."""
    assert values == [field.raw for field in invented([human(told)], seen("Refund order ORD-9911."), FieldPlan())]


def test_what_was_seen_around_a_cut_stays_as_it_was_seen() -> None:
    """Several steps judge by it, one after the other."""
    found = seen("Refund order ORD-9911.")
    with pytest.raises(FrozenInstanceError):
        found.ledger = ()  # type: ignore[misc]  # that is what must not work
    assert key_of(found.ledger[0]) in found.known


@pytest.mark.parametrize(("remembered", "kept"), [(5, 3), (3, 3), (2, 2), (1, 1), (0, 0)])
def test_of_values_that_are_not_critical_the_newest_are_remembered(remembered: int, kept: int) -> None:
    """As many as are to be, all where there are no more; the others are counted. Critical ones stay."""
    texts = ["12 red apples", "13 green pears", "14 blue plums", "Refund order ORD-9911."]
    messages = [human(text, f"m{number}") for number, text in enumerate(texts)]
    found = watched((), messages, (), keys=message_keys(messages), plan=FieldPlan(settings=FieldSettings(remembered=remembered)))
    assert [*texts[3 - kept : 3], "ORD-9911"] == [field.raw for field in found.ledger]
    assert 3 - kept == found.aged_out
