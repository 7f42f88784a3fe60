"""`ctxguard schema`: the JSON Schema of the config file or of a summary, for editors and for checks without this package."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import json_out

_CANNOT_WRITE = 2


class Of(StrEnum):
    """What a schema is published of."""

    CONFIG = "config"
    SUMMARY = "summary"


@described("ctxguard schema config --out ctxguard.schema.json", cannot="the file cannot be written")
def schema(
    of: Annotated[Of, typer.Argument(help="Of ctxguard.yaml, or of a structured summary.")] = Of.CONFIG,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to a file, whole or not at all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A schema is JSON; with --out, say as JSON where it was written.")] = False,
) -> None:
    """Print a JSON Schema (draft 2020-12): of ctxguard.yaml, or of a structured summary."""
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.summary import summary_json_schema

    try:
        write_json(GuardConfig.json_schema() if of is Of.CONFIG else summary_json_schema(), out)
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
