"""`ctxguard export`: give a thread back to the saver it came from."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.savers import saver_at
from langchain_ctxguard.cli.stores import AsJson, Tenant, Thread, Url, fail, json_out, opened


@described(
    "ctxguard export sqlite:///ctxguard.db order-17 --checkpointer sqlite:///state.db",
    cannot="the store or the checkpointer cannot be used, the thread has no checkpoint, or some of its content is gone",
)
def export(
    url: Url,
    thread: Thread,
    *,
    checkpointer: Annotated[str, typer.Option(help="Where the checkpoints rest: sqlite:///file or postgresql://...", show_default=False)],
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Write a thread's messages back into its checkpoints, so that LangGraph's saver alone reads it again. The store keeps its copy.

    Nothing else may write to the thread meanwhile. All of it is written, or nothing.
    """
    from langchain_ctxguard.errors import ContextGuardError
    from langchain_ctxguard.graph.checkpointer import ContextCheckpointer

    with opened("export", url, tenant) as store:
        try:
            with saver_at(checkpointer) as inner:
                saver = ContextCheckpointer(inner, store=store)
                if next(iter(inner.list({"configurable": {"thread_id": thread}}, limit=1)), None) is None:
                    fail("export", f"Thread '{thread}' has no checkpoint in that checkpointer. Nothing was changed.")
                count = saver.unwrap(thread)
        except (ContextGuardError, typer.Exit):
            raise
        except Exception as error:  # noqa: BLE001 - a driver may raise anything
            fail("export", f"The checkpointer cannot be used ({type(error).__name__}: {error}). Nothing was changed.", error)
    if as_json:
        json_out({"thread": thread, "values": count})
        return
    echo(printable(f"Thread '{thread}': {count} values were written back into its checkpoints. The saver alone reads it now."))
