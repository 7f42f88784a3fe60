"""`ctxguard sample`: compactions chosen at random, on a sheet that a person marks and `ctxguard review` reads."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import Tenant, json_out, opened

if TYPE_CHECKING:
    from langchain_ctxguard.cli.candidates import Candidate

_CANNOT_DO = 2


@described(
    "ctxguard sample session.jsonl --n 5 --out sheet.md",
    cannot="a file or thread cannot be read (the sheet holds the others), there is no compaction, or the sheet cannot be written",
)
def sample(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="Transcripts in any format docs/cli.md lists.", show_default=False)
    ] = None,
    *,
    store: Annotated[str | None, typer.Option(metavar="URL", help="Draw from the threads of a store instead, e.g. sqlite:///ctxguard.db.")] = None,
    thread: Annotated[list[str] | None, typer.Option(metavar="ID", help="With --store: only from this thread; repeat it for several.")] = None,
    tenant: Tenant = "default",
    count: Annotated[int, typer.Option("--n", min=1, help="How many compactions.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed chooses the same compactions.")] = 0,
    compact: Annotated[
        bool, typer.Option("--compact", help="Where a conversation records none, compact it with the extractive summarizer and take that.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the sheet to a new file; without it, print it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is on the sheet as JSON; with --out, the sheet is written as well.")] = False,
) -> None:
    """Write a review sheet of randomly chosen compactions: before, after, what the extractor saw, and boxes to mark."""
    from langchain_ctxguard.cli.candidates import chosen_from
    from langchain_ctxguard.cli.sheet import written

    _check_use(files, store, thread)
    if out is not None and out.exists():
        _stop(f"'{out}' exists and stays as it is: it may hold somebody's marks. Name another file.")
    found, is_whole = _candidates(files or [], is_compacting=compact) if store is None else _stored(store, tenant, thread)
    chosen = chosen_from(found, count=count, seed=seed)
    if not chosen:
        _stop(
            "no compaction is recorded in these files. --compact makes compactions of conversations that record none."
            if store is None
            else "no version on record there stands for archived messages that hold a value. `ctxguard threads URL` lists the threads on record."
        )
    about = f"{len(chosen)} compactions, chosen at random with seed {seed} from {len(found)}."
    if (own := sum(candidate.step is None for candidate, _ in chosen)) > 0:
        about += f" {own} of them are recorded in no file: ctxguard's extractive summarizer made them for this sheet (`--compact`)."
    if out is not None or not as_json:
        _write(written([made for _, made in chosen], about=about), out)
    if as_json:
        json_out({"about": about, "written": None if out is None else str(out), "samples": [asdict(made) for _, made in chosen]})
    elif out is not None:
        few = "; there are no more" if len(chosen) < count else ""
        name = printable(str(out))
        echo(f"Written to {name}: compactions: {len(chosen)}{few}. Next: mark it, then ctxguard review {name}")
    if not is_whole:
        raise typer.Exit(_CANNOT_DO)


def _check_use(files: list[str] | None, store: str | None, thread: list[str] | None) -> None:
    if "-" in (files or ()):
        _stop("standard input cannot be sampled; name files.")
    if bool(files) == (store is not None):
        _stop("name either files or, with --store, a store.")
    if thread and store is None:
        _stop("--thread is one of a store; name it with --store.")


def _stored(url: str, tenant: str, threads: list[str] | None) -> tuple[list[Candidate], bool]:
    """Return the compactions of a store's threads, sub-agents included, and whether all that are not erased could be read."""
    from langchain_ctxguard.cli.candidates import candidates_of
    from langchain_ctxguard.cli.stored_runs import stored_runs
    from langchain_ctxguard.cli.versions import on_record
    from langchain_ctxguard.errors import BlobMissingError, StoreError

    found: list[Candidate] = []
    is_whole = True
    with opened("sample", url, tenant) as store:
        for place in [one.place for one in on_record(store) if not threads or one.place.thread in threads]:
            source = " in ".join(filter(None, (f"thread {place.thread}", place.namespace)))
            try:
                found += [candidate for run in stored_runs(store, place) for candidate in candidates_of(run, source)]
            except BlobMissingError:
                _warn(f"{source}: its messages were erased. It is left out.")
            except StoreError as error:
                is_whole = False
                _warn(f"{source}: {error}")
    return found, is_whole


def _candidates(files: list[str], *, is_compacting: bool) -> tuple[list[Candidate], bool]:
    """Return the compactions of all files that can be read, and whether all could."""
    from langchain_ctxguard.cli.candidates import candidates_in
    from langchain_ctxguard.cli.progress import progress_over
    from langchain_ctxguard.errors import TranscriptError

    found: list[Candidate] = []
    is_whole = True
    for file in progress_over(list(dict.fromkeys(files)), doing="Reading"):
        try:
            found += candidates_in(file, is_compacting=is_compacting)
        except TranscriptError as error:
            is_whole = False
            _warn(str(error))
    return found, is_whole


def _write(text: str, out: Path | None) -> None:
    # Half a surrogate pair has no UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8")
    if out is None:
        echo(text, nl=False)
        return
    try:
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        _stop(f"Cannot write '{out}': {error.strerror or error}. Nothing was written.")


def _warn(message: str) -> None:
    echo(printable(f"ctxguard sample: {message}", keep="\n"), err=True)


def _stop(message: str) -> NoReturn:
    _warn(message)
    raise typer.Exit(_CANNOT_DO)
