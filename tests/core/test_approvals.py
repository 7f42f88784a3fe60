from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.approvals import approval_fault, binding_of, expiry, nearest_fault, opening, rejection
from langchain_ctxguard.domain.approval import Approval, Approver, arguments_digest
from langchain_ctxguard.domain.policy import AskNeed, ToolRequest

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
REQUEST = ToolRequest(tool="send_email", args={"recipient": "bob@example.com", "body": "hi"}, call_id="c1", thread="t1", requester="u1")
NEED = AskNeed(rules=("r",), approver="admin", expires_s=600)


def approval(request: ToolRequest = REQUEST, *, rules: str = "p1", **changes: Any) -> Approval:
    given = {
        "approval_id": "a-17",
        "bindings": (binding_of(request, rules),),
        "approver": Approver(id="boss", role="admin", surface="console"),
        "requester": "u1",
        "given_at": NOW,
        "expires_at": NOW + timedelta(seconds=600),
    }
    return Approval(**{**given, **changes})


def fault(one: Approval, *, need: AskNeed = NEED, requester: str | None = "u1", now: datetime = NOW, request: ToolRequest = REQUEST) -> str | None:
    return approval_fault(one, need, binding_of(request, "p1"), requester=requester, now=now)


def test_an_approval_opens_the_call_it_was_given_for() -> None:
    """The same tool, arguments, call, thread and rules, in time, by somebody of the role."""
    assert fault(approval()) is None
    assert "a-17" == getattr(opening(NEED, binding_of(REQUEST, "p1"), [approval()], requester="u1", now=NOW), "approval_id", None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"args": {"recipient": "eve@evil.example", "body": "hi"}}, "is for other arguments (recipient changed)"),
        ({"args": {"recipient": "bob@example.com"}}, "is for other arguments (body changed)"),
        ({"tool": "delete"}, "is for `delete`"),
        ({"call_id": "c2"}, "is for another call"),
        ({"thread": "t2"}, "is for another thread"),
        ({"namespace": "sub"}, "is for another thread"),
    ],
)
def test_an_approval_opens_no_other_call(change: dict[str, Any], reason: str) -> None:
    """Two answers never swap, and the reason names what is different."""
    assert reason == fault(approval(REQUEST.model_copy(update=change)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rules": "p2"}, "was given under other rules"),
        ({"decision": "reject"}, "is no approval"),
        ({"decision": "respond"}, "is no approval"),
        ({"expires_at": NOW}, "expired at 2026-06-30T12:00:00+00:00"),
        ({"given_at": NOW + timedelta(seconds=1)}, "is dated after now"),
        ({"given_at": NOW - timedelta(seconds=600), "expires_at": NOW + timedelta(days=9)}, "expired at 2026-06-30T12:00:00+00:00"),
        ({"approver": Approver(id="boss", role="clerk")}, "is by clerk, not by admin"),
        ({"approver": Approver(id="boss")}, "is by somebody without a role, not by admin"),
        ({"approver": Approver(id="u1", role="admin")}, "is by the person who asked for the call; another admin has to agree"),
        ({"requester": "boss"}, "is by the person who asked for the call; another admin has to agree"),
        ({"requester": None}, "cannot count: nobody said who asked for the call, so it may be the same person"),
        ({"bindings": ()}, "is for no call"),
    ],
)
def test_an_approval_that_does_not_hold_says_why(changes: dict[str, Any], reason: str) -> None:
    """Old, foreign, premature, from the wrong person or from the requester: it opens nothing."""
    assert reason == fault(approval(**changes))


def test_without_a_named_requester_a_role_cannot_be_met() -> None:
    """Nobody can tell whether the approver is somebody else."""
    assert fault(approval(), requester=None) is not None
    assert fault(approval(), need=AskNeed(rules=("r",)), requester=None) is None


def test_without_a_role_the_requester_may_agree() -> None:
    """A person confirms what their own agent is about to do."""
    assert fault(approval(approver=Approver(id="u1")), need=AskNeed(rules=("r",))) is None


def test_several_calls_asked_as_one_are_approved_as_one() -> None:
    """One answer with several bindings opens each of them, and nothing beside."""
    other = REQUEST.model_copy(update={"call_id": "c2", "args": {"recipient": "carol@example.com", "body": "hi"}})
    both = approval(bindings=(binding_of(REQUEST, "p1"), binding_of(other, "p1")))
    assert fault(both) is None
    assert fault(both, request=other) is None
    assert fault(both, request=other.model_copy(update={"call_id": "c3"})) is not None


