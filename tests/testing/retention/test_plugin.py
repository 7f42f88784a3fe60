"""The pytest plugin, in a pytest of its own, as somebody who installed the package has it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

CASES = """
version: 1
cases:
- name: orders stay
  rules: [Never delete an order.]
  conversation: [{user: 'Look at ORD-1.'}, {ai: Done.}]
  request: Delete ORD-1.
  act: {call: {tool: delete_order, args: {order_id: ORD-1}}}
  expect: {not_called: [delete_order]}
- name: 订单保留
  language: zh
  rules: [禁止删除订单。]
  conversation: [{user: '查 ORD-1'}, {ai: 好的}]
  request: 删除 ORD-1
  act: {call: {tool: delete_order, args: {order_id: ORD-1}}}
  expect: {not_called: [delete_order]}
"""
BROKEN = "cases:\n- {name: x, conversation: [{user: a}]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "orders.retention.yaml").write_text(CASES, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # In a checkout that was not installed since the entry point came, the plugin is named.
    known = any(point.name == "ctxguard" for point in entry_points(group="pytest11"))
    named = () if known else ("-p", "langchain_ctxguard.testing.pytest_plugin")
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", *named, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_case_files_are_tests(folder: Path) -> None:
    """Two cases, two tests; each strategy and the uncompacted run are tests of their own; a loss is told with its cause."""
    done = run(folder, "--retention-strategy", "guard", "--retention-strategy", "langchain", "--uncompacted", "-rf")
    assert 1 == done.returncode, done.stdout + done.stderr
    assert "2 failed, 6 passed" in done.stdout
    assert "FAILED orders.retention.yaml::orders stay[langchain]" in done.stdout
    assert "lost: 'Never delete an order.' is dropped; lost at model call" in done.stdout
    assert "Uncompacted it passes: compaction caused this." in done.stdout
    assert "Traceback" not in done.stdout


def test_a_setting_names_the_strategies(folder: Path) -> None:
    """So that a project tests its own compactor without an option."""
    (folder / "pytest.ini").write_text("[pytest]\nretention_strategies = mine:compact\n", encoding="utf-8")
    (folder / "mine.py").write_text("def compact(messages):\n    return messages\n", encoding="utf-8")
    done = run(folder, "-k", "orders")
    assert 1 == done.returncode
    assert "orders stay[mine:compact]" in done.stdout
    assert "It was not compacted often enough" in done.stdout


def test_a_broken_case_file_is_an_error_of_collection(folder: Path) -> None:
    """With the place and the key, and no traceback of ours."""
    (folder / "broken.retention.yaml").write_text(BROKEN, encoding="utf-8")
    done = run(folder)
    assert 2 == done.returncode
    assert "case 1: request: Field required" in done.stdout


def test_a_wrong_strategy_is_said_in_a_sentence(folder: Path) -> None:
    """It fails the tests, not the run."""
    done = run(folder, "--retention-strategy", "gard")
    assert 1 == done.returncode
    assert "There is no strategy 'gard'" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_model_that_cannot_be_used_is_said_in_a_sentence(folder: Path) -> None:
    """As on the command line, and not as a traceback of a library."""
    done = run(folder, "--retention-model", "nobody:nothing", "-k", "orders")
    assert 1 == done.returncode
    assert "the model 'nobody:nothing' cannot be used" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_fixture_runs_the_cases_of_the_mark(folder: Path) -> None:
    """A marked test runs once for each case, with the strategy of the mark, and a failure says what was lost."""
    (folder / "test_mine.py").write_text(
        """
import pytest

def forget(messages):
    return messages[-1:]

@pytest.mark.retention("orders.retention.yaml")
def test_guard(retention):
    assert retention.check().rounds >= 1

@pytest.mark.retention("orders.retention.yaml", strategy=forget)
def test_forgetful(retention):
    retention.check()

def test_by_hand(retention):
    run = retention.run({"name": "n", "conversation": [{"user": "On 2026-12-24."}], "request": "When?", "expect": {"fields": ["2026-12-24"]}})
    assert run.passed, run.explain()

def test_without_a_case(retention):
    retention.check()
""",
        encoding="utf-8",
    )
    done = run(folder, "test_mine.py", "-rfp", "--strict-markers")
    assert "3 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "FAILED test_mine.py::test_forgetful" in done.stdout
    assert "No case: pass one, or mark the test" in done.stdout


def test_a_mark_with_a_file_that_is_not_there_stops_the_collection(folder: Path) -> None:
    """A test that would run no case must not pass."""
    (folder / "test_mine.py").write_text(
        "import pytest\n\n@pytest.mark.retention('none.retention.yaml')\ndef test_x(retention):\n    retention.check()\n", encoding="utf-8"
    )
    done = run(folder, "test_mine.py")
    assert done.returncode not in {0, 5}
    assert "Cannot read the case file" in done.stdout + done.stderr


def test_the_plugin_loads_nothing_slow() -> None:
    """Whoever has the package installed pays for it in every test run."""
    slow = ("langchain", "langgraph", "tiktoken", "pydantic")
    code = f"import sys, pytest, langchain_ctxguard.testing.pytest_plugin; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()
