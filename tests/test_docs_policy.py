"""The page on the tool policy shows every key, and what it shows is what happens."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from langchain_ctxguard import GuardConfig
from langchain_ctxguard.backends.paths import LocalPaths
from langchain_ctxguard.core.policy_cases import account_of, case_fault
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.domain.policy_case import PolicyCase
from langchain_ctxguard.domain.tool_rule import ToolRule

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "policy.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^### (\w+)\n.*?^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def test_every_key_of_a_rule_has_an_example() -> None:
    """One heading for each key, and no other."""
    assert {field.alias or name for name, field in ToolRule.model_fields.items()} == set(EXAMPLES)


@pytest.mark.parametrize("key", EXAMPLES)
def test_each_example_is_a_config_file_that_uses_its_key(key: str, tmp_path: Path) -> None:
    """A reader can copy it."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text(EXAMPLES[key], encoding="utf-8")
    policy = GuardConfig.from_file(path).tools
    assert policy is not None
    assert any(key in rule.model_dump(by_alias=True, exclude_unset=True) for rule in policy.rules)


def test_the_first_example_loads_and_the_cases_come_out_as_written(tmp_path: Path) -> None:
    """The cases are held to the policy of the page's first Python example."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text(re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0], encoding="utf-8")
    assert 4 == len(ToolPolicy.from_file(path).rules)
    policy = ToolPolicy.from_dict({"default": "deny", "rules": [{"tool": "pay", "args": {"amount": {"max": 100}, "currency": ["EUR"]}}]})
    cases = yaml.safe_load(re.findall(r"^```yaml cases\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0])
    for data in cases:
        case = PolicyCase.from_data(data, place="docs")
        assert case_fault(case, account_of(case, policy, now=datetime.now(UTC), paths=LocalPaths()).verdict) is None
