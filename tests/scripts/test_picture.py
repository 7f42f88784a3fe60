"""The picture of the README shows what was measured, and its words can be read on light and on dark pages."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from scripts import picture

ROOT = Path(__file__).resolve().parents[2]
ROW = {"strategy": "ctxguard", "cases": 3, "retention": 98, "refused": 0, "passed": 50}
RESULT: dict[str, Any] = {"versions": {"langchain": "1.5", "python": "3.11"}, "rows": [{**ROW, "strategy": "A & B", "retention": 7}, ROW]}
SVG = "{http://www.w3.org/2000/svg}"


def test_the_pictures_are_what_would_be_drawn() -> None:
    """No picture shows other numbers than the result file."""
    result = json.loads(picture.RESULT.read_text(encoding="utf-8"))
    for name, words in picture.PICTURES.items():
        assert picture.drawn(result, words) == (picture.IMAGES / name).read_text(encoding="utf-8"), "run `python scripts/picture.py`"


@pytest.mark.parametrize("words", picture.PICTURES.values())
def test_every_row_and_value_stands_in_the_picture(words: picture.Words) -> None:
    """Each strategy has a bar for each column, as long as its value, none for nothing, and the words for whoever does not see it."""
    root = ET.fromstring(picture.drawn(RESULT, words))  # noqa: S314 - our own
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"A & B", "ctxguard", "98", "7", "50", "0"} <= set(texts)
    bars = [float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect") if bar.attrib["class"] in {"ours", "other"}]
    tracks = {float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect") if bar.attrib["class"] == "track"}
    (full,) = tracks
    assert pytest.approx([full * value / 100 for value in (7, 50, 98, 50)], abs=0.1) == bars
    described = root.find(f"{SVG}desc")
    assert described is not None
    assert "ctxguard: " in (described.text or "")


@pytest.mark.parametrize("colors", [picture.LIGHT, picture.DARK])
def test_words_can_be_read(colors: dict[str, str]) -> None:
    """Every text has the contrast that WCAG 2.2 asks for (4.5 to 1) against the card, every bar that of graphics (3 to 1)."""
    assert all(_contrast(colors[name], colors["card"]) >= 4.5 for name in ("text", "quiet"))
    assert all(_contrast(colors[name], colors["card"]) >= 3 for name in ("ours", "other"))


def test_check_fails_where_a_picture_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--check` writes nothing and exits with 1; without it the pictures are drawn, and then they are right."""
    monkeypatch.setattr(picture, "IMAGES", tmp_path / "images")
    monkeypatch.setattr(sys, "argv", ["picture.py", "--check"])
    assert 1 == picture.main()
    assert not (tmp_path / "images").exists()
    monkeypatch.setattr(sys, "argv", ["picture.py"])
    assert 0 == picture.main()
    monkeypatch.setattr(sys, "argv", ["picture.py", "--check"])
    assert 0 == picture.main()


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    shares = [int(part, 16) / 255 for part in re.findall("..", color[1:])]
    red, green, blue = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
