"""An answer counts for what was asked, by who may give it, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.call_answers import REMARKS, Fault, Given, read_answer
from langchain_ctxguard.core.calls import folded, question_about
from langchain_ctxguard.domain.approval import Approver, Binding
from langchain_ctxguard.domain.policy import AskNeed
from langchain_ctxguard.domain.tool_call import Answered, AnswerRefused, Asked, CallLedger, Question

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EVE = Approver(id="eve", role="admin")


def binding(tool: str = "pay", *, call: str = "c0", task: str = "tools:1") -> Binding:
    """Return a call."""
    return Binding(tool=tool, arguments="a" * 64, call_id=call, thread="t", namespace=task, rules="r")


def asked(*bindings: Binding, role: str | None = None, requester: str | None = "ann", batch: bool = False) -> Question:
    """Return a question about calls."""
    needs = [(AskNeed(rules=("r",), approver=role),) for _ in bindings]
    return question_about(bindings, needs, CallLedger(), is_batch=batch, requester=requester)


def ledger_with(*questions: Question) -> CallLedger:
    """Return the record of questions that are open."""
    return folded((number, Asked(question=one, at=NOW)) for number, one in enumerate(questions, 1))


ONE, OTHER = asked(binding()), asked(binding(call="c1"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"decisions": [{"type": "approve"}]}, Given("approve")),
        ({"type": "approve"}, Given("approve")),
        ({"decisions": [{"type": "reject", "message": "no"}]}, Given("reject", "no")),
        ({"decisions": [{"type": "respond", "message": "done"}]}, Given("respond", "done")),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "x", "args": {"a": 1}}}]}, Given("edit", None, "x", {"a": 1})),
        ({"decisions": [{"type": "approve"}], "digest": ONE.digest}, Given("approve")),
        ({"decisions": [{"type": "approve", "digest": ONE.digest}]}, Given("approve")),
        ({"decisions": [{"type": "approve"}], "digest": OTHER.digest}, "digest"),
        ({"decisions": [{"type": "approve", "digest": OTHER.digest}], "digest": ONE.digest}, "digest"),
        ({"decisions": [{"type": "approve"}, {"type": "approve"}]}, "count"),
        ({"decisions": []}, "malformed"),
        ({"decisions": ["approve"]}, "malformed"),
        ({"decisions": [{"type": "APPROVE"}]}, "malformed"),
        ({"decisions": [{"type": "respond"}]}, "malformed"),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "x"}}]}, "malformed"),
        ("approve", "malformed"),
        (True, "malformed"),
        (None, "malformed"),
        ([{"type": "approve"}], "malformed"),
    ],
)
def test_an_answer_is_read_or_refused(value: Any, expected: Given | Fault) -> None:
    """Only the forms that were offered count, and only for the question they name."""
    found = read_answer(value, ONE, ledger_with(ONE), EVE, is_new=False)
    assert found == ((expected,) if isinstance(expected, Given) else expected)


def test_an_answer_to_a_question_nobody_was_asked_counts_for_nothing() -> None:
    """One that is there before its question was put was given to another."""
    assert "premature" == read_answer({"type": "approve", "digest": ONE.digest}, ONE, ledger_with(ONE), EVE, is_new=True)


def test_a_plain_answer_counts_while_one_question_of_the_task_is_open() -> None:
    """With a second one open in the same task it must name its question; one in another task is told apart by LangGraph."""
    plain = {"type": "approve"}
    assert "ambiguous" == read_answer(plain, ONE, ledger_with(ONE, OTHER), EVE, is_new=False)
    elsewhere = asked(binding(task="tools:2"))
    assert (Given("approve"),) == read_answer(plain, ONE, ledger_with(ONE, elsewhere), EVE, is_new=False)
    assert "ambiguous" == read_answer(plain, ONE, ledger_with(ONE), EVE, is_new=False, is_alone=False)
    assert (Given("approve"),) == read_answer({**plain, "digest": ONE.digest}, ONE, ledger_with(ONE, OTHER), EVE, is_new=False, is_alone=False)


@pytest.mark.parametrize(
    ("approver", "requester", "choice", "counts"),
    [
        (EVE, "ann", "approve", True),
        (EVE, "eve", "approve", False),
        (EVE, None, "approve", False),
        (Approver(id="eve", role="clerk"), "ann", "approve", False),
        (Approver(id=""), "ann", "approve", False),
        (Approver(id=""), "ann", "reject", True),
        (EVE, "eve", "reject", True),
    ],
)
def test_only_who_may_opens_a_call(approver: Approver, requester: str | None, choice: str, counts: bool) -> None:  # noqa: FBT001
    """The role counts, the requester does not, and where nobody knows the requester nobody can be another; anybody may say no."""
    question = asked(binding(), role="admin", requester=requester)
    found = read_answer({"type": choice}, question, ledger_with(question), approver, is_new=False)
    assert counts == (found != "approver")


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["approve", "edit", "reject", "respond", ONE.digest, OTHER.digest, "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["decisions", "type", "digest", "message", "edited_action", "name", "args"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=_anything, others=st.booleans(), is_new=st.booleans(), is_alone=st.booleans())
def test_no_answer_opens_a_question_it_does_not_belong_to(value: Any, others: bool, is_new: bool, is_alone: bool) -> None:  # noqa: FBT001
    """Whatever comes back: it counts only for a question that was asked, and either names it or can be meant for no other."""
    found = read_answer(value, ONE, ledger_with(ONE, OTHER) if others else ledger_with(ONE), EVE, is_new=is_new, is_alone=is_alone)
    if isinstance(found, str):
        assert found in REMARKS
        return
    assert not is_new
    echoed = [part["digest"] for part in (value, *value.get("decisions", [])) if part.get("digest") is not None]
    assert all(digest == ONE.digest for digest in echoed)
    assert echoed or (is_alone and not others)
    assert 1 == len(found)


def test_a_word_on_the_digest_of_several_calls_is_a_word_on_each() -> None:
    """One approval of all of them needs their common digest; an edit is of one call."""
    both = asked(binding(), binding(call="c1"), batch=True)
    record = ledger_with(both)
    assert (Given("approve"), Given("approve")) == read_answer({"type": "approve", "digest": both.digest}, both, record, EVE, is_new=False)
    assert "count" == read_answer({"type": "approve"}, both, record, EVE, is_new=False)
    change = {"type": "edit", "edited_action": {"name": "x", "args": {}}, "digest": both.digest}
    assert "count" == read_answer(change, both, record, EVE, is_new=False)


def test_an_answer_makes_approvals_and_a_refused_one_none() -> None:
    """The record holds an approval for each call approved as it was asked about; the next question about it is another round."""
    both = asked(binding(), binding(call="c1"), batch=True)
    answer = Answered(question=both.digest, decisions=("approve", "reject"), approver=EVE, at=NOW)
    refused = AnswerRefused(question=both.digest, why="digest", approver=EVE, at=NOW)
    ledger = folded([(1, Asked(question=both, at=NOW)), (2, refused), (3, answer), (4, answer)])
    (approval,) = ledger.approvals
    assert (binding(),) == approval.bindings
    assert "eve" == approval.approver.id
    assert [3] == [len(values) for values in ledger.taken.values()]
    again = question_about(both.bindings, both.needs, ledger, is_batch=True)
    assert (1, False) == (again.round, again.digest == both.digest)


@given(cut=st.integers(0, 6))
def test_a_ledger_read_in_parts_is_the_ledger_read_at_once(cut: int) -> None:
    """What was folded before goes on from where it was."""
    answer = Answered(question=ONE.digest, decisions=("approve",), approver=EVE, at=NOW)
    events: list[Any] = [
        Asked(question=ONE, at=NOW),
        Asked(question=OTHER, at=NOW),
        answer,
        AnswerRefused(question=OTHER.digest, why="count", approver=EVE, at=NOW),
    ]
    numbered = list(enumerate(events, 1))
    assert folded(numbered) == folded(numbered[cut:], folded(numbered[:cut]))
