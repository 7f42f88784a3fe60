"""The check of the oldest dependencies: every bound is declared, and one that is not what is installed is named."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script() -> Any:
    """Return the script as a module of its own."""
    spec = importlib.util.spec_from_file_location("check_install", ROOT / "scripts" / "check_install.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_of_a_user_has_a_lower_bound_that_is_run() -> None:
    """Those of the package and of each extra; and each extra is among them."""
    check = script()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    assert set(project["optional-dependencies"]) == set(check.EXTRAS)
    assert {re.split(r"[>=<]", one)[0] for one in declared} == set(check.lower_bounds())
    assert [] == [path for path in check.LOWEST if not (ROOT / path).exists()]


def test_another_version_than_the_bound_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros at the end are no difference, a missing package is one."""
    check = script()
    there = [{"name": "pydantic", "version": "2.12.5"}, {"name": "SQLAlchemy", "version": "2.0.36"}, {"name": "PyYAML", "version": "6.0.0"}]
    monkeypatch.setattr(check, "uv", lambda: "uv")
    monkeypatch.setattr(check, "run", lambda *_, **__: json.dumps(there))
    lowest = {"pydantic": "2.11.4", "SQLAlchemy": "2.0.36", "PyYAML": "6.0", "psycopg[binary]": "3.2.1"}
    assert ["pydantic 2.12.5 instead of 2.11.4", "psycopg[binary] nothing instead of 3.2.1"] == list(check.not_at(lowest, "python"))


def test_a_dependency_without_a_bound_stops_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to write."""
    check = script()
    extras = {extra: [] for extra in check.EXTRAS}
    named = "\n".join(f"{name} = {json.dumps(needed)}" for name, needed in extras.items())
    (tmp_path / "pyproject.toml").write_text(f'[project]\ndependencies = ["rich<16"]\n[project.optional-dependencies]\n{named}\n', encoding="utf-8")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="rich<16 has no lower bound"):
        check.lower_bounds()
