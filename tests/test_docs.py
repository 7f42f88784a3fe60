"""Every Python example in the docs runs."""

from __future__ import annotations

import doctest
import re
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page.relative_to(ROOT).as_posix() for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield each Python block of a Markdown page with the number of lines above it."""
    for block in FENCE.finditer(text):
        if block[2] in {"python", "py"}:
            yield text.count("\n", 0, block.start(3)), "".join(line.removeprefix(block[1]) for line in block[3].splitlines(keepends=True))


PAGES_WITH_EXAMPLES = [page for page in PAGES if any(python_blocks((ROOT / page).read_text(encoding="utf-8")))]


def run_examples(text: str, *, page: str) -> None:
    """Run the Python blocks of `text` one after another in one module, as a reader would; a `>>>` session must print what it shows."""
    # A module of its own, registered: what reads annotations looks them up by module name.
    module = types.ModuleType("examples_of_a_page")
    sys.modules[module.__name__] = module
    try:
        for line, code in python_blocks(text):
            if code.lstrip().startswith(">>>"):
                session = doctest.DocTestParser().get_doctest(code, module.__dict__, page, page, line)
                runner = doctest.DebugRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
                runner.run(session, clear_globs=False)
            else:
                exec(compile("\n" * line + code, page, "exec"), module.__dict__)  # noqa: S102 - our own examples
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader can paste the examples of a page in order, in an empty folder, and they work."""
    monkeypatch.chdir(tmp_path)
    run_examples((ROOT / page).read_text(encoding="utf-8"), page=page)


def test_the_readme_has_an_example() -> None:
    """The first page shows code, and that code is among what runs."""
    assert "README.md" in PAGES_WITH_EXAMPLES


def test_a_broken_example_is_noticed_on_its_own_line() -> None:
    """The traceback of a failing example names the page and the line in it."""
    with pytest.raises(ZeroDivisionError) as caught:
        run_examples("# Title\n\n```python\nx = 1\nx / 0\n```\n", page="PAGE.md")
    last = traceback.extract_tb(caught.tb)[-1]
    assert ("PAGE.md", 5) == (last.filename, last.lineno)


def test_a_session_that_prints_something_else_is_noticed() -> None:
    """What stands under `>>>` is compared with what is printed."""
    with pytest.raises(doctest.DocTestFailure):
        run_examples("```python\n>>> 1 + 1\n3\n\n```\n", page="PAGE.md")
