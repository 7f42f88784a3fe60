"""A how-to is followed as it stands: every block in its order, in an empty folder; and what must be installed for it is said."""

from __future__ import annotations

import ast
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_docs import FENCE, FOLLOWED, PAGES, ROOT, WITH_A_SERVER, python_blocks, run_commands

PARTS = ("**What you will have.**", "**What you need.**", "## If it does not")

BROUGHT = {"langchain", "langchain_core", "langchain_ctxguard", "langgraph", "langsmith", "pydantic", "yaml"}
"""Packages that installing this one brings."""

INSTALLED_BY = {
    "deepagents": "deepagents",
    "langchain_classic": "langchain-ctxguard[classic]",
    "langgraph.checkpoint.postgres": "langchain-ctxguard[postgres]",
    "langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite",
    "opentelemetry": "opentelemetry-sdk",
    "prometheus_client": "prometheus-client",
    "pytest": "pytest",
}
"""What a reader has to install for an import that this package does not bring."""


def follow(text: str, *, page: str) -> None:
    """Take the steps of a how-to in order, in the working directory: files are saved, Python goes on in one session, commands print what is shown."""
    module = types.ModuleType("a_how_to")
    sys.modules[module.__name__] = module
    try:
        for block in FENCE.finditer(text):
            line = text.count("\n", 0, block.start(3))
            title = re.search(r'title="([^"]+)"', block[0].partition("\n")[0])
            if title is not None:
                file = Path(title[1])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block[3], encoding="utf-8")
            elif block[2] == "python":
                with warnings.catch_warnings():
                    # deepagents 0.7 warns of its own defaults; a reader sees that as well.
                    warnings.filterwarnings("ignore", module="deepagents")
                    exec(compile("\n" * line + block[3], page, "exec"), module.__dict__)  # noqa: S102 - our own examples
            elif block[2] == "console":
                run_commands(block[0] + "\n")
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_how_to_is_followed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever does what the page says, in an empty folder, gets what it promises."""
    monkeypatch.chdir(tmp_path)
    follow((ROOT / page).read_text(encoding="utf-8"), page=page)


@pytest.mark.parametrize("page", [*FOLLOWED, WITH_A_SERVER])
def test_a_how_to_says_what_a_reader_asks(page: str) -> None:
    """What will I have, what do I need, how do I see that it works, and what if it does not."""
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [part for part in PARTS if part not in text]
    assert not missing, page
    assert re.search(r"^## .*see that it (works|holds)", text, re.MULTILINE | re.IGNORECASE), f"{page} does not say how to see that it works"


def imports(code: str) -> Iterator[str]:
    """Yield the modules a piece of Python imports."""
    if code.lstrip().startswith(">>>"):
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def not_said(text: str) -> set[str]:
    """Return the packages a page's examples import without the page saying how to install them."""
    missing = set()
    for _, code in python_blocks(text):
        for module in imports(code):
            extra = next((name for start, name in INSTALLED_BY.items() if f"{module}.".startswith(f"{start}.")), None)
            top = module.partition(".")[0]
            assert extra or top in BROUGHT or top in sys.stdlib_module_names, f"{module}: say in this test what installs it"
            if extra and not re.search(rf"pip install [^\n]*{re.escape(extra)}", text):
                missing.add(extra)
    return missing


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_its_examples_need(page: str) -> None:
    """An example that imports more than this package brings stands on a page with the command that installs it."""
    missing = not_said((ROOT / page).read_text(encoding="utf-8"))
    assert not missing, f"{page}: write `pip install {' '.join(sorted(missing))}` before the example"


def test_a_missing_install_is_noticed() -> None:
    """An import of deepagents without a word on how to get it."""
    assert {"deepagents"} == not_said("```python\nimport deepagents\n```\n")
    assert set() == not_said("    pip install deepagents\n\n```python\nimport deepagents\n```\n")


def test_a_step_that_does_not_work_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, the session and the command of a how-to belong together: without the file the command fails."""
    monkeypatch.chdir(tmp_path)
    command = "```console\n$ ctxguard constraints --config rules.yaml\n```\n"
    with pytest.raises(AssertionError):
        follow(command, page="PAGE.md")
    follow('```yaml title="rules.yaml"\nconstraints: [Never delete an order.]\n```\n' + command, page="PAGE.md")
