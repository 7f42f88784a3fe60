"""Takes consents, named keys of the state and the standing state across a compaction: by copying, and by nothing else.

`carried_over` is the one function that puts them into a version. It takes what was read from the stores and never what an earlier version held, so
there are never two of them to merge, and no summarizer's text comes near it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_ctxguard.domain.context import ContextBody
from langchain_ctxguard.domain.copied import NO_COPY, Copied, CopiedKey, CopyRecord
from langchain_ctxguard.domain.raw_json import RawJson

OpenedBy = Callable[[str], Sequence[str]]
"""Names the tool rules that ask for a consent, by its field."""


def carried_over(body: ContextBody, copied: Copied | None) -> ContextBody:
    """Return `body` holding `copied`, the very object that was read."""
    return body.model_copy(update={"copied": None if copied == NO_COPY else copied})


def held_by(body: ContextBody | None) -> Copied:
    """Return what a version holds, read back from the form it is stored in: what a later process will find."""
    if body is None or body.copied is None:
        return Copied()
    return Copied.model_validate_json(json.dumps(body.copied.model_dump(mode="json"), ensure_ascii=False))


def copy_record(read: Copied, body: ContextBody | None, *, opened_by: OpenedBy | None = None) -> CopyRecord:
    """Return what the record says of a copy: digests before and after, and names. Differing digests refuse the candidate."""
    consents = read.consents
    in_force = () if consents is None else consents.in_force()
    opens = {} if opened_by is None else {entry.field: tuple(opened_by(entry.field)) for entry in in_force}
    return CopyRecord(
        before=read.digest,
        after=held_by(body).digest,
        keys=tuple(key.name for key in read.state),
        opens={field: rules for field, rules in opens.items() if rules},
        consent_head=None if consents is None else consents.head.seq,
    )


def copied_keys(state: Mapping[str, Any], names: Sequence[str]) -> tuple[CopiedKey, ...]:
    """Return the named keys that a state holds, by name. What is a `RawJson` stays its bytes; anything else is encoded here, once, in its order.

    Raises:
        ValueError: a value that has no JSON; the message names the key.
    """
    return tuple(CopiedKey(name=name, value=_raw(name, state[name])) for name in sorted(set(names)) if state.get(name) is not None)


def _raw(name: str, value: Any) -> RawJson:
    if isinstance(value, RawJson):
        return value
    try:
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
        return RawJson(data=text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"The state's key '{name}' cannot be carried: it has no JSON ({type(error).__name__}). Keep it as JSON data or as a `RawJson`."
        raise ValueError(msg) from error


def _plain(value: Any) -> Any:
    """Return `value` if it is data that JSON writes and reads back alike; a key that is no text would become one, and might meet another.

    Raises:
        TypeError: it is not.
    """
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            msg = "a key is no text"
            raise TypeError(msg)
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    dumped = getattr(value, "model_dump", None)
    return _plain(dumped(mode="json")) if callable(dumped) else value
