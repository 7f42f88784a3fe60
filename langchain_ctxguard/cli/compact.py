"""`ctxguard compact`: read a transcript, compact each of its runs, say what became of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.backends.transcripts import Run, Transcript
    from langchain_ctxguard.cli.outcomes import RunResult
    from langchain_ctxguard.domain.config import GuardConfig

_REJECTED = 1
_CANNOT_START = 2
_STDIN = "-"


@described("ctxguard compact chat.json --keep 2", found="a run was rejected or cannot fit", cannot="the file or an option cannot be used")
def compact(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A conversation in any format docs/cli.md lists, e.g. a LangGraph thread state or OpenAI chat; `-` reads standard input.",
        ),
    ],
    *,
    config: Annotated[Path | None, typer.Option(help="A ctxguard.yaml; its rules and its sections for compaction are used.")] = None,
    keep: Annotated[int | None, typer.Option(min=0, help="How many turns stay as they are.")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens the result may have; a run that fits is left alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print messages, outcome, tokens and record as JSON.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write that JSON to a file, whole or not at all.")] = None,
) -> None:
    """Compact the conversations in FILE without a model and show the outcome."""
    # Loaded when it runs: `--help` needs no message classes.
    from langchain_ctxguard.cli.outcomes import document_of, write_json
    from langchain_ctxguard.cli.run_report import print_report
    from langchain_ctxguard.errors import ConfigurationError, TranscriptError

    try:
        settings = _settings(config)
        _check_target(out, [name for name in (file, config) if name is not None])
        transcript = _transcript(file)
        results = _compact_all(transcript, settings, keep=keep, budget=budget)
        document = document_of(results)
    except (ConfigurationError, TranscriptError) as error:
        _stop(str(error))
    if out is not None:
        try:
            write_json(document, out)
        except OSError as error:
            _stop(f"Cannot write '{out}': {error.strerror or error}. Nothing was written.")
    if as_json:
        write_json(document, None)
    else:
        print_report(results, source=_shown_name(file), out=out)
    if any(result.is_rejected for result in results):
        raise typer.Exit(_REJECTED)


def _settings(config: Path | None) -> GuardConfig | None:
    from langchain_ctxguard.domain.config import GuardConfig

    return None if config is None else GuardConfig.from_file(config)


def _transcript(file: str) -> Transcript:
    from langchain_ctxguard.backends.transcripts import parse_transcript, read_transcript

    if file == _STDIN:
        return parse_transcript(sys.stdin.buffer.read(), path=_shown_name(file), name="stdin")
    return read_transcript(file)


def _compact_all(transcript: Transcript, settings: GuardConfig | None, *, keep: int | None, budget: int | None) -> list[RunResult]:
    from langchain_ctxguard.cli.progress import progress_over

    options: dict[str, Any] = {"config": settings, "budget": budget}
    if keep is not None:
        options["keep"] = ("turns", keep)
    return [_compact_one(run, options) for run in progress_over(transcript.runs, doing="Compacting")]


def _compact_one(run: Run, options: dict[str, Any]) -> RunResult:
    from langchain_ctxguard.cli.outcomes import RunResult
    from langchain_ctxguard.compact import compact_messages
    from langchain_ctxguard.errors import CompactionError

    try:
        return RunResult(run, compaction=compact_messages(run.messages, **options))
    except CompactionError as error:
        return RunResult(run, error=error)


def _check_target(out: Path | None, sources: list[str | Path]) -> None:
    """Refuse a target that would destroy what is being read, or that is no file, before any work is done."""
    if out is None:
        return
    if str(out) == _STDIN:
        _stop("`-o` takes a file name; use --json to print the result.")
    for source in sources:
        if str(source) != _STDIN and out.exists() and Path(source).exists() and out.samefile(source):
            _stop(f"'{out}' is the file being read; name another file, it would be overwritten.")
    if out.exists() and not out.is_file():
        _stop(f"Cannot write '{out}': it is no regular file. Name a file.")
    if not out.resolve().parent.is_dir():
        _stop(f"Cannot write '{out}': the folder '{out.parent}' does not exist. Create it first.")


def _shown_name(file: str) -> str:
    return "<stdin>" if file == _STDIN else file


def _stop(message: str) -> NoReturn:
    echo(printable(f"ctxguard compact: {message}", keep="\n"), err=True)
    raise typer.Exit(_CANNOT_START)
