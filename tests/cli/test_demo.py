"""`ctxguard demo` prints what was seen in the run it made, and nothing else."""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Sequence

import pytest

from langchain_ctxguard.cli.demo import demo_command, plain_table, what_was_seen
from langchain_ctxguard.testing.scenarios import order_assistant
from langchain_ctxguard.testing.scenarios.ways import WAYS, WayResult

LOST = WayResult(
    name="forgetful",
    rules_in_input=0,
    rules_total=4,
    row_exists=False,
    phone_shown=True,
    writes=2,
    writes_logged=0,
    tokens_before=4_000,
    tokens_after=1_000,
    compactions=2,
    answers=(),
)
KEPT = dataclasses.replace(LOST, name="faithful", rules_in_input=4, row_exists=True, phone_shown=False, writes=0)


class Terminal(io.StringIO):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        """Say yes."""
        return True


def show(monkeypatch: pytest.MonkeyPatch, results: Sequence[WayResult]) -> None:
    """Let the demo find `results`."""
    monkeypatch.setattr(order_assistant, "run_order_assistant", lambda: list(results))


def test_json_is_the_data_of_a_real_run(capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON object: the ways with all their figures, the note and the versions, within ten seconds and without a key."""
    started = time.monotonic()
    demo_command(json_output=True)
    data = json.loads(capsys.readouterr().out)

    assert 10 > time.monotonic() - started
    assert ["ways", "note", "versions"] == list(data)
    assert [field.name for field in dataclasses.fields(WayResult) if field.name != "answers"] == list(data["ways"][0])
    assert {"naive summary": 0, "SummarizationMiddleware": 0, "ContextGuard": 4} == {way["name"]: way["rules_in_input"] for way in data["ways"]}
    assert {"langchain-ctxguard", "langchain", "langgraph", "langchain-core", "python"} == set(data["versions"])


def test_a_pipe_gets_plain_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No colours and no frames where nobody watches; table, sentence and note are all there."""
    show(monkeypatch, [LOST, KEPT])
    demo_command(json_output=False)
    out = capsys.readouterr().out

    assert out.isascii()
    assert "\x1b" not in out
    assert f"{plain_table([LOST, KEPT])}\n\n{what_was_seen([LOST, KEPT])}\n\n{order_assistant.NOTE}\n" == out


def test_a_terminal_gets_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The framed table and the plain one hold the same cells, uncut at 80 columns."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    show(monkeypatch, [dataclasses.replace(LOST, name=name) for name in WAYS[:2]] + [dataclasses.replace(KEPT, name=WAYS[2])])
    demo_command(json_output=False)

    missing = [cell for cell in (*WAYS, "0 of 4", "deleted", "4,000", "1,000", "still there", "no writes") if cell not in terminal.getvalue()]
    assert [] == missing


def test_the_columns_line_up() -> None:
    """Each way has its column, under its name, and fits a terminal of 80 columns."""
    lines = plain_table([LOST, KEPT]).splitlines()
    names, order = lines[0], next(line for line in lines if line.startswith("the order"))

    assert [names.index("forgetful"), names.index("faithful")] == [order.index("deleted"), order.index("still there")]
    assert 80 > max(map(len, lines))


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        (
            [LOST, KEPT],
            (
                "With rules lost (forgetful) the order was deleted, a private number was shown and 0 of 2 writes were logged; "
                "with all rules in sight (faithful) the order is still there, no private number was shown and nothing was written."
            ),
        ),
        (
            [LOST, dataclasses.replace(LOST, name="lucky", row_exists=True, writes_logged=1)],
            "With rules lost (forgetful, lucky) the order was deleted in 1 of 2 runs, a private number was shown and 1 of 4 writes were logged.",
        ),
        (
            [dataclasses.replace(KEPT, row_exists=False, writes=1)],
            "With all rules in sight (faithful) the order was deleted, no private number was shown and 0 of 1 writes were logged.",
        ),
    ],
)
def test_the_sentence_follows_the_results(results: list[WayResult], sentence: str) -> None:
    """Other results, another sentence: a guard that failed would be told as such."""
    assert sentence == what_was_seen(results)
