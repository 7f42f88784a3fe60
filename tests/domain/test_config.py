from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig, trigger_clauses, unique_constraints
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError


def fault_of(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        GuardConfig.from_dict(data)
    return str(caught.value)


def fault_in(folder: Path, text: str) -> str:
    file = folder / "ctxguard.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        GuardConfig.from_file(file)
    return str(caught.value).replace(str(file), "FILE")


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("trigger", ["fractio", 0.75], "unknown trigger unit 'fractio'; use `tokens`, `messages` or `fraction`"),
        ("trigger", {"turns": 3}, "unknown trigger unit 'turns'; use `tokens`, `messages` or `fraction`"),
        ("trigger", ["fraction", 75], "`fraction` lies between 0 and 1, not 75; 0.75 means three quarters of the window"),
        ("trigger", ["fraction", 0], "`fraction` lies between 0 and 1, not 0; 0.75 means three quarters of the window"),
        ("trigger", ["fraction", float("nan")], "`fraction` lies between 0 and 1, not nan; 0.75 means three quarters of the window"),
        ("trigger", ["tokens", True], "`tokens` takes a number, not True"),
        ("trigger", ["tokens", "4000"], "`tokens` takes a number, not '4000'"),
        ("trigger", ["tokens", float("inf")], "`tokens` takes a whole number of at least 1, not inf"),
        ("trigger", ["tokens", float("nan")], "`tokens` takes a whole number of at least 1, not nan"),
        ("trigger", ["tokens", 0], "`tokens` takes a whole number of at least 1, not 0"),
        ("trigger", ["messages", 1.5], "`messages` takes a whole number of at least 1, not 1.5"),
        ("trigger", ["tokens", "messages"], "`tokens` takes a number, not 'messages'"),
        ("trigger", [["tokens", 10], {"message": 3}], "unknown trigger unit 'message'; use `tokens`, `messages` or `fraction`"),
        ("trigger", {}, "an empty trigger clause would always hold; name `tokens`, `messages` or `fraction`"),
        ("trigger", [], "an empty list of triggers never holds; use `None` (`null` in a file) to say so"),
        ("keep", ["turn", 3], "unknown keep unit 'turn'; use `tokens`, `messages`, `fraction` or `turns`"),
        ("keep", ["turns", -1], "`turns` takes a whole number of at least 0, not -1"),
        ("keep", ["turns", True], "`turns` takes a number, not True"),
        ("keep", ["turns", None], "`turns` takes a number, not None"),
        ("keep", [3, "turns"], "unknown keep unit 3; use `tokens`, `messages`, `fraction` or `turns`"),
        ("keep", 3, "`keep` is a pair such as [turns, 3] or [tokens, 4000], not 3"),
        ("keep", None, "`keep` is a pair such as [turns, 3] or [tokens, 4000], not None"),
        ("keep", ["turns"], "`keep` is a pair such as [turns, 3] or [tokens, 4000], not ['turns']"),
        ("keep", ["turns", 3, 4], "`keep` is a pair such as [turns, 3] or [tokens, 4000], not ['turns', 3, 4]"),
        ("keep", {"turns": 3}, "`keep` is a pair such as [turns, 3] or [tokens, 4000], not {'turns': 3}"),
        ("triger", ["tokens", 1], "no such key; did you mean `trigger`?"),
        ("zzz", 1, "no such key"),
    ],
)
def test_a_bad_setting_gets_one_sentence_that_names_it(setting: str, value: object, expected: str) -> None:
    """One mistake, one line: the key, and what it takes."""
    assert f"compaction.{setting}: {expected}" == fault_of({"compaction": {setting: value}})


@pytest.mark.parametrize("trigger", [5, 0.75, True, "fraction", ["tokens"], ["tokens", 1, 2], [["tokens", 1], "fraction"], [5], (), b"x", [None]])
def test_a_trigger_of_no_known_form_is_told_the_forms(trigger: Any) -> None:
    """Whatever stands there, one line shows what could."""
    fault = fault_of({"compaction": {"trigger": trigger}})

    assert fault.startswith("compaction.trigger: a trigger is a pair such as [fraction, 0.75], a mapping such as")
    assert 1 == len(fault.splitlines())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("window", True),
        ("window", "128000"),
        ("window", 0),
        ("window", 1.5),
        ("min_kept", "0.3"),
        ("min_kept", -0.1),
        ("min_kept", 1),
        ("min_kept", float("nan")),
        ("min_gain", 1),
        ("min_gain", "20%"),
        ("max_attempts", 0),
        ("max_attempts", 11),
        ("max_attempts", True),
        ("max_compactions", 0),
        ("fallback", "none"),
        ("on_violation", "ask"),
        ("on_full", False),
        ("summarizer_timeout_s", 0),
        ("summarizer_timeout_s", float("inf")),
        ("summarizer_timeout_s", float("nan")),
        ("summarizer_timeout_s", "2m"),
        ("summary_tokens", 99),
        ("summary_tokens", None),
        ("evidence_share", 0.5),
        ("evidence_share", 0),
        ("trust_system_messages", "yes"),
        ("trust_system_messages", 1),
    ],
)
def test_no_setting_takes_a_value_of_the_wrong_type_or_size(setting: str, value: object) -> None:
    """A text is no number, `true` is no 1, and one line says so."""
    fault = fault_of({"compaction": {setting: value}})

    assert fault.startswith(f"compaction.{setting}: ")
    assert 1 == len(fault.splitlines())


