"""`ctxguard audit` says what compactions in transcripts lost, to people, to GitHub and to programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from tests.support import compacted
from tests.support.compacted import saved


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(build_app(), ["audit", *map(str, arguments)], input=stdin)


def printed(*arguments: str | Path, code: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert code == result.exit_code, result.output
    return json.loads(result.stdout)


def findings(document: Any) -> list[tuple[str, str, str]]:
    compactions = [done for file in document["files"] for run_ in file["runs"] for done in run_["compactions"]]
    return [(found["subject"], found["loss"], found["text"]) for done in compactions for found in done["findings"] if found["level"] == "critical"]


LOST = [("constraint", "contradicted", "Never delete an order."), ("field", "changed", "500 EUR"), ("field", "lost", "ORD-1177")]
LOST_ZH = [("constraint", "contradicted", "不得删除订单。"), ("field", "lost", "ORD-1177"), ("field", "changed", "5万元")]


@pytest.mark.parametrize(
    ("name", "make", "kind"),
    [
        ("session.jsonl", compacted.session, "claude_code"),
        ("events.json", compacted.events, "openhands"),
        ("state.json", compacted.state, "langgraph"),
        ("dump.json", compacted.dump, "langchain"),
    ],
)
def test_compactions_of_other_tools_are_audited(name: str, make: Any, kind: str, tmp_path: Path) -> None:
    """Whatever format records them, in English and Chinese, each loss is named with its message; the exit code is 1."""
    english = printed(saved(tmp_path / name, make()), code=1)
    chinese = printed(saved(tmp_path / name, make(compacted.SAID_ZH, compacted.SUMMARY_ZH)), code=1)
    assert kind == english["files"][0]["runs"][0]["format"]
    assert sorted(LOST) == sorted(item for item in findings(english) if item[0] != "pending")
    assert sorted(LOST_ZH) == sorted(item for item in findings(chinese) if item[0] != "pending")


def test_a_faithful_compaction_is_clean(tmp_path: Path) -> None:
    """Nothing critical: exit code 0, and the text says so."""
    faithful = "Rules: never delete an order. Budget EUR 500 for ORD-1177. Edited src/auth.py."
    result = run(saved(tmp_path / "s.jsonl", compacted.session(summary=faithful)))
    assert (0, "") == (result.exit_code, result.stderr)
    assert "nothing lost" in result.stdout
    assert result.stdout.endswith("1 compaction audited: 0 critical, 0 warnings, 0 notes.\n")


def test_the_text_names_what_became_of_it_what_stands_there_and_who_said_it(tmp_path: Path) -> None:
    """One line a finding, worst first; warnings follow."""
    file = saved(tmp_path / "s.jsonl", compacted.session())
    lines = run(file).stdout.splitlines()
    assert f"{file}: read as claude_code" == lines[0]
    assert "s, compaction 1 (summary) before message 3, 2026-06-14T10:00:30.000Z: 3 critical, 1 warning" == lines[1]
    assert "  3 messages became 1; held before: 1 rule, 2 fields, 1 file, 1 open item" == lines[2]
    assert (
        "  critical constraint contradicted: 'Never delete an order.', now 'Orders may be deleted.' [permission], from message 0 by user" == lines[3]
    )
    assert "  critical amount changed: '500 EUR' (budget), now '5000 EUR' [value], from message 0 by user" in lines
    assert "  warning  written file lost: 'src/auth.py', from message 1 by ai" == lines[-2]


def test_a_condensation_without_a_summary_is_audited(tmp_path: Path) -> None:
    """Messages that were only forgotten took everything with them."""
    document = printed(saved(tmp_path / "e.json", compacted.events(summary=None)), code=1)
    assert "dropped" == document["files"][0]["runs"][0]["compactions"][0]["kind"]
    assert {"Never delete an order.", "500 EUR", "ORD-1177"} <= {text for _, _, text in findings(document)}


def test_a_file_without_compactions_says_so_and_what_to_do(tmp_path: Path) -> None:
    """That is no fault: exit code 0."""
    file = saved(tmp_path / "chat.json", compacted.chat())
    result = run(file)
    assert 0 == result.exit_code
    assert f"{file}: no compaction is recorded in it. To audit one it does not record: ctxguard audit --before FILE --after FILE." in result.stdout
    assert {"compactions": 0, "audited": 0, "critical": 0, "warning": 0, "note": 0} == printed(file)["totals"]


def test_a_compaction_whose_summary_is_elsewhere_is_called_not_audited(tmp_path: Path) -> None:
    """It is neither clean nor a loss."""
    file = saved(tmp_path / "history.md", compacted.history())
    assert "not audited: the file does not hold the summary that took the messages' place; use --before and --after" in run(file).stdout
    (done,) = printed(file)["files"][0]["runs"][0]["compactions"]
    assert ("not_audited", [], None) == (done["status"], done["findings"], done["messages_after"])
    summary = saved(tmp_path / "summary.md", compacted.SUMMARY)
    assert LOST == [item for item in findings(printed("--before", file, "--after", summary, code=1)) if item[0] != "pending"]


@pytest.mark.parametrize(
    "after",
    [
        "# Summary\n\n- Budget 5000 EUR\n- Orders may be deleted.\n",
        "## Goal\nOrders may be deleted. Budget: 5000 EUR",
        "[x] Orders may be deleted. Budget: 5000 EUR",
    ],
)
def test_two_files_are_held_against_each_other(after: str, tmp_path: Path) -> None:
    """The second may be plain text or Markdown."""
    before, told = saved(tmp_path / "chat.json", compacted.chat()), tmp_path / "after.md"
    told.write_text(after, encoding="utf-8")
    document = printed("--before", before, "--after", told, code=1)
    assert LOST == findings(document)
    assert "given" == document["files"][0]["runs"][0]["compactions"][0]["kind"]


def test_the_second_file_may_be_a_conversation(tmp_path: Path) -> None:
    """Of a state that still holds what left the view, only the view counts."""
    before = saved(tmp_path / "chat.json", compacted.chat())
    assert [] == findings(printed("--before", before, "--after", before))
    view = saved(tmp_path / "state.json", compacted.state())
    assert sorted(LOST) == sorted(findings(printed("--before", before, "--after", view, code=1)))


def test_standard_input_is_read(tmp_path: Path) -> None:
    """As `-`."""
    raw = saved(tmp_path / "s.jsonl", compacted.session()).read_bytes()
    result = run("-", stdin=raw)
    assert 1 == result.exit_code
    assert result.stdout.startswith("<stdin>: read as claude_code")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x00\x01\x02", "not text"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b'{"a": ', "not valid JSON"),
        (b'{"a": 1}', "no known transcript format"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_audited(content: bytes | None, reason: str, tmp_path: Path) -> None:
    """The exit code is 2 even where others have losses: the audit is not whole."""
    bad, good = tmp_path / "bad.json", saved(tmp_path / "s.jsonl", compacted.session())
    if content is not None:
        bad.write_bytes(content)
    result = run(bad, good)
    assert 2 == result.exit_code
    assert str(bad) in result.stderr
    assert reason in result.stderr
    assert "3 critical" in result.stdout
    assert result.stdout.endswith("; 1 of 2 files could not be read.\n")
    document = printed(bad, good, code=2)
    assert [True, False] == [file["error"] is not None for file in document["files"]]
    assert LOST == [item for item in findings(document) if item[0] != "pending"]
    assert f"::error file={bad}" in run(bad, "--format", "github").stdout


def test_a_second_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Binary and broken JSON are no summaries, and a file of many conversations is no side of a comparison."""
    before = saved(tmp_path / "chat.json", compacted.chat())
    many = saved(tmp_path / "many.json", [{"task_id": task, "trial": 0, "traj": compacted.chat()} for task in (1, 2)])
    for name, content in (("a.bin", b"\x00"), ("b.json", b'[{"role": "user"'), ("c.md", b"")):
        (tmp_path / name).write_bytes(content)
        result = run("--before", before, "--after", tmp_path / name)
        assert 2 == result.exit_code, name
        assert name in result.stderr
    assert "holds 2 conversations" in run("--before", many, "--after", before).stderr
    assert "holds 2 conversations" in run("--before", before, "--after", many).stderr


