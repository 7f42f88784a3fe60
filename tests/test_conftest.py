"""The test run itself keeps its word: no hidden skips, no network, a database of one's own."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIPPING = """
import pytest
from tests.conftest import SHARED_IS_ABSENT

def test_skips(): pytest.skip("no reason at all")
def test_skips_without_field_material(): pytest.skip(SHARED_IS_ABSENT)
@pytest.mark.xfail(reason="known")
def test_is_known_to_fail(): assert False
"""
SELF_SKIPPING = "import pytest\npytest.skip('the whole file', allow_module_level=True)\n"
TALKING = """
import socket
def test_talks(): socket.create_connection(("192.0.2.1", 80), timeout=1)
"""


def closing_line(folder: Path, source: str, **environment: str) -> str:
    """Return the last line of a run over one test file, under this project's settings."""
    file = folder / "test_sample.py"
    file.write_text(source, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name != "CTXGUARD_NO_SKIPS" and not name.startswith("PYTEST_")}
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--durations=0", "-q", f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=clean | environment)
    return done.stdout.strip().splitlines()[-1].rpartition(" in ")[0]


@pytest.mark.parametrize(
    ("source", "environment", "expected"),
    [
        (SKIPPING, {}, "2 skipped, 1 xfailed"),
        (SKIPPING, {"CTXGUARD_NO_SKIPS": "1"}, "1 failed, 1 skipped, 1 xfailed"),
        (SELF_SKIPPING, {}, "1 skipped"),
        (SELF_SKIPPING, {"CTXGUARD_NO_SKIPS": "1"}, "1 error"),
    ],
)
def test_a_run_without_skips_fails_on_a_skip(source: str, environment: dict[str, str], expected: str, tmp_path: Path) -> None:
    """With CTXGUARD_NO_SKIPS=1 a skip is a failure, unless the field material is absent."""
    assert expected == closing_line(tmp_path, source, **environment)


def test_the_network_is_off(tmp_path: Path) -> None:
    """A test that talks to anything but loopback fails."""
    assert "1 failed" == closing_line(tmp_path, TALKING)


def test_every_test_states_its_promise() -> None:
    """The docstring of a test is the sentence it keeps."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert [] == silent


def test_a_server_test_has_a_database_of_its_own(postgres_url: str) -> None:
    """`postgres_url` names an empty database that can be written to."""
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        assert [] == connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        connection.execute("CREATE TABLE written (at int)")
