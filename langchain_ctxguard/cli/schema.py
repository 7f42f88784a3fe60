"""`ctxguard schema`: the JSON Schema of the config file or of a summary, for editors and for checks without this package."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from langchain_ctxguard.cli.printable import printable

_CANNOT_WRITE = 2


class Of(StrEnum):
    """What a schema is published of."""

    CONFIG = "config"
    SUMMARY = "summary"


def schema(
    of: Annotated[Of, typer.Argument(help="Of ctxguard.yaml, or of a structured summary.")] = Of.CONFIG,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to a file, whole or not at all.")] = None,
) -> None:
    """Print a JSON Schema (draft 2020-12): of ctxguard.yaml, or of a structured summary.

    Exit codes: 0 done, 2 the file cannot be written.
    """
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.summary import summary_json_schema

    try:
        write_json(GuardConfig.json_schema() if of is Of.CONFIG else summary_json_schema(), out)
    except OSError as error:
        message = f"ctxguard schema: Cannot write '{out}': {error.strerror or error}. Nothing was written."
        typer.echo(printable(message, keep="\n"), err=True)
        raise typer.Exit(_CANNOT_WRITE) from error
    if out is not None:
        typer.echo(f"Written to {printable(str(out))}")
