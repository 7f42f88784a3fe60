"""`ctxguard review`: a marked review sheet, read back and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.cli.sheet import Filled

_CANNOT_READ = 2
_COLUMNS = ("listed", "ok", "missed", "wrong", "unmarked", "not_extracted")


@described("ctxguard review marked.md", cannot="the sheet cannot be read")
def review(
    sheet: Annotated[Path, typer.Argument(metavar="FILE", help="A sheet that `ctxguard sample` wrote and a person marked.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Read the marks on a review sheet back: what compactions lost and what the extractor got wrong, by kind."""
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.cli.sheet import SheetError, read_sheet

    try:
        filled = read_sheet(sheet.read_text(encoding="utf-8-sig"))
    except SheetError as error:
        _stop(f"{sheet}:{error}")
    except UnicodeDecodeError as error:
        _stop(f"{sheet}: the sheet is not UTF-8 text (byte at offset {error.start}). Save it as UTF-8.")
    except (OSError, ValueError) as error:
        _stop(f"{sheet}: cannot be read: {getattr(error, 'strerror', None) or error}.")
    figures = figures_of(filled)
    if as_json:
        write_json({"schema_version": 1, "sheet": str(sheet), **figures}, None)
        return
    for line in _lines(figures, name=printable(str(sheet))):
        echo(line)


def figures_of(filled: Filled) -> dict[str, Any]:
    """Return what a filled sheet comes to. A share of nothing is `None`."""
    by_kind = {kind: _counts(filled, kind) for kind in sorted({item.kind for item in filled.fields} | {kind for _, kind, _ in filled.unseen})}
    totals = {column: sum(counts[column] for counts in by_kind.values()) for column in _COLUMNS}
    real = totals["ok"] + totals["missed"]
    marked = [item for item in filled.fields if item.mark is not None]
    return {
        "samples": filled.samples,
        "by_kind": by_kind,
        "totals": totals,
        "lost_share": _share(totals["missed"], real),
        "extractor_recall": _share(real, real + totals["not_extracted"]),
        "extractor_precision": _share(real, real + totals["wrong"]),
        "false_alarms": sum(item.mark == "ok" and item.became != "kept" for item in marked),
        "silent_losses": sum(item.mark == "missed" and item.became == "kept" for item in marked),
        "not_extracted": [{"sample": sample, "kind": kind, "value": value} for sample, kind, value in filled.unseen],
    }


def _counts(filled: Filled, kind: str) -> dict[str, int]:
    marks = Counter(item.mark for item in filled.fields if item.kind == kind)
    unseen = sum(other == kind for _, other, _ in filled.unseen)
    return dict(zip(_COLUMNS, (marks.total(), marks["ok"], marks["missed"], marks["wrong"], marks[None], unseen), strict=True))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _lines(figures: dict[str, Any], *, name: str) -> Iterator[str]:
    totals = figures["totals"]
    reviewed = totals["listed"] - totals["unmarked"]
    yield f"{name}: {figures['samples']} compactions, {totals['listed']} fields: {reviewed} marked, {totals['unmarked']} not"
    width = max([len("total"), *map(len, figures["by_kind"])])
    yield "  ".join([f"{'kind':<{width}}", *_COLUMNS])
    for kind, counts in [*figures["by_kind"].items(), ("total", totals)]:
        yield "  ".join([f"{kind:<{width}}", *(f"{counts[column]:>{len(column)}}" for column in _COLUMNS)])
    yield f"Lost by the compactions: {totals['missed']} of {totals['ok'] + totals['missed']} fields{_percent(figures['lost_share'])}."
    yield (
        f"The extractor: recall {_number(figures['extractor_recall'])}, precision {_number(figures['extractor_precision'])}; "
        f"it called {figures['false_alarms']} lost that are there and {figures['silent_losses']} there that are lost."
    )
    for item in figures["not_extracted"]:
        yield f"not extracted in sample {item['sample']}: {item['kind']}: {printable(item['value'])}"


def _percent(share: float | None) -> str:
    return "" if share is None else f" ({share:.1%})"


def _number(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.3f}"


def _stop(message: str) -> NoReturn:
    echo(printable(f"ctxguard review: {message}", keep="\n"), err=True)
    raise typer.Exit(_CANNOT_READ)
