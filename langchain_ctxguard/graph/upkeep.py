"""What a thread's checkpoints need, and what may go: read from the stored checkpoints without opening their content."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langchain_ctxguard.backends.message_blobs import KEY_ADDRESS
from langchain_ctxguard.core import manifest as trees
from langchain_ctxguard.core.keep import Saved
from langchain_ctxguard.core.message_blob import address, thread_space
from langchain_ctxguard.graph.manifests import Manifests, manifests_in
from langchain_ctxguard.graph.stamp import VERSION_KEY
from langchain_ctxguard.records.collected import Batch
from langchain_ctxguard.records.kept import KeptContent
from langchain_ctxguard.records.thread_copy import ThreadCopy

GRACE = timedelta(days=1)
"""How long content that nothing needs is set aside before it is erased: longer than any write is on its way."""

_FIRST_WITHOUT_PARENT_READS = 4


class Survey:
    """What is told by the stored checkpoints of one thread, taken in one by one."""

    def __init__(self) -> None:
        """Begin with none."""
        self.manifests: set[bytes] = set()
        self._saved: list[tuple[Saved, frozenset[str]]] = []
        self._deltas: set[str] = set()
        self._are_all = False

    def take(self, found: CheckpointTuple) -> None:
        """Take in a checkpoint as the inner saver gives it."""
        checkpoint, metadata = found.checkpoint, _plain(found.metadata)
        values = checkpoint["channel_values"]
        for value in [*values.values(), *(value for _, _, value in found.pending_writes or ())]:
            self.manifests.update(manifests_in(value))
        # LangGraph names its difference channels in the metadata while their value is not in the checkpoint.
        self._deltas.update(metadata.get("counters_since_delta_snapshot") or {})
        self._deltas.update(channel for channel, value in values.items() if isinstance(value, _DeltaSnapshot))
        self._are_all = self._are_all or "delta_writes_versioned" in metadata
        absent = frozenset(checkpoint["channel_versions"]) - frozenset(values)
        saved = Saved(
            namespace=_configurable(found.config).get("checkpoint_ns", ""),
            checkpoint=checkpoint["id"],
            parent=_configurable(found.parent_config).get("checkpoint_id"),
            version=metadata.get(VERSION_KEY) or 0,
            run=metadata.get("run_id"),
            holds=frozenset(values),
            reads_parent=checkpoint.get("v", 0) < _FIRST_WITHOUT_PARENT_READS and found.parent_config is not None and _sends(found),
        )
        self._saved.append((saved, absent))

    def saved(self) -> list[Saved]:
        """Return what is known of each checkpoint."""
        return [saved.model_copy(update={"rebuilt": absent if self._are_all else absent & self._deltas}) for saved, absent in self._saved]


class Upkeep:
    """Removes content that nothing needs from the space of a thread."""

    def __init__(self, manifests: Manifests) -> None:
        """Work where these manifests lead."""
        self._manifests = manifests
        self._collections = manifests.collections
        self._kept = KeptContent(manifests.store)
        self._copies = ThreadCopy(manifests.store)

    def begin(self, thread: str) -> Batch:
        """Announce a collection; only then may the checkpoints be looked at."""
        return self._collections.begin(thread)

    def collect(self, batch: Batch, survey: Survey, grace: timedelta) -> int:
        """Set aside what nothing needs, erase what was set aside longer than `grace` ago, and return how many contents were erased.

        Raises:
            BlobMissingError: a checkpoint names what is gone, so nobody can say what is needed. Nothing is removed.
        """
        needed = self.needed(batch.thread, survey.manifests)
        blobs = self._manifests.blobs.blobs
        unneeded = [where for where in blobs.addresses(thread_space(batch.thread)) if where not in needed]
        self._collections.set_aside(batch, unneeded)
        due = [old for old in self._collections.waiting(batch.thread) if _is_due(old, batch.at, grace)]
        return sum(self._collections.erase(old, needed) for old in due)

    def needed(self, thread: str, manifests: Iterable[bytes]) -> set[str]:
        """Return the addresses that manifests lead to, and those that are kept for other reasons."""
        blobs = self._manifests.blobs

        def read(names: set[bytes], is_keyed: bool) -> dict[bytes, bytes]:  # noqa: FBT001 - called by position
            return blobs.contents(thread, names, is_keyed=is_keyed)

        reached = trees.reached([self._manifests.manifest(thread, data) for data in manifests], read)
        return {address(name, is_keyed=is_keyed) for is_keyed, names in reached.items() for name in names} | self._kept.of(thread) | {KEY_ADDRESS}

    def bring_back(self, thread: str, manifests: Iterable[bytes]) -> None:
        """Put everything that is needed where it belongs, wherever a collection moved it."""
        there = set(self._manifests.blobs.blobs.addresses(thread_space(thread)))
        self._collections.give_back(thread, self.needed(thread, manifests) - there)

    def copy(self, source: str, target: str) -> None:
        """Copy the content of a thread, what is kept of it, its context versions and the words of its archive; the checkpoints come last.

        Raises:
            StoreError: the target has context versions of its own. Nothing was copied.
        """
        versions = self._copies.plan(source, target)
        self._collections.copy(source, target)
        self._kept.keep(target, sorted(self._kept.of(source)))
        self._copies.carry_out(versions)


def _is_due(batch: Batch, now: datetime, grace: timedelta) -> bool:
    return batch.at + grace <= now


def _plain(metadata: Any) -> dict[str, Any]:
    return dict(metadata or {})


def _configurable(config: Any) -> dict[str, Any]:
    return dict((config or {}).get("configurable", {}))


def _sends(found: CheckpointTuple) -> bool:
    return bool(dict(found.checkpoint).get("pending_sends"))
