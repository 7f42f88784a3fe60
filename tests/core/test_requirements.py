"""What a rule requires of a call, and what is told where it is not met."""

from __future__ import annotations

import pytest

from langchain_ctxguard.domain.policy import Decision
from tests.core.test_authorize import consents, policy, request, verdict

RULES = policy({"tool": "tool", "consents": {"terms": True}})


@pytest.mark.parametrize(
    ("subject", "thread", "decision"),
    [
        ("u1", None, Decision.ALLOW),
        ("u1", "t1", Decision.ALLOW),
        ("u2", None, Decision.DENY),
        ("u1", "t2", Decision.DENY),
        ("u2", "t2", Decision.DENY),
    ],
)
def test_consents_are_those_of_the_person_and_the_thread_of_the_call(subject: str, thread: str | None, decision: Decision) -> None:
    """As names, wherever they were read from; consents without a thread hold in each."""
    # Read from a store, a name is another object.
    held = consents(terms=True).model_copy(update={"subject": "".join([*subject]), "thread": thread and "".join([*thread])})
    assert decision is verdict(RULES, request(), consents=held).decision


def test_nobody_consents_in_no_ones_name() -> None:
    """A call in nobody's name has no consents, whatever is at hand; and without a ledger there are none."""
    unnamed = request().model_copy(update={"requester": None})
    assert Decision.DENY is verdict(RULES, unnamed, consents=consents(terms=True)).decision
    assert Decision.DENY is verdict(RULES, request(), consents=None).decision
