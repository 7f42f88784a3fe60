"""`ctxguard policy` reads a policy, answers for a call, and holds it to cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from langchain_ctxguard.domain.config import GuardConfig

POLICY = """
constraints:
  - {constraint_id: no-drops, text: Drop nothing., enforcement: runtime}
  - {constraint_id: gate, text: Ask first., enforcement: human_approval}
tools:
  default: deny
  rules:
    - {tool: read_*, effect: read}
    - {id: drops, tool: drop_*, verdict: deny, enforces: [no-drops]}
    - {id: pays, tool: pay, when: {amount: {min: 10}}, approval: {approver: admin}, args: {currency: EUR}, enforces: [gate]}
    - {tool: write, paths: {arg: path, within: .}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A policy nothing is odd about."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def run(command: str, *arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(build_app(), ["policy", command, *map(str, arguments)], input=text)


def test_check_lists_the_rules(file: Path) -> None:
    """One line each: id, tool, verdict, what it requires, what it enforces."""
    result = run("check", "--config", file)
    assert (0, "") == (result.exit_code, result.stderr)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [
        ["id", "tool", "verdict", "requires", "enforces"],
        ["rules[0]", "read_*", "allow", "-", "-"],
        ["drops", "drop_*", "deny", "-", "no-drops"],
        ["pays", "pay", "allow when amount", "args, approval", "gate"],
        ["rules[3]", "write", "allow", "paths", "-"],
    ] == lines[:-1]
    assert "ctxguard.yaml: 4 rules; what none of them names: deny." in lines[-1][0]


def test_check_says_what_is_odd(tmp_path: Path) -> None:
    """A default that never holds, a rule that never allows, a constraint nothing keeps, an id nobody knows."""
    path = tmp_path / "c.yaml"
    path.write_text(
        "constraints:\n  - {constraint_id: alone, text: x, enforcement: runtime}\n"
        "tools:\n  default: deny\n  rules:\n    - {tool: '*', budget: {calls: 5}}\n    - {tool: x, verdict: deny, enforces: nobody}\n"
        "    - {tool: x, args: {a: 1}}\n",
        encoding="utf-8",
    )
    result = run("check", "--config", path)
    assert 1 == result.exit_code
    assert [
        "odd: rules[0] allows every tool, so the default 'deny' never holds. To only require something, say `verdict: default`.",
        "odd: rules[2] never allows anything: rules[1] denies `x` always.",
        "odd: rules[1] enforces 'nobody', which is no constraint of this file; it has to be in the registry.",
        "odd: the constraint 'alone@1' (runtime) is not enforced: no tool rule or registered validator names it.",
    ] == result.stdout.splitlines()[-4:]
    assert 4 == len(json.loads(run("check", "--config", path, "--json").stdout)["odd"])


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        ({"tool": "read_file"}, 0, "Allowed `read_file`: rules[0] allows it."),
        ({"tool": "drop_table"}, 1, "Denied `drop_table`: drops denies it. Do it another way, or tell the user that it is not allowed."),
        ({"tool": "pay", "args": {"amount": 5}}, 1, "Denied `pay`: no rule allows it. Use another tool, or tell the user so."),
        ({"tool": "pay", "args": {"amount": 50, "currency": "EUR"}}, 1, "A person has to agree to `pay`: pays says so. Wait for the answer."),
        (
            {"tool": "pay", "args": {"amount": 50, "currency": "EUR"}, "approved": {"id": "boss", "role": "admin"}},
            0,
            "Allowed `pay`: pays allows it.",
        ),
        (
            {"tool": "pay", "args": {"amount": 50, "currency": "EUR"}, "approved": {"id": "user", "role": "admin"}},
            1,
            "A person has to agree to `pay`",
        ),
    ],
)
def test_explain_tells_the_verdict_and_what_each_rule_says(file: Path, call: dict[str, object], code: int, sentence: str) -> None:
    """Nothing is run, asked or recorded."""
    result = run("explain", "--config", file, "--call", json.dumps(call))
    assert (code, "") == (result.exit_code, result.stderr)
    assert result.stdout.startswith(sentence)
    assert 6 == len(result.stdout.splitlines())
    assert result.stdout == run("explain", "--config", file, "--call", "-", text=json.dumps(call)).stdout


