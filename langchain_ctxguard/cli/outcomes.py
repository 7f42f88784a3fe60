"""What became of each run, as data: the JSON that `--json` prints and `-o` writes."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_ctxguard.core.dialect import write_openai
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import CompactionError, ContextBudgetError

if TYPE_CHECKING:
    from langchain_ctxguard.backends.transcripts import Run
    from langchain_ctxguard.compact import Compaction


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run and its compaction, or the error that stands in its place."""

    run: Run
    compaction: Compaction | None = None
    error: CompactionError | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome; a run that could not be compacted at all is rejected."""
        return Outcome.REJECTED if self.compaction is None else self.compaction.outcome

    @property
    def is_rejected(self) -> bool:
        """Say whether the previous context stays in force because nothing acceptable was found."""
        return self.outcome is Outcome.REJECTED


def document_of(results: list[RunResult]) -> dict[str, Any]:
    """Return the JSON form: the keys of one run, or `{"runs": [...]}` of the same, each with its name."""
    if len(results) == 1:
        return _as_data(results[0])
    return {"runs": [{"name": result.run.name, **_as_data(result)} for result in results]}


def write_json(document: dict[str, Any], out: Path | None) -> None:
    """Print the document, or write it to `out` whole or not at all.

    Raises:
        OSError: nothing was written; an older file is as it was.
    """
    write_text(_dump(document) + "\n", out)


def write_text(text: str, out: Path | None) -> None:
    """Print a text, or write it to `out` whole or not at all.

    Raises:
        OSError: nothing was written; an older file is as it was.
    """
    # Half a surrogate pair has no UTF-8; its escape says the same, in JSON and in YAML.
    raw = text.encode("utf-8", "backslashreplace")
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        return
    target = out.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _as_data(result: RunResult) -> dict[str, Any]:
    if result.compaction is not None:
        compaction = result.compaction
        return {
            "messages": write_openai(compaction.messages),
            "outcome": compaction.outcome.value,
            "tokens_before": compaction.tokens_before,
            "tokens_after": compaction.tokens_after,
            "record": compaction.record.model_dump(mode="json"),
        }
    error: dict[str, Any] = {"message": str(result.error)}
    if isinstance(result.error, ContextBudgetError):
        error |= {"needed": result.error.needed, "budget": result.error.budget}
    return {
        "messages": write_openai(result.run.messages),
        "outcome": result.outcome.value,
        "tokens_before": None,
        "tokens_after": None,
        "record": None,
        "error": error,
    }


def _dump(document: Any) -> str:
    try:
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_without_nan(document), ensure_ascii=False, indent=2, default=str)


def _without_nan(value: Any) -> Any:
    """Return `value` with `null` for what Python reads as a number but JSON cannot write."""
    if isinstance(value, dict):
        return {key: _without_nan(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_without_nan(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
