"""Numbers in the docs are the measured ones, or the check says where they are not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts import numbers

RESULT = {"measured": "An idle call.", "against": "No middleware.", "versions": {"langgraph": "1.2"}, "rows": [{"messages": 5000, "p50_us": 36.42}]}


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one result, `idle`."""
    monkeypatch.setattr(numbers, "RESULTS", tmp_path)
    (tmp_path / "idle.json").write_text(json.dumps(RESULT), encoding="utf-8")
    return tmp_path


def test_a_value_is_written_into_its_sentence() -> None:
    """A path in the marker picks one value, and what stood there before is gone."""
    page = "It takes <!-- numbers:idle:rows.0.p50_us -->99<!-- /numbers --> us."
    assert "It takes <!-- numbers:idle:rows.0.p50_us -->36.4<!-- /numbers --> us." == numbers.filled(page, page="P.md")


def test_a_table_says_how_it_was_measured() -> None:
    """A table comes with what was measured, against what, on which versions, and filling twice changes nothing."""
    filled = numbers.filled("<!-- numbers:idle -->\n<!-- /numbers -->", page="P.md")
    assert "| 5,000 | 36.4 |" in filled
    assert "Measured: An idle call. Against: No middleware. Versions: langgraph 1.2." in filled
    assert filled == numbers.filled(filled, page="P.md")


@pytest.mark.parametrize("key", ["measured", "against", "versions"])
def test_a_number_without_its_circumstances_is_not_shown(key: str, results: Path) -> None:
    """A result that does not say what, against what or on which versions fills no table."""
    (results / "idle.json").write_text(json.dumps(RESULT | {key: ""}), encoding="utf-8")
    with pytest.raises(numbers.NumbersError, match=rf"idle\.json says nothing under {key}"):
        numbers.filled("<!-- numbers:idle --><!-- /numbers -->", page="P.md")


@pytest.mark.parametrize("marker", ["nothing", "idle:rows.7.p50_us", "idle:rows.0.p99_us", "idle:measured.x"])
def test_a_marker_that_no_result_answers_is_named_with_its_line(marker: str) -> None:
    """A misspelt name or path is an error at its line, never an empty place."""
    with pytest.raises(numbers.NumbersError, match=r"^P\.md:3: "):
        numbers.filled(f"# Title\n\n<!-- numbers:{marker} --><!-- /numbers -->", page="P.md")


def test_an_unclosed_marker_is_an_error() -> None:
    """A marker without its end is not passed over."""
    with pytest.raises(numbers.NumbersError, match="not closed"):
        numbers.filled("<!-- numbers:idle -->36", page="P.md")


def test_a_marker_in_backticks_is_only_spoken_of() -> None:
    """The docs can explain the markers."""
    page = "Write `<!-- numbers:NAME -->` and `<!-- /numbers -->`."
    assert page == numbers.filled(page, page="P.md")


def test_no_page_begins_a_line_with_a_value() -> None:
    """A line that begins with a comment ends the paragraph above it, on GitHub and on the site: a value stands within its line."""
    torn = [
        f"{page.name}: {line}" for page in numbers.pages() for line in re.findall(r"^<!-- numbers:[\w-]+:.*", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert [] == torn