def test_github_gets_annotations_no_file_can_forge(tmp_path: Path) -> None:
    """Errors and warnings with the file they are about; line ends, colons and percent signs of a text are escaped."""
    hostile = "Never delete 100% of a:b,c\n::error::forged orders."
    file = saved(tmp_path / "s.jsonl", compacted.session(said=f"{compacted.SAID} {hostile}"))
    result = run(file, "--format", "github")
    assert 1 == result.exit_code
    *annotations, closing = result.stdout.splitlines()
    assert all(
        line.startswith((f"::error file={file},title=ctxguard audit%3A s%2C compaction 1", f"::warning file={file},title=")) for line in annotations
    )
    assert any("100%25" in line for line in annotations)
    assert any(line.endswith("amount changed: '500 EUR' (budget), now '5000 EUR' [value], from message 0 by user") for line in annotations)
    assert closing.startswith("1 compaction audited: ")


def test_declared_rules_take_the_place_of_inferred_ones(tmp_path: Path) -> None:
    """From a config, a list, or a text with a rule a line; a rule that the transcript never said is not lost."""
    file = saved(tmp_path / "s.jsonl", compacted.session())
    rules = {
        "ctxguard.yaml": "constraints:\n  - {constraint_id: keep, text: Never delete an order.}\n  - Never show a phone number.\n",
        "rules.yaml": "- {constraint_id: keep, text: Never delete an order.}\n- Never show a phone number.\n",
        "rules.json": '[{"constraint_id": "keep", "text": "Never delete an order."}, "Never show a phone number."]',
        "rules.txt": "# rules\n\nNever delete an order.\nNever show a phone number.\n",
    }
    for name, text in rules.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        option = "--config" if name == "ctxguard.yaml" else "--constraints"
        document = printed(file, option, tmp_path / name, code=1)
        (found,) = [item for item in document["files"][0]["runs"][0]["compactions"][0]["findings"] if item["subject"] == "constraint"]
        assert ("declared", "contradicted") == (found["kind"], found["loss"])
        assert "rules.txt" == name or "keep" == found["label"]