def test_the_newest_answer_counts() -> None:
    """A person who changed their mind is heard."""
    binding = binding_of(REQUEST, "p1")
    no = approval(approval_id="a-18", decision="reject", given_at=NOW + timedelta(seconds=1))
    assert rejection(binding, [approval(), no]) is no
    assert rejection(binding, [approval(given_at=NOW + timedelta(seconds=2)), no]) is None
    assert rejection(binding, []) is None


def test_the_nearest_approval_is_named() -> None:
    """Who asks again says what is wrong with the answer that was given."""
    stale = approval(REQUEST.model_copy(update={"args": {"recipient": "x@y.z", "body": "hi"}}))
    sentence = nearest_fault(NEED, binding_of(REQUEST, "p1"), [stale], requester="u1", now=NOW)
    assert "approval 'a-17' is for other arguments (recipient changed)" == sentence
    assert nearest_fault(NEED, binding_of(REQUEST, "p1"), [], requester="u1", now=NOW) is None


def test_an_answer_holds_for_as_long_as_the_need_says() -> None:
    """To the second before; at the second itself it is over."""
    ends = expiry(NEED, NOW)
    given = approval(expires_at=ends)
    assert NOW + timedelta(seconds=600) == ends
    assert fault(given, now=ends - timedelta(seconds=1)) is None
    assert "expired at 2026-06-30T12:10:00+00:00" == fault(given, now=ends)


@pytest.mark.parametrize("beside", ["c0", "c9"])
def test_the_reason_is_about_the_call_of_the_same_id(beside: str) -> None:
    """Of several calls approved as one, the one that changed is compared with itself, whatever stands beside it."""
    other = binding_of(REQUEST.model_copy(update={"call_id": beside, "tool": "delete"}), "p1")
    own = binding_of(REQUEST.model_copy(update={"args": {"recipient": "eve@evil.example", "body": "hi"}}), "p1")
    for bindings in ((other, own), (own, other)):
        assert "is for other arguments (recipient changed)" == fault(approval(bindings=bindings))


class Size(IntEnum):
    ONE = 1


class Colour(Enum):
    RED = "red"


class TestDigest:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1}, {"a": "1"}),
            ({"a": 1}, {"a": True}),
            ({"a": None}, {}),
            ({"a": [1, 2]}, {"a": [2, 1]}),
            ({"a": "x"}, {"a": "x "}),
            ({"a": "X"}, {"a": "x"}),
            ({"a": "é"}, {"a": "e\u0301"}),
            ({"a": Decimal(1)}, {"a": "1"}),
            ({"a": date(2026, 1, 1)}, {"a": "2026-01-01"}),
            ({"a": b"x"}, {"a": "x"}),
            ({"a": PurePosixPath("x")}, {"a": "x"}),
            ({"a": {1: "x"}}, {"a": {"1": "x"}}),
            ({"a": {"b": 1}}, {"a.b": 1}),
        ],
    )
    def test_other_arguments_have_another_digest(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        """What a tool would treat differently is approved separately."""
        assert arguments_digest(one) != arguments_digest(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": (1, 2)}, {"a": [1, 2]}),
            ({"a": {3, 1, 2}}, {"a": {1, 2, 3}}),
            ({"a": Size.ONE}, {"a": 1}),
            ({"a": Colour.RED}, {"a": "red"}),
            ({"a": {"y": 1, "x": {"q": 1, "p": 2}}}, {"a": {"x": {"p": 2, "q": 1}, "y": 1}}),
            ({"a": REQUEST}, {"a": REQUEST.model_dump()}),
        ],
    )
    def test_the_same_arguments_have_one_digest(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        """Order of keys, tuples and enumerations make no other call."""
        assert arguments_digest(one) == arguments_digest(other)

    def test_what_has_no_text_form_is_refused(self) -> None:
        """Nobody can approve what cannot be named; and what holds itself ends."""
        with pytest.raises(TypeError, match="object"):
            arguments_digest({"a": object()})
        held: dict[str, Any] = {}
        held["a"] = held
        with pytest.raises(TypeError, match="nested"):
            arguments_digest(held)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        )
    )
    def test_any_json_has_a_digest(self, value: Any) -> None:
        """Lone surrogates, NaN and deep nesting included."""
        assert 64 == len(arguments_digest({"a": value}))
