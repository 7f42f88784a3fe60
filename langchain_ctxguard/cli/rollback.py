"""`ctxguard rollback`: go back to an earlier version of a context, without the application that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Namespace, Tenant, Thread, Url, fail, json_out, opened, place_of
from langchain_ctxguard.cli.versions import version_data, version_log

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context import ContextHead
    from langchain_ctxguard.domain.context_version import ContextPlace


@described(
    "ctxguard rollback sqlite:///ctxguard.db order-17 --to 1 --reason 'went astray'",
    cannot="there is no such version, its content is gone, or the store cannot be used",
)
def rollback(
    url: Url,
    thread: Thread,
    *,
    to: Annotated[
        str, typer.Option(help='Number of a version, or "stable": the newest without a critical loss, the present one left out.')
    ] = "stable",
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    checkpointer: Annotated[
        str | None, typer.Option(help="Where the state rests (sqlite:///file or postgresql://...), if it may be ahead of the store.")
    ] = None,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Append a version with the content of an earlier one; the agent's next call sees it. Messages, consents, approvals and budgets stay."""
    wanted: int | Literal["stable"]
    if to == "stable":
        wanted = "stable"
    elif to.isascii() and to.isdigit():
        wanted = int(to)
    else:
        fail("rollback", f"--to takes the number of a version or 'stable', not '{to}'.")
    with opened("rollback", url, tenant) as store:
        place = place_of(thread, namespace)
        current = None if checkpointer is None else _in_state(checkpointer, place, store)
        version, _ = version_log(store).restore(place, wanted, current=current, reason=reason)
        if as_json:
            json_out({"version": version_data(version)})
            return
        echo(printable(f"Thread '{thread}': version {version.number} restores version {version.restores}. The next call of the agent sees it."))


def _in_state(url: str, place: ContextPlace, store: GuardStore) -> ContextHead | None:
    """Return the head in the newest checkpoint of a thread, whether it lies there or in the store."""
    from langchain_ctxguard.cli.savers import saver_at
    from langchain_ctxguard.domain.context import ContextHead, read_head
    from langchain_ctxguard.errors import ContextGuardError
    from langchain_ctxguard.graph.checkpointer import ContextCheckpointer

    config: Any = {"configurable": {"thread_id": place.thread, "checkpoint_ns": place.namespace}}
    try:
        with saver_at(url) as saver:
            found = ContextCheckpointer(saver, store=store).get_tuple(config)
    except ContextGuardError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything
        fail("rollback", f"The checkpointer cannot be read ({type(error).__name__}: {error}). Nothing was changed.", error)
    head = None if found is None else read_head(found.checkpoint["channel_values"].get("ctxguard"))
    return head if isinstance(head, ContextHead) else None
