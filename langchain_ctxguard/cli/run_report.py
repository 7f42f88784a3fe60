"""What became of each run, for people: coloured on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from langchain_ctxguard.cli.outcomes import RunResult
from langchain_ctxguard.cli.printable import printable
from langchain_ctxguard.domain.version import CompactionRecord, Fault, Outcome

_STYLES = {
    Outcome.ACCEPTED: "green",
    Outcome.REPAIRED: "green",
    Outcome.RETRIED: "green",
    Outcome.FELL_BACK: "yellow",
    Outcome.REJECTED: "bold red",
    Outcome.SKIPPED: "dim",
}
_SHOWN_FAULTS = 10


def print_report(results: list[RunResult], *, source: str, out: Path | None = None) -> None:
    """Print one paragraph for each run and, for several, a closing count."""
    console = Console(highlight=False, soft_wrap=True)
    formats = ", ".join(dict.fromkeys(result.run.format for result in results))
    console.print(Text(f"{printable(source)}: {_plural(len(results), 'run')}{', read as ' if formats else ''}{formats}"))
    for result in results:
        console.print(_headline(result))
        for line in _details(result):
            console.print(Text(f"  {line}"))
    if len(results) > 1:
        counts = Counter(result.outcome for result in results)
        console.print(Text(f"{_plural(len(results), 'run')}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}"))
    if out is not None:
        console.print(Text(f"Written to {printable(str(out))}"))


def _headline(result: RunResult) -> Text:
    line = Text(f"{printable(result.run.name)}: ")
    line.append(result.outcome.value, style=_STYLES[result.outcome])
    if result.compaction is not None:
        before, after = result.compaction.tokens_before, result.compaction.tokens_after
        share = f" ({after / before:.0%})" if before else ""
        line.append(f", {before:,} -> {after:,} tokens{share}")
    return line


def _details(result: RunResult) -> Iterator[str]:
    if result.compaction is None:
        yield f"reason: {printable(str(result.error))}"
        return
    record: CompactionRecord = result.compaction.record
    yield f"messages: {record.evicted_messages} evicted, {record.kept_messages} kept"
    yield f"rules in force: {record.rules_in_force}"
    if record.rules_missing_after:
        yield f"rules missing: {', '.join(record.rules_missing_after)}"
    if record.budget is not None:
        yield f"budget: {record.budget:,} tokens"
    if record.strategy:
        yield f"summarized by: {printable(record.strategy)}"
    for failure in record.failures:
        yield f"answer refused: {printable(failure)}"
    for fault in record.faults[:_SHOWN_FAULTS]:
        yield f"input fault: {_fault(fault)}"
    if (more := len(record.faults) - _SHOWN_FAULTS) > 0:
        yield f"input faults: {more} more; --json lists all"
    yield f"reason: {printable(record.reason)}"


def _fault(fault: Fault) -> str:
    call = "" if fault.call_id is None else f" (call {printable(fault.call_id)})"
    return f"{fault.kind.replace('_', ' ')} in message {printable(fault.message_id)}{call}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
