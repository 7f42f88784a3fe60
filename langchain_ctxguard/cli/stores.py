"""The store a command looks into: opened as somebody else's, never made, and closed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langchain_ctxguard.cli.about import CANNOT
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context_version import ContextPlace

Url = Annotated[str, typer.Argument(help="The store, e.g. sqlite:///ctxguard.db or postgresql+psycopg://reader@host/db.", show_default=False)]
Thread = Annotated[str, typer.Argument(help="The thread.", show_default=False)]
Number = Annotated[int | None, typer.Argument(help="Number of the version; without it, the newest.", show_default=False)]
Namespace = Annotated[str, typer.Option(help="Of a sub-agent or subgraph in the thread.")]
Tenant = Annotated[str, typer.Option(help="Whose streams.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@contextmanager
def opened(command: str, url: str, tenant: str) -> Iterator[GuardStore]:
    """Open the store; what it cannot do ends the command with a sentence. A file that is no store stays as it is."""
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.cli.progress import progress_over
    from langchain_ctxguard.errors import ConfigurationError, StoreError

    try:
        require_store(command, url)
        # Another process may hold the file; whoever waits is told.
        for place in progress_over([url], doing="Waiting for the store"):
            store = GuardStore.open(place, tenant=tenant)
        with store:
            yield store
    except ConfigurationError as error:
        # One line for each fault.
        fail(command, str(error), error, keep="\n")
    except StoreError as error:
        fail(command, str(error), error)


def require_store(command: str, url: str) -> None:
    """End the command where a URL names no store that is there: opening a SQLite file would make one of it."""
    from langchain_ctxguard.backends.sql_database import read_url

    if url.partition(":")[0] == "memory":
        fail(command, "A store in memory is seen by its own process only. Name a database that an application wrote.")
    found = read_url(url)
    if found.get_backend_name() != "sqlite" or (found.database or "").startswith("file:"):
        return
    file = str(found.database)
    if not Path(file).is_file():
        fail(command, f"There is no file '{file}'. Nothing was made; name a store that an application wrote.")
    if _holds_no_store(file):
        fail(command, f"The file '{file}' is no store of langchain-ctxguard. Nothing was changed; name a store that an application wrote.")


def fail(command: str, message: str, cause: BaseException | None = None, *, keep: str = "") -> NoReturn:
    """End a command that cannot do what it was asked, with a sentence.

    Args:
        command: Its name.
        message: What is wrong and what to do.
        cause: The error behind it.
        keep: Control characters that stand in it on purpose.
    """
    echo(printable(f"ctxguard {command}: {message}", keep=keep), err=True)
    raise typer.Exit(CANNOT) from cause


def place_of(thread: str, namespace: str) -> ContextPlace:
    """Return which context is meant."""
    from langchain_ctxguard.domain.context_version import ContextPlace
    from langchain_ctxguard.errors import ConfigurationError

    if not thread:
        msg = "The name of the thread is empty. `ctxguard threads URL` lists those there are."
        raise ConfigurationError(msg)
    return ContextPlace(thread=thread, namespace=namespace)


def json_out(document: dict[str, Any]) -> None:
    """Print a document as JSON."""
    from langchain_ctxguard.cli.outcomes import write_json

    write_json(document, None)


def _holds_no_store(file: str) -> bool:
    """Say whether a file that can be read now is another application's, or none's. What cannot be told is left to the opening."""
    from langchain_ctxguard.backends.sql_schema import meta

    try:
        connection = sqlite3.connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (meta.name,)).fetchone() is None
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        return "not a database" in str(error)
