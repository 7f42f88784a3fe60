"""JSON as bytes: encoded once, refused with a path, and never written anew where it is encoded already."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langchain_ctxguard.domain.encoded import RawJson, encode_json
from langchain_ctxguard.errors import StoreError

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(DATA)
def test_what_is_encoded_is_read_back(data: Any) -> None:
    """Any JSON data, whatever is in it; and the same data has one encoding, whatever order its keys came in."""
    encoded = encode_json(data)
    assert data == json.loads(encoded)
    assert encoded == encode_json(json.loads(encoded))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"b": 1, "a": {"d": [], "c": {}}}, b'{"a":{"c":{},"d":[]},"b":1}'),
        ([1.0, 1e2, 1e300, 2**63, -0.0, True, None], b"[1.0,100.0,1e+300,9223372036854775808,-0.0,true,null]"),
        ("caf\u00e9 cafe\u0301 订单 \r\n \u2028 🙂", '"caf\u00e9 cafe\u0301 订单 \\r\\n \u2028 🙂"'.encode()),
        ((1, (2,)), b"[1,[2]]"),
        ("", b'""'),
    ],
)
def test_there_is_one_encoding(data: Any, expected: bytes) -> None:
    """Sorted keys, no spaces, text as it is: composed and decomposed letters stay apart, and numbers keep their kind."""
    assert expected == encode_json(data)


@pytest.mark.parametrize("raw", [b"1.0", b"1e2", b"9223372036854775808", b'{"b":1,"a":2}', b" [ 1 ] ", b'"\\ud800"', '"cafe\u0301"'.encode()])
def test_what_is_encoded_already_stays_byte_for_byte(raw: bytes) -> None:
    """Alone, and within other data."""
    assert (raw, b'{"value":' + raw + b"}") == (encode_json(RawJson(data=raw)), encode_json({"value": RawJson(data=raw)}))


@pytest.mark.parametrize("raw", [b"", b"{", b"nonsense", b"NaN", b"[Infinity]", b"\xed\xa0\x80", b'"\xff"', b"[" * 100_000])
def test_what_is_no_json_is_not_taken_for_it(raw: bytes) -> None:
    """It would break the record around it."""
    with pytest.raises(ValidationError, match="is no JSON text in UTF-8"):
        RawJson(data=raw)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("\ud800", "'the value itself': it holds half a surrogate pair (U+D800) at character 0"),
        ({"consents": [{"value": "ab\udfff"}]}, "'consents[0].value': it holds half a surrogate pair (U+DFFF) at character 2"),
        ({"a": {"\ud83d": 1}}, "'a.\\ud83d': it holds half a surrogate pair (U+D83D) at character 0"),
        ({"n": float("nan")}, "'n': it is nan, which JSON cannot write"),
        ([float("-inf")], "'[0]': it is -inf, which JSON cannot write"),
        ({"a": {1: 2}}, "'a': it has the key 1; keys are texts"),
        ({"when": object()}, "'when': it is of type object, which has no JSON"),
        ([{"b": b"bytes"}], "'[0].b': it is of type bytes, which has no JSON"),
    ],
)
def test_what_has_no_json_is_refused_with_its_path(data: Any, path: str) -> None:
    """Before anything is written, and in words that can be printed."""
    with pytest.raises(StoreError) as caught:
        encode_json(data)
    assert f"Cannot encode {path}. Nothing was written." == str(caught.value)
    str(caught.value).encode()


def test_data_that_holds_itself_is_refused() -> None:
    """As is what nests without end."""
    data: list[Any] = []
    data.append(data)
    with pytest.raises(StoreError, match="nests too deep, or holds itself"):
        encode_json(data)
