"""`ctxguard check` and `ctxguard case`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result
from langchain.agents import create_agent
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner

from langchain_ctxguard import ContextCheckpointer, ContextGuard, GuardConfig, GuardStore
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, ToolUse
from langchain_ctxguard.testing.retention.files import read_cases

CASES = """
cases:
- name: "orders stay \\u001b[31m"
  rules: [Never delete an order.]
  conversation: [{user: 'Look at ORD-1.'}, {ai: Done.}]
  request: Delete ORD-1.
  act: {call: {tool: delete_order, args: {order_id: ORD-1}}}
  expect: {not_called: [delete_order]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.retention.yaml"
    path.write_text(CASES, encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), [*map(str, arguments)])


def test_a_strategy_is_held_to_cases(file: Path, tmp_path: Path) -> None:
    """What passes and fails is printed, exits with 1, and goes into a JUnit file; control characters of a name reach no terminal."""
    report = tmp_path / "results.xml"
    done = run("check", file, "--strategy", "guard", "--strategy", "langchain", "--uncompacted", "--junit", report)
    assert 1 == done.exit_code
    assert "4 runs, 1 failed." in done.output
    assert "\x1b" not in done.output
    assert "lost: 'Never delete an order.'" in done.output
    suite = ET.parse(report).getroot()[0]  # noqa: S314 - our own file
    assert ("4", "1") == (suite.get("tests"), suite.get("failures"))
    (failure,) = suite.iter("failure")
    assert "compaction caused this" in (failure.text or "")


def test_results_are_data(file: Path) -> None:
    """With what was found, and whether compaction caused it."""
    done = run("check", file.parent, "--strategy", "langchain", "--json")
    found = json.loads(done.output)
    assert (1, 1, False) == (done.exit_code, found["failed"], found["cases"][0]["passed"])
    assert {"lost", "not_called"} == {finding["kind"] for finding in found["cases"][0]["findings"]}
    assert "Uncompacted it passes: compaction caused this." == found["cases"][0]["verdict"]


def test_all_as_expected_exits_with_zero(file: Path) -> None:
    """So a pipeline can stand on it."""
    assert 0 == run("check", file).exit_code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--starter"),
        (["none.retention.yaml"], "Cannot read"),
        (["FILE", "--strategy", "gard"], "no strategy 'gard'"),
        (["FILE", "--model", "nobody:nothing"], "the model 'nobody:nothing' cannot be used"),
        (["FILE", "--junit", "none/x.xml"], "Cannot write"),
    ],
)
def test_what_cannot_be_started_is_said(arguments: list[str], said: str, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a sentence, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    done = run("check", *(str(file) if one == "FILE" else one for one in arguments))
    assert 2 == done.exit_code
    assert said in done.output
    assert "Traceback" not in done.output


def test_a_transcript_becomes_a_case(tmp_path: Path) -> None:
    """It is written, reads back, and fails where the run had failed: the call happens again unless something stops it."""
    transcript = tmp_path / "run.json"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Order ORD-7 arrives 2026-12-15."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Delete ORD-7."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "delete_order", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "Deleted."},
    ]
    transcript.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    out = tmp_path / "made.retention.yaml"
    done = run("case", transcript, "--rule", "Never delete an order.", "-o", out)
    assert 0 == done.exit_code, done.output
    assert "ctxguard check" in done.output
    (made,) = read_cases(out)
    assert ("Delete ORD-7.", ("delete_order",), ("Never delete an order.",)) == (
        made.request,
        made.expect.not_called,
        tuple(rule.text for rule in made.rules),
    )
    assert (0, 1) == (run("check", out).exit_code, run("check", out, "--strategy", "langchain").exit_code)
    assert 2 == run("case", transcript, "--request", "9").exit_code
    assert 2 == run("case", tmp_path / "none.json").exit_code


def test_a_stored_thread_becomes_a_case(tmp_path: Path) -> None:
    """What left its state comes from the archive, in order; a thread that is not there is said."""
    saver_url, store_url = f"sqlite:///{tmp_path}/agent.db", f"sqlite:///{tmp_path}/ctxguard.db"
    delete = Behaviour(when="Delete", call=ToolUse("delete_order", {"order_id": "ORD-7"}))
    with SqliteSaver.from_conn_string(f"{tmp_path}/agent.db") as saver, GuardStore.open(store_url) as store:
        guard = ContextGuard(GuardConfig.from_dict({"compaction": {"evict": "archive"}}), trigger=("messages", 6), keep=("messages", 2), store=store)

        def delete_order(order_id: str) -> str:
            """Delete an order."""
            return f"Deleted {order_id}."

        model = ObedientModel(behaviours=(delete,))
        agent = create_agent(model, [delete_order], middleware=[guard], checkpointer=ContextCheckpointer(saver, store=store))
        for text in [f"Note {number}: ORD-{number} is due 2026-12-{10 + number}. " + "It waits in the hall. " * 40 for number in range(6)]:
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "线程"}})
        agent.invoke({"messages": [("user", "Delete ORD-7.")]}, {"configurable": {"thread_id": "线程"}})
        guard.close()
    out = tmp_path / "made.retention.yaml"
    done = run("case", "线程", "--checkpointer", saver_url, "--store", store_url, "-o", out)
    assert 0 == done.exit_code, done.output
    (made,) = read_cases(out)
    assert [f"Note {number}" for number in range(6)] == [turn.user[:6] for turn in made.conversation if turn.user is not None]
    assert ("Delete ORD-7.", ("delete_order",)) == (made.request, made.expect.not_called)
    assert 2 == run("case", "none", "--checkpointer", saver_url, "--store", store_url).exit_code
    assert 2 == run("case", "线程", "--checkpointer", f"sqlite:///{tmp_path}/none.db").exit_code
