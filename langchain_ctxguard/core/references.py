"""Keys to things kept elsewhere, found by their names in the arguments and results of tool calls. Names and values are copied as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_NAMES = ("evidence_id", "artifact_hash", "tool_call_id", "test_run_id", "approval_id")
_ALIASES = {name.replace("_", ""): name for name in _NAMES} | {"artifactsha256": "artifact_hash", "testrun": "test_run_id"}
_LONGEST = 200
"""A longer value is no key but a text."""

_READ = 200_000
"""Characters of a result that are looked at: keys stand near its edges, and a result may hold a whole file."""

_HINT = re.compile("(?:evidence|artifact|tool|test|approval)[_ -]?(?:call|run|id|hash|sha)", re.IGNORECASE)
_IN_TEXT = re.compile(
    r"(?<![A-Za-z0-9])(evidence|artifact|tool|test|approval)[_ -]?(call|run)?[_ -]?(id|hash)\b[\"']?\s{0,4}[:=：]\s{0,4}[\"']?"
    r"([A-Za-z0-9][A-Za-z0-9_.:/+=-]{0,199})",
    re.IGNORECASE,
)


def references_in(arguments: Any, result: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of the keys in a call and its result, in order, repeats included.

    >>> list(references_in({"approvalId": "a-17"}, "ok, test_run_id: tr-9"))
    [('approval_id', 'a-17'), ('test_run_id', 'tr-9')]
    """
    yield from _in_value(arguments)
    if _HINT.search(result) is None:
        return
    text = result if len(result) <= _READ else result[: _READ // 2] + "\n" + result[-_READ // 2 :]
    stripped = text.lstrip()
    if stripped.startswith(("{", "[")):
        try:
            yield from _in_value(json.loads(text))
        except (ValueError, RecursionError):
            pass
        else:
            return
    for found in _IN_TEXT.finditer(text):
        name = _named("".join(part for part in found.groups()[:3] if part))
        if name is not None:
            yield name, found[4].rstrip(".,:;")


def _in_value(value: Any) -> Iterator[tuple[str, str]]:
    # Last in, first out: children go in backwards to come out in order.
    pending: list[tuple[str | None, Any]] = [(None, value)]
    while pending:
        name, inner = pending.pop()
        if isinstance(inner, dict):
            pending += ((_named(key) if isinstance(key, str) else None, part) for key, part in reversed(inner.items()))
        elif isinstance(inner, (list, tuple)):
            pending += ((name, part) for part in reversed(inner))
        elif name is not None and isinstance(inner, (str, int)) and not isinstance(inner, bool):
            text = str(inner).strip()
            if text and len(text) <= _LONGEST and "\n" not in text:
                yield name, text


@lru_cache(maxsize=1_024)
def _named(key: str) -> str | None:
    return _ALIASES.get(re.sub(r"[^a-z0-9]", "", key[:64].lower()))
