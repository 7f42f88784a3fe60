"""Rules and the settings around them, as `ctxguard.yaml` says them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from langchain_ctxguard.cli.init import STARTER
from langchain_ctxguard.domain.config import GuardConfig, unique_constraints
from langchain_ctxguard.domain.config_text import read_mapping
from langchain_ctxguard.domain.constraint import Constraint, ConstraintSource, PatternCheck, Scope
from langchain_ctxguard.errors import ConfigurationError

EVERYTHING = """
constraints:
  - constraint_id: 不得删除
    text: 不得删除任何订单。
    version: 3
    source: {type: person, ref: ticket-7}
    scope: {kind: workspace, value: /srv/app}
    authority: organization
    enforcement: verifier
    severity: high
    priority: 5
    validator: {pattern: "DELETE", must: not_match}
    checks: tool_result
    on_fail: stop
    created_at: 2026-01-01T00:00:00Z
    expires_at: 2027-01-01T08:00:00+08:00
    supersedes: 不得删除@2
    language: zh
inferred: ask
remind: critical
refresh: 2.5
workspace: /srv/app
"""


def loaded(folder: Path, text: str) -> GuardConfig:
    file = folder / "ctxguard.yaml"
    file.write_text(text, encoding="utf-8")
    return GuardConfig.from_file(file)


def fault_in(folder: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        loaded(folder, text)
    return str(caught.value).replace(str(folder / "ctxguard.yaml"), "FILE")


def test_a_file_may_say_everything_about_a_rule(tmp_path: Path) -> None:
    """Every field of a constraint and every setting around them."""
    config = loaded(tmp_path, EVERYTHING)
    expected = Constraint(
        constraint_id="不得删除",
        text="不得删除任何订单。",
        version=3,
        source=ConstraintSource(type="person", ref="ticket-7"),
        scope=Scope(kind="workspace", value="/srv/app"),
        authority="organization",  # type: ignore[arg-type]  # as a file says it
        enforcement="verifier",  # type: ignore[arg-type]  # as a file says it
        severity="high",  # type: ignore[arg-type]  # as a file says it
        priority=5,
        validator=PatternCheck(pattern="DELETE", must="not_match"),
        checks="tool_result",
        on_fail="stop",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
        supersedes="不得删除@2",
        language="zh",
    )
    assert (expected,) == config.constraints
    assert set(Constraint.model_fields) == config.constraints[0].model_fields_set
    assert ("ask", "critical", 2.5, "/srv/app") == (config.inferred, config.remind, config.refresh, config.workspace)


def test_a_rule_of_a_file_says_that_it_is_of_that_file(tmp_path: Path) -> None:
    """Where it names no source itself; what is written in code comes from code."""
    config = loaded(tmp_path, "constraints:\n  - never\n  - {constraint_id: b, text: x, source: {type: person, ref: ann}}\n")
    assert [("config", str(tmp_path / "ctxguard.yaml")), ("person", "ann")] == [(rule.source.type, rule.source.ref) for rule in config.constraints]
    assert "code" == GuardConfig.from_dict({"constraints": ["never"]}).constraints[0].source.type


def test_the_same_rule_in_file_and_code_is_one(tmp_path: Path) -> None:
    """Where it comes from makes it no other rule."""
    from_file = loaded(tmp_path, "constraints: [never]\n").constraints
    assert from_file == unique_constraints((*from_file, Constraint.from_text("never")))


@pytest.mark.parametrize("wrong", ["merge", "false", "[replace]"])
def test_what_becomes_of_similar_rules_is_one_of_two_words(tmp_path: Path, wrong: str) -> None:
    """Any other is refused with both, at its line."""
    assert ("keep", "replace") == (GuardConfig().similar_rules, loaded(tmp_path, "similar_rules: replace\n").similar_rules)
    with pytest.raises(ConfigurationError, match=r"ctxguard\.yaml:2: similar_rules: Input should be 'keep' or 'replace'"):
        loaded(tmp_path, f"inferred: pin\nsimilar_rules: {wrong}\n")


def test_a_bare_off_is_a_word(tmp_path: Path) -> None:
    """YAML reads `off` as false; it is meant as it stands."""
    config = loaded(tmp_path, "inferred: off\nremind: off\n")
    assert ("off", "off") == (config.inferred, config.remind)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("version: yes", "FILE:4: constraints[0].version: `version` takes a whole number, not True"),
        ("severity: bad", "FILE:4: constraints[0].severity: Input should be 'critical', 'high', 'medium' or 'low'"),
        ("authority: root", "FILE:4: constraints[0].authority: Input should be 'system', 'organization', 'task', 'user' or 'inferred'"),
        ("expires_at: 2027-01-01", "FILE:4: constraints[0].expires_at: a moment needs its time zone, as in 2026-12-31T00:00:00Z"),
        ("expires_at: 2027-01-01 00:00:00", "FILE:4: constraints[0].expires_at: a moment needs its time zone, as in 2026-12-31T00:00:00Z"),
        ("supersedes: a", "FILE:4: constraints[0].supersedes: `supersedes` takes `id@version`, such as `no-deletes@2`, not 'a'"),
        ("scope: {kind: thread}", "FILE:4: constraints[0].scope: a scope of kind 'thread' takes a value: which thread"),
        ("scope: {kind: thread, valeu: t}", "FILE:4: constraints[0].scope.valeu: no such key; did you mean `value`?"),
        ("serverity: low", "FILE:4: constraints[0].serverity: no such key; did you mean `severity`?"),
        ("enforcement: verifier", "FILE:2: constraints[0]: constraint 'a' is enforced by a verifier and names no `validator`"),
        (
            "validator: 5",
            (
                "FILE:4: constraints[0].validator: a validator is the name of a registered one, "
                "or a mapping with `pattern`, `json_schema` or `argv`, not 5"
            ),
        ),
        (
            "validator: {patern: x}",
            "FILE:4: constraints[0].validator: a validator is the name of a registered one, or a mapping with `pattern`, `json_schema` or `argv`",
        ),
        ("validator: {pattern: 5}", "FILE:4: constraints[0].validator.pattern: Input should be a valid string"),
        ("validator: {pattern: x, mus: match}", "FILE:4: constraints[0].validator.mus: no such key; did you mean `must`?"),
        ("validator: {argv: []}", "FILE:4: constraints[0].validator.argv: Tuple should have at least 1 item after validation, not 0"),
    ],
)
def test_a_fault_in_a_rule_is_one_line_with_file_line_and_key(line: str, expected: str, tmp_path: Path) -> None:
    """No name of an inner type, and one line for one fault."""
    assert expected == fault_in(tmp_path, f"constraints:\n  - constraint_id: a\n    text: x\n    {line}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "constraints:\n  - {constraint_id: a b, text: x}\n",
            "FILE:2: constraints[0].constraint_id: `constraint_id` takes a name without blanks, quotes, `@` or angle brackets, not 'a b'",
        ),
        ("inferred: no-thanks\n", "FILE:1: inferred: Input should be 'pin', 'ask' or 'off'"),
        ("remind: true\n", "FILE:1: remind: Input should be 'off' or 'critical'"),
        ("refresh: often\n", "FILE:1: refresh: `refresh` is \"call\" or a number of seconds up to a day, not 'often'"),
        ("refresh: 0\n", 'FILE:1: refresh: `refresh` is "call" or a number of seconds up to a day, not 0'),
        ("refresh: true\n", 'FILE:1: refresh: `refresh` is "call" or a number of seconds up to a day, not True'),
        ("refresh: .nan\n", 'FILE:1: refresh: `refresh` is "call" or a number of seconds up to a day, not nan'),
        ("workspace: ''\n", "FILE:1: workspace: String should have at least 1 character"),
        ("infered: pin\n", "FILE:1: infered: no such key; did you mean `inferred`?"),
    ],
)
def test_a_fault_in_a_setting_is_one_line_with_file_line_and_key(text: str, expected: str, tmp_path: Path) -> None:
    """As everywhere in the file."""
    assert expected == fault_in(tmp_path, text)


SCHEMA = Draft202012Validator(GuardConfig.json_schema())


def test_the_schema_is_a_valid_one() -> None:
    """Draft 2020-12, by its own schema; every key of the config is in it."""
    Draft202012Validator.check_schema(SCHEMA.schema)
    assert "https://json-schema.org/draft/2020-12/schema" == SCHEMA.schema["$schema"]
    assert set(GuardConfig.model_fields) == set(SCHEMA.schema["properties"])
    assert set(Constraint.model_fields) == set(SCHEMA.schema["$defs"]["Constraint"]["properties"])


@pytest.mark.parametrize("text", [STARTER, EVERYTHING.replace("T00:00:00Z", "T00:00:00.0Z"), "constraints:\ncompaction:\n", "constraints: [never]\n"])
def test_what_loads_fits_the_schema(text: str, tmp_path: Path) -> None:
    """An editor that uses the schema complains of nothing that works."""
    loaded(tmp_path, text)
    data = read_mapping(text, name="FILE")
    plain = {key: [_as_json(rule) for rule in value] if key == "constraints" and value else value for key, value in data.items()}
    assert [] == [error.message for error in SCHEMA.iter_errors(plain)]


def _as_json(rule: Any) -> Any:
    return rule if isinstance(rule, str) else {key: value.isoformat() if isinstance(value, datetime) else value for key, value in rule.items()}


@pytest.mark.parametrize(
    "data",
    [
        {"constrains": []},
        {"constraints": [5]},
        {"constraints": [""]},
        {"constraints": [{"text": "x"}]},
        {"constraints": [{"constraint_id": "a b", "text": "x"}]},
        {"constraints": [{"constraint_id": "a", "text": "x", "severity": "bad"}]},
        {"constraints": [{"constraint_id": "a", "text": "x", "validator": {"patern": "x"}}]},
        {"compaction": {"keep": ["turn", 3]}},
        {"inferred": "never"},
        {"refresh": "often"},
        {"refresh": 0},
    ],
)
def test_what_the_config_refuses_the_schema_refuses(data: dict[str, Any]) -> None:
    """A typo is underlined before anything runs."""
    with pytest.raises(ConfigurationError):
        GuardConfig.from_dict(data)
    assert not SCHEMA.is_valid(data)
