"""What a compaction is asked about: the tail as a provider accepts it, and whether it had to be repaired for that."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.situation import Situation
from tests.support.builders import ai, human, result

CALL = ai(calls=["c1"], message_id="a1")
ASKED = human("Look", "h1")


@pytest.mark.parametrize(
    ("tail", "is_valid"),
    [
        ((), True),
        ((ASKED,), True),
        ((ASKED, CALL, result("c1", message_id="t1"), ai("Done.", message_id="a2")), True),
        ((ASKED, CALL), True),
        ((ASKED, CALL, human("And?", "h2")), False),
        ((ASKED, result("c1", message_id="t1")), False),
        ((ASKED, CALL, ai("Done.", message_id="a2"), result("c1", message_id="t1")), False),
    ],
)
def test_a_tail_is_valid_where_nothing_had_to_be_repaired(tail: tuple[BaseMessage, ...], *, is_valid: bool) -> None:
    """Nothing put in, taken out or moved; there is a key for every message as it was repaired."""
    given = Situation(tail=tail)
    assert is_valid == given.is_valid
    assert len(given.keys) == len(given.repaired.messages)
    assert given.view().messages == given.repaired.messages
