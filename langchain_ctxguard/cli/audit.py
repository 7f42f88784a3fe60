"""`ctxguard audit`: what the compactions in transcripts lost, weakened or contradicted, whoever made them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.cli.audit_files import FileAudit
    from langchain_ctxguard.domain.constraint import Constraint

_LOSS = 1
_CANNOT_READ = 2


@described(
    "ctxguard audit session.jsonl --must-keep 2026-06-30",
    done="nothing critical was lost",
    found="a critical loss",
    cannot="a file or an option cannot be used; the other files are audited all the same",
)
def audit(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Transcripts in any format docs/cli.md lists; `-` reads standard input."),
    ] = None,
    *,
    before: Annotated[str | None, typer.Option(help="The conversation before a compaction; with --after, in place of FILE.")] = None,
    after: Annotated[str | None, typer.Option(help="What stands in its place: a conversation, or a summary as plain text or Markdown.")] = None,
    constraints: Annotated[Path | None, typer.Option(help="Rules to look for: a list in YAML or JSON, or a text with one rule a line.")] = None,
    config: Annotated[Path | None, typer.Option(help="A ctxguard.yaml whose rules to look for.")] = None,
    must_keep: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A text that must survive; repeat it for several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    form: Annotated[Literal["text", "github", "json"], typer.Option("--format", help="Text, GitHub workflow annotations, or JSON.")] = "text",
) -> None:
    """Say of each compaction in transcripts what it lost, weakened or contradicted, and from which message it came."""
    # Loaded when it runs: `--help` needs no message classes.
    from langchain_ctxguard.cli.audit_files import audit_file, audit_pair
    from langchain_ctxguard.cli.audit_report import document_of, print_file, print_total
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.cli.progress import progress_over
    from langchain_ctxguard.errors import ConfigurationError

    form = "json" if as_json else form
    _check_use(files, before, after, constraints, config)
    try:
        rules = _rules(constraints, config)
    except ConfigurationError as error:
        _stop(str(error))
    done: list[FileAudit] = []
    options: dict[str, Any] = {"constraints": rules, "must_keep": must_keep or ()}
    if before is not None and after is not None:
        done.append(audit_pair(before, after, **options))
        print_file(done[0], form=form)
    for file in progress_over(files or [], doing="Auditing"):
        done.append(audit_file(file, **options))
        print_file(done[-1], form=form)
    if form == "json":
        write_json(document_of(done), None)
    else:
        print_total(done)
    if any(result.error for result in done):
        raise typer.Exit(_CANNOT_READ)
    if any(result.criticals for result in done):
        raise typer.Exit(_LOSS)


def _check_use(files: list[str] | None, before: str | None, after: str | None, constraints: Path | None, config: Path | None) -> None:
    if (before is None) != (after is None):
        _stop("--before and --after go together: name the conversation before the compaction and what stands in its place.")
    if before is not None and files:
        _stop("name either files or --before and --after.")
    if before is None and not files:
        _stop("name a file to audit, or --before and --after.")
    if (before, after) == ("-", "-") or (files or []).count("-") > 1:
        _stop("standard input can be read once.")
    if constraints is not None and config is not None:
        _stop("name either --constraints or --config.")


def _rules(constraints: Path | None, config: Path | None) -> tuple[Constraint, ...] | None:
    from langchain_ctxguard.cli.audit_files import read_rules
    from langchain_ctxguard.domain.config import GuardConfig

    if config is not None:
        return GuardConfig.from_file(config).constraints
    return None if constraints is None else read_rules(constraints)


def _stop(message: str) -> None:
    echo(printable(f"ctxguard audit: {message}", keep="\n"), err=True)
    raise typer.Exit(_CANNOT_READ)
