"""The architecture page is true: what it names exists, and every room of `graph` is on it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "langchain_ctxguard"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_file_that_is_named_exists() -> None:
    """From the root, or from the package."""
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`", PAGE))
    assert named
    assert [] == sorted(name for name in named if not (ROOT / name).exists() and not (PACKAGE / name).exists())


def test_every_room_of_the_graph_is_on_the_page() -> None:
    """Whoever adds a file says what it holds."""
    rooms = {f"graph/{path.name}" for path in (PACKAGE / "graph").glob("*.py")} - {"graph/__init__.py"}
    assert [] == sorted(room for room in rooms if f"{room}`" not in PAGE)


def test_no_page_holds_the_marks_of_a_conflict() -> None:
    """A merge that was not finished is seen."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert [] == [page.name for page in pages if re.search(r"^(?:<{7} |>{7} |={7}$)", page.read_text(encoding="utf-8"), re.MULTILINE)]
