"""What a wrapped saver can do beyond reading and writing: LangGraph asks its class, so there is a class for each kind of saver.

On the rows of a saver that is known, everything is done, whether the saver itself can or not. Of any other saver, what it can do is passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from langchain_ctxguard.core.keep import Saved, latest, with_needed
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer, aside
from langchain_ctxguard.graph.rows_drivers import Driver, driver_of
from langchain_ctxguard.graph.saver_kind import kind_of
from langchain_ctxguard.graph.upkeep import Survey

_STRATEGIES = ("keep_latest", "delete")
_made: dict[type[Any], type[ContextCheckpointer]] = {}


def class_for(inner: BaseCheckpointSaver[Any]) -> type[ContextCheckpointer]:
    """Return the class whose methods are those that work around this saver."""
    kind = type(inner)
    if kind not in _made:
        if kind_of(inner) is not None:
            _made[kind] = OnRows
        else:
            names = ("copy_thread", "delete_for_runs", "prune")
            offered = [name for name in (*names, *(f"a{name}" for name in names)) if _is_own(kind, name)]
            methods = {name: _PASSED[name] for name in offered}
            _made[kind] = type("ContextCheckpointer", (ContextCheckpointer,), {**methods, "__module__": __name__, "__doc__": ContextCheckpointer.__doc__})
    return _made[kind]


class OnRows(ContextCheckpointer):
    """Around a saver whose rows can be worked on."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all its checkpoints, writes and messages. What is erased of the one stays in the other."""
        source, target = str(source_thread_id), str(target_thread_id)
        self._copied(source, target)
        self._driver.run(self._driver.rows.copy(source, target), self._never)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; see `copy_thread`."""
        source, target = str(source_thread_id), str(target_thread_id)
        await aside(self._copied, source, target)
        await self._driver.arun(self._driver.rows.copy(source, target), self._never)

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

    def unwrap(self, thread_id: str) -> int:
        """Write every value of a thread as the inner saver alone would have, and return how many were: the thread needs this wrapper no more.

        Raises:
            BlobMissingError: something is gone or altered. Nothing was changed.
        """
        thread = str(thread_id)
        self.upkeep.bring_back(thread, self.survey(thread).manifests)
        return self._driver.run(self._driver.rows.plain(thread), lambda values: self.manifests.read(thread, values))

    async def aunwrap(self, thread_id: str) -> int:
        """Write every value of a thread as the inner saver alone would have; see `unwrap`."""
        thread = str(thread_id)
        await aside(self.upkeep.bring_back, thread, (await self.asurvey(thread)).manifests)
        return await self._driver.arun(self._driver.rows.plain(thread), lambda values: self.manifests.read(thread, values))

    @property
    def _driver(self) -> Driver:
        driver = driver_of(self.inner)
        if driver is None:
            msg = f"The rows of {type(self.inner).__name__} are not known. Nothing was changed."
            raise StoreError(msg)
        return driver

    def _copied(self, source: str, target: str) -> None:
        blobs = self.manifests.blobs
        keys = [blobs.blobs.get(thread_space(thread), ["keyed:key"]) for thread in (source, target)]
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
            self._driver.run(self._driver.rows.delete(thread, doomed), self._never)
            self.collect(thread)

    async def _adelete(self, thread: str, saved: Sequence[Saved], stay: set[tuple[str, str]]) -> None:
        doomed = _doomed(saved, stay)
        if doomed:
            await self._driver.arun(self._driver.rows.delete(thread, doomed), self._never)
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


def _copy(self: ContextCheckpointer, source_thread_id: str, target_thread_id: str) -> None:
    self.upkeep.copy(str(source_thread_id), str(target_thread_id))
    self.inner.copy_thread(source_thread_id, target_thread_id)


async def _acopy(self: ContextCheckpointer, source_thread_id: str, target_thread_id: str) -> None:
    await aside(self.upkeep.copy, str(source_thread_id), str(target_thread_id))
    await self.inner.acopy_thread(source_thread_id, target_thread_id)


def _for_runs(self: ContextCheckpointer, run_ids: Sequence[str]) -> None:
    self.inner.delete_for_runs(run_ids)


async def _afor_runs(self: ContextCheckpointer, run_ids: Sequence[str]) -> None:
    await self.inner.adelete_for_runs(run_ids)


def _prune(self: ContextCheckpointer, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    self.inner.prune(thread_ids, strategy=strategy)
    for thread in _threads(thread_ids, strategy):
        self.forget(thread) if strategy == "delete" else self.collect(thread)


async def _aprune(self: ContextCheckpointer, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
    await self.inner.aprune(thread_ids, strategy=strategy)
    for thread in _threads(thread_ids, strategy):
        await (aside(self.forget, thread) if strategy == "delete" else self.acollect(thread))


_PASSED = {
    "copy_thread": _copy,
    "acopy_thread": _acopy,
    "delete_for_runs": _for_runs,
    "adelete_for_runs": _afor_runs,
    "prune": _prune,
    "aprune": _aprune,
}
