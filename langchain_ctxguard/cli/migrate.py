"""`ctxguard migrate`: prepare a database for stores, or bring it up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_ctxguard.cli.printable import printable

_CANNOT = 2


def migrate(
    url: Annotated[str, typer.Argument(help="The database, e.g. postgresql+psycopg://owner@host/db or sqlite:///ctxguard.db.", show_default=False)],
) -> None:
    """Make the tables of a store, or bring them up to date. Run it with a role that may create tables; agents need none that may.

    Exit codes: 0 done, or nothing to do; 2 the database cannot be used.
    """
    from langchain_ctxguard.backends.store import migrate_store
    from langchain_ctxguard.errors import ConfigurationError, StoreError

    try:
        before, after = migrate_store(url)
    except (ConfigurationError, StoreError) as error:
        typer.echo(printable(f"ctxguard migrate: {error}", keep="\n"), err=True)
        raise typer.Exit(_CANNOT) from error
    if before == after:
        typer.echo(f"The schema is at version {after}; nothing to do.")
    elif before == 0:
        typer.echo(f"Made the schema, version {after}.")
    else:
        typer.echo(f"Brought the schema from version {before} to {after}.")
