"""Every field report of the finished kinds is kept by a test, or a reason stands beside its number."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FINISHED = [
    "pairing",
    "summary_failure",
    "loop_no_progress",
    "token_count",
    "provider_format",
    "constraint_loss",
    "constraint_distortion",
    "control_fields",
    "persistence",
    "goal_state",
    "security",
    "policy_enforcement",
    "stream_observability",
]
REASON = re.compile(r"^(?:- )?(C\d{3}) — \S.*$")


def marked_ids(source: str) -> Iterator[str]:
    """Yield the ids in each `pytest.mark.field(...)` of a test file, so nothing depends on which tests were collected."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="field", value=ast.Attribute(attr="mark")), args=args):
                yield from (ast.literal_eval(argument) for argument in args)


@functools.cache
def kept_reports() -> frozenset[str]:
    """Return the ids that some test is marked with."""
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    return frozenset(report for text in texts if "mark.field(" in text for report in marked_ids(text))


def excused_reports() -> set[str]:
    """Return the ids that have a line with a reason in `not_applicable.md`."""
    page = TESTS / "field" / "not_applicable.md"
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    return {found[1] for line in lines if (found := REASON.match(line))}


@pytest.fixture(scope="module")
def reports(shared_dir: Path) -> dict[str, str]:
    """The class of each field report by its id."""
    lines = (shared_dir / "field" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return {report["id"]: report["class"] for report in map(json.loads, filter(None, lines))}


@pytest.mark.parametrize("kind", FINISHED)
def test_every_report_of_a_finished_kind_is_kept(kind: str, reports: dict[str, str]) -> None:
    """No report of a finished kind is without a marked test or a stated reason."""
    asked = {report for report, its_kind in reports.items() if its_kind == kind}
    assert asked, f"no report is of kind {kind!r}"
    assert [] == sorted(asked - kept_reports() - excused_reports())


def test_every_mark_names_a_report(reports: dict[str, str]) -> None:
    """A mark or a reason for a report that does not exist is a misspelling."""
    assert [] == sorted((kept_reports() | excused_reports()) - reports.keys())


def test_no_report_is_both_kept_and_excused() -> None:
    """A reason for having no test goes when the test comes."""
    assert [] == sorted(kept_reports() & excused_reports())


def test_marks_are_found_wherever_they_stand() -> None:
    """Decorators, `pytestmark` and `pytest.param(marks=...)` all count."""
    source = """
pytestmark = pytest.mark.field("C900")
@pytest.mark.field("C901", "C902")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.field("C903"))])
def test_it(): ...
"""
    assert ["C900", "C901", "C902", "C903"] == sorted(marked_ids(source))
