"""A work log as text: the file that mirrors it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_ctxguard.domain.worklog import WorkEntry

_HEADER = (
    "# Work log\n\nOne line for each step that took effect, and for what was decided, is next or is blocked; appended to, never changed. "
    "`done` is written by the harness when it sees the effect.\n\n"
)


def log_text(entries: Sequence[WorkEntry]) -> str:
    """Return the file that mirrors a log."""
    return _HEADER + "".join(f"{entry.line}\n" for entry in entries)
