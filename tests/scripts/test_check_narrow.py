"""Pages on a narrow screen: what is wider than it is named, what scrolls by itself is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser import chromium

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_narrow.py"
PAGE = '<main class="md-content"><p>Short.</p>{}</main>'


def look(folder: Path, *, path: str | None = None) -> tuple[int, str]:
    """Run the script over a folder; return its exit code and what it printed."""
    settings = os.environ if path is None else {**os.environ, "PATH": path}
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False, env=settings)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt-get install chromium")
def test_what_is_too_wide_is_named_and_what_scrolls_is_not(tmp_path: Path) -> None:
    """A wide block makes the page fail; in a box of its own that scrolls it does not."""
    for name, body in (
        ("wide", '<pre style="width:600px">too wide</pre>'),
        ("boxed", '<div style="overflow:auto"><pre style="width:600px">x</pre></div>'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(PAGE.format(body), encoding="utf-8")
    code, told = look(tmp_path)
    assert 1 == code
    assert "wide/index.html: pre: too wide" in told
    assert "boxed" not in told
    assert (0, "1 pages fit 390 pixels.\n") == look(tmp_path / "boxed")


def test_without_a_browser_it_says_that_nobody_looked(tmp_path: Path) -> None:
    """And fails nothing."""
    code, told = look(tmp_path, path=str(tmp_path))
    assert 0 == code
    assert "nobody looked" in told
