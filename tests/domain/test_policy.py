from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard import GuardConfig, ToolPolicy
from langchain_ctxguard.domain.tool_rule import Decision, ToolRule
from langchain_ctxguard.errors import ConfigurationError


def fault_in(folder: Path, text: str) -> str:
    path = folder / "ctxguard.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        GuardConfig.from_file(path)
    alone = None
    if "\ntools:" in f"\n{text}":
        with pytest.raises(ConfigurationError) as again:
            ToolPolicy.from_file(path)
        alone = str(again.value)
    assert alone in {None, str(caught.value)}
    return str(caught.value).replace(str(path), "FILE")


def rule(body: str) -> str:
    return f"tools:\n  default: deny\n  rules:\n    - tool: ok\n    - {body}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tools:\n  default: maybe\n", "FILE:2: tools.default: a verdict is deny, ask or allow, not 'maybe'"),
        ("tools:\n  rules: {tool: x}\n", "FILE:2: tools.rules: `rules` is a list of rules, each with its `tool`, not {'tool': 'x'}"),
        ("tools:\n  ruls: []\n", "FILE:2: tools.ruls: no such key; did you mean `rules`?"),
        (rule("{verdict: deny}"), "FILE:5: tools.rules[1].tool: Field required"),
        (rule("{tool: [], verdict: deny}"), "FILE:5: tools.rules[1].tool: Tuple should have at least 1 item after validation, not 0"),
        (rule("{tool: x, verdikt: deny}"), "FILE:5: tools.rules[1].verdikt: no such key; did you mean `verdict`?"),
        (rule("{tool: x, verdict: no}"), "FILE:5: tools.rules[1].verdict: Input should be 'allow', 'deny', 'ask' or 'default'"),
        (rule("{tool: x, else: allow, args: {a: 1}}"), "FILE:5: tools.rules[1].else: Input should be 'deny' or 'ask'"),
        (rule("{tool: x, args: {a: {maximum: 5}}}"), "FILE:5: tools.rules[1].args.a.maximum: no such key; did you mean `max`?"),
        (rule("{tool: x, args: {a: {max: many}}}"), "FILE:5: tools.rules[1].args.a.max: takes a number, not 'many'"),
        (rule("{tool: x, args: {a: {min: 5, max: 1}}}"), "FILE:5: tools.rules[1].args.a: `min` 5 is more than `max` 1: no value could pass"),
        (rule("{tool: x, args: {a: {}}}"), "FILE:5: tools.rules[1].args.a: a test needs at least one of `in`, `not_in`, `min`, `max` and `matches`"),
        (rule("{tool: x, args: {a: {in: eu}}}"), "FILE:5: tools.rules[1].args.a.in: takes a list of values such as [eu, us], not 'eu'"),
        (
            rule("{tool: x, args: {a: {matches: '(?=x)'}}}"),
            (
                "FILE:5: tools.rules[1].args.a.matches: RE2 cannot take the pattern '(?=x)' (invalid perl operator: (?=). "
                "It knows no lookaround and no back-references; repeats end at 1000."
            ),
        ),
        (rule("{tool: x, paths: {arg: p}}"), "FILE:5: tools.rules[1].paths[0]: a path rule needs `within` or `protect`"),
        (
            rule("{tool: x, paths: {arg: p, within: [.], protect: ['# x']}}"),
            "FILE:5: tools.rules[1].paths[0].protect: '# x' names no file; a pattern is a line such as `.git/` or `*.pem`",
        ),
        (
            rule("{tool: x, urls: {arg: u, hosts: ['https://x.example']}}"),
            "FILE:5: tools.rules[1].urls[0].hosts: 'https://x.example' is no host; write `example.com`, `*.example.com` or `example.com:8443`",
        ),
        (
            rule("{tool: x, require_origin: {to: [usr]}}"),
            "FILE:5: tools.rules[1].require_origin.to: 'usr' is no origin; use user, ai, tool, system or registry",
        ),
        (
            rule("{tool: x, paths: {arg: p, within: ['~/work']}}"),
            "FILE:5: tools.rules[1].paths[0].within: '~/work' means another folder for everybody; write the root out, or relative to this file",
        ),
        (rule("{tool: x, result_origin: user}"), "FILE:5: tools.rules[1].result_origin: Input should be 'registry'"),
        (
            rule("{tool: x, approval: {approver: admin, expires_s: 0}}"),
            "FILE:5: tools.rules[1].approval.expires_s: Input should be greater than or equal to 1",
        ),
        (rule("{tool: x, irreversible: 'yes please'}"), "FILE:5: tools.rules[1].irreversible: Input should be a valid boolean"),
        (rule("{tool: x, effect: delete}"), "FILE:5: tools.rules[1].effect: Input should be 'read', 'write' or 'memory'"),
        (rule("{tool: x, budget: {per: day}}"), "FILE:5: tools.rules[1].budget: a budget needs at least one of `calls`, `sum`, `tokens` and `cost`"),
        (rule("{tool: x, budget: {calls: 1, per: week}}"), "FILE:5: tools.rules[1].budget.per: Input should be 'thread', 'run' or 'day'"),
        (rule("{tool: x, budget: {sum: {a: -1}}}"), "FILE:5: tools.rules[1].budget: a budget is not negative"),
        (
            rule("{tool: x, verdict: deny, args: {a: 1}}"),
            "FILE:5: tools.rules[1]: a rule that denies has nothing to require (`args`); say which calls it denies with `when`",
        ),
        (
            rule("{tool: x, enforces: no-x}"),
            "FILE:5: tools.rules[1]: it enforces 'no-x' and refuses nothing; give it a verdict of deny or ask, or something to require",
        ),
        (
            rule("{tool: x, when: {a: {in: [1], optional: true}}}"),
            "FILE:5: tools.rules[1].when: `a` is optional in any condition: what is left out fits none of its values",
        ),
        (
            "tools:\n  rules:\n    - {tool: x, id: a}\n    - {tool: y, id: a}\n",
            "FILE:2: tools.rules: two rules have the id 'a'; records could not tell them apart",
        ),
        (
            "tools:\n  rules:\n    - tool: x\n      paths:\n        arg: p\n        within: .\n        protekt: [a]\n",
            "FILE:7: tools.rules[0].paths[0].protekt: no such key; did you mean `protect`?",
        ),
    ],
)
def test_a_fault_in_the_policy_is_one_line_with_file_line_and_key(text: str, expected: str, tmp_path: Path) -> None:
    """Whoever wrote the file can go straight to the place, whether the whole file is read or the policy alone."""
    assert expected == fault_in(tmp_path, text)


