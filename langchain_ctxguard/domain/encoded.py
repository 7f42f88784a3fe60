"""JSON as bytes: the one encoding of what goes on record. What is encoded already is a `RawJson`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.errors import StoreError

__all__ = ["RawJson", "encode_json"]


def encode_json(data: Any) -> bytes:
    """Return the one JSON text of `data` in UTF-8: sorted keys, no spaces; `RawJson` stands in it byte for byte.

    >>> encode_json({"b": RawJson(data=b'{"y": 1e2, "x": 1.0}'), "a": "ä"}).decode()
    '{"a":"ä","b":{"y": 1e2, "x": 1.0}}'

    Raises:
        StoreError: something in it has no JSON, or no UTF-8; the message names the path.
    """
    try:
        return "".join(_parts(data, "")).encode()
    except RecursionError as error:
        msg = "Cannot encode what nests too deep, or holds itself. Nothing was written."
        raise StoreError(msg) from error


def _parts(data: Any, path: str) -> Iterator[str]:
    if isinstance(data, RawJson):
        yield data.data.decode("utf-8")
    elif data is None or isinstance(data, bool):
        yield json.dumps(data)
    elif isinstance(data, str):
        yield _text(data, path)
    elif isinstance(data, int):
        yield int.__repr__(data)
    elif isinstance(data, float):
        if not math.isfinite(data):
            raise _refused(path, f"is {data}, which JSON cannot write")
        yield float.__repr__(data)
    elif isinstance(data, Mapping):
        yield from _object(data, path)
    elif isinstance(data, list | tuple):
        for index, item in enumerate(data):
            yield "," if index else "["
            yield from _parts(item, f"{path}[{index}]")
        yield "]" if data else "[]"
    else:
        raise _refused(path, f"is of type {type(data).__name__}, which has no JSON")


def _object(data: Mapping[Any, Any], path: str) -> Iterator[str]:
    for key in data:
        if not isinstance(key, str):
            raise _refused(path, f"has the key {key!r}; keys are texts")
    yield "{"
    for index, key in enumerate(sorted(data)):
        where = f"{path}.{key}" if path else key
        yield ("," if index else "") + _text(key, where) + ":"
        yield from _parts(data[key], where)
    yield "}"


def _text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _refused(path, f"holds half a surrogate pair (U+{ord(text[error.start]):04X}) at character {error.start}") from error
    return json.dumps(text, ensure_ascii=False)


def _refused(path: str, what: str) -> StoreError:
    shown = (path or "the value itself").encode("utf-8", "backslashreplace").decode()
    return StoreError(f"Cannot encode '{shown}': it {what}. Nothing was written.")
