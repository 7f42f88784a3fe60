"""`ctxguard threads`, `versions`, `diff`, `rollback`, `verify`: look at a store, and go back to a version, without the application that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langchain_ctxguard.cli.printable import printable

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context import ContextHead
    from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
    from langchain_ctxguard.records.versions import VersionLog

_FOUND, _CANNOT = 1, 2

Url = Annotated[str, typer.Argument(help="The store, e.g. sqlite:///ctxguard.db or postgresql+psycopg://reader@host/db.", show_default=False)]
Thread = Annotated[str, typer.Argument(help="The thread.", show_default=False)]
Namespace = Annotated[str, typer.Option(help="Of a sub-agent or subgraph in the thread.")]
Tenant = Annotated[str, typer.Option(help="Whose streams.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def threads(url: Url, *, tenant: Tenant = "default", as_json: AsJson = False) -> None:
    """List the threads that have versions in a store, and how many.

    Exit codes: 0 done; 2 the store cannot be used.
    """
    with opened("threads", url, tenant) as store:
        log = _log(store)
        found = [(place, log.all(place)) for place in _places(store)]
        if as_json:
            _json({"threads": [{**place.model_dump(), "versions": len(versions), "newest": _data(versions[-1])} for place, versions in found]})
            return
        for place, versions in found:
            newest = versions[-1]
            where = f"{place.thread}\t{place.namespace or '-'}"
            typer.echo(printable(f"{where}\t{len(versions)} versions\tnewest {newest.number}, {newest.created_at:%Y-%m-%d %H:%M:%SZ}", keep="\t"))
        if not found:
            typer.echo("No thread has a version in this store.")


def versions(url: Url, thread: Thread, *, namespace: Namespace = "", tenant: Tenant = "default", as_json: AsJson = False) -> None:
    """List the versions of a thread's context: what each stands for, what it was made from, what was lost on the way.

    Exit codes: 0 done; 2 the store cannot be used, or the thread has no version.
    """
    with opened("versions", url, tenant) as store:
        found = _log(store).all(_place(thread, namespace))
        if not found:
            fail("versions", f"Thread '{thread}' has no version in this store. `ctxguard threads {url}` lists those that have.")
        if as_json:
            _json({"versions": [_data(version) for version in found]})
            return
        for version in found:
            typer.echo(printable(_line(version), keep="\t"))


def diff(
    url: Url,
    thread: Thread,
    before: Annotated[int, typer.Argument(help="Number of the earlier version.", show_default=False)],
    after: Annotated[int, typer.Argument(help="Number of the later version.", show_default=False)],
    *,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Show what two versions of a thread's context differ in: fields, rules, summary, files, tokens.

    Exit codes: 0 they show the same; 1 they differ; 2 one of them is not there, or the store cannot be used.
    """
    from langchain_ctxguard.graph.history import History

    with opened("diff", url, tenant) as store:
        found = History(_log(store), _place(thread, namespace)).diff(before, after)
        if as_json:
            _json(found.model_dump(mode="json"))
        else:
            typer.echo(printable(str(found), keep="\n"))
        raise typer.Exit(0 if found.is_empty else _FOUND)


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
) -> None:
    """Append a version with the content of an earlier one; the agent's next call sees it. Messages, consents, approvals and budgets stay.

    Exit codes: 0 done; 2 there is no such version, its content is gone, or the store cannot be used.
    """
    wanted: int | Literal["stable"]
    if to == "stable":
        wanted = "stable"
    elif to.isdecimal():
        wanted = int(to)
    else:
        fail("rollback", f"--to takes the number of a version or 'stable', not '{to}'.")
    with opened("rollback", url, tenant) as store:
        place = _place(thread, namespace)
        current = None if checkpointer is None else _in_state(checkpointer, place, store)
        version, _ = _log(store).restore(place, wanted, current=current, reason=reason)
        typer.echo(printable(f"Thread '{thread}': version {version.number} restores version {version.restores}. The next call of the agent sees it."))


def verify(
    url: Url,
    *,
    anchor: Annotated[Path | None, typer.Option(help="An anchor exported earlier: entries taken off an end are found too.")] = None,
    export: Annotated[Path | None, typer.Option(help="Write an anchor of the present ends to this file; keep it elsewhere.")] = None,
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Hold every entry of a store against its chain, and say what was changed, taken out, moved or put in.

    Exit codes: 0 all is as it was written; 1 something is not; 2 the store or the anchor cannot be used.
    """
    from langchain_ctxguard.domain.anchor import Anchor

    with opened("verify", url, tenant) as store:
        try:
            known = None if anchor is None else Anchor.from_json(anchor.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            fail("verify", f"Cannot read the anchor '{anchor}': {error}.")
        found = store.verify(known)
        if export is not None and not found:
            export.write_text(store.anchor().to_json() + "\n", encoding="utf-8")
        if as_json:
            _json({"findings": [finding.model_dump(mode="json") for finding in found]})
        elif not found:
            streams = len(store.anchor().heads)
            typer.echo(f"{streams} streams are as they were written{'' if known else ', as far as their own chain can tell'}.")
        for finding in [] if as_json else found:
            typer.echo(printable(str(finding)))
        raise typer.Exit(_FOUND if found else 0)


@contextmanager
def opened(command: str, url: str, tenant: str) -> Iterator[GuardStore]:
    """Open the store; what it cannot do ends the command with a sentence."""
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.errors import ConfigurationError, StoreError

    if url.startswith("sqlite:///") and url != "sqlite:///:memory:" and not Path(url.removeprefix("sqlite:///")).is_file():
        fail(command, f"There is no file '{url.removeprefix('sqlite:///')}'. Nothing was made; name a store that an application wrote.")
    try:
        with GuardStore.open(url, tenant=tenant) as store:
            yield store
    except (ConfigurationError, StoreError) as error:
        fail(command, str(error), error)


def fail(command: str, message: str, cause: BaseException | None = None) -> Any:
    """End a command that cannot do what it was asked, with a sentence."""
    typer.echo(printable(f"ctxguard {command}: {message}", keep="\n"), err=True)
    raise typer.Exit(_CANNOT) from cause


def _log(store: GuardStore) -> VersionLog:
    from langchain_ctxguard.records.versions import VersionLog

    return VersionLog(store, kept=10_000)


def _place(thread: str, namespace: str) -> ContextPlace:
    from langchain_ctxguard.domain.context_version import ContextPlace

    return ContextPlace(thread=thread, namespace=namespace)


def _places(store: GuardStore) -> list[ContextPlace]:
    import json

    from langchain_ctxguard.records.versions import VERSIONS

    keys = [head.stream.key for head in store.anchor().heads if head.stream.kind == VERSIONS and head.stream.tenant == store.tenant]
    return [_place(*json.loads(key)) for key in sorted(keys)]


def _line(version: ContextVersion) -> str:
    notes = [f"restores {version.restores}"] if version.restores is not None else [f"stands for {version.replaced} more messages"]
    notes += [f"{version.lost} critical fields lost"] if version.lost else []
    notes += [version.reason] if version.reason else []
    when = f"{version.created_at:%Y-%m-%d %H:%M:%SZ}"
    return f"{version.number}\t{when}\tfrom {version.parent or '-'}\t{version.tokens} tokens\t{version.outcome}\t{'; '.join(notes)}"


def _data(version: ContextVersion) -> dict[str, Any]:
    return {**version.model_dump(mode="json"), "is_stable": version.is_stable}


def _json(document: dict[str, Any]) -> None:
    from langchain_ctxguard.cli.outcomes import write_json

    write_json(document, None)


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
