"""`ctxguard constraints`: the rules of a config file, and of each whether anything enforces it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.core.enforcement import Standing
    from langchain_ctxguard.domain.constraint import Constraint

_CANNOT_START = 2
_HEADINGS = ("id", "version", "authority", "scope", "severity", "enforcement", "validator", "holds because")
_STYLES = {"enforced": "green", "checked": "yellow", "shown": "dim", "unenforced": "bold red"}


@described("ctxguard constraints --config ctxguard.yaml", cannot="the file cannot be used")
def constraints(
    *,
    config: Annotated[Path, typer.Option(help="The config file to read.")] = Path("ctxguard.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> None:
    """List the rules of a config file and say of each whether it is enforced or only shown to the model."""
    from langchain_ctxguard.backends.checks import prepared_check
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.core.enforcement import standing_of
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.errors import ConfigurationError

    try:
        loaded = GuardConfig.from_file(config)
        rules = loaded.constraints
        for rule in rules:
            if rule.validator is not None and not isinstance(rule.validator, str):
                prepared_check(rule)
    except ConfigurationError as error:
        echo(printable(f"ctxguard constraints: {error}", keep="\n"), err=True)
        raise typer.Exit(_CANNOT_START) from error
    enforced, asked = (loaded.tools.enforced, loaded.tools.asked) if loaded.tools is not None else ((), ())
    found = [(rule, standing_of(rule, enforced_by=enforced, asked_by=asked)) for rule in rules]
    if as_json:
        write_json({"constraints": [_as_data(rule, standing) for rule, standing in found]}, None)
        return
    _print_table(found)
    echo(_closing(found, source=printable(str(config))))


def _as_data(rule: Constraint, standing: Standing) -> dict[str, Any]:
    return {
        **rule.model_dump(mode="json"),
        "standing": standing.kind,
        "is_enforced": standing.kind == "enforced",
        "holds_because": standing.sentence,
    }


def _cells(rule: Constraint, standing: Standing) -> tuple[str, ...]:
    from langchain_ctxguard.core.enforcement import check_name

    scope = rule.scope.kind if rule.scope.value is None else f"{rule.scope.kind} {rule.scope.value}"
    cells = (
        rule.constraint_id,
        str(rule.version),
        rule.authority,
        scope,
        rule.severity,
        rule.enforcement,
        check_name(rule) or "-",
        standing.sentence,
    )
    return tuple(map(printable, cells))


def _print_table(found: Sequence[tuple[Constraint, Standing]]) -> None:
    if not found:
        return
    lines = [_cells(rule, standing) for rule, standing in found]
    if not sys.stdout.isatty():
        for cells in [_HEADINGS, *lines]:
            echo("\t".join(cells))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*_HEADINGS, box=box.SIMPLE, pad_edge=False, show_edge=False)
    for cells, (_, standing) in zip(lines, found, strict=True):
        table.add_row(*map(Text, cells[:-1]), Text(cells[-1], style=_STYLES[standing.kind]))
    Console(file=sys.stdout, highlight=False).print(table)


def _closing(found: Sequence[tuple[Constraint, Standing]], *, source: str) -> str:
    """Return one sentence that leaves no doubt how much of it is more than words."""
    counts: Counter[str] = Counter(standing.kind for _, standing in found)
    words = {
        "enforced": "enforced",
        "checked": "checked, not enforced",
        "shown": "guidance, not enforced",
        "unenforced": "not enforced by anything in this file",
    }
    parts = [f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind]]
    total = f"{len(found)} rule" if len(found) == 1 else f"{len(found)} rules"
    return f"{source}: {total}{': ' if parts else '.'}{'; '.join(parts)}{'.' if parts else ''}"
