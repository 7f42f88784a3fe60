"""`ctxguard migrate`: prepare a database for stores, or bring it up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, json_out

_CANNOT = 2


@described("ctxguard migrate sqlite:///ctxguard.db", done="done, or nothing to do", cannot="the database cannot be used")
def migrate(
    url: Annotated[str, typer.Argument(help="The database, e.g. postgresql+psycopg://owner@host/db or sqlite:///ctxguard.db.")] = "",
    *,
    roles: Annotated[bool, typer.Option("--roles", help="Print the SQL that splits the rights in PostgreSQL; nothing is connected or run.")] = False,
    agent_role: Annotated[str, typer.Option(help="With --roles: the role agents run with.")] = "ctxguard_agent",
    writer_role: Annotated[str, typer.Option(help="With --roles: the role that records consents and rules.")] = "ctxguard_writer",
    reader_role: Annotated[str, typer.Option(help="With --roles: the role that only reads.")] = "ctxguard_reader",
    tool_role: Annotated[str, typer.Option(help="With --roles: the role of tools in processes of their own, if there are such.")] = "",
    schema: Annotated[str, typer.Option(help="With --roles: where the tables are.")] = "public",
    as_json: AsJson = False,
) -> None:
    """Make the tables of a store, or bring them up to date. Run it with a role that may create tables; agents need none that may."""
    from langchain_ctxguard.backends.store import migrate_store
    from langchain_ctxguard.errors import ConfigurationError, StoreError

    if not url and not roles:
        echo("ctxguard migrate: Name the database, e.g. 'sqlite:///ctxguard.db'. Nothing was done.", err=True)
        raise typer.Exit(_CANNOT)
    try:
        if roles:
            _print_roles(agent_role, writer_role, reader_role, tool_role or None, schema, as_json=as_json)
            return
        before, after = migrate_store(url)
    except (ConfigurationError, StoreError) as error:
        echo(printable(f"ctxguard migrate: {error}", keep="\n"), err=True)
        raise typer.Exit(_CANNOT) from error
    if as_json:
        json_out({"before": before, "after": after})
    elif before == after:
        echo(f"The schema is at version {after}; nothing to do.")
    elif before == 0:
        echo(f"Made the schema, version {after}.")
    else:
        echo(f"Brought the schema from version {before} to {after}.")


def _print_roles(agent: str, writer: str, reader: str, tool: str | None, schema: str, *, as_json: bool) -> None:
    from langchain_ctxguard.backends.sql_roles import role_statements

    statements = role_statements(agent=agent, writer=writer, reader=reader, tool=tool, schema=schema)
    if as_json:
        json_out({"statements": list(statements)})
        return
    echo("-- Read it, then run it with psql as the owner of the tables. The roles must be there, and own nothing here.")
    echo("BEGIN;")
    for statement in statements:
        echo(f"{statement};")
    echo("COMMIT;")
