"""Any LangGraph saver, with the messages of its checkpoints stored once each: the interface of savers, and nothing else.

What is stored and read is in `manifests.py`, what is removed in `upkeep.py`, what no saver can do by itself in `capable.py`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.lazy_tuple import LazyTuple
from langchain_ctxguard.graph.manifests import Manifests
from langchain_ctxguard.graph.rows_drivers import Driver, driver_of
from langchain_ctxguard.graph.saver_kind import file_of, id_in, outlives_process
from langchain_ctxguard.graph.stamp import stamped
from langchain_ctxguard.graph.upkeep import GRACE, Survey, Upkeep

Answer = TypeVar("Answer")


class WrappedSaver(BaseCheckpointSaver[Any]):
    """Wraps a saver: each message is stored once, a checkpoint names them by digest, and a turn writes what is new.

    Threads written without it are read as they are and stored the new way from their next checkpoint on; `unwrap` goes the other way.
    """

    def __init__(self, inner: BaseCheckpointSaver[Any], *, store: GuardStore | str, channels: Collection[str] = ("messages", "ctxguard")) -> None:
        """Wrap a saver.

        Args:
            inner: The saver: its serializer, encryption and database stay what they are.
            store: Where messages rest: a `GuardStore`, e.g. `guard.store`, or its URL. The saver's own database is a natural place.
            channels: The state channels that are stored this way.

        Raises:
            ConfigurationError: `inner` is no saver, or outlives the process while the store does not.
        """
        _require_saver(inner)
        if isinstance(channels, str) or not all(isinstance(channel, str) for channel in channels):
            msg = f"`channels` holds names of state channels, e.g. ('messages', 'ctxguard'), not {channels!r}."
            raise ConfigurationError(msg)
        # The serializer stays that of the inner saver: see `serde`.
        self.inner = inner
        self._opened = isinstance(store, str)
        self.store = _store_of(store)
        if not self.store.is_durable and outlives_process(inner):
            self.close()
            msg = (
                f"The store of this ContextCheckpointer ends with the process and {type(inner).__name__} does not: its checkpoints would name "
                "messages that are gone. Open a store that lasts, e.g. 'sqlite:///ctxguard.db', or the saver's own database."
            )
            raise ConfigurationError(msg)
        self.manifests = Manifests(self.store, serde=inner.serde, channels=channels, file=file_of(inner))
        self._takes_path = "task_path" in inspect.signature(inner.put_writes).parameters

    # LangGraph's own `with_allowlist` copies a saver and sets the copy's serializer. Ours is the inner one's, always.
    @property
    def serde(self) -> SerializerProtocol:  # type: ignore[override]  # an attribute there, which a property may stand in for
        """The inner saver's serializer."""
        return self.inner.serde

    @property
    def config_specs(self) -> list[Any]:
        """What the inner saver can be configured with."""
        return self.inner.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return a saver whose serializer loads these types too."""
        inner = self.inner.with_allowlist(extra_allowlist)
        return self if inner is self.inner else self._around(inner)

    def __copy__(self) -> Self:
        """Return a saver around the same one."""
        return self._around(self.inner)

    def _around(self, inner: BaseCheckpointSaver[Any]) -> Self:
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone.inner = inner
        # Whoever opened the store closes it.
        clone._opened = False
        old = self.manifests
        clone.manifests = Manifests(old.store, serde=inner.serde, channels=old.channels, known=old.known, file=old.file)
        return clone

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next version of a channel, as the inner saver counts them."""
        return self.inner.get_next_version(current, channel)

    def setup(self) -> Any:
        """Prepare the inner saver; to be awaited where its `setup` is."""
        prepare = getattr(self.inner, "setup", None)
        return None if prepare is None else prepare()

    def close(self) -> None:
        """Close the store, if it was opened here by URL. The inner saver is closed by whoever opened it."""
        if self._opened:
            self.store.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint with the values it names.

        Raises:
            BlobMissingError: something it names is gone or altered. A shorter history is never returned.
        """
        found = self.inner.get_tuple(config)
        return None if found is None else self._whole(found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint with the values it names; see `get_tuple`."""
        found = await self.inner.aget_tuple(config)
        return None if found is None else await aside(self._whole, found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first. Only of those whose `checkpoint` or `pending_writes` is looked at, the content is read."""
        for found in self.inner.list(config, filter=filter, before=before, limit=limit):
            yield LazyTuple.of(found, self._whole)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first, each with its content: to look at it later would block the event loop."""
        async for found in self.inner.alist(config, filter=filter, before=before, limit=limit):
            yield await aside(self._whole, found)

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        """Store what is new in a checkpoint, then the checkpoint, which names it."""
        return self.inner.put(config, self._named(config, checkpoint), stamped(checkpoint, metadata), new_versions)

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Store what is new in a checkpoint, then the checkpoint, which names it."""
        named = await aside(self._named, config, checkpoint)
        return await self.inner.aput(config, named, stamped(checkpoint, metadata), new_versions)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what is new in pending writes, then the writes, which name it."""
        named = self.manifests.writes(thread_in(config), writes)
        self.inner.put_writes(config, named, task_id, **self._path(task_path))

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what is new in pending writes, then the writes, which name it."""
        # Most writes of a run say which node comes next; they hold nothing to be stored, and need not wait for a thread.
        is_concerned = self.manifests.concerns(writes)
        named = await aside(self.manifests.writes, thread_in(config), writes) if is_concerned else writes
        await self.inner.aput_writes(config, named, task_id, **self._path(task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread, and erase its messages for good."""
        self.inner.delete_thread(id_in(self.inner, str(thread_id)))
        self.erase(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread, and erase its messages for good."""
        await self.inner.adelete_thread(id_in(self.inner, str(thread_id)))
        await aside(self.erase, thread_id)

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels that store differences, with the values that are named there."""
        return self._told(config, self.inner.get_delta_channel_history(config=config, channels=channels))

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels that store differences, with the values that are named there."""
        return await aside(self._told, config, await self.inner.aget_delta_channel_history(config=config, channels=channels))

    def collect(self, thread_id: str, *, grace: timedelta = GRACE) -> int:
        """Set aside content of a thread that no checkpoint needs, erase what was set aside before, and return how many contents were erased.

        `prune` and `delete_for_runs` do it by themselves. It is safe while others write: what is needed after all is given back.

        Args:
            thread_id: Whose.
            grace: How long content is set aside before it is erased. Nothing may write to the thread meanwhile if it is shorter than a write.

        Raises:
            LogConflictError: somebody else collects this thread at this moment.
            BlobMissingError: a checkpoint names what is gone. Nothing was removed.
        """
        batch = self.upkeep.begin(str(thread_id))
        self.manifests.known.forget(str(thread_id))
        return self.upkeep.collect(batch, self.survey(str(thread_id)), grace)

    async def acollect(self, thread_id: str, *, grace: timedelta = GRACE) -> int:
        """Set aside content that no checkpoint needs, and erase what was set aside before; see `collect`."""
        batch = await aside(self.upkeep.begin, str(thread_id))
        self.manifests.known.forget(str(thread_id))
        return await aside(self.upkeep.collect, batch, await self.asurvey(str(thread_id)), grace)

    def unwrap(self, thread_id: str) -> int:
        """Write every value of a thread as the inner saver alone would have, and return how many were: the thread needs this wrapper no more.

        Raises:
            BlobMissingError: something is gone or altered. Nothing was changed.
            ConfigurationError: this kind of saver is not known.
        """
        thread = str(thread_id)
        self.upkeep.bring_back(thread, self.survey(thread).manifests)
        return self.driver.run(self.driver.rows.plain(id_in(self.inner, thread)), lambda values: self.manifests.read(thread, values))

    async def aunwrap(self, thread_id: str) -> int:
        """Write every value of a thread as the inner saver alone would have; see `unwrap`."""
        thread = str(thread_id)
        await aside(self.upkeep.bring_back, thread, (await self.asurvey(thread)).manifests)
        return await self.driver.arun(self.driver.rows.plain(id_in(self.inner, thread)), lambda values: self.manifests.read(thread, values))

    @property
    def driver(self) -> Driver:
        """What runs steps on the rows of the inner saver.

        Raises:
            ConfigurationError: this kind of saver is not known.
        """
        driver = driver_of(self.inner)
        if driver is None:
            msg = (
                f"The rows of {type(self.inner).__name__} are not known here, so nothing was changed. Read the thread's checkpoints from this saver, "
                "and put them into another one."
            )
            raise ConfigurationError(msg)
        return driver

    def survey(self, thread: str) -> Survey:
        """Return what the checkpoints of a thread tell without their content."""
        survey = Survey()
        for found in self.inner.list({"configurable": {"thread_id": id_in(self.inner, thread)}}):
            survey.take(found)
        return survey

    async def asurvey(self, thread: str) -> Survey:
        """Return what the checkpoints of a thread tell without their content."""
        survey = Survey()
        async for found in self.inner.alist({"configurable": {"thread_id": id_in(self.inner, thread)}}):
            survey.take(found)
        return survey

    @property
    def upkeep(self) -> Upkeep:
        """What keeps the space of a thread free of what nothing needs."""
        return Upkeep(self.manifests)

    def _whole(self, found: CheckpointTuple) -> CheckpointTuple:
        values = found.checkpoint["channel_values"]
        writes = found.pending_writes or []
        read = self.manifests.read(thread_in(found.config), [*values.values(), *(value for _, _, value in writes)])
        whole = dict(zip(values, read, strict=False))
        pending = [(task, channel, value) for (task, channel, _), value in zip(writes, read[len(values) :], strict=True)]
        checkpoint: Any = {**found.checkpoint, "channel_values": whole}
        return found._replace(checkpoint=checkpoint, pending_writes=None if found.pending_writes is None else pending)

    def _named(self, config: RunnableConfig, checkpoint: Checkpoint) -> Checkpoint:
        return {**checkpoint, "channel_values": self.manifests.values(thread_in(config), checkpoint["channel_values"])}

    def _told(self, config: RunnableConfig, histories: Mapping[str, DeltaChannelHistory]) -> Mapping[str, DeltaChannelHistory]:
        parts = [part for history in histories.values() for part in ([history["seed"]] if "seed" in history else [])]
        parts += [value for history in histories.values() for _, _, value in history["writes"]]
        read = iter(self.manifests.read(thread_in(config), parts))
        seeds = {channel: next(read) for channel, history in histories.items() if "seed" in history}
        told: dict[str, DeltaChannelHistory] = {}
        for channel, history in histories.items():
            told[channel] = {"writes": [(task, name, next(read)) for task, name, _ in history["writes"]]}
            if channel in seeds:
                told[channel]["seed"] = seeds[channel]
        return told

    def erase(self, thread_id: str) -> None:
        """Erase the messages of a thread for good, whatever its checkpoints name."""
        self.manifests.collections.purge(str(thread_id))
        self.manifests.known.forget(str(thread_id))

    def _path(self, task_path: str) -> dict[str, str]:
        return {"task_path": task_path} if self._takes_path else {}


def _require_saver(inner: object) -> None:
    if not isinstance(inner, BaseCheckpointSaver) or isinstance(inner, WrappedSaver):
        kind = "a ContextCheckpointer already" if isinstance(inner, WrappedSaver) else f"a {type(inner).__name__}"
        msg = f"ContextCheckpointer wraps a LangGraph saver, e.g. SqliteSaver, and was given {kind}."
        raise ConfigurationError(msg)


def _store_of(store: object) -> GuardStore:
    if isinstance(store, str):
        return GuardStore.open(store)
    if not isinstance(store, GuardStore):
        msg = f"`store` is a GuardStore or its URL, not a {type(store).__name__}; a guard without a store has none to share."
        raise ConfigurationError(msg)
    return store


def thread_in(config: RunnableConfig) -> str:
    """Return the thread a config names, as savers write it."""
    return str(config["configurable"]["thread_id"])


async def aside(call: Callable[..., Answer], *args: Any) -> Answer:
    """Run what may wait for a database off the event loop."""
    return await asyncio.to_thread(call, *args)
