"""`ctxguard purge`: erase what a store holds of the words of a thread. Nothing is erased without `--yes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Tenant, Thread, Url, fail, json_out, opened
from langchain_ctxguard.cli.versions import version_log

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore

STAYS = (
    "The records stay, without the words of the conversation: that there were versions, attempts, calls, verdicts, approvals and steps of work, "
    "with names, numbers, times, digests and the reasons people gave, and the chain that `ctxguard verify` reads. Consents and rules stay: they "
    "belong to a subject and to a scope, not to a thread."
)


@described(
    "ctxguard purge sqlite:///ctxguard.db order-17",
    done="done; without --yes, shown and nothing erased",
    cannot="the store or the checkpointer cannot be used, or nothing is on record of the thread",
)
def purge(
    url: Url,
    thread: Thread,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Erase it. Without, what would be erased is only counted.")] = False,
    checkpointer: Annotated[
        str | None, typer.Option(help="Delete the thread's checkpoints too, where they rest: sqlite:///file or postgresql://...")
    ] = None,
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Erase the texts a store holds of a thread, sub-agents included: contexts of versions, archived messages and their index, words of tool calls.

    What ContextCheckpointer stored of the thread goes too, so its checkpoints cannot be read afterwards: delete them with --checkpointer. What is
    erased cannot be brought back.
    """
    with opened("purge", url, tenant) as store:
        there = counted(store, thread)
        if not any(there.values()) and not _is_on_record(store, thread):
            fail("purge", f"Nothing is on record of thread '{thread}' in this store. `ctxguard threads URL` lists the threads on record.")
        checkpoints = 0 if checkpointer is None else _checkpoints(checkpointer, thread, is_erased=yes)
        if yes:
            erase(store, thread)
    found = {**there, "checkpoints": None if checkpointer is None else checkpoints}
    if as_json:
        json_out({"thread": thread, "is_erased": yes, "erased" if yes else "would_erase": found, "stays": STAYS})
        return
    echo(printable(f"Thread '{thread}': {'erased' if yes else 'would erase'}"))
    for name, count in found.items():
        echo(f"  {name.replace('_', ' ')}: {'not asked for, see --checkpointer' if count is None else count}")
    echo(STAYS)
    if not yes:
        echo("Nothing was erased. Run it again with --yes to erase it.")


def counted(store: GuardStore, thread: str) -> dict[str, int]:
    """Return how many contents of each kind there are of a thread."""
    from langchain_ctxguard.core.message_blob import thread_space
    from langchain_ctxguard.records.call_records import calls_space
    from langchain_ctxguard.records.collected import Collections
    from langchain_ctxguard.records.worklog import worklog_space

    log = version_log(store)
    versions = [version.place.space(version.number) for place in log.places_of(thread) for version in log.all(place)]
    waiting = [batch.space for batch in Collections(store).waiting(thread)]
    return {
        "contexts_of_versions": sum(len(store.blobs.addresses(space)) for space in versions),
        "messages_and_lists_of_them": sum(len(store.blobs.addresses(space)) for space in (thread_space(thread), *waiting)),
        "words_of_tool_calls": len(store.blobs.addresses(calls_space(thread))),
        "steps_of_the_work_log": len(store.blobs.addresses(worklog_space(thread))),
    }


def erase(store: GuardStore, thread: str) -> None:
    """Erase them, and the index of their words. To do it twice is to do it once."""
    from langchain_ctxguard.cli.show import archive_of
    from langchain_ctxguard.records.call_records import CallRecords
    from langchain_ctxguard.records.worklog import WorkLog

    log = version_log(store)
    WorkLog(store).purge_thread(thread)
    CallRecords(store).purge_thread(thread)
    archive_of(store).purge(thread, log.places_of(thread))
    log.purge_thread(thread)


def _is_on_record(store: GuardStore, thread: str) -> bool:
    from langchain_ctxguard.cli.versions import on_record

    return any(one.place.thread == thread for one in on_record(store))


def _checkpoints(url: str, thread: str, *, is_erased: bool) -> int:
    """Count the checkpoints of a thread, and delete them if they are to be."""
    from langchain_ctxguard.cli.savers import saver_at
    from langchain_ctxguard.errors import ContextGuardError

    config: Any = {"configurable": {"thread_id": thread}}
    try:
        with saver_at(url) as saver:
            count = sum(1 for _ in saver.list(config))
            if is_erased:
                saver.delete_thread(thread)
            return count
    except ContextGuardError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything
        fail("purge", f"The checkpointer cannot be used ({type(error).__name__}: {error}). Nothing was erased.", error)
