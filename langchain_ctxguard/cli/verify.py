"""`ctxguard verify`: is a store as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_ctxguard.cli.about import DONE, FOUND, described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Tenant, Url, fail, json_out, opened

if TYPE_CHECKING:
    from langchain_ctxguard.domain.anchor import Anchor


@described(
    "ctxguard verify sqlite:///ctxguard.db --export anchor.json",
    done="all is as it was written",
    found="something is not",
    cannot="the store or the anchor cannot be used",
)
def verify(
    url: Url,
    *,
    anchor: Annotated[Path | None, typer.Option(help="An anchor exported earlier: entries taken off an end are found too.")] = None,
    export: Annotated[Path | None, typer.Option(help="Write an anchor of the present ends to this file; keep it elsewhere.")] = None,
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Hold every entry of a store against its chain, and say what was changed, taken out, moved or put in."""
    with opened("verify", url, tenant) as store:
        known = None if anchor is None else _read(anchor)
        found = store.verify(known)
        present = store.anchor()
        if export is not None and not found:
            export.write_text(present.to_json() + "\n", encoding="utf-8")
        if as_json:
            json_out({"streams": len(present.heads), "findings": [finding.model_dump(mode="json") for finding in found]})
        elif not found:
            echo(f"{len(present.heads)} streams are as they were written{'' if known else ', as far as their own chain can tell'}.")
        for finding in [] if as_json else found:
            echo(printable(str(finding)))
        if export is not None and found:
            echo(printable(f"ctxguard verify: No anchor was written to '{export}': it would vouch for what was altered."), err=True)
        raise typer.Exit(FOUND if found else DONE)


def _read(file: Path) -> Anchor:
    from langchain_ctxguard.domain.anchor import Anchor

    try:
        return Anchor.from_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        fail("verify", f"Cannot read the anchor '{file}': {error}.")
