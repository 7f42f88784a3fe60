"""A value that is found late is carried by the next version, unless it is told already or no longer holds."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.crossing import with_found_late
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.domain.context import ContextHead
from tests.core.test_compaction import RULES, Drive, plan, situation
from tests.support.builders import count_characters


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
