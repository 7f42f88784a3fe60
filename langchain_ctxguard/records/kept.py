"""Content of a thread that must stay although no checkpoint names it: messages that were moved out of the state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Log

KEPT = "kept"


class _Store(Protocol):
    log: Any
    tenant: str


class KeptContent:
    """Says which addresses of a thread's space are needed by somebody other than its checkpoints. A collection asks here before it removes any."""

    def __init__(self, store: _Store) -> None:
        """Bind a `GuardStore`."""
        self._log: Log = store.log
        self._tenant = store.tenant

    def keep(self, thread: str, addresses: Sequence[str]) -> None:
        """Put addresses on record, after their content is stored and before anything that named it lets go."""
        if addresses:
            self._log.append(self._stream(thread), [encode_json({"schema_version": 1, "keep": list(addresses)})])

    def of(self, thread: str) -> set[str]:
        """Return all addresses that are kept.

        Raises:
            StoreError: an entry cannot be read, so nobody can say what may go.
        """
        kept: set[str] = set()
        for entry in self._log.read(self._stream(thread)):
            try:
                kept.update(json.loads(entry.body)["keep"])
            except (ValueError, KeyError, TypeError) as error:
                msg = f"Entry {entry.seq} of {entry.stream} does not say which content it keeps. Nothing was removed; upgrade langchain-ctxguard."
                raise StoreError(msg) from error
        return kept

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=KEPT, key=thread)