def test_a_severity_below_high_only_warns(tmp_path: Path) -> None:
    """The exit code is for what is critical."""
    rules = saved(tmp_path / "rules.json", [{"constraint_id": "tone", "text": "Always be polite to customers.", "severity": "low"}])
    before = saved(tmp_path / "chat.json", compacted.chat("Always be polite to customers."))
    document = printed("--before", before, "--after", saved(tmp_path / "a.md", "They talked."), "--constraints", rules)
    assert (0, 1) == (document["totals"]["critical"], document["totals"]["warning"])


def test_texts_to_keep_are_looked_for(tmp_path: Path) -> None:
    """`--must-keep` may be given several times."""
    before = saved(tmp_path / "chat.json", compacted.chat("The code word is blue heron, the colour grey."))
    after = saved(tmp_path / "a.md", "There is a code word; the colour is grey.")
    document = printed("--before", before, "--after", after, "--must-keep", "blue heron", "--must-keep", "grey", code=1)
    assert [("must_keep", "lost", "blue heron")] == findings(document)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a file to audit"),
        (["--before", "a"], "go together"),
        (["a", "--before", "a", "--after", "b"], "name either files or --before and --after"),
        (["--before", "-", "--after", "-"], "standard input can be read once"),
        (["-", "-"], "standard input can be read once"),
        (["a", "--config", "c", "--constraints", "d"], "name either --constraints or --config"),
        (["a", "--config", "none.yaml"], "Cannot read the config file"),
        (["a", "--constraints", "none.txt"], "Cannot read the rules"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], message: str) -> None:
    """Before anything is read."""
    result = run(*arguments)
    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.yaml", "- a\n- [", "r.yaml:2:"),
        ("r.json", "[1,", "r.json:1:"),
        ("r.yaml", "a: b", "holds no rules"),
        ("r.txt", "# nothing\n", "holds no rules"),
        ("r.yaml", "- {constraint_id: a, text: x, severity: bad}", "severity"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    """Naming file and fault."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = run(saved(tmp_path / "chat.json", compacted.chat()), "--constraints", tmp_path / name)
    assert (2, "") == (result.exit_code, result.stdout)
    assert name in result.stderr
    assert message in result.stderr


def shape_of(data: Any) -> Any:
    """Return the keys of JSON, of lists those of the first item."""
    if isinstance(data, dict):
        return {key: shape_of(value) for key, value in data.items()}
    return [shape_of(item) for item in data[:1]] if isinstance(data, list) else None


def test_the_json_has_the_documented_shape(tmp_path: Path) -> None:
    """The example in the docs has the keys that are printed, in their order."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    documented = json.loads(page.split("```json\n")[1].split("```")[0])
    document = printed(saved(tmp_path / "s.jsonl", compacted.session()), code=1)
    assert json.dumps(shape_of(documented)) == json.dumps(shape_of(document))
    assert documented["schema_version"] == document["schema_version"]
    assert documented["files"][0]["runs"][0]["compactions"][0]["held"] == document["files"][0]["runs"][0]["compactions"][0]["held"]


def test_what_a_file_says_cannot_rewrite_the_screen(tmp_path: Path) -> None:
    """Escape sequences are shown, not sent."""
    result = run(saved(tmp_path / "s.jsonl", compacted.session(said="Never delete \x1b[2J orders. The budget is 500 EUR.")))
    assert "\x1b" not in result.stdout
    assert "\\x1b[2J" in result.stdout


def test_every_real_transcript_is_read_and_audited(field_transcripts: Path) -> None:
    """None of them records a compaction, and each is said to have none."""
    files = sorted(field_transcripts.iterdir())
    document = printed(*files)
    assert [str(file) for file in files] == [file["file"] for file in document["files"]]
    assert (0, 0) == (document["totals"]["compactions"], document["totals"]["critical"])
    assert [] == [file["file"] for file in document["files"] if file["error"]]


@pytest.mark.parametrize("name", ["deerflow_thread_7cfa5f8f.json", "sweagent_pydicom1458.traj", "openhands_traj_basic_gui_mode.json"])
def test_a_real_transcript_lost_nothing_against_itself_and_much_against_a_word(field_transcripts: Path, name: str, tmp_path: Path) -> None:
    """What a run holds is found in it again, and missed where it is gone."""
    file = field_transcripts / name
    same = printed("--before", file, "--after", file)
    assert (0, 0, 0) == tuple(same["totals"][level] for level in ("critical", "warning", "note"))
    word = json.loads(run("--before", file, "--after", saved(tmp_path / "a.md", "The work goes on."), "--json").stdout)["totals"]
    assert word["critical"] + word["warning"] > 4
