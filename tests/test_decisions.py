"""The decisions: numbered without a gap, and every page that is named exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("*.md"))
_SOURCES = ("*.md", "docs/**/*.md", "langchain_ctxguard/**/*.py", "tests/**/*.py", "scripts/*.py", "benchmarks/**/*.py")


def test_the_numbers_run_without_a_gap_or_a_double() -> None:
    """Whoever lands a decision takes the next free number; the heading says the same number as the name of the file."""
    numbers = [int(page.name[:4]) for page in PAGES]
    assert list(range(1, len(PAGES) + 1)) == numbers
    headings = [page.read_text(encoding="utf-8").splitlines()[0] for page in PAGES]
    assert [] == [text for number, text in zip(numbers, headings, strict=True) if not text.startswith(f"# {number}. ")]


def test_every_decision_that_is_named_exists() -> None:
    """In a link, its number is that of its page."""
    names = {page.stem for page in PAGES}
    wrong = []
    for path in {found for pattern in _SOURCES for found in ROOT.glob(pattern)}:
        text = path.read_text(encoding="utf-8")
        prefix = r"\]\((?:\./)?" if path.parent == FOLDER else r"decisions/"
        wrong += [f"{path.name}: {name}" for name in re.findall(prefix + r"(\d{4}-[a-z0-9-]+)", text) if name not in names]
        wrong += [f"{path.name}: {shown} for {name}" for shown, name in re.findall(r"\[(\d+)\]\((?:\S*/)?(\d{4})-", text) if int(shown) != int(name)]
    assert [] == sorted(wrong)