def test_the_policy_of_a_file_knows_where_it_stands(tmp_path: Path) -> None:
    """Relative roots begin at the file, days end in its time zone."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text("timezone: Asia/Shanghai\nworkspace: src\ntools:\n  rules: [{tool: x}]\n", encoding="utf-8")
    for policy in (GuardConfig.from_file(path).tools, ToolPolicy.from_file(path)):
        assert policy is not None
        assert (str(tmp_path), "src", "Asia/Shanghai") == (policy.base, policy.workspace, policy.timezone)


def test_a_file_without_the_section_has_no_policy(tmp_path: Path) -> None:
    """As a whole config it allows everything; asked for its policy, it says that there is none."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text("constraints: []\n", encoding="utf-8")
    assert GuardConfig.from_file(path).tools is None
    with pytest.raises(ConfigurationError, match="no section `tools`"):
        ToolPolicy.from_file(path)


def test_a_section_without_a_value_means_the_defaults(tmp_path: Path) -> None:
    """Everything is allowed, and that was said."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text("tools:\n", encoding="utf-8")
    policy = GuardConfig.from_file(path).tools
    assert policy is not None
    assert (Decision.ALLOW, ()) == (policy.default, policy.rules)


FULL: dict[str, Any] = {
    "default": {"x": 1},
    "rules": [
        {
            "id": "all",
            "tool": ["a", "b_*"],
            "when": {"x": 1, "y": [1, "a"], "z": {"not_in": [True], "min": 0.5}},
            "verdict": "ask",
            "else": "deny",
            "args": {"p": {"matches": "a(b|c)", "optional": True}},
            "paths": [{"arg": ["p", "q"], "within": ".", "protect": [".git/"], "below": True}],
            "urls": {"arg": "u", "hosts": "example.com", "schemes": ["https"]},
            "consents": {"c": True, "d": "eu"},
            "require_origin": {"to": ["user", "registry"]},
            "forbid_from": {"body": "read_*"},
            "result_origin": "registry",
            "approval": {"approver": "admin", "expires_s": 60},
            "irreversible": True,
            "effect": "write",
            "hide": True,
            "budget": {"calls": 1, "sum": {"amount": 12.5}, "tokens": 5, "cost": 0.5, "per": "day"},
            "order": {"after": "read", "same": "p"},
            "enforces": "c-1",
            "reason": "r",
            "instead": "i",
        }
    ],
}


def test_a_policy_comes_back_from_its_own_data() -> None:
    """Kept as JSON and read again it is the same, with the same fingerprint."""
    from langchain_ctxguard.core.authorize import fingerprint_of

    policy = ToolPolicy.from_dict({**FULL, "default": "deny"})
    again = ToolPolicy.from_dict(policy.model_dump(mode="json", by_alias=True))
    assert policy == again
    assert fingerprint_of(policy) == fingerprint_of(again)


def test_what_loads_fits_the_schema_and_what_does_not_load_mostly_does_not() -> None:
    """An editor knows the same keys."""
    schema = ToolPolicy.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({**FULL, "default": "deny"}, schema)
    for broken in (
        {"default": "maybe"},
        {"rules": [{}]},
        {"rules": [{"tool": "x", "verdikt": "deny"}]},
        {"rules": [{"tool": "x", "effect": "delete"}]},
    ):
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*ToolRule.model_fields, "default", "rules", "arg", "in", "else"]), inner, max_size=4)
        ),
        max_leaves=10,
    )
)
def test_any_data_is_a_policy_or_a_configuration_error(data: Any) -> None:
    """Nothing else comes out of a config."""
    for given_ in (data, {"rules": data}, {"rules": [data]}):
        try:
            ToolPolicy.from_dict(given_)
        except ConfigurationError:
            continue


def test_what_a_rule_enforces_and_asks_about_is_known() -> None:
    """For constraints that promise it."""
    policy = ToolPolicy.from_dict(
        {
            "rules": [
                {"tool": "a", "verdict": "deny", "enforces": "one"},
                {"tool": "b", "verdict": "ask", "enforces": ["two"]},
                {"tool": "c", "args": {"x": 1}, "enforces": ["three"]},
                {"tool": "d", "args": {"x": 1}, "else": "deny", "enforces": ["four"]},
                {"tool": "e", "budget": {"calls": 1}, "enforces": ["five"]},
            ]
        }
    )
    assert {"one", "two", "three", "four", "five"} == policy.enforced
    assert {"two", "three"} == policy.asked
