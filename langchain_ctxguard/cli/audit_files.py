"""Files and the audits of the compactions in them. A file that cannot be read is an error beside the others, never the end of all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts import CompactionMark, Run, Transcript, parse_transcript
from langchain_ctxguard.backends.transcripts.langchain_dump import FORMAT as LANGCHAIN
from langchain_ctxguard.backends.transcripts.langgraph_state import FORMAT as LANGGRAPH
from langchain_ctxguard.core.audit import audit, audit_run
from langchain_ctxguard.core.audit_steps import Step, steps_of
from langchain_ctxguard.core.audit_told import as_summary
from langchain_ctxguard.domain.audit import Audit, Level
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError, TranscriptError

_STDIN = "-"
_SNAPSHOTS = frozenset({LANGCHAIN, LANGGRAPH})
"""Formats that hold the messages of one moment; the others are logs."""


@dataclass(frozen=True, slots=True)
class CompactionAudit:
    """One compaction of a run, by its place in the file."""

    number: int
    at_message: int
    kind: str
    timestamp: str | None
    audit: Audit | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class RunAudit:
    """One conversation and its compactions."""

    name: str
    format: str
    messages: int
    compactions: tuple[CompactionAudit, ...]


@dataclass(frozen=True, slots=True)
class FileAudit:
    """What one file came to; `error` where it cannot be read."""

    file: str
    runs: tuple[RunAudit, ...] = ()
    error: str = ""
    line: int | None = None

    @property
    def audits(self) -> list[Audit]:
        """Every audit of the file."""
        return [done.audit for run in self.runs for done in run.compactions if done.audit is not None]

    @property
    def criticals(self) -> int:
        """How many critical findings the file has."""
        return sum(len(found.of(Level.CRITICAL)) for found in self.audits)


def audit_file(file: str, *, constraints: Sequence[Constraint] | None, must_keep: Sequence[str]) -> FileAudit:
    """Return the audit of every compaction a transcript records."""
    try:
        transcript = transcript_of(file)
    except TranscriptError as error:
        return _failed(file, error)
    return FileAudit(shown_name(file), tuple(_audited(run, constraints, must_keep) for run in transcript.runs))


def audit_pair(before: str, after: str, *, constraints: Sequence[Constraint] | None, must_keep: Sequence[str]) -> FileAudit:
    """Return the audit of one compaction given as two files."""
    try:
        run = _only_run(before)
    except TranscriptError as error:
        return _failed(before, error)
    try:
        told = _after(after)
    except TranscriptError as error:
        return _failed(after, error)
    found = audit(run.messages, told, constraints=constraints, must_keep=must_keep)
    done = CompactionAudit(1, len(run.messages), "given", None, found)
    return FileAudit(shown_name(before), (RunAudit(run.name, run.format, len(run.messages), (done,)),))


def _audited(run: Run, constraints: Sequence[Constraint] | None, must_keep: Sequence[str]) -> RunAudit:
    steps = audit_run(run.messages, run.compactions, is_snapshot=is_snapshot(run), constraints=constraints, must_keep=must_keep)
    done = [CompactionAudit(step.number, step.mark.start, str(step.mark.kind), step.mark.timestamp, found, step.why_not) for step, found in steps]
    return RunAudit(run.name, run.format, len(run.messages), tuple(done))


def is_snapshot(run: Run) -> bool:
    """Say whether a run is the state of one moment; then what stands behind a summary may have been kept by it."""
    return run.format in _SNAPSHOTS


def steps_in(run: Run) -> Iterator[Step]:
    """Yield the compactions of a run that can be audited."""
    return (step for step in steps_of(run.messages, run.compactions, is_snapshot=is_snapshot(run)) if not step.why_not)


def after_of(run: Run, step: Step) -> list[BaseMessage]:
    """Return what is visible after a compaction, its summary marked as one."""
    mark = step.mark
    assert isinstance(mark, CompactionMark)  # noqa: S101 - it is one of the run's
    return [as_summary(run.messages[index].text) if index == mark.summary else run.messages[index] for index in step.after]


def transcript_of(file: str) -> Transcript:
    """Return the conversations in a file, `-` for standard input.

    Raises:
        TranscriptError: naming file, line and reason.
    """
    name = "stdin" if file == _STDIN else Path(file).stem
    return parse_transcript(_bytes(file), path=shown_name(file), name=name)


def shown_name(file: str) -> str:
    """Return what errors and reports call a file."""
    return "<stdin>" if file == _STDIN else file


def _bytes(file: str) -> bytes:
    if file == _STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        msg = f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}."
        raise TranscriptError(msg, path=file) from error


def _only_run(file: str) -> Run:
    runs = transcript_of(file).runs
    if len(runs) == 1:
        return runs[0]
    name = shown_name(file)
    msg = f"{name}: holds {len(runs)} conversations; --before takes a file with one. Split it, or audit the file as it is."
    raise TranscriptError(msg, path=name)


def _after(file: str) -> list[BaseMessage] | str:
    """Return the messages of a file, or its text where it is no transcript but plain text or Markdown."""
    raw, name = _bytes(file), shown_name(file)
    try:
        runs = parse_transcript(raw, path=name).runs
    except TranscriptError:
        text = _text_in(raw)
        if text is None:
            raise
        return text
    if len(runs) != 1:
        msg = f"{name}: holds {len(runs)} conversations; --after takes a file with one, or a summary as text."
        raise TranscriptError(msg, path=name)
    return _visible_at_end(runs[0])


def _visible_at_end(run: Run) -> list[BaseMessage]:
    """Return what the model sees at the end of a run: a state may still hold what a compaction took from the view."""
    steps = list(steps_in(run))
    if not steps:
        return run.messages
    last = steps[-1]
    return [message for index, message in enumerate(run.messages) if index in last.after or index >= last.mark.start]


def _text_in(raw: bytes) -> str | None:
    """Return the text that bytes hold; `None` if they are empty, no text, or JSON that is meant to be read as such."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text or not text.strip() or text.lstrip().startswith(("{", "[{")):
        return None
    return None if _is_list(text) else text


def _is_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _failed(file: str, error: TranscriptError) -> FileAudit:
    return FileAudit(shown_name(file), error=str(error), line=error.line)


def read_rules(path: Path) -> tuple[Constraint, ...]:
    """Return the rules of a file: a list (or a mapping with `constraints`) in YAML or JSON, or a text with one rule a line.

    Raises:
        ConfigurationError: naming file and fault.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        msg = f"Cannot read the rules in '{path}': {error}."
        raise ConfigurationError(msg) from error
    if path.suffix.lower() not in {".yaml", ".yml", ".json"}:
        lines = [line.strip() for line in text.splitlines()]
        listed: Any = [line for line in lines if line and not line.startswith("#")]
    else:
        listed = _data_in(text, path)
        if isinstance(listed, dict) and "constraints" in listed:
            listed = listed["constraints"]
    if not isinstance(listed, list) or not listed:
        msg = f"{path}: holds no rules. Write a list of texts, or of mappings with `constraint_id` and `text`."
        raise ConfigurationError(msg)
    try:
        return GuardConfig.from_dict({"constraints": listed}).constraints
    except ConfigurationError as error:
        msg = "\n".join(f"{path}: {line}" for line in str(error).splitlines())
        raise ConfigurationError(msg) from error


def _data_in(text: str, path: Path) -> Any:
    try:
        return json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = getattr(error, "lineno", None) or (1 if mark is None else mark.line + 1)
        reason = getattr(error, "problem", None) or getattr(error, "msg", None) or "it cannot be read"
        msg = f"{path}:{line}: {reason}."
        raise ConfigurationError(msg) from error
