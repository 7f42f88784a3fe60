"""What the checks of the ports share: names and contents that stores mix up, and how an expectation fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

from langchain_ctxguard.domain.log import Stream

HOSTILE_BODIES: tuple[bytes, ...] = (
    b'{"price":1.0}',
    b'{"price":1e2}',
    b'{"count":9223372036854775808}',
    b'{"b":1,"a":2}',
    b'{"a":1,"a":2}',
    b' { "spaces" : [ ] } ',
    '{"name":"caf\u00e9"}'.encode(),
    '{"name":"cafe\u0301"}'.encode(),
    b'{"text":"one\r\ntwo"}\r\n',
    b'{"nul":"\\u0000","half":"\\ud800"}',
    '{"text":"不要删除订单 🙂 \u2028"}'.encode(),
    b"1.0",
    b'""',
    b"",
    b"\x00",
    b"\xed\xa0\x80\xff",
    b"x" * 300_000,
)
"""Bodies that a store which parses, normalizes or decodes them gives back as others."""

HOSTILE_NAMES: tuple[str, ...] = (
    "",
    " ",
    ".",
    "a.b",
    "/../",
    "C:\\new\\u0041",
    "%s",
    "'; --",
    "caf\u00e9",
    "cafe\u0301",
    "订单",
    "\x00",
    "\ud800",
    "k" * 5_000,
)
"""Names that a store which trims, folds or interprets them mixes up, or cannot hold."""


_SHOWN = 500


class ConformanceError(AssertionError):
    """A promise of a port is not kept."""


def a_stream() -> Stream:
    """Return a stream nobody has written to."""
    return Stream(kind="conformance", key=a_name())


def a_name() -> str:
    """Return a name nobody has used."""
    return uuid4().hex


def keys_of(hits: Iterable[Any]) -> list[str]:
    """Return what was found, best first."""
    return [hit.key for hit in hits]


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Make all calls at the same moment, each in a thread; an error in one is raised here."""
    start, errors = threading.Barrier(len(calls)), []

    def run(call: Callable[[], object]) -> None:
        try:
            start.wait(timeout=30)
            call()
        except Exception as error:  # noqa: BLE001 - it is raised below, in the thread that asked
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def same(expected: object, actual: object) -> None:
    """Fail unless both are equal."""
    if expected != actual:
        msg = f"expected {_brief(expected)}, got {_brief(actual)}"
        raise ConformanceError(msg)


def raised(kind: type[Any], call: Callable[[], object]) -> Any:
    """Return the error that `call` raises; fail if it raises none."""
    try:
        answer = call()
    except kind as error:
        return error
    msg = f"expected {kind.__name__}, got {_brief(answer)}"
    raise ConformanceError(msg)


def _brief(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"
