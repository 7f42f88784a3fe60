"""How entries stand in items of a LangGraph `BaseStore`: namespaces and values. Nothing is read or written here."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, Item, SearchOp

from langchain_ctxguard.domain.anchor import Unreadable
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json, digest_of

ROOT = "ctxguard"
_ALL = 1_000_000_000


def number(seq: int) -> str:
    """Return a number as a text that sorts as it does: some stores compare values as texts."""
    return f"{seq:015d}"


def place_of(*names: str) -> str:
    """Return a label for names of any text and length."""
    return digest_of(canonical_json(list(names)))


def names_of(stream: Stream) -> list[str]:
    """Return how an item names a stream."""
    return [ascii_of(stream.tenant), ascii_of(stream.kind), ascii_of(stream.key)]


def stream_of(value: dict[str, Any]) -> Stream:
    """Return the stream an item names."""
    tenant, kind, key = map(text_of, value["stream"])
    return Stream(tenant=tenant, kind=kind, key=key)


def value_of(entry: Entry) -> dict[str, Any]:
    """Return the item of an entry. The body is kept as base64: a store may write JSON anew, and would change `1.0` or the order of keys."""
    return {
        "stream": names_of(entry.stream),
        "seq": number(entry.seq),
        "at": entry.at.isoformat(),
        "body": base64.b64encode(entry.body).decode("ascii"),
        "refs": [ascii_of(ref) for ref in entry.refs],
        "before": entry.before,
        "hash": entry.hash,
    }


def entry_of(value: dict[str, Any]) -> Entry:
    """Return the entry of an item.

    Raises:
        ValueError: it is none.
    """
    try:
        return Entry(
            stream=stream_of(value),
            seq=int(value["seq"]),
            at=datetime.fromisoformat(value["at"]),
            body=base64.b64decode(value["body"], validate=True),
            refs=tuple(map(text_of, value["refs"])),
            before=value["before"],
            hash=value["hash"],
        )
    except (KeyError, TypeError, ValueError) as error:
        msg = f"it is no entry ({type(error).__name__})"
        raise ValueError(msg) from error


def read_item(value: dict[str, Any]) -> Entry | Unreadable:
    """Return the entry of an item, or what stands in its place."""
    try:
        return entry_of(value)
    except ValueError as error:
        seq = value.get("seq")
        return Unreadable(seq=int(seq) if isinstance(seq, str) and seq.isdecimal() else 0, hash=str(value.get("hash", "")), reason=str(error))


def ascii_of(text: str) -> str:
    """Return a text as ASCII that `text_of` reads back: not every store keeps NUL or half a surrogate pair."""
    return text.encode("unicode_escape" if not text.isascii() or "\x00" in text or "\\" in text else "ascii").decode("ascii")


def text_of(escaped: str) -> str:
    """Return the text that `ascii_of` was given."""
    return escaped.encode("ascii").decode("unicode_escape")


def items_of(store: BaseStore, namespace: tuple[str, ...], where: dict[str, Any] | None = None) -> list[Item]:
    """Return the items of a namespace, in no order."""
    # In one answer: a store that sorts by time gives items of one moment in any order, and between two pages some would be left out.
    (found,) = store.batch([SearchOp(namespace_prefix=namespace, filter=where, limit=_ALL, offset=0)])
    items: Any = found
    return list(items)
