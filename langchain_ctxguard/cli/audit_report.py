"""An audit for people, for GitHub's checks, and for programs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from langchain_ctxguard.cli.audit_files import CompactionAudit, FileAudit, RunAudit
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.audit import AUDIT_SCHEMA, Audit, AuditFinding, Level, Subject

Form = Literal["text", "github", "json"]

_STYLES = {Level.CRITICAL: "bold red", Level.WARNING: "yellow", Level.NOTE: "dim"}
_SHOWN = 20
"""Findings of one level that are printed for one compaction."""

_LENGTH = 200
_NAMES: dict[Subject, str] = {
    "constraint": "rule",
    "field": "field",
    "decision": "decision",
    "file": "file",
    "pending": "open item",
    "must_keep": "wanted text",
}
_GITHUB = {Level.CRITICAL: "error", Level.WARNING: "warning"}
_SUGGESTION = "no compaction is recorded in it. To audit one it does not record: ctxguard audit --before FILE --after FILE"


def print_file(done: FileAudit, *, form: Form) -> None:
    """Print what one file came to, as soon as it is known; the JSON form is printed at the end."""
    if form == "github":
        for line in _annotations(done):
            echo(line)
    if done.error and form != "github":
        echo(printable(f"ctxguard audit: {done.error}", keep="\n"), err=True)
    if form == "text" and not done.error:
        console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        for text in _paragraphs(done):
            console.print(text)


def print_total(results: Sequence[FileAudit]) -> None:
    """Print one closing line."""
    audits = [audit for result in results for audit in result.audits]
    counts = Counter(finding.level for audit in audits for finding in audit.findings)
    found = ", ".join(f"{counts[level]} {_plural(counts[level], level.value)}" for level in Level)
    unread = sum(bool(result.error) for result in results)
    ending = f"; {unread} of {len(results)} files could not be read" if unread else ""
    echo(f"{len(audits)} {'compaction' if len(audits) == 1 else 'compactions'} audited: {found}{ending}.")


def document_of(results: Sequence[FileAudit]) -> dict[str, Any]:
    """Return the JSON form; `schema_version` rises when a key changes its meaning or goes."""
    audits = [audit for result in results for audit in result.audits]
    counts = Counter(finding.level for audit in audits for finding in audit.findings)
    totals = {"compactions": sum(len(run.compactions) for result in results for run in result.runs), "audited": len(audits)}
    return {
        "schema_version": AUDIT_SCHEMA,
        "files": [_file_data(result) for result in results],
        "totals": {**totals, **{level.value: counts[level] for level in Level}},
    }


def _file_data(result: FileAudit) -> dict[str, Any]:
    runs = [
        {
            "name": run.name,
            "format": run.format,
            "messages": run.messages,
            "compactions": [_compaction_data(done) for done in run.compactions],
        }
        for run in result.runs
    ]
    return {"file": result.file, "error": result.error or None, "line": result.line, "runs": runs}


def _compaction_data(done: CompactionAudit) -> dict[str, Any]:
    found = done.audit
    data: dict[str, Any] = {"number": done.number, "at_message": done.at_message, "kind": done.kind, "timestamp": done.timestamp}
    if found is None:
        return {**data, "status": "not_audited", "why": done.why_not, "messages_before": None, "messages_after": None, "held": {}, "findings": []}
    numbers = {"messages_before": found.messages_before, "messages_after": found.messages_after, "held": dict(found.held)}
    return {**data, "status": "audited", "why": None, **numbers, "findings": [finding.model_dump(mode="json") for finding in found.findings]}


def _paragraphs(done: FileAudit) -> Iterator[Text]:
    runs = [run for run in done.runs if run.compactions]
    if not runs:
        yield Text(f"{printable(done.file)}: {_SUGGESTION}.")
        return
    without = len(done.runs) - len(runs)
    formats = ", ".join(dict.fromkeys(run.format for run in done.runs))
    rest = f"; {without} of {len(done.runs)} conversations record no compaction" if without else ""
    yield Text(f"{printable(done.file)}: read as {formats}{rest}")
    for run in runs:
        for compaction in run.compactions:
            yield from _compaction(run, compaction)


def _compaction(run: RunAudit, done: CompactionAudit) -> Iterator[Text]:
    line = Text(f"{printable(run.name)}, {_title(done)}: ")
    if done.audit is None:
        yield line.append(f"not audited: {done.why_not}; use --before and --after", style="yellow")
        return
    found = done.audit
    line.append(_headline(found), style=_STYLES[found.findings[0].level] if found.findings else "green")
    yield line
    yield Text(f"  {found.messages_before} messages became {found.messages_after}; held before: {_held(found)}")
    for level in (Level.CRITICAL, Level.WARNING):
        findings = found.of(level)
        for finding in findings[:_SHOWN]:
            row = Text("  ")
            row.append(f"{level.value:<9}", style=_STYLES[level])
            yield row.append(_sentence(finding))
        if len(findings) > _SHOWN:
            yield Text(f"  {len(findings) - _SHOWN} more {_plural(2, level.value)}; --json lists all")


def _title(done: CompactionAudit) -> str:
    if done.kind == "given":
        return "the given compaction"
    when = f", {printable(done.timestamp)}" if done.timestamp else ""
    return f"compaction {done.number} ({done.kind}) before message {done.at_message}{when}"


def _headline(found: Audit) -> str:
    counts = [(len(found.of(level)), level) for level in Level]
    return ", ".join(f"{count} {_plural(count, level.value)}" for count, level in counts if count) or "nothing lost"


def _held(found: Audit) -> str:
    return (
        ", ".join(f"{found.held[subject]} {_plural(found.held[subject], name)}" for subject, name in _NAMES.items() if found.held.get(subject))
        or "nothing"
    )


def _sentence(finding: AuditFinding) -> str:
    """Return a finding on one line: what, what became of it, what stands there now, where it came from."""
    what = {"must_keep": "wanted text", "pending": f"open {finding.kind}"}.get(finding.subject, finding.subject)
    if finding.subject in {"field", "file"}:
        what = f"{finding.kind} {finding.subject}" if finding.subject == "file" else finding.kind
    label = f" ({_shown(finding.label, 60)})" if finding.label else ""
    now = f", now {_quoted(finding.now)}" if finding.now else ""
    reason = f" [{finding.reason}]" if finding.reason else ""
    return f"{what} {finding.loss.value}: {_quoted(finding.text)}{label}{now}{reason}{_source(finding)}"


def _source(finding: AuditFinding) -> str:
    if finding.message_index is None:
        return ""
    speaker = f" by {finding.said_by}" if finding.said_by else ""
    return f", from message {finding.message_index}{speaker}"


def _annotations(done: FileAudit) -> Iterator[str]:
    """Yield GitHub's workflow commands; notes are left out, for a check shows only a few."""
    if done.error:
        place = {"file": done.file} | ({} if done.line is None else {"line": str(done.line)})
        yield _command("error", {**place, "title": "ctxguard audit"}, done.error)
        return
    for run in done.runs:
        for compaction in run.compactions:
            title = f"ctxguard audit: {_shown(run.name, 60)}, {_title(compaction)}"
            if compaction.audit is None:
                yield _command("notice", {"file": done.file, "title": title}, f"not audited: {compaction.why_not}")
                continue
            for finding in compaction.audit.findings:
                if finding.level in _GITHUB:
                    yield _command(_GITHUB[finding.level], {"file": done.file, "title": title}, _sentence(finding))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    # GitHub decodes these escapes; unescaped, a file could write commands of its own.
    pairs = ",".join(f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{name} {pairs}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _quoted(text: str | None) -> str:
    return f"'{_shown(text or '', _LENGTH)}'"


def _shown(text: str, length: int) -> str:
    return clipped(printable(" ".join(text.split())), length)


def _plural(count: int, word: str) -> str:
    return word if count == 1 or word == "critical" else f"{word}s"
