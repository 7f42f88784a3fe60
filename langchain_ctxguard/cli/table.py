"""Rows for people: a table on a terminal, records where it is narrow, and one line of tab-separated cells in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from langchain_ctxguard.cli.printable import echo, printable

NARROW = 60
"""Columns below which a table would be cut to shreds."""

_AT_ONCE = 200
"""Rows of one table: of very many, the first are seen before the last are read."""


def show_rows(headings: Sequence[str], rows: Iterable[Sequence[str]], *, is_headed: bool = False, styles: Sequence[str] | None = None) -> int:
    """Print rows, every cell made harmless, and return how many there were.

    Args:
        headings: Names of the cells.
        rows: Their texts; read as they are shown.
        is_headed: The headings are printed in a pipe too.
        styles: The style of each column on a terminal, empty for none.
    """
    safe = (tuple(map(printable, row)) for row in rows)
    if sys.stdout.isatty():
        return _on_terminal(headings, safe, styles or ("",) * len(headings))
    count = 0
    for row in chain([tuple(headings)] if is_headed else [], safe):
        echo("\t".join(row))
        count += 1
    return count - is_headed


def _on_terminal(headings: Sequence[str], rows: Iterator[tuple[str, ...]], styles: Sequence[str]) -> int:
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    count = 0
    while some := list(islice(rows, _AT_ONCE)):
        if console.width < NARROW:
            _print_records(headings, some)
        else:
            console.print(_table(headings, some, styles))
        count += len(some)
    return count


def _table(headings: Sequence[str], rows: Sequence[tuple[str, ...]], styles: Sequence[str]) -> object:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for heading, style in zip(headings, styles, strict=True):
        table.add_column(heading, style=style, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_records(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    for row in rows:
        for heading, cell in zip(headings, row, strict=True):
            echo(f"{heading}: {cell}")
        echo()
