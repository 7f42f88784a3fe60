"""What a process knows about stored values: which object has which digest, and which digests are stored. Losing it costs time, never a byte.

Messages can be changed in place. So an object is known by itself and by each of its fields, down to the texts and numbers in its lists: all of them
are kept here, and compared by identity, before its digest is used again.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from operator import is_
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel

from langchain_ctxguard.graph.bounded import Bounded

_FIXED = frozenset({str, int, float, bool, bytes, type(None), Decimal, UUID, datetime, date})
_DICT, _LIST, _TUPLE, _END = object(), object(), object(), object()
_LARGEST = 400_000
"""Digests of stored content kept in mind, over all threads."""


class Place(NamedTuple):
    """Where digests hold: a thread's space, as long as nothing was removed from it."""

    thread: str
    epoch: int
    key: bytes


class _Known(NamedTuple):
    reference: weakref.ref[Any]
    fields: list[Any]
    place: Place
    name: bytes


class Known:
    """Digests of objects, and digests that are stored. Safe under threads."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._objects: dict[int, _Known] = {}
        self._stored: OrderedDict[str, tuple[Place, set[bytes]]] = OrderedDict()
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
        known = self._objects.get(id(value))
        if known is None or known.reference() is not value or known.place != place:
            return None
        fields = fields_of(value)
        if fields is None or len(fields) != len(known.fields) or not all(map(is_, fields, known.fields)):
            return None
        return known.name

    def remember(self, value: Any, place: Place, name: bytes, fields: list[Any] | None) -> None:
        """Keep the digest of an object as long as the object lives.

        Args:
            value: The object.
            place: Where its content is stored.
            name: Its digest.
            fields: Its fields as they were when it was written.
        """
        if fields is None:
            return
        number = id(value)

        def forget(gone: weakref.ref[Any], number: int = number, objects: dict[int, _Known] = self._objects) -> None:
            known = objects.get(number)
            if known is not None and known.reference is gone:
                objects.pop(number, None)

        try:
            self._objects[number] = _Known(weakref.ref(value, forget), fields, place, name)
        except TypeError:
            # A dict or a text cannot be watched; it is written anew each time.
            return

    def absent(self, names: Iterable[bytes], place: Place) -> list[bytes]:
        """Return which of these digests are not known to be stored, each once, in order."""
        with self._lock:
            where, stored = self._stored.get(place.thread, (place, set()))
            if where != place:
                stored = set()
            return [name for name in dict.fromkeys(names) if name not in stored]

    def add(self, names: Iterable[bytes], place: Place) -> None:
        """Keep in mind that content is stored. `place` was asked for before it was."""
        with self._lock:
            where, stored = self._stored.get(place.thread, (place, set()))
            if where != place:
                stored = set()
            stored.update(names)
            self._stored[place.thread] = (place, stored)
            self._stored.move_to_end(place.thread)
            while sum(len(some) for _, some in self._stored.values()) > _LARGEST and len(self._stored) > 1:
                self._stored.popitem(last=False)

    def forget(self, thread: str) -> None:
        """Forget what is stored of a thread."""
        with self._lock:
            self._stored.pop(thread, None)


def fields_of(value: Any) -> list[Any] | None:
    """Return everything a value is made of that cannot change in itself, in order; `None` where something in it can, unseen."""
    found: list[Any] = []
    try:
        return found if _collect(value, found) else None
    except RecursionError:
        return None


def _collect(value: Any, found: list[Any]) -> bool:
    kind = type(value)
    if kind in _FIXED:
        found.append(value)
        return True
    if kind is dict:
        return _pairs(_DICT, value, found)
    if kind is list or kind is tuple:
        found.append(_LIST if kind is list else _TUPLE)
        for item in value:
            if not _collect(item, found):
                return False
        found.append(_END)
        return True
    if isinstance(value, BaseModel):
        return _pairs(kind, value.__dict__, found) and _pairs(_DICT, value.__pydantic_extra__ or {}, found)
    return False


def _pairs(mark: Any, pairs: dict[Any, Any], found: list[Any]) -> bool:
    found.append(mark)
    for key, item in pairs.items():
        if type(key) not in _FIXED:
            return False
        found.append(key)
        if type(item) in _FIXED:
            found.append(item)
        elif not _collect(item, found):
            return False
    found.append(_END)
    return True
