"""`ctxguard schema`: the JSON Schema of the config file, of a summary or of a stream event, for editors and for checks without this package."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, assert_never

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import json_out

_CANNOT_WRITE = 2


class Of(StrEnum):
    """What a schema is published of."""

    CONFIG = "config"
    SUMMARY = "summary"
    EVENTS = "events"


@described("ctxguard schema config --out ctxguard.schema.json", cannot="the file cannot be written")
def schema(
    of: Annotated[Of, typer.Argument(help="Of ctxguard.yaml, of a structured summary, or of an event in `stream_mode=custom`.")] = Of.CONFIG,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to a file, whole or not at all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A schema is JSON; with --out, say as JSON where it was written.")] = False,
) -> None:
    """Print a JSON Schema (draft 2020-12): of ctxguard.yaml, of a structured summary, or of an event in a stream."""
    from langchain_ctxguard.cli.outcomes import write_json

    try:
        write_json(_schema_of(of), out)
    except OSError as error:
        if out is None:
            raise
        message = f"ctxguard schema: Cannot write '{out}': {error.strerror or error}. Nothing was written."
        echo(printable(message, keep="\n"), err=True)
        raise typer.Exit(_CANNOT_WRITE) from error
    if out is not None and as_json:
        json_out({"written": str(out)})
    elif out is not None:
        echo(f"Written to {printable(str(out))}")


def _schema_of(of: Of) -> dict[str, Any]:
    match of:
        case Of.CONFIG:
            from langchain_ctxguard.domain.config import GuardConfig

            return GuardConfig.json_schema()
        case Of.SUMMARY:
            from langchain_ctxguard.domain.summary import summary_json_schema

            return summary_json_schema()
        case Of.EVENTS:
            from langchain_ctxguard.domain.stream_event import events_json_schema

            return events_json_schema()
        case _:
            assert_never(of)
