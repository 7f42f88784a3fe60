"""What no saver does by itself, as steps on its rows: copy a thread, delete single checkpoints, write values as what they stand for.

Each is a generator that yields statements and gets rows, so that one text serves a saver that blocks and one that is awaited. What runs it, in one
transaction, is `rows_drivers.py`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from langgraph.checkpoint.serde.base import SerializerProtocol

from langchain_ctxguard.graph.envelope import is_stored_apart


class Statement(NamedTuple):
    """SQL, and what it is given; the rows come back."""

    text: str
    values: Sequence[Any] = ()


class Open(NamedTuple):
    """Stored values; what they stand for comes back. It may wait for a store, so the driver says where that happens."""

    values: Sequence[Any]


Steps = Generator[Statement | Open, Any, int]
Key = tuple[str, str]


class Rows(Protocol):
    """Works on the rows of one kind of saver."""

    def copy(self, source: str, target: str) -> Steps:
        """Copy all rows of a thread to another one, and return how many checkpoints that were."""

    def delete(self, thread: str, doomed: Sequence[Key]) -> Steps:
        """Delete checkpoints and what was written to them, and return how many there were."""

    def plain(self, thread: str) -> Steps:
        """Write every value of a thread as what it stands for, and return how many were."""


class SqliteRows:
    """The rows of `SqliteSaver` and `AsyncSqliteSaver`: a checkpoint holds its values."""

    def __init__(self, serde: SerializerProtocol) -> None:
        """Read and write values as the saver does."""
        self._serde = serde

    def copy(self, source: str, target: str) -> Steps:
        """Copy a thread; see `Rows`."""
        if source == target:
            return 0
        columns = "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
        yield _copy("checkpoints", columns, source, target)
        yield _copy("writes", "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value", source, target)
        return int((yield Statement("SELECT count(*) FROM checkpoints WHERE thread_id = ?", [source]))[0][0])

    def delete(self, thread: str, doomed: Sequence[Key]) -> Steps:
        """Delete checkpoints; see `Rows`."""
        for namespace, checkpoint in doomed:
            where = [thread, namespace, checkpoint]
            yield Statement("DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?", where)
            yield Statement("DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?", where)
            orphans = "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = ? AND checkpoint_ns = ? AND parent_checkpoint_id = ?"
            yield Statement(orphans, where)
        return len(doomed)

    def plain(self, thread: str) -> Steps:
        """Write values as what they stand for; see `Rows`."""
        done = 0
        for (row,) in (yield Statement("SELECT rowid FROM checkpoints WHERE thread_id = ?", [thread])):
            ((kind, data),) = yield Statement("SELECT type, checkpoint FROM checkpoints WHERE rowid = ?", [row])
            checkpoint = self._serde.loads_typed((kind, data))
            values = checkpoint["channel_values"]
            if apart := [channel for channel, value in values.items() if is_stored_apart(value)]:
                opened = yield Open([values[channel] for channel in apart])
                checkpoint["channel_values"] = {**values, **dict(zip(apart, opened, strict=True))}
                yield Statement("UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ?", [*self._serde.dumps_typed(checkpoint), row])
                done += len(apart)
        for (row,) in (yield Statement("SELECT rowid FROM writes WHERE thread_id = ?", [thread])):
            ((kind, data),) = yield Statement("SELECT type, value FROM writes WHERE rowid = ?", [row])
            if is_stored_apart(value := self._serde.loads_typed((kind, data))):
                (opened,) = yield Open([value])
                yield Statement("UPDATE writes SET type = ?, value = ? WHERE rowid = ?", [*self._serde.dumps_typed(opened), row])
                done += 1
        return done


class PostgresRows:
    """The rows of `PostgresSaver` and `AsyncPostgresSaver`: values lie beside the checkpoints, once for each version of a channel."""

    def __init__(self, serde: SerializerProtocol) -> None:
        """Read and write values as the saver does."""
        self._serde = serde

    def copy(self, source: str, target: str) -> Steps:
        """Copy a thread; see `Rows`."""
        if source == target:
            return 0
        tables = {
            "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
            "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob",
            "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
        }
        for table, columns in tables.items():
            text = f"INSERT INTO {table} (thread_id, {columns}) SELECT %s, {columns} FROM {table} WHERE thread_id = %s ON CONFLICT DO NOTHING"  # noqa: S608 - names of our own
            yield Statement(text, [target, source])
        return int((yield Statement("SELECT count(*) FROM checkpoints WHERE thread_id = %s", [source]))[0][0])

    def delete(self, thread: str, doomed: Sequence[Key]) -> Steps:
        """Delete checkpoints; see `Rows`."""
        for namespace in sorted({namespace for namespace, _ in doomed}):
            gone = {checkpoint for where, checkpoint in doomed if where == namespace}
            query = "SELECT checkpoint_id, checkpoint -> 'channel_versions' FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s"
            versions: dict[str, Mapping[str, Any]] = {row[0]: row[1] or {} for row in (yield Statement(query, [thread, namespace]))}
            kept = _pairs(versions[checkpoint] for checkpoint in versions if checkpoint not in gone)
            where = [thread, namespace, sorted(gone)]
            for table in ("checkpoint_writes", "checkpoints"):
                text = f"DELETE FROM {table} WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)"  # noqa: S608 - names of our own
                yield Statement(text, where)
            orphans = "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = %s AND checkpoint_ns = %s"
            yield Statement(f"{orphans} AND parent_checkpoint_id = ANY(%s)", where)
            for channel, version in sorted(_pairs(versions[checkpoint] for checkpoint in gone if checkpoint in versions) - kept):
                unused = "DELETE FROM checkpoint_blobs WHERE thread_id = %s AND checkpoint_ns = %s AND channel = %s AND version = %s"
                yield Statement(unused, [thread, namespace, channel, version])
        return len(doomed)

    def plain(self, thread: str) -> Steps:
        """Write values as what they stand for; see `Rows`."""
        done = 0
        for table, names in {
            "checkpoint_blobs": ("checkpoint_ns", "channel", "version"),
            "checkpoint_writes": ("checkpoint_ns", "checkpoint_id", "task_id", "idx"),
        }.items():
            which = " AND ".join(f"{name} = %s" for name in ("thread_id", *names))
            keys = yield Statement(f"SELECT {', '.join(names)} FROM {table} WHERE thread_id = %s AND type <> 'empty'", [thread])  # noqa: S608 - names of our own
            for key in keys:
                ((kind, data),) = yield Statement(f"SELECT type, blob FROM {table} WHERE {which}", [thread, *key])  # noqa: S608 - names of our own
                if is_stored_apart(value := self._serde.loads_typed((kind, data))):
                    (opened,) = yield Open([value])
                    update = f"UPDATE {table} SET type = %s, blob = %s WHERE {which}"  # noqa: S608 - names of our own
                    yield Statement(update, [*self._serde.dumps_typed(opened), thread, *key])
                    done += 1
        return done


class MemoryRows:
    """What `InMemorySaver` holds. It needs no statements: the steps are done as they are run."""

    def __init__(self, saver: Any) -> None:
        """Work on what this saver holds."""
        self._saver = saver

    def copy(self, source: str, target: str) -> Steps:
        """Copy a thread; see `Rows`."""
        yield from ()
        saver, count = self._saver, 0
        if source == target or source not in saver.storage:
            return 0
        for namespace, checkpoints in saver.storage[source].items():
            saver.storage[target][namespace].update(checkpoints)
            count += len(checkpoints)
        for held in (saver.writes, saver.blobs):
            for key in [key for key in held if key[0] == source]:
                held[target, *key[1:]] = dict(held[key]) if isinstance(held[key], dict) else held[key]
        return count

    def delete(self, thread: str, doomed: Sequence[Key]) -> Steps:
        """Delete checkpoints; see `Rows`."""
        yield from ()
        saver = self._saver
        for namespace, checkpoint in doomed:
            saver.storage[thread][namespace].pop(checkpoint, None)
            saver.writes.pop((thread, namespace, checkpoint), None)
        for namespace in {namespace for namespace, _ in doomed}:
            held = saver.storage[thread][namespace]
            gone = {checkpoint for where, checkpoint in doomed if where == namespace}
            held.update({name: (*parts[:2], None) for name, parts in held.items() if parts[2] in gone})
            kept = _pairs(saver.serde.loads_typed(parts[0])["channel_versions"] for parts in held.values())
            for key in [key for key in saver.blobs if key[:2] == (thread, namespace) and (key[2], str(key[3])) not in kept]:
                del saver.blobs[key]
        return len(doomed)

    def plain(self, thread: str) -> Steps:
        """Write values as what they stand for; see `Rows`."""
        saver, done = self._saver, 0
        for key in [key for key in saver.blobs if key[0] == thread and saver.blobs[key][0] != "empty"]:
            if is_stored_apart(value := saver.serde.loads_typed(saver.blobs[key])):
                (opened,) = yield Open([value])
                saver.blobs[key] = saver.serde.dumps_typed(opened)
                done += 1
        for key in [key for key in saver.writes if key[0] == thread]:
            for number, (task, channel, data, path) in list(saver.writes[key].items()):
                if is_stored_apart(value := saver.serde.loads_typed(data)):
                    (opened,) = yield Open([value])
                    saver.writes[key][number] = (task, channel, saver.serde.dumps_typed(opened), path)
                    done += 1
        return done


def _copy(table: str, columns: str, source: str, target: str) -> Statement:
    text = f"INSERT OR REPLACE INTO {table} (thread_id, {columns}) SELECT ?, {columns} FROM {table} WHERE thread_id = ?"  # noqa: S608 - names of our own
    return Statement(text, [target, source])


def _pairs(versions: Iterator[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(channel, str(version)) for some in versions for channel, version in some.items()}
