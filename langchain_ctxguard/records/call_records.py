"""The audit record of tool calls: each step in names and digests, the words apart, where they can be erased."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from langchain_ctxguard.domain.approval import canonical_arguments
from langchain_ctxguard.domain.citation import action_ref
from langchain_ctxguard.domain.context_version import outer_namespace
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.ports import BlobStore, Log
from langchain_ctxguard.records.folds import sealed
from langchain_ctxguard.records.versions import AUDIT, HasLog

AuditDetail = Literal["full", "digest"]
"""What is kept of a call: everything, the words apart; or digests alone."""


class CallRecords:
    """Writes the steps of calls, and keeps what they name."""

    def __init__(self, store: HasLog, *, detail: AuditDetail = "full") -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant
        self._detail = detail

    def note(self, record: CallRecord) -> None:
        """Put a step on record, to be found by the call's id.

        Raises:
            StoreError: the log cannot be written.
        """
        key = canonical_json([record.thread or "", outer_namespace(record.namespace)])
        refs = [] if record.call_id is None else [action_ref(record.call_id), action_ref(record.call_id, record.thread)]
        body = sealed({"kind": "tool_call", **record.model_dump(mode="json", exclude_defaults=True)})
        self._log.append(Stream(tenant=self._tenant, kind=AUDIT, key=key), [body], refs=refs)

    def keep(self, thread: str | None, content: Mapping[str, Any], *, is_needed: bool = False) -> str | None:
        """Keep content in the thread's space and return its address; `None` where only digests are kept.

        Args:
            thread: Whose space.
            content: What.
            is_needed: It is no audit but part of how calls go on, e.g. what a person wrote.

        Raises:
            StoreError: it cannot be kept.
        """
        if not content or (self._detail == "digest" and not is_needed):
            return None
        try:
            text = canonical_arguments(content)
        except TypeError:
            text = canonical_json(content)
        (address,) = self._blobs.put(calls_space(thread), [text.encode("utf-8", "backslashreplace")])
        return address

    def content(self, thread: str | None, address: str) -> Mapping[str, Any] | None:
        """Return what is kept under an address, `None` where it was erased.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        found = self._blobs.get(calls_space(thread), [address]).get(address)
        if found is None:
            return None
        data = json.loads(found)
        return data if isinstance(data, dict) else None

    def purge_thread(self, thread: str) -> int:
        """Erase what is kept of a thread's calls, and return how many contents that were. The records and their chain stay."""
        return self._blobs.purge_space(calls_space(thread))


def calls_space(thread: str | None) -> str:
    """Return the space in which the words of a thread's calls rest."""
    return canonical_json(["calls", thread])
