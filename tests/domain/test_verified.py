from __future__ import annotations

import json
from typing import Any

import pytest

from langchain_ctxguard.domain.carried import CarriedField
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.verification import VerificationOutcome
from langchain_ctxguard.domain.verified import HeldRequest, VerifiedHead, read_verified
from langchain_ctxguard.graph.verified_state import newest_verified

HEAD = VerifiedHead(
    number=7,
    first="m0",
    anchors=("m1", "m2"),
    position=3,
    ledger=(ControlField(field_id="amount:budget", kind="amount", raw="5万元", value="50000 CNY", critical=True),),
    sentences={"amount:budget": "预算是5万元"},
    request=HeldRequest(key="m2", content='"Go on."'),
    made=("s",),
    basis="b",
    outcome=VerificationOutcome.REPAIRED,
    carried=(CarriedField(kind="amount", raw="5万元"),),
)


def signed(**changes: Any) -> dict[str, Any]:
    """Return the form of the head with other entries and a right digest."""
    plain = {**{key: value for key, value in HEAD.to_dict().items() if key != "digest"}, **changes}
    return {**plain, "digest": digest_of(canonical_json(plain))}


def test_what_is_known_survives_json() -> None:
    """Through JSON and back it is the same."""
    assert HEAD == read_verified(json.loads(json.dumps(HEAD.to_dict())))
    assert VerifiedHead(number=1) == read_verified(VerifiedHead(number=1).to_dict())


def test_a_turn_writes_no_field_anew() -> None:
    """Where only the place moved, the body is the very string there was, and the form is that of a fresh one."""
    data = HEAD.to_dict()
    moved = HEAD.model_copy(update={"number": 8, "position": 9})
    again = moved.to_dict(like=(HEAD, data))
    assert again["body"] is data["body"]
    assert again == moved.to_dict()


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("text", "not_a_head"),
        ({"number": True}, "not_a_head"),
        ({"number": 1}, "unknown_schema"),
        ({**HEAD.to_dict(), "schema_version": 2}, "unknown_schema"),
        ({**HEAD.to_dict(), "number": 8}, "digest_mismatch"),
        ({**HEAD.to_dict(), "body": "{}"}, "digest_mismatch"),
        (signed(body="{"), "unreadable_body"),
        (signed(body="[1]"), "unreadable_body"),
        (signed(body=None), "unreadable_body"),
        (signed(body='{"unknown":1}'), "unreadable_body"),
        (signed(number=2**60), "unreadable_body"),
        (signed(place='{"request":{"key":"k","content":"{}"}}'), "unreadable_body"),
        (signed(place='{"request":{"key":"k","content":"no json"}}'), "unreadable_body"),
        (signed(place="[" * 100_000), "unreadable_body"),
    ],
)
def test_what_does_not_hold_counts_for_nothing(data: Any, fault: str) -> None:
    """Every way a stored head can be wrong has its word, and none raises."""
    assert fault == read_verified(data)


@pytest.mark.parametrize("data", [None, {}])
def test_nothing_is_nothing(data: Any) -> None:
    """An empty channel is no fault."""
    assert read_verified(data) is None


def test_the_newer_head_stands() -> None:
    """Of two writes the one with the higher number, the later of equals; junk never."""
    old, new = HEAD.to_dict(), HEAD.model_copy(update={"number": 8}).to_dict()
    assert new == newest_verified(old, new)
    assert new == newest_verified(new, old)
    assert old == newest_verified(old, {"number": 99})
    assert old == newest_verified({"number": 99}, old)
    assert old == newest_verified(None, old)
    assert {} == newest_verified(None, None)
