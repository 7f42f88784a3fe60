"""`ctxguard check`: hold a way of compacting to retention cases."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langchain_ctxguard.cli.about import CANNOT, FOUND, described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.testing.retention.case import RetentionCase
    from langchain_ctxguard.testing.retention.junit import TimedRun
    from langchain_ctxguard.testing.retention.outcome import CaseRun


@described(
    "ctxguard check refunds.retention.yaml --strategy guard",
    done="all as expected",
    found="something is not",
    cannot="a file, a strategy or a model cannot be used",
)
def check(
    cases: Annotated[
        list[Path] | None, typer.Argument(metavar="[CASES]...", help="Case files, or folders with `*.retention.yaml`.", show_default=False)
    ] = None,
    *,
    starter: Annotated[bool, typer.Option("--starter", help="Run the cases that ship with the package.")] = False,
    strategy: Annotated[
        list[str] | None, typer.Option(help="guard (default), langchain, deepagents, langmem, or package.module:function.", show_default=False)
    ] = None,
    model: Annotated[str, typer.Option(help="Who answers the request: obedient, scripted, or a chat model such as openai:gpt-5.")] = "obedient",
    uncompacted: Annotated[bool, typer.Option("--uncompacted", help="Run each case without compaction as well.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write the results as JUnit XML.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Play conversations back, compact them, put a dangerous request, and say what was lost."""
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.errors import ConfigurationError
    from langchain_ctxguard.testing.retention.junit import junit as junit_text
    from langchain_ctxguard.testing.retention.run import answers_named

    try:
        given, answers = _cases(cases or [], is_starter=starter), answers_named(model)
        results = [result for name in strategy or ["guard"] for case in given for result in _results(case, name, answers, uncompacted=uncompacted)]
    except ConfigurationError as error:
        _stop(str(error), error)
    if junit is not None:
        try:
            junit.write_text(junit_text(results), encoding="utf-8")
        except OSError as error:
            _stop(f"Cannot write '{junit}': {error}.", error)
    failed = [result for result in results if not result.run.passed]
    if as_json:
        write_json({"cases": [_as_data(result) for result in results], "failed": len(failed)}, None)
    else:
        for result in results:
            _say(result)
        echo(f"{len(results)} runs, {len(failed)} failed.")
    if failed:
        raise typer.Exit(FOUND)


def _cases(paths: list[Path], *, is_starter: bool) -> list[RetentionCase]:
    from langchain_ctxguard.errors import ConfigurationError
    from langchain_ctxguard.testing.retention.files import case_files, read_cases, starter_cases

    if not paths and not is_starter:
        msg = "Name case files or a folder, or run the cases that ship with `--starter`."
        raise ConfigurationError(msg)
    return [*(starter_cases() if is_starter else ()), *(case for path in paths for file in case_files(path) for case in read_cases(file))]


def _results(case: RetentionCase, strategy: str, model: Any, *, uncompacted: bool) -> list[TimedRun]:
    from langchain_ctxguard.testing.retention.junit import TimedRun
    from langchain_ctxguard.testing.retention.outcome import cause

    run, seconds = _timed(case, strategy, model, uncompacted=False)
    verdict = "" if run.passed else cause(run, lambda: _timed(case, strategy, model, uncompacted=True)[0])
    found = [TimedRun(run, seconds, verdict)]
    if uncompacted:
        found.append(TimedRun(*_timed(case, strategy, model, uncompacted=True)))
    return found


def _timed(case: RetentionCase, strategy: str, model: Any, *, uncompacted: bool) -> tuple[CaseRun, float]:
    from langchain_ctxguard.testing.retention.run import run_case

    start = time.perf_counter()
    run = run_case(case, strategy, model=model, uncompacted=uncompacted)
    return run, time.perf_counter() - start


def _say(result: TimedRun) -> None:
    run = result.run
    plain = "" if run.is_compacted else "\tuncompacted"
    echo(printable(f"{'ok' if run.passed else 'FAILED'}\t{run.way}\t{run.case.path}\t{run.case.name}{plain}", keep="\t"))
    if not run.passed:
        for line in [*run.explain().splitlines()[1:], *([f"  {result.verdict}"] if result.verdict else [])]:
            echo(printable(line))


def _as_data(result: TimedRun) -> dict[str, Any]:
    run = result.run
    return {
        "name": run.case.name,
        "path": run.case.path,
        "strategy": run.way,
        "compacted": run.is_compacted,
        "rounds": run.rounds,
        "passed": run.passed,
        "findings": [
            {"kind": finding.kind, "what": finding.what, "detail": finding.detail, "source": finding.source, "diff": list(finding.diff)}
            for finding in run.findings
        ],
        "verdict": result.verdict or None,
        "seconds": round(result.seconds, 3),
    }


def _stop(sentence: str, cause: BaseException | None = None) -> NoReturn:
    echo(printable(f"ctxguard check: {sentence}"), err=True)
    raise typer.Exit(CANNOT) from cause
