from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.value import canonical_json, digest_of

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(_json)
def test_canonical_json_is_json_and_has_one_form(data: object) -> None:
    """Reading it gives the data, and writing that gives the same text."""
    text = canonical_json(data)

    assert data == json.loads(text)
    assert text == canonical_json(json.loads(text))


@given(st.text())
def test_any_text_has_a_digest(text: str) -> None:
    """Lone surrogates, too: a broken client may send them."""
    assert 64 == len(digest_of(text))
    assert digest_of(text) == digest_of(text + "")
    assert digest_of(text) != digest_of(text + "x")
