"""What a process knows about stored values: which object has which digest, and which digests are stored. Losing it costs time, never a byte.

Messages can be changed in place. So an object is known by itself and by each of its fields, down to the texts and numbers in its lists: all of them
are kept here, and compared by identity, before its digest is used again.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from operator import is_
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel

from langchain_ctxguard.core.manifest import is_node
from langchain_ctxguard.graph.bounded import Bounded

_FIXED = frozenset({str, int, float, bool, bytes, type(None), Decimal, UUID, datetime, date})
_NO_DICT, _NO_LIST, _DICT, _LIST, _TUPLE, _MODEL, _END = (object() for _ in range(7))
_LARGEST = 400_000
"""Digests of stored content kept in mind, over all threads."""


class Place(NamedTuple):
    """Where digests hold: a thread's space, as long as nothing was removed from it."""

    thread: str
    epoch: int
    key: bytes


class _Seen(weakref.ref[Any]):
    """An object as it was when it was written or read. One object each, and nothing for the garbage collector to follow: there are many."""

    __slots__ = ("fields", "name", "number", "place")
    fields: tuple[Any, ...]
    name: bytes
    number: int
    place: Place


class Known:
    """Digests of objects, and digests that are stored. Safe under threads."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._objects: dict[int, _Seen] = {}
        self._stored: OrderedDict[str, tuple[Place, dict[bytes, bytes | None]]] = OrderedDict()
        self._keys: Bounded[tuple[int, bytes]] = Bounded(1_024)
        self._lock = threading.Lock()

    def key_of(self, thread: str, epoch: int) -> bytes | None:
        """Return the key of a thread's digests, if it is known for this epoch."""
        known = self._keys.get(thread)
        return known[1] if known is not None and known[0] == epoch else None

    def keep_key(self, thread: str, epoch: int, key: bytes) -> None:
        """Keep the key of a thread's digests."""
        self._keys.put(thread, (epoch, key))

    def name_of(self, value: Any, place: Place) -> bytes | None:
        """Return the digest of an object if it is known there and was not changed since, else `None`."""
        seen = self._objects.get(id(value))
        if seen is None or seen() is not value or seen.place != place or not _is_unchanged(value, seen.fields):
            return None
        return seen.name

    def remember(self, value: Any, place: Place, name: bytes, fields: tuple[Any, ...] | None) -> None:
        """Keep the digest of an object as long as the object lives.

        Args:
            value: The object.
            place: Where its content is stored.
            name: Its digest.
            fields: Its fields as they were when it was written.
        """
        if fields is None:
            return
        try:
            seen = _Seen(value, self._forgotten)
        except TypeError:
            # A dict or a text cannot be watched; it is written anew each time.
            return
        seen.fields, seen.name, seen.number, seen.place = fields, name, id(value), place
        self._objects[seen.number] = seen

    def _forgotten(self, seen: weakref.ref[Any]) -> None:
        number = seen.number  # type: ignore[attr-defined]  # only such references are made here
        if self._objects.get(number) is seen:
            self._objects.pop(number, None)

    def absent(self, names: Iterable[bytes], place: Place) -> list[bytes]:
        """Return which of these digests are not known to be stored, each once, in order."""
        with self._lock:
            stored = self._at(place)
            return [name for name in dict.fromkeys(names) if name not in stored]

    def nodes(self, names: Iterable[bytes], place: Place) -> dict[bytes, bytes]:
        """Return the nodes of these that are known: they hold digests, and what has a digest never changes."""
        with self._lock:
            stored = self._at(place)
            return {name: node for name in names if (node := stored.get(name)) is not None}

    def add(self, contents: Mapping[bytes, bytes], place: Place) -> None:
        """Keep in mind that contents are stored, and the nodes among them. `place` was asked for before they were."""
        with self._lock:
            stored = self._at(place)
            stored.update({name: content if is_node(content) else None for name, content in contents.items()})
            self._stored[place.thread] = (place, stored)
            self._stored.move_to_end(place.thread)
            while sum(len(some) for _, some in self._stored.values()) > _LARGEST and len(self._stored) > 1:
                self._stored.popitem(last=False)

    def _at(self, place: Place) -> dict[bytes, bytes | None]:
        where, stored = self._stored.get(place.thread, (place, {}))
        return stored if where == place else {}

    def forget(self, thread: str) -> None:
        """Forget what is stored of a thread."""
        with self._lock:
            self._stored.pop(thread, None)


def fields_of(value: Any) -> tuple[Any, ...] | None:
    """Return everything a model is made of that cannot change in itself, in order; `None` where something in it can, unseen.

    What cannot change stands for itself; a dict, list or model stands as a tuple of what is in it, or as a mark where it is empty.
    """
    if not isinstance(value, BaseModel):
        return None
    fields: list[Any] = []
    try:
        for part in value.__dict__.values():
            fields.append(part if type(part) in _FIXED else _flat(part))
        fields.append(_flat(value.__pydantic_extra__ or {}))
    except (_CanChangeError, RecursionError):
        return None
    return tuple(fields)


class _CanChangeError(Exception):
    """Something can change and nobody would see it."""


def _is_unchanged(value: BaseModel, fields: tuple[Any, ...]) -> bool:
    parts = value.__dict__
    if len(fields) != len(parts) + 1:
        return False
    try:
        for part, was in zip(parts.values(), fields, strict=False):
            if part is not was and (type(part) in _FIXED or not _is_same(part, was)):
                return False
        return _is_same(value.__pydantic_extra__ or {}, fields[-1])
    except (_CanChangeError, RecursionError):
        return False


def _is_same(part: Any, was: Any) -> bool:
    if not part:
        return was is (_NO_DICT if type(part) is dict else _NO_LIST if type(part) is list else None)
    now = _flat(part)
    return type(was) is tuple and len(now) == len(was) and all(map(is_, now, was))


def _flat(part: Any) -> Any:
    if not part and type(part) in {dict, list}:
        return _NO_DICT if type(part) is dict else _NO_LIST
    found: list[Any] = []
    _collect(part, found)
    return tuple(found)


def _collect(part: Any, found: list[Any]) -> None:
    kind = type(part)
    if kind in _FIXED:
        found.append(part)
    elif kind is dict:
        found.append(_DICT)
        for key, item in part.items():
            _collect(key, found)
            _collect(item, found)
        found.append(_END)
    elif kind is list or kind is tuple:
        found.append(_LIST if kind is list else _TUPLE)
        for item in part:
            _collect(item, found)
        found.append(_END)
    elif isinstance(part, BaseModel):
        found += (_MODEL, kind.__module__, kind.__qualname__)
        _collect(part.__dict__, found)
        _collect(part.__pydantic_extra__, found)
    else:
        raise _CanChangeError
