"""`ctxguard schema` writes the JSON Schema of the config file; `ctxguard init` a file to start from."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.init import STARTER
from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig
from langchain_ctxguard.domain.stream_event import RolledBack
from langchain_ctxguard.domain.summary import Fact, PendingItem, StructuredSummary


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), [*map(str, arguments)])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_schema_is_printed_or_written_alike(here: Path) -> None:
    """Valid draft 2020-12, the same on the screen and in the file."""
    printed = run("schema")
    written = run("schema", "-o", "schema.json")
    assert (0, 0, "Written to schema.json\n") == (printed.exit_code, written.exit_code, written.stdout)
    data = json.loads(printed.stdout)
    Draft202012Validator.check_schema(data)
    assert GuardConfig.json_schema() == data == json.loads((here / "schema.json").read_text(encoding="utf-8"))


def test_the_schema_of_a_summary_is_published_too(here: Path) -> None:
    """Valid draft 2020-12, and what a head stores satisfies it."""
    written = run("schema", "summary", "-o", "summary.json")
    assert (0, "Written to summary.json\n") == (written.exit_code, written.stdout)
    data = json.loads((here / "summary.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(data)
    told = StructuredSummary(user_intent=("ship it",), pending_items=(PendingItem(text="call Bob"),), facts=(Fact(statement="it is blue"),))
    Draft202012Validator(data).validate(told.model_dump(mode="json"))
    assert not Draft202012Validator(data).is_valid({**told.model_dump(mode="json"), "mood": "good"})


def test_the_schema_of_stream_events_is_published_too(here: Path) -> None:
    """Valid draft 2020-12, and what a stream is told satisfies it."""
    data = json.loads(run("schema", "events").stdout)
    Draft202012Validator.check_schema(data)
    event = RolledBack(at=datetime(2026, 6, 30, tzinfo=UTC), version=3, restored=1).model_dump(mode="json")
    Draft202012Validator(data).validate(event)
    assert not Draft202012Validator(data).is_valid({**event, "type": "context.melted"})


def test_a_schema_that_cannot_be_written_is_an_error(here: Path) -> None:
    """The message says so, the exit code is 2."""
    result = run("schema", "-o", here / "none" / "schema.json")
    assert (2, "") == (result.exit_code, result.stdout)
    assert "Cannot write" in result.stderr
    assert "Nothing was written" in result.stderr


def test_init_writes_a_file_that_loads(here: Path) -> None:
    """In the working folder, in a folder named, or under a name."""
    (here / "folder").mkdir()
    for arguments, name in (((), "ctxguard.yaml"), (("folder",), "folder/ctxguard.yaml"), (("other.yaml",), "other.yaml")):
        result = run("init", *arguments)
        assert (0, f"Written to {name}. Next: ctxguard constraints --config {name}\n") == (result.exit_code, result.stdout)
        config = GuardConfig.from_file(here / name)
        assert [None, "query-only", "no-card-number"] == [
            None if rule.constraint_id.startswith("rule-") else rule.constraint_id for rule in config.constraints
        ]


def test_the_starter_states_the_defaults(here: Path) -> None:
    """Apart from its example rules and the tool calls it asks about it changes nothing."""
    run("init")
    config = GuardConfig.from_file("ctxguard.yaml")
    assert (GuardConfig(), CompactionSettings()) == (
        config.model_copy(update={"constraints": (), "tools": None, "compaction": CompactionSettings()}),
        config.compaction,
    )


def test_the_starters_commented_lines_load_too(here: Path) -> None:
    """Whoever removes the `#` of an example gets a config that works."""
    lines = [line.replace("# ", "", 1) if _is_example(line) else line for line in STARTER.splitlines()]
    Path("all.yaml").write_text("\n".join(lines), encoding="utf-8")
    config = GuardConfig.from_file("all.yaml")
    assert ("release-freeze", 128_000, "/srv/app") == (config.constraints[-1].constraint_id, config.compaction.window, config.workspace)


def _is_example(line: str) -> bool:
    body = line.strip().removeprefix("# ").strip().removeprefix("- ")
    return line.strip().startswith("# ") and body.split(":")[0] in {
        "constraint_id",
        "text",
        "scope",
        "expires_at",
        "window",
        "on_violation",
        "workspace",
    }


@pytest.mark.parametrize("content", ["", "mine: yes\n"])
def test_init_never_overwrites(here: Path, content: str) -> None:
    """An existing file stays byte for byte, also an empty one."""
    (here / "ctxguard.yaml").write_text(content, encoding="utf-8")
    result = run("init")
    assert (2, "", content) == (result.exit_code, result.stdout, (here / "ctxguard.yaml").read_text(encoding="utf-8"))
    assert "'ctxguard.yaml' exists and stays as it is" in result.stderr


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_init_does_not_write_through_a_dangling_link(here: Path) -> None:
    """A link that leads nowhere is something that exists."""
    (here / "ctxguard.yaml").symlink_to(here / "elsewhere")
    assert 2 == run("init").exit_code
    assert not (here / "elsewhere").exists()


def test_init_in_a_folder_that_is_not_there_is_an_error(here: Path) -> None:
    """Nothing is created on the way."""
    result = run("init", "none/ctxguard.yaml")
    assert (2, []) == (result.exit_code, list(here.iterdir()))
    assert "Cannot write 'none/ctxguard.yaml'" in result.stderr
