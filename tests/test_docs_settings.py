"""What the docs list is what is there: settings, rule keys, commands and options, files."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from langchain_ctxguard import Constraint, GuardConfig
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.commands import COMMANDS
from langchain_ctxguard.cli.reference import command_reference, parameters_of
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.constraint import Enforcement, Scope
from langchain_ctxguard.domain.field_settings import FieldSettings
from langchain_ctxguard.domain.invariant import FORMS, ConsentSettings
from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport
from langchain_ctxguard.domain.recall import RecallSettings
from langchain_ctxguard.domain.retention import Retention, Where
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.version import FieldCounts, Outcome
from langchain_ctxguard.records.constraint_writer import ConstraintWriter

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SECTIONS = (CompactionSettings, FieldSettings, RecallSettings)
ROW = re.compile(r"^\| (`[^|]+`) \|(?: ([^|]*) \|)?", re.MULTILINE)


def section(page: str, heading: str) -> str:
    """Return what stands on a page under a heading, up to the next of the same level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> dict[str, str]:
    """Return the second cell of each table row by the first, without backticks."""
    return {row[1].strip("`"): (row[2] or "").strip().strip("`") for row in ROW.finditer(text)}


def test_every_setting_is_listed_with_its_default() -> None:
    """The settings table has a row for each setting, in the order of the code, and its default is the real one."""
    listed = {name: ast.literal_eval(default) for name, default in rows(section("compaction.md", "Settings")).items()}
    expected = {name: field.default for name, field in CompactionSettings.model_fields.items()}
    assert list(expected.items()) == list(listed.items())


def written(default: Any) -> str:
    """Return a default as a config file writes it; of a mapping what is said."""
    if isinstance(default, Value):
        said = {name: value for name, value in default.model_dump(mode="json", exclude_defaults=isinstance(default, SECTIONS)).items() if value}
        return f"{{{', '.join(f'{name}: {value}' for name, value in said.items())}}}"
    if default == {} and isinstance(default, dict):
        return "{}"
    return {None: "null", (): "[]", True: "true"}.get(default, str(default)) if default != 1 or default is True else str(default)


def test_every_key_of_the_config_is_listed_with_its_default() -> None:
    """The table of keys has a row for each, in the order of the code."""
    text = (DOCS / "configuration.md").read_text(encoding="utf-8").split("\n## control_fields\n")[0]
    expected = {name: written(field.default) for name, field in GuardConfig.model_fields.items()}
    assert list(expected.items()) == list(rows(text).items())


def test_every_key_of_the_control_fields_is_listed_with_its_default() -> None:
    """The table has a row for each, in the order of the code."""
    expected = {name: written(field.get_default(call_default_factory=True)) for name, field in FieldSettings.model_fields.items()}
    assert list(expected.items()) == list(rows(section("configuration.md", "control_fields")).items())
    counts = rows(section("fields.md", "What the record says"))
    assert list(FieldCounts.model_fields) == list(counts)


def test_every_key_of_the_consents_is_listed_with_its_default() -> None:
    """The table has a row for each, in the order of the code; and each form of an invariant is explained."""
    expected = {name: written(field.default) for name, field in ConsentSettings.model_fields.items()}
    assert list(expected.items()) == list(rows(section("configuration.md", "consents")).items())
    assert list(FORMS) == [name.partition(":")[0] for name in rows(section("invariants.md", "Invariants"))]


def test_every_setting_of_recall_is_listed_with_its_default() -> None:
    """The table has a row for each, in the order of the code."""
    expected = {name: written(field.default) for name, field in RecallSettings.model_fields.items()}
    assert list(expected.items()) == list(rows(section("recall.md", "The tools")).items())


def test_every_rule_key_is_listed_with_its_default() -> None:
    """The table of rule keys has a row for each field of a constraint, in the order of the code."""
    expected = {name: "" if field.is_required() else written(field.default) for name, field in Constraint.model_fields.items()}
    assert list(expected.items()) == list(rows(section("configuration.md", "constraints")).items())


