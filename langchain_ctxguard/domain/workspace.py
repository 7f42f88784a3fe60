"""What a workspace looks like at one moment: which files differ from its last commit, what named files hold, what a check came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from langchain_ctxguard.domain.value import Value, canonical_json, digest_of

FileKind = Literal["file", "absent", "folder", "link", "outside", "unreadable", "too_large"]
"""What stands at a path. Of all but `file` and `link` nobody knows a content."""


class FileFact(Value):
    """What one named file holds."""

    path: str
    """Below the workspace, with `/`."""

    kind: FileKind
    sha256: str | None = None
    """Of its bytes, in hexadecimal; of a link: of where it leads, as text."""

    size: int | None = None

    @property
    def is_known(self) -> bool:
        """Say whether one can tell what stands there: a content, or nothing at all."""
        return self.kind in {"absent", "folder"} or self.sha256 is not None


class Survey(Value):
    """Which files of a workspace differ from its last commit; without a repository, all of its files with size and time."""

    source: Literal["git", "files"]
    head: str | None = None
    """The commit that is checked out; `None`: there is none yet, or no repository."""

    branch: str | None = None
    """`None`: detached, or no repository."""

    marks: Mapping[str, str] = Field(default_factory=dict)
    """By path, what tells it from another state of itself."""

    moved: Mapping[str, str] = Field(default_factory=dict)
    """By new path, the old one, where git says so."""

    faults: tuple[str, ...] = ()
    """What could not be told, one sentence each. A survey with faults may miss files; it names none that did not change."""

    is_complete: bool = True
    """Whether all that differs is in `marks`."""

    @property
    def fingerprint(self) -> str:
        """What tells the workspace from any other, empty where that cannot be told."""
        return digest_of(canonical_json([self.source, self.head, dict(self.marks)])) if self.is_complete else ""


CheckOutcome = Literal["passed", "failed", "timed_out", "not_run"]


class CheckResult(Value):
    """What the configured check came to."""

    outcome: CheckOutcome
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    """Its first and its last lines; what lies between is counted."""

    files: tuple[str, ...] = ()
    """Files of the workspace that its output names."""

    why: str = ""
    """Why it did not run, or was stopped."""

    changed: tuple[str, ...] = ()
    """Files that the check itself changed: it should change none."""
