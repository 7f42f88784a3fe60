"""The part of the floors that import-linter cannot say: it knows a foreign package only as a whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import langchain_ctxguard

PACKAGE = Path(langchain_ctxguard.__path__[0])
INNER = sorted(path.relative_to(PACKAGE).as_posix() for floor in ("domain", "core") for path in (PACKAGE / floor).rglob("*.py"))


def imported_modules(source: str) -> Iterator[str]:
    """Yield the modules `source` imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module}.{node.names[0].name}" if node.module == "langchain_core" else str(node.module)


def is_message_module(module: str) -> bool:
    """Say whether `module` is where the message classes live."""
    return module == "langchain_core.messages" or module.startswith("langchain_core.messages.")


@pytest.mark.parametrize("file", INNER)
def test_of_langchain_core_the_inner_floors_use_messages_only(file: str) -> None:
    """`domain` and `core` take message classes from `langchain_core` and nothing else."""
    modules = imported_modules((PACKAGE / file).read_text(encoding="utf-8"))
    assert [] == [module for module in modules if module.split(".")[0] == "langchain_core" and not is_message_module(module)]


def test_an_import_inside_a_function_counts() -> None:
    """A framework hidden in a function body is found as well."""
    source = "def f():\n    from langchain_core import runnables\n    import langchain_core.tools\n"
    assert ["langchain_core.runnables", "langchain_core.tools"] == list(imported_modules(source))