def test_explain_follows_links_from_the_file(file: Path) -> None:
    """Paths are judged as they would be at a call; without a workspace the process counts as well."""
    (file.parent / "out").symlink_to("/")
    result = run("explain", "--config", file, "--call", json.dumps({"tool": "write", "args": {"path": f"{file.parent}/out/etc/passwd"}}))
    assert 1 == result.exit_code
    assert "resolves to '/etc/passwd', outside" in result.stdout
    assert "rules[3] (write): applies; allow; paths, deny: " in result.stdout
    assert 0 == run("explain", "--config", file, "--call", json.dumps({"tool": "write", "args": {"path": f"{file.parent}/in"}})).exit_code


def test_explain_as_json_holds_the_verdict(file: Path) -> None:
    """With findings, agreements to get, and what to reserve."""
    found = json.loads(run("explain", "--config", file, "--json", "--call", '{"tool": "pay", "args": {"amount": 50}}').stdout)
    assert ("ask", "admin") == (found["verdict"]["decision"], found["verdict"]["asks"][0]["approver"])
    assert ["names another tool", "names another tool", "applies", "names another tool"] == [rule["standing"] for rule in found["rules"]]


def test_cases_are_held_against_the_policy(file: Path, tmp_path: Path) -> None:
    """Each is named, and a failure says what was found instead."""
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "- {tool: read_a, expect: allow}\n- {name: drops stay, tool: drop_a, expect: deny, rule: drops}\n- {tool: drop_a, expect: ask}\n",
        encoding="utf-8",
    )
    result = run("test", cases, "--config", file)
    assert (1, "") == (result.exit_code, result.stderr)
    assert [
        "ok\tread_a (1)\tallow",
        "ok\tdrops stay\tdeny",
        "FAILED\tdrop_a (3)\texpected ask, found deny: drops denies it",
        "3 cases, 1 failed.",
    ] == result.stdout.splitlines()
    lines = tmp_path / "cases.jsonl"
    lines.write_text('{"tool": "read_a", "expect": "allow"}\n\n{"tool": "drop_a", "because": "denies"}\n', encoding="utf-8")
    assert 0 == run("test", lines, "--config", file).exit_code
    assert {"cases": [], "failed": 0} | json.loads(run("test", lines, "--config", file, "--json").stdout) != {"cases": [], "failed": 0}


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("check", ["--config", "none.yaml"], "Cannot read the config file"),
        ("explain", ["--call", "{broken"], "--call: "),
        ("explain", ["--call", '{"tool": "x", "arg": {}}'], "--call: arg: no such key; did you mean `args`?"),
        ("explain", ["--call", "[]"], "--call: config: "),
        ("test", ["none.yaml"], "Cannot read 'none.yaml'"),
        ("test", ["map.yaml"], "is no list of cases"),
        ("test", ["bad.yaml"], "case 1: expect: Input should be 'deny', 'ask' or 'allow'"),
        ("test", ["broken.yaml"], "broken.yaml:1: "),
    ],
)
def test_what_cannot_be_used_is_said_and_ends_with_2(  # noqa: PLR0917
    command: str, arguments: list[str], message: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence on standard error, no traceback."""
    monkeypatch.chdir(tmp_path)
    Path("map.yaml").write_text("tool: x\n")
    Path("bad.yaml").write_text("- {tool: x, expect: perhaps}\n")
    Path("broken.yaml").write_text("[")
    result = run(command, *arguments)
    assert 2 == result.exit_code
    assert message in result.stderr


def test_a_file_without_a_policy_is_said_to_have_none(tmp_path: Path) -> None:
    """Everything is allowed then, and recorded."""
    path = tmp_path / "c.yaml"
    path.write_text("constraints: []\n")
    result = run("check", "--config", path)
    assert 2 == result.exit_code
    assert "has no section `tools`: every call is allowed and recorded." in result.stderr


@pytest.mark.parametrize("tool", ["delete_order", "updateCustomer", "transfer_funds", "send_email", "modify_row", "删除订单", "refund"])
def test_the_starter_asks_before_what_cannot_be_undone(tool: str, tmp_path: Path) -> None:
    """Delete, modify, transfer, send: a person is asked from the first day; looking something up is not."""
    assert 0 == CliRunner().invoke(build_app(), ["init", str(tmp_path)]).exit_code
    path = tmp_path / "ctxguard.yaml"
    assert GuardConfig.from_file(path).tools is not None
    assert "A person has to agree" in run("explain", "--config", path, "--call", json.dumps({"tool": tool})).stdout
    assert 0 == run("explain", "--config", path, "--call", '{"tool": "get_order"}').exit_code
    assert 0 == run("check", "--config", path).exit_code