@pytest.mark.parametrize("name", sorted(CompactionSettings.model_fields))
@pytest.mark.parametrize("value", [[], {}, object(), [[[]]], "x", b"x", float("-inf"), -(10**400), {"a": {"b": 1}}])
def test_hostile_values_are_configuration_errors(name: str, value: object) -> None:
    """Nothing but `ConfigurationError` leaves the constructor, and nothing hostile enters."""
    with pytest.raises(ConfigurationError) as caught:
        # A key of a state may have any name but none.
        CompactionSettings.of(**{name: "" if (name, value) == ("todos", "x") else value})

    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("[fraction, 0.75]", ({"fraction": 0.75},)),
        ("{tokens: 4000, messages: 10}", ({"tokens": 4000, "messages": 10},)),
        ("[[tokens, 10], {messages: 3, fraction: 1}]", ({"tokens": 10}, {"messages": 3, "fraction": 1})),
        ("[[tokens, 10]]", ({"tokens": 10},)),
        ("[{tokens: 4000}]", ({"tokens": 4000},)),
        ("null", ()),
    ],
)
def test_the_grammar_of_triggers_is_that_of_langchain(text: str, clauses: tuple[object, ...], tmp_path: Path) -> None:
    """A pair, a mapping of thresholds that all must be met, a list of either, or never."""
    file = tmp_path / "ctxguard.yaml"
    file.write_text(f"compaction:\n  trigger: {text}\n", encoding="utf-8")

    assert clauses == trigger_clauses(GuardConfig.from_file(file).compaction.trigger)


def test_pairs_are_pairs_from_yaml_and_from_python() -> None:
    """`[turns, 3]` in a file is `("turns", 3)` in code."""
    assert CompactionSettings.of(keep=("turns", 2), trigger=("tokens", 9)) == CompactionSettings.of(keep=["turns", 2], trigger=["tokens", 9])


def test_a_number_too_large_for_a_float_is_still_a_number() -> None:
    """Sizes are whole numbers of any size; a fraction of that size is none."""
    assert ("tokens", 10**400) == CompactionSettings.of(trigger=("tokens", 10**400)).trigger
    with pytest.raises(ConfigurationError, match="`fraction` lies between 0 and 1"):
        CompactionSettings.of(keep=("fraction", 10**400))


def test_overrides_keep_what_they_do_not_name() -> None:
    """A constructor argument outranks the file, key by key, and what is inherited stays explicit."""
    base = CompactionSettings.of(max_attempts=5, keep=("turns", 1))
    settings = CompactionSettings.of(base, keep=("messages", 4))

    assert (5, ("messages", 4)) == (settings.max_attempts, settings.keep)
    assert {"max_attempts", "keep"} == settings.model_fields_set


def test_settings_survive_json() -> None:
    """Data is data: what is written as JSON reads back equal."""
    settings = CompactionSettings.of(trigger=[("tokens", 10), {"messages": 3}], keep=("fraction", 0.25))

    assert settings == CompactionSettings.model_validate_json(settings.model_dump_json())


def test_a_chinese_file_is_read_as_it_stands(tmp_path: Path) -> None:
    """Rules keep every byte, whatever the script."""
    file = tmp_path / "配置.yaml"
    file.write_text(
        "\ufeffconstraints:\n  - 绝不删除任何订单，除非管理员第二次确认。\n  - {constraint_id: 电话, text: '不显示电话：“138…”', severity: high}\n",
        encoding="utf-8",
    )
    first, second = GuardConfig.from_file(file).constraints

    assert "绝不删除任何订单，除非管理员第二次确认。" == first.text
    assert ("电话", "不显示电话：“138…”", "high") == (second.constraint_id, second.text, second.severity)


