"""What users import stays what the docs say it is."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import textwrap

import pytest

import langchain_ctxguard
from langchain_ctxguard import errors

HEAVY = ["deepagents", "langchain", "langchain_core", "langgraph", "langsmith", "rich", "sqlalchemy", "tiktoken", "typer", "yaml"]


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that `statement` loads in a fresh interpreter."""
    code = f"import sys; {statement}; import json; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def drawn_tree(docstring: str) -> dict[str, str | None]:
    """Return each error of a drawn tree with the error it hangs from, in drawn order."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in textwrap.dedent(docstring.split("\n\n")[1]).splitlines():
        branch = line.lstrip("|`- ")
        depth = (len(line) - len(branch)) // 3
        name = branch.split()[0]
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else None
    return parents


def real_tree() -> dict[str, str | None]:
    """Return each error of `errors` with the error it derives from, in written order."""
    base = errors.ContextGuardError
    classes = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, base)]
    return {item.__name__: next((parent.__name__ for parent in item.__bases__ if issubclass(parent, base)), None) for item in classes}


def test_the_public_names_are_sorted_and_unique() -> None:
    """`__all__` reads as an index."""
    assert sorted(set(langchain_ctxguard.__all__)) == list(langchain_ctxguard.__all__)


@pytest.mark.parametrize("name", langchain_ctxguard.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """A name in `__all__` can be imported, shows in `dir()`, and says what it is."""
    assert name in dir(langchain_ctxguard)
    public = getattr(langchain_ctxguard, name)
    if callable(public):
        assert public.__doc__
        assert public.__module__.startswith("langchain_ctxguard.")


@pytest.mark.parametrize("name", ["events", "tracing"])
def test_a_module_beside_the_package_names_what_it_offers(name: str) -> None:
    """Sorted, there, and each says what it is; it loads no graph, no database and no exporter."""
    module = importlib.import_module(f"langchain_ctxguard.{name}")
    assert sorted(set(module.__all__)) == list(module.__all__)
    assert all(found.__doc__ for public in module.__all__ if isinstance(found := getattr(module, public), type))
    assert [] == sorted(loaded_by(f"import langchain_ctxguard.{name}") & {"deepagents", "langchain", "langgraph", "opentelemetry", "sqlalchemy"})


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Loading names when they are asked for hides no misspelling."""
    with pytest.raises(AttributeError, match="ContextGard"):
        langchain_ctxguard.ContextGard  # noqa: B018 - asking is the test


def test_importing_the_package_is_light() -> None:
    """`import langchain_ctxguard` loads no framework, no tokenizer and no YAML."""
    assert [] == sorted(loaded_by("import langchain_ctxguard") & set(HEAVY))


def test_importing_the_command_line_is_light() -> None:
    """The command line answers `--help` without loading LangGraph."""
    assert [] == sorted(loaded_by("import langchain_ctxguard.cli") & {"deepagents", "langchain", "langgraph", "tiktoken"})


def test_the_error_tree_is_the_drawn_one() -> None:
    """The tree in the docstring of `errors` is the tree of the classes."""
    assert errors.__doc__
    assert real_tree() == drawn_tree(errors.__doc__)
