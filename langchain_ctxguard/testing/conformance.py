"""What every log, blob store and text index has to keep, as checks that run on any of them: ours and yours.

    report = check_log(MyLog())
    report.raise_for_failures()

With pytest, run each check as a test of its own:

    @pytest.mark.parametrize("check", LOG_CHECKS, ids=lambda check: check.__name__)
    def test_my_log(check):
        check(MyLog())

A check writes to streams and spaces of its own, so one store serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from langchain_ctxguard.ports import BlobStore, Log, TextIndex
from langchain_ctxguard.testing.conformance_content import BLOB_CHECKS, INDEX_CHECKS
from langchain_ctxguard.testing.conformance_expect import HOSTILE_BODIES, HOSTILE_NAMES, ConformanceError
from langchain_ctxguard.testing.conformance_log import LOG_CHECKS

__all__ = [
    "BLOB_CHECKS",
    "HOSTILE_BODIES",
    "HOSTILE_NAMES",
    "INDEX_CHECKS",
    "LOG_CHECKS",
    "ConformanceError",
    "Report",
    "check_blobs",
    "check_index",
    "check_log",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """What a store keeps, and what it does not."""

    passed: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    """Why, by the name of the check."""

    def raise_for_failures(self) -> None:
        """Raise `ConformanceError` that names every check that failed."""
        if self.failed:
            raise ConformanceError("\n".join(f"{name}: {why}" for name, why in self.failed.items()))


def check_log(log: Log) -> Report:
    """Return which promises a `Log` keeps."""
    return _report(LOG_CHECKS, log)


def check_blobs(blobs: BlobStore) -> Report:
    """Return which promises a `BlobStore` keeps."""
    return _report(BLOB_CHECKS, blobs)


def check_index(index: TextIndex) -> Report:
    """Return which promises a `TextIndex` keeps."""
    return _report(INDEX_CHECKS, index)


def _report(checks: Iterable[Callable[[T], None]], subject: T) -> Report:
    passed, failed = [], {}
    for check in checks:
        try:
            check(subject)
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the other checks are still made
            failed[check.__name__] = f"{type(error).__name__}: {error}"
        else:
            passed.append(check.__name__)
    return Report(tuple(passed), failed)
