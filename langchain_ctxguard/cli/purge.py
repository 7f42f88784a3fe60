"""`ctxguard purge`: erase what a store holds of the words of a thread. Nothing is erased without `--yes`."""

from __future__ import annotations

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
    """Erase the texts a store holds of a thread, sub-agents included: contexts of versions, archived messages and their index, words of tool calls.

    What ContextCheckpointer stored of the thread goes too, so its checkpoints cannot be read afterwards: delete them with --checkpointer. What is
    erased cannot be brought back.
    """
    from langchain_ctxguard.records.purge import held_of, purge_thread

    with opened("purge", url, tenant) as store:
        held = held_of(store, thread)
        if not held.total and not held.kept:
            fail("purge", f"Nothing is on record of thread '{thread}' in this store. `ctxguard threads URL` lists the threads on record.")
        checkpoints = 0 if checkpointer is None else _checkpoints(checkpointer, thread, is_erased=yes)
        if yes:
            purge_thread(store, thread)
    found = {
        "contexts_of_versions": held.contexts,
        "messages_and_lists_of_them": held.messages,
        "words_of_tool_calls": held.calls,
        "steps_of_the_work_log": held.work,
        "checkpoints": None if checkpointer is None else checkpoints,
    }
    if as_json:
        json_out({"thread": thread, "is_erased": yes, "erased" if yes else "would_erase": found, "stays": STAYS})
        return
    echo(printable(f"Thread '{thread}': {'erased' if yes else 'would erase'}"))
    for name, count in found.items():
        echo(f"  {name.replace('_', ' ')}: {'not asked for, see --checkpointer' if count is None else count}")
    echo(STAYS)
    if not yes:
        echo("Nothing was erased. Run it again with --yes to erase it.")


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
