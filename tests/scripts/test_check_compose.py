"""What stands in for Docker: the steps of a Dockerfile, taken as they are written."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "order_service"


def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the script as a module of its own."""
    spec = importlib.util.spec_from_file_location("check_compose", ROOT / "scripts" / "check_compose.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    monkeypatch.setitem(sys.modules, "check_compose", module)
    spec.loader.exec_module(module)
    return module


def test_files_go_where_the_dockerfile_copies_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders by their contents, files by their names, below the working directory; and the command is the one that is written."""
    check = script(monkeypatch)
    image = check.Image(tmp_path)
    taken = [step for step in check.instructions((EXAMPLE / "Dockerfile").read_text(encoding="utf-8")) if step[0] not in {"FROM", "RUN"}]
    for instruction, rest in taken:
        image.take(instruction, rest, ROOT)
    for name in ("pyproject.toml", "README.md", "LICENSE", "app.py", "langchain_ctxguard/__init__.py"):
        assert (tmp_path / "srv" / name).is_file()
    assert ("nobody", "sh") == (image.user, image.command[0])


def test_a_step_that_is_not_known_or_fails_stops_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is passed over."""
    image = script(monkeypatch).Image(tmp_path)
    with pytest.raises(SystemExit, match="ADD x y"):
        image.take("ADD", "x y", ROOT)
    with pytest.raises(SystemExit, match="no such thing"):
        image.take("RUN", "echo no such thing && exit 3", ROOT)


def test_the_environment_is_filled_in_as_compose_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that has to be set is, and so is one that is only named."""
    service = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))["services"]["service"]
    url, token = script(monkeypatch).environment_of(service, "pw", "t")
    assert ("postgresql://postgres:pw@database:5432/orders", "t") == (url, token)


def test_a_page_that_asks_less_or_something_else_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are those the page promises, one for each request it shows."""
    check = script(monkeypatch)
    program = tmp_path / "curl"
    program.write_text('#!/bin/sh\necho \'{"answer": "a desk lamp"}\'\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    page = "## Try it\n\n    curl -s localhost:8000/a\n"
    with pytest.raises(SystemExit, match="asks less"):
        list(check.try_it(page, 1, "t"))
    with pytest.raises(SystemExit, match="without '\"digest\":'"):
        list(check.try_it(page + "    curl -s localhost:8000/b\n", 1, "t"))
