"""The rights by which PostgreSQL itself keeps agents from writing what decides over them: statements to be run by the owner of the tables."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_ctxguard.backends.agent_store import AUTHORITY, WITHHELD
from langchain_ctxguard.errors import ConfigurationError

_LOGGED = ("ctxguard_streams", "ctxguard_entries", "ctxguard_refs")
_CONTENT = ("ctxguard_blobs", "ctxguard_texts", "ctxguard_terms")
_ALL = ("ctxguard_meta", *_LOGGED, *_CONTENT)


def role_statements(*, agent: str, writer: str, reader: str, tool: str | None = None, schema: str = "public") -> list[str]:
    """Return the statements that split the rights in a database that has the schema. Running them again changes nothing.

    Args:
        agent: Role that agents run with: writes everything but consents and rules. Guards write approvals and budgets with it, so
            whatever else runs in their process can too.
        writer: Role of the surface where people consent, and of whoever changes rules.
        reader: Role that only reads: for `ContextGuard(consents=...)`.
        tool: Role of tools that run in processes of their own, where no guard does: writes no approvals and budgets either. `None`: there is none.
        schema: Where the tables are.

    Raises:
        ConfigurationError: a name is empty, or two roles are one.
    """
    names = (agent, writer, reader, *(() if tool is None else (tool,)))
    if not all(names) or len(set(names)) != len(names):
        msg = f"Agent, writer, reader and tool are roles with a name of its own each; these are {', '.join(map(repr, names))}."
        raise ConfigurationError(msg)
    return list(_statements(*map(_quoted, (agent, writer, reader, schema)), tool=None if tool is None else _quoted(tool)))


def _statements(agent: str, writer: str, reader: str, schema: str, *, tool: str | None) -> Iterator[str]:
    everybody = ", ".join((agent, writer, reader, *(() if tool is None else (tool,))))
    writing = ", ".join((agent, writer, *(() if tool is None else (tool,))))
    yield f"GRANT USAGE ON SCHEMA {schema} TO {everybody}"
    yield f"GRANT SELECT ON {_tables(schema, _ALL)} TO {everybody}"
    yield f"GRANT INSERT ON {_tables(schema, (*_LOGGED, *_CONTENT))} TO {writing}"
    yield f"GRANT DELETE ON {_tables(schema, _CONTENT)} TO {agent}, {writer}"
    for table in _LOGGED:
        where = f"{schema}.{table}"
        yield f"ALTER TABLE {where} ENABLE ROW LEVEL SECURITY"
        yield from _policy("ctxguard_read", where, f"FOR SELECT TO {everybody} USING (true)")
        yield from _policy("ctxguard_writer", where, f"FOR INSERT TO {writer} WITH CHECK (true)")
        yield from _policy("ctxguard_agent", where, f"FOR INSERT TO {agent} WITH CHECK ({_is_free(table, where, schema, AUTHORITY)})")
        if tool is not None:
            yield from _policy("ctxguard_tool", where, f"FOR INSERT TO {tool} WITH CHECK ({_is_free(table, where, schema, WITHHELD)})")


def _is_free(table: str, where: str, schema: str, withheld: frozenset[str]) -> str:
    """Return the condition under which a row is of no stream of the kinds that are withheld."""
    kinds = ", ".join(f"'{kind}'" for kind in sorted(withheld))
    if table == "ctxguard_streams":
        # An address is what a stream is found by, the names are what is shown: a row with the address of consents under another name would keep the
        # subject from ever saying anything.
        names = " || ',' || ".join(map(_json, ("tenant", "kind", "key")))
        return f"kind NOT IN ({kinds}) AND address = sha256(convert_to('[' || {names} || ']', 'UTF8'))"
    return f"EXISTS (SELECT 1 FROM {schema}.ctxguard_streams s WHERE s.id = {where}.stream AND s.kind NOT IN ({kinds}))"  # noqa: S608 - names of ours


def _json(column: str) -> str:
    r"""Return the expression for the JSON text of a name, as it is in the digest that is the address.

    A name stands in its row with backslashes and NUL escaped (`sql_rows.shown`). One with half a surrogate pair has no text here: no agent's role
    makes a stream of that name.
    """
    return rf"replace(replace(to_json({column})::text, '\\u0000', '\u0000'), '\\u005c', '\\')"


def _policy(name: str, where: str, rest: str) -> Iterator[str]:
    yield f"DROP POLICY IF EXISTS {name} ON {where}"
    yield f"CREATE POLICY {name} ON {where} {rest}"


def _tables(schema: str, names: tuple[str, ...]) -> str:
    return ", ".join(f"{schema}.{name}" for name in names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
