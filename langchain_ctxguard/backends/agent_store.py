"""A store as agents see it: everything can be read, and what decides over agents cannot be written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.anchor import Anchor, Finding
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, VerifiableLog

AUTHORITY = frozenset({"consents", "consent_answers", "constraints"})
"""Kinds of streams that say what agents may do, and that nothing in an agent's process has to write."""

ENFORCEMENT = frozenset({"approvals", "budgets", "standing", "usage"})
"""Kinds that say it too and that a guard writes as it goes, through the store it was given: who agreed, what is used up, where a thread stands."""

WITHHELD = AUTHORITY | ENFORCEMENT
"""Kinds that are not written through what an agent's code is shown."""

_SPACES = AUTHORITY | {"calls"}
"""Values of consents; and what people answered about calls and what these came to."""


class AgentLog:
    """A log that takes no entry of the kinds that say what agents may do."""

    refuses = WITHHELD

    def __init__(self, log: VerifiableLog) -> None:
        """Read from `log`, and write to it what decides over nobody."""
        self._log = log

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append, as `ports.Log` says.

        Raises:
            StoreError: the stream is one that says what agents may do.
        """
        if stream.kind in WITHHELD:
            msg = f"An agent's view of a store writes no {stream.kind}. Nothing was written; whoever may, opens a GuardStore of their own."
            raise StoreError(msg)
        return self._log.append(stream, bodies, expected=expected, refs=refs)

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`."""
        return self._log.read(stream, since)

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream."""
        return self._log.heads(streams)

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`."""
        return self._log.find(ref)

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is not as it was written."""
        return self._log.verify(anchor)

    def anchor(self) -> Anchor:
        """Return where every stream ends now."""
        return self._log.anchor()


class AgentBlobs:
    """Blobs of which the values of consents and the words of tool calls can be read and neither written, copied away nor erased."""

    def __init__(self, blobs: BlobStore) -> None:
        """Keep content in `blobs`."""
        self._blobs = blobs

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents; see `ports.BlobStore`."""
        return self._blobs.put(_free(space), contents, addresses=addresses)

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address."""
        return self._blobs.get(space, addresses)

    def copy_space(self, source: str, target: str) -> int:
        """Keep in `target` also what is in `source`."""
        return self._blobs.copy_space(_free(source), _free(target))

    def purge_space(self, space: str) -> int:
        """Erase all contents of a space."""
        return self._blobs.purge_space(_free(space))

    def followed(self, file: str) -> AgentBlobs:
        """Return the same for content that a later write to `file` relies on; see `SqlBlobs.followed`."""
        inner = getattr(self._blobs, "followed", None)
        return self if inner is None else AgentBlobs(inner(file))

    def addresses(self, space: str) -> list[str]:
        """Return the addresses of all contents of a space."""
        return self._blobs.addresses(space)

    def drop(self, space: str, addresses: Sequence[str]) -> int:
        """Erase these contents of a space."""
        return self._blobs.drop(_free(space), addresses)


class AgentStore(GuardStore):
    """What guards, nodes and tools show of their store: `GuardStore` without the authority to say what agents may do."""

    refuses = WITHHELD

    def __init__(self, *, log: VerifiableLog, blobs: BlobStore, **parts: Any) -> None:
        """Put a view together from the parts of a store; `of` does that."""
        super().__init__(log=AgentLog(log), blobs=AgentBlobs(blobs), **parts)

    @classmethod
    def of(cls, store: GuardStore) -> AgentStore:
        """Return a view of `store`. Closing it closes nothing: that is left to whoever opened the store."""
        return cls(log=store.log, blobs=store.blobs, index=store.index, tenant=store.tenant, limits=store.limits)


def _free(space: str) -> str:
    """Let only spaces pass that hold no values of consents and no words of calls."""
    try:
        name = json.loads(space)
    except (ValueError, RecursionError):
        return space
    if isinstance(name, list) and name and isinstance(name[0], str) and name[0] in _SPACES:
        msg = f"An agent's view of a store touches no content of {name[0]}. Nothing was changed; whoever may, opens a GuardStore of their own."
        raise StoreError(msg)
    return space
