"""Everything a thread left in words, erased in one call: checkpoints, messages, archive and its index, contexts of versions, calls, work.

What is of a subject or of a scope is not of a thread: consents, shared fields and rules stay.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

from pydantic import Field

from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.domain.anchor import Anchor
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.ports import TextIndex
from langchain_ctxguard.records.approvals import APPROVALS
from langchain_ctxguard.records.archive import index_space
from langchain_ctxguard.records.call_records import CallRecords, calls_space
from langchain_ctxguard.records.collected import COLLECTED, Collections
from langchain_ctxguard.records.handoffs import HANDOFFS, HandoffLog, handoffs_space
from langchain_ctxguard.records.kept import KEPT
from langchain_ctxguard.records.model_calls import MODEL_CALLS
from langchain_ctxguard.records.provider_compactions import PROVIDER_COMPACTIONS
from langchain_ctxguard.records.recalls import RECALL
from langchain_ctxguard.records.reconcile import RECONCILE, ReconcileLog, reconcile_space
from langchain_ctxguard.records.recoveries import RECOVERIES
from langchain_ctxguard.records.standing import KIND as STANDING
from langchain_ctxguard.records.usage import USAGE
from langchain_ctxguard.records.versions import AUDIT, VERSIONS, VersionLog
from langchain_ctxguard.records.worklog import WORKLOG, WorkLog, worklog_space


class _Store(Protocol):
    log: Any
    blobs: Any
    index: TextIndex
    tenant: str

    def anchor(self) -> Anchor: ...


class Purged(Value):
    """What was erased of a thread, in numbers, and what was kept."""

    thread: str
    contexts: int = Field(default=0, ge=0)
    """Full contexts of versions."""

    messages: int = Field(default=0, ge=0)
    """Messages a checkpointer stored in this store or that were archived, and the lists of them."""

    words: int = Field(default=0, ge=0)
    """Texts the index of the archive held the words of; 0 where they were only counted: an index is not asked how many it has."""

    calls: int = Field(default=0, ge=0)
    """Arguments, reasons, results and answers of tool calls, and words of other records of calls."""

    work: int = Field(default=0, ge=0)
    """Steps of the work log, hand-overs and reconciliations."""

    checkpoints: int | None = None
    """Checkpoints that were deleted; `None` where no checkpointer was given: what it holds is still there."""

    kept: dict[str, int] = Field(default_factory=dict)
    """Entries on record that stay, by kind: numbers, digests, names, times, and the reasons people gave, in an unbroken chain."""

    @property
    def total(self) -> int:
        """How many contents were erased from the store."""
        return self.contexts + self.messages + self.calls + self.work


def purge_thread(store: _Store, thread: str, *, checkpointer: Any = None) -> Purged:
    """Erase a thread, sub-agents included, and return what was erased and what was kept. It cannot be brought back.

    Each step may be done again: a call that was interrupted is finished by another, whose numbers are those of what was left.

    Args:
        store: A `GuardStore` of an authority that may erase words of calls; an agent's view of it may not.
        thread: Its id.
        checkpointer: The thread's saver, wrapped or not; `None`: its checkpoints stay, and those of a `ContextCheckpointer` cannot be read any more.

    Raises:
        StoreError: the store cannot be reached, or may not be erased from. Call it again.
    """
    purged, checkpoints = _erased(store, thread), None
    if checkpointer is not None:
        checkpoints = sum(1 for _ in _plain(checkpointer).list({"configurable": {"thread_id": thread}}))
        # Last, as what it does to the store may be counted no more: a wrapped one erases its messages itself.
        checkpointer.delete_thread(thread)
    return purged.model_copy(update={"checkpoints": checkpoints, "kept": _kept(store, thread)})


async def apurge_thread(store: _Store, thread: str, *, checkpointer: Any = None) -> Purged:
    """Erase a thread whose checkpointer is awaited; see `purge_thread`."""
    purged, checkpoints = await asyncio.to_thread(_erased, store, thread), None
    if checkpointer is not None:
        checkpoints = 0
        async for _ in _plain(checkpointer).alist({"configurable": {"thread_id": thread}}):
            checkpoints += 1
        await checkpointer.adelete_thread(thread)
    return purged.model_copy(update={"checkpoints": checkpoints, "kept": await asyncio.to_thread(_kept, store, thread)})


def held_of(store: _Store, thread: str) -> Purged:
    """Return what `purge_thread` would erase of a thread in the store, and erase nothing."""
    versions = VersionLog(store)
    contexts = [version.place.space(version.number) for place in versions.places_of(thread) for version in versions.all(place)]
    waiting = [batch.space for batch in Collections(store).waiting(thread)]

    def count(spaces: Iterable[str]) -> int:
        return sum(len(store.blobs.addresses(space)) for space in spaces)

    return Purged(
        thread=thread,
        contexts=count(contexts),
        messages=count([thread_space(thread), *waiting]),
        calls=count([calls_space(thread)]),
        work=count([worklog_space(thread), handoffs_space(thread), reconcile_space(thread)]),
        kept=_kept(store, thread),
    )


def _plain(checkpointer: Any) -> Any:
    """Return the saver that lists checkpoints without reading what they name: that is gone."""
    return getattr(checkpointer, "inner", checkpointer)


def _erased(store: _Store, thread: str) -> Purged:
    versions = VersionLog(store)
    # What a crash left of an archive before there was a version is of the thread as well.
    places = {ContextPlace(thread=thread): None} | dict.fromkeys(versions.places_of(thread))
    # What can be searched goes before what it is found in.
    words = sum(store.index.purge(index_space(place)) for place in places)
    calls = CallRecords(store).purge_thread(thread)
    work = WorkLog(store).purge_thread(thread) + HandoffLog(store).purge_thread(thread) + ReconcileLog(store).purge_thread(thread)
    messages = Collections(store).purge(thread)
    contexts = versions.purge_thread(thread)
    return Purged(thread=thread, contexts=contexts, messages=messages, words=words, calls=calls, work=work)


def _kept(store: _Store, thread: str) -> dict[str, int]:
    """Return how many entries the streams of a thread have, by kind."""
    found: Counter[str] = Counter()
    for head in store.anchor().heads:
        stream = head.stream
        if stream.tenant == store.tenant and stream.kind in _KINDS and _is_of(stream.key, thread):
            found[stream.kind] += head.seq
    return dict(sorted(found.items()))


_KINDS = frozenset({
    VERSIONS, AUDIT, RECALL, APPROVALS, STANDING, WORKLOG, HANDOFFS, RECONCILE, RECOVERIES, USAGE, MODEL_CALLS, COLLECTED, KEPT, PROVIDER_COMPACTIONS,
})  # fmt: skip
"""Of what is on record of a thread. Of the others, some are named by a subject, who may be called like a thread."""


def _is_of(key: str, thread: str) -> bool:
    """Say whether a stream of this key is a thread's: it is named by the thread, or by a list that begins with it."""
    if key in {thread, f"thread/{thread}"}:
        return True
    try:
        named = json.loads(key)
    except (ValueError, RecursionError):
        return False
    return isinstance(named, list) and bool(named) and named[0] == thread
