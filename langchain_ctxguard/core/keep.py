"""Which checkpoints of a thread can go, and which are needed by those that stay. Pure; what a checkpoint is, is read by `graph/collect.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from langchain_ctxguard.domain.value import Value

VERSIONS_KEPT = 10
"""How many versions of a context keep a checkpoint when a thread is pruned: as many as keep their content on record."""


class Saved(Value):
    """What is known of a stored checkpoint without reading its content."""

    namespace: str
    checkpoint: str
    parent: str | None = None
    version: int = 0
    """Version of the context, 0 for none."""

    run: str | None = None
    holds: frozenset[str] = frozenset()
    """Channels whose value is in it."""

    rebuilt: frozenset[str] = frozenset()
    """Channels whose value is rebuilt from what was written since an earlier checkpoint that holds it."""

    reads_parent: bool = False
    """Written by an early LangGraph, which kept what is sent to nodes with the parent."""

    @property
    def key(self) -> tuple[str, str]:
        """What names it in its thread."""
        return self.namespace, self.checkpoint


def latest(thread: Iterable[Saved], *, versions: int = VERSIONS_KEPT) -> set[tuple[str, str]]:
    """Return which checkpoints stay when a thread is pruned: the newest of each namespace, and the newest of each of its newest versions."""
    stay: set[tuple[str, str]] = set()
    by_namespace: dict[str, list[Saved]] = {}
    for saved in thread:
        by_namespace.setdefault(saved.namespace, []).append(saved)
    for found in by_namespace.values():
        found.sort(key=lambda saved: saved.checkpoint)
        newest = {saved.version: saved for saved in found if saved.version}
        stay.add(found[-1].key)
        stay.update(newest[version].key for version in sorted(newest)[-versions:])
    return stay


def with_needed(thread: Sequence[Saved], stay: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return `stay` with everything it is rebuilt from.

    A channel that stores differences is rebuilt along the parents, up to the nearest one that holds its value. All of them are needed, what
    was written to each included.
    """
    by_key = {saved.key: saved for saved in thread}
    needed = set(stay)
    for key in stay:
        saved = by_key.get(key)
        if saved is None:
            continue
        missing = set(saved.rebuilt)
        parent = by_key.get((saved.namespace, saved.parent or ""))
        if saved.reads_parent and parent is not None:
            needed.add(parent.key)
        while missing and parent is not None:
            needed.add(parent.key)
            missing -= parent.holds
            parent = by_key.get((parent.namespace, parent.parent or ""))
    return needed
