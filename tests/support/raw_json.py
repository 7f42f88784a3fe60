"""JSON texts as people send them: what a parser that writes anew would change, more often than not."""

from __future__ import annotations

import json

from hypothesis import strategies as st

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["caf\u00e9", "cafe\u0301", "ﬁ", "\u2028", "订单", "🙂", "\x7f", "true"])
_NUMBERS = st.sampled_from(["1.0", "1e2", "1E+2", "-0", "-0.0", "0.10", "9007199254740993", "1" + "0" * 400, "0.1e-7", "18446744073709551616"])
_BLANKS = st.sampled_from(["", "", "", " ", "\n", "\t ", "\r\n"])


@st.composite
def _string(draw: st.DrawFn) -> str:
    text = draw(_TEXTS)
    written = json.dumps(text, ensure_ascii=draw(st.booleans()))
    return written.replace("/", "\\/") if draw(st.booleans()) else written


@st.composite
def _joined(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(inner, max_size=3))
    if draw(st.booleans()):
        return f"[{draw(_BLANKS)}{(draw(_BLANKS) + ',' + draw(_BLANKS)).join(items)}]"
    keys = draw(st.lists(_string(), min_size=len(items), max_size=len(items), unique_by=json.loads))
    pairs = [f"{key}{draw(_BLANKS)}:{draw(_BLANKS)}{item}" for key, item in zip(keys, items, strict=True)]
    return f"{{{draw(_BLANKS)}{','.join(pairs)}{draw(_BLANKS)}}}"


_LEAVES = st.sampled_from(["true", "false", "null"]) | _NUMBERS | st.integers().map(str) | _string() | st.just('"\\ud800"')
_TREES: st.SearchStrategy[str] = st.recursive(_LEAVES, _joined, max_leaves=6)

RAW_JSON: st.SearchStrategy[bytes] = st.tuples(_BLANKS, _TREES, _BLANKS).map(lambda parts: "".join(parts).encode())
"""Valid JSON texts without a key that is there twice."""

CHANGED_BY_DUMPING = (
    b"1.0",
    b"1e2",
    b" true",
    b"true\n",
    b'{"b":1,"a":2}',
    b'{"a": 1}',
    b"-0.0",
    b"0.10",
    b"9007199254740993.0",
    b"0.1000000000000000055511151231257827",
    '"caf\u00e9"'.encode(),
    '"cafe\u0301"'.encode(),
    b'"\\u00e9"',
    b'"\\/"',
    b'"\\ud800"',
    b"[1,\t2]",
)
"""What changes its bytes when it is parsed and written anew."""