@pytest.mark.parametrize("text", ["", "# nothing\n", "constraints:\ncompaction:\n", "{}\n", "---\n"])
def test_an_empty_file_or_section_means_the_defaults(text: str, tmp_path: Path) -> None:
    """Someone who comments everything out gets the defaults."""
    file = tmp_path / "ctxguard.yaml"
    file.write_text(text, encoding="utf-8")

    assert GuardConfig() == GuardConfig.from_file(file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("compaction:\n  keep: [turns, 3]\n  keep: [turns, 4]\n", "FILE:3: the key 'keep' is given twice."),
        ("compaction:\n\tkeep: [turns, 3]\n", "FILE:2: found character '\\t' that cannot start any token."),
        ("- a\n- b\n", "FILE:1: a config file is a mapping of sections (constraints, compaction), not a list."),
        ("hello", "FILE:1: a config file is a mapping of sections (constraints, compaction), not a str."),
        ("constraints: []\nconstrains: []\n", "FILE:2: constrains: no such key; did you mean `constraints`?"),
        (
            "compaction:\n  max_attempts: 2\n  keep: [turn, 3]\n",
            "FILE:3: compaction.keep: unknown keep unit 'turn'; use `tokens`, `messages`, `fraction` or `turns`",
        ),
        ("constraints:\n  - fine\n\n  - ''\n", "FILE:4: constraints[1].text: a constraint needs a text"),
        (
            "constraints:\n  - fine\n  - Rule: never delete\n",
            (
                "FILE:3: constraints[1]: {'Rule': 'never delete'} is no rule; "
                "a text with a colon needs quotes, and a mapping needs `constraint_id` and `text`"
            ),
        ),
        ("constraints:\n  - yes\n", "FILE:2: constraints[0]: a rule is a text or a mapping with `constraint_id` and `text`, not True"),
        ("constraints: never delete\n", "FILE:1: constraints: `constraints` is a list of rules, not 'never delete'"),
        ("constraints:\n  - 2026-13-45\n", "FILE:2: '2026-13-45' is not the value it looks like (month must be in 1..12); put it in quotes."),
        ("a: 1\n5: x\n", "FILE:2: a key is a text, not 5; put it in quotes."),
        ("? [a, b]\n: c\n", "FILE:1: a key is a text, not a collection; put it in quotes."),
        ("a: 1\nb: \x07\n", "FILE:2: the character U+0007 may not stand in a YAML file."),
        ("a: !!python/object:os.system x\n", "FILE:1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'."),
        ("a: 1\n---\nb: 2\n", "FILE:2: but found another document."),
        ("a: *b\n", "FILE:1: found undefined alias 'b'."),
        ("[" * 5_000, "FILE:1: the file is nested too deep to be a config."),
    ],
)
def test_a_fault_in_a_file_is_one_line_with_file_line_and_key(text: str, expected: str, tmp_path: Path) -> None:
    """Whoever wrote the file can go straight to the place."""
    assert expected == fault_in(tmp_path, text)


def test_two_faults_are_two_lines(tmp_path: Path) -> None:
    """Each fault is told once, at its own place."""
    text = "compaction:\n  keep: [turn, 3]\n  window: big\nconstraints: 5\n"

    assert ["FILE:4: constraints", "FILE:2: compaction.keep", "FILE:3: compaction.window"] == [
        line.rsplit(": ", 1)[0].split(": unknown")[0].split(": `constraints`")[0] for line in fault_in(tmp_path, text).splitlines()
    ]


def test_one_id_with_two_texts_is_refused_where_it_stands(tmp_path: Path) -> None:
    """Nobody could say which of the two holds."""
    text = "constraints:\n  - {constraint_id: a, text: one}\n  - {constraint_id: a, text: two}\n"

    assert fault_in(tmp_path, text).startswith("FILE:1: constraints: Two constraints are called 'a' and differ ('one' and 'two').")


def test_a_repeated_rule_counts_once() -> None:
    """The same rule in a file and in the code is one rule."""
    rule = Constraint.from_text("never")

    assert (rule,) == unique_constraints((rule, rule))
    assert ["never"] == [each.text for each in GuardConfig.from_dict({"constraints": ["never", "never"]}).constraints]


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """A folder, or nothing at all, is no config file."""
    with pytest.raises(ConfigurationError, match="Cannot read the config file"):
        GuardConfig.from_file(tmp_path / name)


def test_a_file_that_is_no_utf8_is_named(tmp_path: Path) -> None:
    """GBK bytes are refused, not guessed at."""
    file = tmp_path / "ctxguard.yaml"
    file.write_bytes("constraints: [绝不删除]".encode("gbk"))

    with pytest.raises(ConfigurationError, match=r"Cannot read the config file .*ctxguard\.yaml"):
        GuardConfig.from_file(file)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["trigger", "keep", "text", "constraint_id", "tokens", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={"constraints": _json, "compaction": _json, "other": _json}))
def test_any_data_is_a_config_or_a_configuration_error(data: dict[str, Any]) -> None:
    """No other exception leaves `from_dict`, whatever it is given."""
    try:
        config = GuardConfig.from_dict(data)
    except ConfigurationError as error:
        assert all(": " in line for line in str(error).splitlines())
    else:
        assert config == GuardConfig.from_dict(data)
