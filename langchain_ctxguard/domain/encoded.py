"""JSON as bytes: the one encoding of what goes on record, and content that is encoded already."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import field_validator

from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import StoreError


class RawJson(Value):
    """JSON that is encoded already, and whose bytes are the value: `1.0` stays `1.0`, and keys stay in their order.

    >>> encode_json({"b": RawJson(data=b'{"y": 1e2, "x": 1.0}'), "a": "ä"}).decode()
    '{"a":"ä","b":{"y": 1e2, "x": 1.0}}'
    """

    data: bytes

    @field_validator("data")
    @classmethod
    def _is_json(cls, data: bytes) -> bytes:
        try:
            json.loads(data.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            msg = f"is no JSON text in UTF-8 ({error})"
            raise ValueError(msg) from error
        return data


def encode_json(data: Any) -> bytes:
    """Return the one JSON text of `data` in UTF-8: sorted keys, no spaces; `RawJson` stands in it byte for byte.

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


def _no_constant(name: str) -> None:
    msg = f"{name} is no JSON"
    raise ValueError(msg)
