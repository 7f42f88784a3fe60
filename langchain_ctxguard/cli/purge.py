"""`ctxguard purge`: erase what a store holds of the words of a thread. Nothing is erased without `--yes`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Tenant, Thread, Url, fail, json_out, opened

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
    """Erase the texts a store holds of a thread and of its sub-agents. Without --yes they are only counted.

    These are the contexts of versions, archived messages and their index, words of tool calls and of the work log. What ContextCheckpointer stored of
    the thread goes too, so its checkpoints cannot be read afterwards: delete them with --checkpointer. What is erased cannot be brought back.
    """
    from langchain_ctxguard.records.purge import held_of, purge_thread

    with opened("purge", url, tenant) as store:
        held = held_of(store, thread)
        if not held.total and not held.kept:
            fail("purge", f"Nothing is on record of thread '{thread}' in this store. `ctxguard threads URL` lists the threads on record.")
        # Asked before anything is erased: where it cannot be reached, nothing is.
        checkpoints = None if checkpointer is None else _count_checkpoints(checkpointer, thread)
        kept = purge_thread(store, thread).kept if yes else held.kept
        if yes and checkpointer is not None:
            _delete_checkpoints(checkpointer, thread)
    found = {
        "contexts_of_versions": held.contexts,
        "messages_and_lists_of_them": held.messages,
        "words_of_tool_calls": held.calls,
        "steps_of_the_work_log": held.work,
        "checkpoints": checkpoints,
    }
    if as_json:
        json_out({"thread": thread, "is_erased": yes, "erased" if yes else "would_erase": found, "stays": kept})
        return
    echo(printable(f"Thread '{thread}': {'erased' if yes else 'would erase'}"))
    for name, count in found.items():
        echo(f"  {name.replace('_', ' ')}: {'not asked for, see --checkpointer' if count is None else count}")
    echo(f"On record {'stay' if yes else 'would stay'}: {', '.join(f'{count} entries of {kind}' for kind, count in kept.items()) or 'no entries'}.")
    echo(STAYS)
    if not yes:
        echo("Nothing was erased. Run it again with --yes to erase it.")


def _count_checkpoints(url: str, thread: str) -> int:
    config: Any = {"configurable": {"thread_id": thread}}
    with _saver(url, "Nothing was erased.") as saver:
        return sum(1 for _ in saver.list(config))


def _delete_checkpoints(url: str, thread: str) -> None:
    with _saver(url, "The texts in the store are erased, the checkpoints are not: run it again.") as saver:
        saver.delete_thread(thread)


@contextmanager
def _saver(url: str, state: str) -> Iterator[Any]:
    """Open a saver; what goes wrong with it is told with the state things are in."""
    from langchain_ctxguard.cli.savers import saver_at
    from langchain_ctxguard.errors import ContextGuardError

    try:
        with saver_at(url) as saver:
            yield saver
    except ContextGuardError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything
        fail("purge", f"The checkpointer cannot be used ({type(error).__name__}: {error}). {state}", error)
