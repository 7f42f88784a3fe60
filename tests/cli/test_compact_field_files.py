"""Real transcripts are compacted to half of their tokens from the command line, and stay whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from typer.testing import CliRunner

from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.cli import build_app

FILES = [
    "deerflow_thread_4f3e55ee.json",
    "deerflow_thread_7cfa5f8f.json",
    "deerflow_thread_d3e5adaf.json",
    "deerflow_thread_fe3f7974.json",
    "sweagent_marshmallow1867_fc.traj",
    "sweagent_pydicom1458.traj",
]


def printed(*arguments: str | Path) -> Any:
    result = CliRunner().invoke(build_app(), ["compact", *map(str, arguments), "--json"])
    assert 0 == result.exit_code, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("file", FILES)
def test_a_real_transcript_fits_half_of_its_tokens(field_transcripts: Path, file: str) -> None:
    """Within the budget, calls and results paired, the last request verbatim exactly once."""
    source = field_transcripts / file
    budget = printed(source)["tokens_before"] // 2
    data = printed(source, "--budget", str(budget))
    assert data["outcome"] in ("accepted", "repaired", "fell_back")
    assert data["tokens_after"] <= budget
    calls = [call["id"] for message in data["messages"] for call in message.get("tool_calls", [])]
    results = [message["tool_call_id"] for message in data["messages"] if message["role"] == "tool"]
    assert sorted(calls) == sorted(results)
    (run,) = read_transcript(source).runs
    request = [message.text for message in run.messages if isinstance(message, HumanMessage)][-1]
    assert 1 == [message["content"] for message in data["messages"] if message["role"] == "user"].count(request)


def test_every_run_of_a_benchmark_gets_its_outcome(field_transcripts: Path) -> None:
    """Thirty-six runs in one file, each under its own name and within the budget."""
    runs = printed(field_transcripts / "tau-bench_gpt4o_airline_36.json", "--budget", "4000")["runs"]
    assert 36 == len({run["name"] for run in runs})
    assert [] == [run["name"] for run in runs if run["tokens_after"] > 4_000]
