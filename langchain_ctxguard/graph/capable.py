"""What a wrapped saver can do beyond reading and writing: LangGraph asks its class, so there is a class for each kind of saver.

On the rows of a saver that is known, everything is done, whether the saver itself can or not. Of any other saver, what it can do is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from langchain_ctxguard.backends.message_blobs import KEY_ADDRESS
from langchain_ctxguard.core.keep import Saved, latest, with_needed
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.saver_kind import id_in, kind_of
from langchain_ctxguard.graph.wrapped import WrappedSaver, aside

_STRATEGIES = ("keep_latest", "delete")


def bases_for(inner: BaseCheckpointSaver[Any]) -> tuple[type[Any], dict[str, Any]]:
    """Return the class and the methods that a wrapper of this saver gets."""
    if kind_of(inner) is not None:
        return OnRows, {}
    names = ("copy_thread", "delete_for_runs", "prune")
    return WrappedSaver, {name: _PASSED[name] for name in (*names, *(f"a{name}" for name in names)) if _is_own(type(inner), name)}


class OnRows(WrappedSaver):
    """Around a saver whose rows can be worked on."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all its checkpoints, writes and messages, and the context versions and archive that rest in the same store.

        What is erased of the one stays in the other. Consents, approvals, budgets and records of tool calls are of one thread and are not copied.

        Raises:
            StoreError: the target has a key or context versions of its own. Nothing was copied.
        """
        source, target = str(source_thread_id), str(target_thread_id)
        self._copied(source, target)
        self.driver.run(self.driver.rows.copy(id_in(self.inner, source), target), self._never)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; see `copy_thread`."""
        source, target = str(source_thread_id), str(target_thread_id)
        await aside(self._copied, source, target)
        await self.driver.arun(self.driver.rows.copy(id_in(self.inner, source), target), self._never)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs, but for those that checkpoints of other runs are rebuilt from; then collect what nothing needs."""
        wanted = _runs(run_ids)
        for thread in sorted({_thread(found) for run in wanted for found in self.inner.list(None, filter={"run_id": run})}):
            saved = self.survey(thread).saved()
            self._delete(thread, saved, {one.key for one in saved if one.run not in wanted})

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs; see `delete_for_runs`."""
        wanted = _runs(run_ids)
        threads = {_thread(found) for run in wanted async for found in self.inner.alist(None, filter={"run_id": run})}
        for thread in sorted(threads):
            saved = (await self.asurvey(thread)).saved()
            await self._adelete(thread, saved, {one.key for one in saved if one.run not in wanted})

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete checkpoints of threads, and collect what nothing needs.

        `keep_latest` keeps the newest checkpoint of each namespace, the newest of each of its ten newest context versions, and everything these
        are rebuilt from. `delete` keeps nothing.
        """
        for thread in _threads(thread_ids, strategy):
            if strategy == "delete":
                self.delete_thread(thread)
            elif saved := self.survey(thread).saved():
                self._delete(thread, saved, latest(saved))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete checkpoints of threads; see `prune`."""
        for thread in _threads(thread_ids, strategy):
            if strategy == "delete":
                await self.adelete_thread(thread)
            elif saved := (await self.asurvey(thread)).saved():
                await self._adelete(thread, saved, latest(saved))

    def _copied(self, source: str, target: str) -> None:
        blobs = self.manifests.blobs
        keys = [blobs.blobs.get(thread_space(thread), [KEY_ADDRESS]) for thread in (source, target)]
        if all(keys) and keys[0] != keys[1]:
            msg = (
                f"Thread '{target}' holds encrypted messages under a key of its own, so those of thread '{source}' cannot be read there. "
                "Nothing was copied; copy to a new thread, or delete that one first."
            )
            raise StoreError(msg)
        self.upkeep.copy(source, target)

    def _delete(self, thread: str, saved: Sequence[Saved], stay: set[tuple[str, str]]) -> None:
        doomed = _doomed(saved, stay)
        if doomed:
            self.driver.run(self.driver.rows.delete(id_in(self.inner, thread), doomed), self._never)
            self.collect(thread)

    async def _adelete(self, thread: str, saved: Sequence[Saved], stay: set[tuple[str, str]]) -> None:
        doomed = _doomed(saved, stay)
        if doomed:
            await self.driver.arun(self.driver.rows.delete(id_in(self.inner, thread), doomed), self._never)
            await self.acollect(thread)

    @staticmethod
    def _never(values: Sequence[Any]) -> Sequence[Any]:
        return values


def _doomed(saved: Sequence[Saved], stay: set[tuple[str, str]]) -> list[tuple[str, str]]:
    needed = with_needed(saved, stay)
    return sorted(one.key for one in saved if one.key not in needed)


def _runs(run_ids: Sequence[str]) -> set[str]:
    return {str(run) for run in ([run_ids] if isinstance(run_ids, str) else run_ids)}


def _threads(thread_ids: Sequence[str], strategy: str) -> list[str]:
    if isinstance(thread_ids, str):
        msg = f"`thread_ids` is a list of thread ids, not the text '{thread_ids}'. Nothing was deleted."
        raise TypeError(msg)
    if strategy not in _STRATEGIES:
        msg = f"`strategy` is 'keep_latest' or 'delete', not {strategy!r}. Nothing was deleted."
        raise ValueError(msg)
    return [str(thread) for thread in thread_ids]


def _thread(found: Any) -> str:
    return str(found.config["configurable"]["thread_id"])


def _is_own(kind: type[Any], name: str) -> bool:
    return getattr(kind, name, None) is not getattr(BaseCheckpointSaver, name, None)


def _copy(self: WrappedSaver, source_thread_id: str, target_thread_id: str) -> None:
    self.upkeep.copy(str(source_thread_id), str(target_thread_id))
    self.inner.copy_thread(source_thread_id, target_thread_id)


async def _acopy(self: WrappedSaver, source_thread_id: str, target_thread_id: str) -> None:
    await aside(self.upkeep.copy, str(source_thread_id), str(target_thread_id))
    await self.inner.acopy_thread(source_thread_id, target_thread_id)


def _for_runs(self: WrappedSaver, run_ids: Sequence[str]) -> None:
    self.inner.delete_for_runs(run_ids)


async def _afor_runs(self: WrappedSaver, run_ids: Sequence[str]) -> None:
    await self.inner.adelete_for_runs(run_ids)


def _prune(self: WrappedSaver, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    self.inner.prune(thread_ids, strategy=strategy)
    for thread in _threads(thread_ids, strategy):
        self.erase(thread) if strategy == "delete" else self.collect(thread)


async def _aprune(self: WrappedSaver, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    await self.inner.aprune(thread_ids, strategy=strategy)
    for thread in _threads(thread_ids, strategy):
        await (aside(self.erase, thread) if strategy == "delete" else self.acollect(thread))


_PASSED = {
    "copy_thread": _copy,
    "acopy_thread": _acopy,
    "delete_for_runs": _for_runs,
    "adelete_for_runs": _afor_runs,
    "prune": _prune,
    "aprune": _aprune,
}
