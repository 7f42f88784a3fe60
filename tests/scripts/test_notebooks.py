"""The notebooks show what they print today, or the check says where they do not."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from scripts import notebooks

NAMES = [
    "01_rules_that_survive",
    "02_replace_conversation_summary_memory",
    "03_control_fields_and_rollback",
    "04_tool_policy_and_approvals",
    "05_trace_in_langsmith",
    "06_coding_agent_handoff",
]


def notebook(*outputs: dict[str, Any], count: int | None = 1) -> dict[str, Any]:
    """Return a notebook of a heading and one cell with these outputs."""
    cell = {"cell_type": "code", "id": "cell-1", "metadata": {}, "execution_count": count, "source": "work()\nmore()", "outputs": list(outputs)}
    return notebooks.tidy({"cells": [{"cell_type": "markdown", "id": "cell-0", "metadata": {}, "source": "# One"}, cell]})


def printed(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


PICTURE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}}


def test_another_output_is_a_fault_with_both_lines() -> None:
    """Drift is named by cell, with what was committed and what comes out now."""
    (fault,) = notebooks.faults(notebook(printed("kept: 4\n")), notebook(printed("kept: 3\n")))
    assert fault.startswith("cell 1 shows something else:")
    assert "-kept: 4" in fault
    assert "+kept: 3" in fault


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("id 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "id 00000000-2fa1-11d2-883f-0016d3cca427"),
        ("at 2026-11-30T20:26:07+00:00", "at 2027-01-02T03:04:05.123456Z"),
        ("took 12.5 ms", "took 900 ms"),
        ("<Tool at 0x7f00aa10bb20>", "<Tool at 0x7f00aa10bb21>"),
        ("http://127.0.0.1:5001/runs", "http://127.0.0.1:6002/runs"),
    ],
)
def test_what_differs_in_every_run_is_no_fault(before: str, after: str) -> None:
    """Ids, times, durations, addresses and ports count as equal."""
    assert [] == list(notebooks.faults(notebook(printed(before)), notebook(printed(after))))


@pytest.mark.parametrize(("before", "after"), [("4 rules", "3 rules"), ("2026-12-15", "2026-12-25"), ("442 tokens", "443 tokens"), ("a", "a\nb")])
def test_a_number_or_a_date_that_is_said_is_no_run_detail(before: str, after: str) -> None:
    """Settling an output hides no value that the notebook is about."""
    assert 1 == len(list(notebooks.faults(notebook(printed(before)), notebook(printed(after)))))


def test_pieces_of_a_stream_are_one_text() -> None:
    """However a kernel cuts what was printed, it is the same output."""
    assert [] == list(notebooks.faults(notebook(printed("one\ntwo\n")), notebook(printed("one\n"), printed("two\n"))))


def test_a_picture_that_is_gone_is_a_fault() -> None:
    """Pictures are not compared dot by dot, but one has to be there."""
    other = {**PICTURE, "data": {"image/png": "b3RoZXI="}}
    assert [] == list(notebooks.faults(notebook(PICTURE), notebook(other)))
    assert 1 == len(list(notebooks.faults(notebook(PICTURE), notebook())))


def test_a_complaint_and_a_notebook_that_never_ran_are_faults() -> None:
    """Warnings do not reach a reader, and nothing is committed without its outputs."""
    assert ["cell 1 complains: Warning: old", "cell 1 was committed without having run"] == [
        fault for fault in notebooks.faults(notebook(count=None), notebook(printed("Warning: old\n", "stderr"))) if "something else" not in fault
    ]


def test_a_kernel_has_no_key_and_no_way_out() -> None:
    """Whatever the environment of the caller holds, a notebook runs as for somebody who has nothing."""
    env = notebooks.environment({"PATH": "/bin", "OPENAI_API_KEY": "k", "LANGSMITH_TRACING": "true", "HTTPS_PROXY": "http://proxy"})
    assert "/bin" == env["PATH"]
    assert not {"OPENAI_API_KEY", "LANGSMITH_TRACING"} & set(env)
    assert env["HTTPS_PROXY"].endswith(":9")


def test_check_changes_nothing_and_write_writes_only_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` exits with 1 and leaves the file; `--write` mends it; written again, it stays byte for byte."""
    path = tmp_path / "one.ipynb"
    path.write_text(notebooks.written(notebook(printed("old\n"))), encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.setattr(notebooks, "run", lambda given: notebook(printed("new 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n")))
    assert 1 == notebooks.main(["--check", str(path)])
    assert before == path.read_bytes()
    assert "+new <id>" in capsys.readouterr().err
    assert 0 == notebooks.main(["--write", str(path)])
    mended = path.read_bytes()
    monkeypatch.setattr(notebooks, "run", lambda given: notebook(printed("new 00000000-2fa1-11d2-883f-0016d3cca427\n")))
    assert 0 == notebooks.main(["--check", str(path)])
    assert 0 == notebooks.main(["--write", str(path)])
    assert mended == path.read_bytes()


def test_a_notebook_that_fails_is_reported_and_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a cell is a fault, also where outputs may be written."""

    def fails(given: Any) -> Any:
        msg = "NameError: name 'x' is not defined"
        raise notebooks.NotebookError(msg)

    path = tmp_path / "one.ipynb"
    path.write_text(notebooks.written(notebook()), encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.setattr(notebooks, "run", fails)
    assert 1 == notebooks.main(["--write", str(path)])
    assert before == path.read_bytes()


def test_the_notebooks_are_there_and_say_first_what_one_will_have() -> None:
    """Each notebook of the list ran, starts with what one has at the end, and has a picture where one looks rather than reads."""
    assert NAMES == sorted(path.stem for path in notebooks.NOTEBOOKS.glob("*.ipynb"))
    for name in NAMES:
        given = json.loads((notebooks.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
        first = "".join(given["cells"][0]["source"])
        assert re.search(r"\*\*At the end you will have\*\*", first), name
        code = [cell for cell in given["cells"] if cell["cell_type"] == "code"]
        assert all(cell["execution_count"] for cell in code), name
        assert any(line.startswith("<image/") for cell in code for line in notebooks.shown(cell)), name
        assert not any(output.get("name") == "stderr" for cell in code for output in cell["outputs"]), name
        assert given == json.loads(notebooks.written(notebooks.tidy(copy.deepcopy(given)))), name