def test_every_word_of_a_closed_set_is_explained() -> None:
    """What became of a rule, where it stands, and why a prefix moved: each table has a row for each word, in the order of the code."""
    assert list(Retention) == list(rows(section("retention.md", "Six words")))
    assert list(get_args(Where)) == list(rows(section("retention.md", "A list of messages")))
    fields, reasons = (rows(table) for table in section("prefix.md", "A report for each call").split("| `drift_reason` | what changed |"))
    assert list(DriftReason) == list(reasons)
    named = [
        name
        for row in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", "\n".join(f"| `{row}` |" for row in fields), re.MULTILINE)
        for name in re.findall(r"\w+", row)
    ]
    assert list(PrefixReport.model_fields) == named


def test_every_enforcement_and_scope_is_explained() -> None:
    """The tables of kinds and scopes name all there are, and no other."""
    kinds = [word for row in rows(section("constraints.md", "What makes a rule hold")) for word in re.findall(r"[a-z_]+", row)]
    assert set(Enforcement) == set(kinds) & set(Enforcement)
    scopes = set(rows(section("constraints.md", "Which rules hold")))
    assert set(get_args(Scope.model_fields["kind"].annotation)) == scopes


def test_every_writer_method_is_listed() -> None:
    """The table of changes has a row for each way a writer changes rules."""
    text = section("constraints.md", "Who may change them")
    named = re.findall(r"^\| [^|]+ \| `(\w+)\(", text, re.MULTILINE)
    assert [name for name in vars(ConstraintWriter) if not name.startswith("_")] == named


@pytest.mark.parametrize("page", ["docs/compaction.md"])
def test_every_outcome_is_listed(page: str) -> None:
    """Each outcome an attempt can have is explained."""
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.split("| outcome |")[1].split("\n\n")[0]
    assert sorted(Outcome) == sorted(rows(table))


def test_the_config_examples_load(tmp_path: Path) -> None:
    """Each YAML example is a config file as it stands."""
    examples = re.findall(r"^```yaml\n(.*?)^```", (DOCS / "configuration.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert examples
    for example in examples:
        path = tmp_path / "ctxguard.yaml"
        path.write_text(example, encoding="utf-8")
        assert GuardConfig() != GuardConfig.from_file(path)


def test_every_command_is_on_its_page() -> None:
    """In the order of `--help`, each with what the command itself prints of its options, exit codes and example."""
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert list(COMMANDS) == re.findall(r"^## ctxguard (.+)$", text, re.MULTILINE)
    assert [name.replace(" ", ".") for name in COMMANDS] == re.findall(r"<!-- printed:cli:([\w.]+) -->", text)
    stale = [name for name in COMMANDS if f"\n{command_reference(name)}\n" not in text]
    assert [] == stale, "run `python scripts/numbers.py`"


def test_the_page_lists_what_the_commands_take() -> None:
    """What is read from the functions is what the command line takes, names and flags alike."""
    app = typer.main.get_command(build_app())
    for name, function in COMMANDS.items():
        command: Any = app
        for part in name.split():
            command = command.commands[part]
        taken = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
        assert taken == {option for parameter in parameters_of(function) for option in parameter.names if parameter.is_option}


def test_the_architecture_names_files_that_exist() -> None:
    """Each path that ARCHITECTURE.md tells a reader to open is there, and every floor of the package is drawn."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./]+(?:\.py|\.md|/decisions))`", text)
    places = [ROOT, ROOT / "langchain_ctxguard"]
    assert [] == [name for name in named if not any((place / name).exists() for place in places)]
    floors = {path.name for path in (ROOT / "langchain_ctxguard").iterdir() if not path.name.startswith(("_", "py."))}
    drawn = set(re.findall(r"^ {4}.{30}(\w+)(?:/|\.py)", text, re.MULTILINE))
    assert {name.removesuffix(".py") for name in floors} == drawn


def test_every_kind_of_field_report_has_an_answer(shared_dir: Path) -> None:
    """What people reported is among the symptoms, each with a cause and a fix."""
    text = (DOCS / "faq.md").read_text(encoding="utf-8")
    reports = (shared_dir / "field" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    kinds = {re.sub(r"\W+", "_", kind) for kind in re.findall(r"^\| ([a-z][\w, ]+) \| \[", text, re.MULTILINE)}
    assert {json.loads(line)["class"] for line in reports} == kinds
    answers = text.split("\n### ")[1:]
    assert len(answers) >= 11 + 10
    assert [] == [answer.partition("\n")[0] for answer in answers if "**Cause.**" not in answer or "**Fix.**" not in answer]
