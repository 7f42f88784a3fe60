"""`ctxguard constraints` lists the rules of a file and never calls guidance more than that."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app, constraints

RULES = """
constraints:
  - 绝不显示电话号码。
  - {constraint_id: stop, text: No card numbers., enforcement: verifier, validator: {pattern: "[0-9]{16}", must: not_match}, on_fail: stop}
  - {constraint_id: flag, text: Be polite., enforcement: verifier, validator: polite, authority: user, scope: {kind: thread, value: t-1}}
  - {constraint_id: version, text: Python 3.11., enforcement: verifier, validator: {argv: [check-version]}, checks: tool_result, severity: low}
  - {constraint_id: gate, text: Delete nothing., enforcement: runtime, version: 4}
  - {constraint_id: ask, text: Ask before sending., enforcement: human_approval}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A config with a rule of every kind."""
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), ["constraints", *map(str, arguments)])


def test_each_rule_is_listed_with_what_makes_it_hold(file: Path) -> None:
    """One line each: id, version, authority, scope, severity, kind, check, and in plain words whether it is enforced."""
    result = run("--config", file)
    assert (0, "") == (result.exit_code, result.stderr)
    heading, first, *lines, closing = result.stdout.splitlines()
    assert ["id", "version", "authority", "scope", "severity", "enforcement", "validator", "holds because"] == heading.split("\t")
    assert ["1", "system", "global", "critical", "model_guidance", "-", "guidance, not enforced"] == first.split("\t")[1:]
    assert [
        ["stop", "1", "system", "global", "critical", "verifier", "pattern", "enforced: the answer is checked by pattern, a failure stops the run"],
        ["flag", "1", "user", "thread t-1", "critical", "verifier", "polite", "not enforced: no validator 'polite' is registered here"],
        [
            *("version", "1", "system", "global", "low", "verifier", "command check-version"),
            "checked, not enforced: the tool's result is checked by command check-version, a failure is put on record",
        ],
        ["gate", "4", "system", "global", "critical", "runtime", "-", "not enforced: no tool rule or registered validator names it"],
        ["ask", "1", "system", "global", "critical", "human_approval", "-", "not enforced: no tool rule that asks a person names it"],
    ] == [line.split("\t") for line in lines]
    assert closing.endswith(
        "rules.yaml: 6 rules: 1 enforced; 1 checked, not enforced; 1 guidance, not enforced; 3 not enforced by anything in this file."
    )


def test_json_holds_the_whole_rule_and_its_standing(file: Path) -> None:
    """For programs: every field, and one claim nobody can misread."""
    data = json.loads(run("--config", file, "--json").stdout)["constraints"]
    assert [("shown", False), ("enforced", True), ("unenforced", False), ("checked", False), ("unenforced", False), ("unenforced", False)] == [
        (rule["standing"], rule["is_enforced"]) for rule in data
    ]
    assert ("绝不显示电话号码。", "guidance, not enforced", str(file)) == (data[0]["text"], data[0]["holds_because"], data[0]["source"]["ref"])


def test_the_file_in_the_working_folder_is_read_without_being_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `ctxguard init` writes it."""
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(build_app(), ["init"])
    assert run().stdout.endswith("ctxguard.yaml: 3 rules: 1 enforced; 2 guidance, not enforced.\n")


def test_a_file_without_rules_says_so(tmp_path: Path) -> None:
    """No empty table."""
    path = tmp_path / "empty.yaml"
    path.write_text("", encoding="utf-8")
    assert (0, f"{path}: 0 rules.\n") == ((result := run("--config", path)).exit_code, result.stdout)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("constraints:\n  - {constraint_id: a, text: x, severity: bad}\n", "ctxguard.yaml:2: constraints[0].severity"),
        ("constraints:\n  - {constraint_id: a, text: x, enforcement: verifier, validator: {pattern: '('}}\n", "Constraint 'a@1' has a pattern"),
        ("constraints:\n  - {constraint_id: a, text: x, enforcement: verifier, validator: {json_schema: {type: 5}}}\n", "has a JSON Schema"),
        (None, "Cannot read the config file"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error(text: str | None, message: str, tmp_path: Path) -> None:
    """The exit code is 2 and the fault is named, a check that could never run included."""
    path = tmp_path / "ctxguard.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    result = run("--config", path)
    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr


def test_a_terminal_gets_a_table_and_no_escape_sequences_of_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coloured by standing; what the file says cannot rewrite the screen."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file.write_text('constraints:\n  - {constraint_id: "a\\e[2Jb", text: x}\n', encoding="utf-8")
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "200")
    constraints.constraints(config=file)
    assert "a\\x1b[2Jb" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()
    assert "guidance, not enforced" in screen.getvalue()


def test_what_the_tool_policy_of_the_file_keeps_is_enforced(tmp_path: Path) -> None:
    """A tool rule that names a constraint makes it hold."""
    path = tmp_path / "c.yaml"
    path.write_text(
        f"{RULES}tools:\n  rules:\n    - {{tool: delete, verdict: deny, enforces: gate}}\n    - {{tool: send, verdict: ask, enforces: ask}}\n",
        encoding="utf-8",
    )
    lines = run("--config", path).stdout.splitlines()
    assert "enforced by a tool rule" == lines[5].split("\t")[-1]
    assert "enforced: a person is asked before the tool runs" == lines[6].split("\t")[-1]
