from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut, read_head
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary, Trust
from langchain_ctxguard.domain.value import canonical_json, digest_of


def signed(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with the digest anybody can compute: a forger can as well."""
    plain = {key: value for key, value in data.items() if key != "digest"}
    return {**plain, "digest": digest_of(canonical_json(plain))}


def head_of(text: str = "goal", number: int = 3) -> ContextHead:
    return ContextHead(
        version=number,
        cut=Cut(anchors=(text, "m2"), position=number, evicted="m0"),
        cool_down=number,
        body=ContextBody(
            summary=StructuredSummary(
                original_goal=text,
                facts=(Fact(statement=text, status=Trust.CONFIRMED, said_by="tool", source="m1", quote=text or None),),
                decisions=(Decision(chosen=text, rejected=(text,), why=text),),
                language="zh",
            ),
            evidence=Evidence(
                actions=(Action(tool="t", call_id="c", arguments=text, argument_digest="d", status="failed", result=text),),
                artifacts=(Artifact(path=text or "p", last_tool="t", last_status="done"),),
                omitted_actions=number,
            ),
            summary_id="ctx-1",
            request="m9",
            elided={text: number},
            committed_at="m8",
            rules_fingerprint="f",
            rendered=("a", "b"),
        ),
    )


@given(st.text(), st.integers(0, 10**9))
def test_a_head_survives_json(text: str, number: int) -> None:
    """What is stored as JSON reads back equal, lone surrogates and all."""
    head = head_of(text, number)

    assert head == read_head(json.loads(json.dumps(head.to_dict())))


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_head_is_no_fault(nothing: object) -> None:
    """A thread that was never compacted has none."""
    assert read_head(nothing) is None


@pytest.mark.parametrize(
    "data", [0, 1, True, "", "x", b"x", [], [{}], (), object(), {"version": "3"}, {"version": True}, {"version": 3.0}, {"body": None}, {1: 2}]
)
def test_what_has_no_version_is_no_head(data: object) -> None:
    """A head without a whole number counts for nothing."""
    assert "not_a_head" == read_head(data)


@pytest.mark.parametrize("schema", [None, 0, 2, True, "1", 1.0, [1], float("nan")])
def test_another_schema_is_told_apart(schema: object) -> None:
    """A head of a version we do not know is not guessed at."""
    assert "unknown_schema" == read_head(signed({**head_of().to_dict(), "schema_version": schema}))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 4},
        {"cut": {"anchors": [], "position": 0, "evicted": None}},
        {"cool_down": 1},
        {"body": None},
        {"body": {}},
        {"digest": None},
        {"digest": ["x"]},
        {"digest": b"x"},
        {"more": 1},
        {"body": "[" * 100_000},
        {"body": float("nan")},
        {"cool_down": b"\xff"},
    ],
)
def test_a_changed_head_counts_for_nothing(change: dict[str, Any]) -> None:
    """Whoever edits a head without the digest gets the whole history as the view."""
    assert "digest_mismatch" == read_head({**head_of().to_dict(), **change})


def nested(depth: int) -> Any:
    inner: Any = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "change",
    [
        {"version": -1},
        {"cut": None},
        {"cut": 5},
        {"cut": {"position": -1}},
        {"cut": {"anchors": "abc"}},
        {"cut": {"anchors": [1]}},
        {"cut": {"unknown": 1}},
        {"cool_down": "soon"},
        {"cool_down": [1]},
        {"body": 5},
        {"body": {}},
        {"body": "{"},
        {"body": "null"},
        {"body": "[" * 100_000},
        {"body": '{"summary": {}}'},
        {"body": "\ud800"},
        {"body": True},
    ],
)
def test_a_forged_head_that_fits_no_shape_counts_for_nothing(change: dict[str, Any]) -> None:
    """A digest can be computed by anyone; what it covers must still be a head."""
    assert "unreadable_body" == read_head(signed({**head_of().to_dict(), **change}))


@pytest.mark.parametrize(
    "make", [lambda: nested(100_000), lambda: 10**5_000, lambda: {"a": {1: 2, "b": 3}}, lambda: {1, 2}], ids=["deep", "long", "mixed", "set"]
)
def test_data_that_has_no_json_counts_for_nothing(make: Callable[[], object]) -> None:
    """Nesting without end, numbers without end and keys of two kinds are refused, never raised."""
    assert read_head({**head_of().to_dict(), "cut": make()}) in ("unreadable_body", "digest_mismatch")


def test_a_head_that_contains_itself_counts_for_nothing() -> None:
    """A cycle is refused, never followed."""
    data = head_of().to_dict()
    data["cut"] = data

    assert read_head(data) in ("unreadable_body", "digest_mismatch")


@pytest.mark.parametrize("missing", ["cut", "cool_down", "body"])
def test_a_head_without_a_part_counts_for_nothing(missing: str) -> None:
    """A part is there, or the head is not."""
    data = head_of().to_dict()
    del data[missing]

    assert "unreadable_body" == read_head(signed(data))


def test_a_forged_head_cannot_show_less_than_nothing_of_a_result() -> None:
    """How many characters of a result are shown is a number of characters."""
    body = json.loads(head_of().to_dict()["body"])
    forged = signed({**head_of().to_dict(), "body": json.dumps({**body, "elided": {"c": -5}})})

    assert "unreadable_body" == read_head(forged)


@pytest.mark.parametrize("number", [2**53 + 1, 2**80, pytest.param(10**5_000, id="5000-digits")])
@pytest.mark.parametrize("where", ["version", "cool_down", "position"])
def test_a_head_with_numbers_nobody_counts_to_counts_for_nothing(where: str, number: int) -> None:
    """They are not the same number in every reader of JSON, and cannot be written out."""
    data = head_of().to_dict()
    if where == "position":
        data["cut"][where] = number
    else:
        data[where] = number

    assert read_head(signed(data) if number < 10**100 else data) in ("unreadable_body", "digest_mismatch")


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(["schema_version", "version", "cut", "cool_down", "digest", "body", "x"], _anything)),
    st.booleans(),
)
def test_reading_a_head_never_raises(change: dict[str, Any], sign: bool) -> None:  # noqa: FBT001
    """A head is untrusted data: it is read, missing, or a named fault."""
    data = {**head_of().to_dict(), **change}
    if sign:
        # Keys of two kinds have no canonical form, so no digest either.
        with contextlib.suppress(TypeError):
            data = signed(data)
    answer = read_head(data)

    assert answer is None or isinstance(answer, ContextHead) or answer in ("not_a_head", "unknown_schema", "digest_mismatch", "unreadable_body")


def test_the_body_is_one_json_text() -> None:
    """The channel holds `{schema_version, version, cut, cool_down, digest, body}`, the body as one string."""
    data = head_of().to_dict()

    assert {"schema_version", "version", "cut", "cool_down", "digest", "body"} == set(data)
    assert isinstance(data["body"], str)
    assert data["body"] == canonical_json(json.loads(data["body"]))
