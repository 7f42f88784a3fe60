"""`ctxguard sample` writes a sheet a person marks, `ctxguard review` reads the marks back, and nobody's marks are lost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.sheet import Sample, SheetError, SheetField, read_sheet, written
from tests.support import compacted
from tests.support.compacted import saved

BOXES = "[ ] ok   [ ] missed   [ ] wrong"


def run(command: str, *arguments: str | Path) -> Result:
    return CliRunner().invoke(build_app(), [command, *map(str, arguments)])


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """A sheet of two compactions."""
    files = [saved(tmp_path / "s.jsonl", compacted.session()), saved(tmp_path / "e.json", compacted.events(compacted.SAID_ZH, compacted.SUMMARY_ZH))]
    result = run("sample", *files, "-o", tmp_path / "sheet.md")
    assert 0 == result.exit_code, result.output
    return tmp_path / "sheet.md"


def marked(sheet: Path, marks: dict[str, str], *, add: str = "") -> Path:
    """Mark fields, known by their value, as a person would."""
    lines = sheet.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines[:-1]):
        for value, mark in marks.items():
            if re.match(r"- F\d", line) and f": {value}" in line:
                lines[number + 1] = lines[number + 1].replace(f"[ ] {mark}", f"[x] {mark}")
    sheet.write_text("\n".join(lines).replace("M1 name:", f"M1 name: {add}"), encoding="utf-8")
    return sheet


def reviewed(sheet: Path) -> Any:
    result = run("review", sheet, "--json")
    assert 0 == result.exit_code, result.output
    return json.loads(result.stdout)


def test_a_sheet_shows_before_after_and_what_the_extractor_saw(sheet: Path) -> None:
    """The sentences that hold fields, the summary, and each field with its message and boxes below it."""
    text = sheet.read_text(encoding="utf-8")
    assert "> message 0, user: The budget is 500 EUR for order ORD-1177" in text
    assert "> 可以删除订单。预算50万元。" in text
    assert re.search(rf"- F\d\.\d changed amount: 500 EUR as budget, now 5000 EUR \(message 0, user\)\n  - {re.escape(BOXES)}\n", text)
    assert re.search(r"- F\d\.\d lost order_id: ORD-1177 \(message 0, user\)", text)
    assert "2 compactions, chosen at random with seed 0 from 2." in text


def test_marks_are_counted_by_kind(sheet: Path) -> None:
    """What the compaction lost, what the extractor got wrong, what it did not find."""
    figures = reviewed(marked(sheet, {"500 EUR": "missed", "ORD-1177": "ok", "5万元": "wrong"}, add="Anna Meier; 王芳"))
    assert (1, 2) == (figures["schema_version"], figures["samples"])
    assert {"listed": 4, "ok": 2, "missed": 1, "wrong": 1, "unmarked": 0, "not_extracted": 2} == figures["totals"]
    assert {"listed": 2, "ok": 0, "missed": 1, "wrong": 1, "unmarked": 0, "not_extracted": 0} == figures["by_kind"]["amount"]
    assert (round(1 / 3, 4), 0.6, 0.75) == (figures["lost_share"], figures["extractor_recall"], figures["extractor_precision"])
    assert (2, 0) == (figures["false_alarms"], figures["silent_losses"])
    assert ["Anna Meier", "王芳"] == [item["value"] for item in figures["not_extracted"]]


def test_people_get_a_table_and_what_it_comes_to(sheet: Path) -> None:
    """Plain lines."""
    lines = run("review", marked(sheet, {"500 EUR": "missed", "ORD-1177": "missed"}, add="Anna")).stdout.splitlines()
    assert f"{sheet}: 2 compactions, 4 fields: 3 marked, 1 not" == lines[0]
    assert ["total", "4", "0", "3", "0", "1", "1"] == lines[5].split()
    assert "Lost by the compactions: 3 of 3 fields (100.0%)." in lines
    assert "not extracted in sample 1: name: Anna" == lines[-1]


def test_a_sheet_nobody_marked_claims_nothing(sheet: Path) -> None:
    """A share of nothing is unknown, not zero."""
    figures = reviewed(sheet)
    assert [None, None, None] == [figures[name] for name in ("lost_share", "extractor_recall", "extractor_precision")]
    assert 4 == figures["totals"]["unmarked"]
    assert "recall unknown" in run("review", sheet).stdout


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("[x]", "[X]"),
        lambda text: text.replace("[x]", "[ x ]"),
        lambda text: text.replace("[x]", "[✓]"),
        lambda text: text.replace("[x]", "【x】"),
        lambda text: text.replace("[ ]", "[]"),
        lambda text: text.replace("   ", " "),
        lambda text: text.replace("  - [", "\t* ["),
        lambda text: re.sub(r"\n", "  \n", text),
        lambda text: text.replace("\n  - [", "\n\n\n- ["),
        lambda text: text.replace(" ok ", " OK "),
        lambda text: text.replace("M1 name:", "M1 Name :").replace("M1 order_id:", "M1 order id："),
    ],
)
def test_editors_may_change_white_space_case_and_brackets(sheet: Path, edit: Any) -> None:
    """The figures stay the same."""
    marked(sheet, {"500 EUR": "missed", "ORD-1177": "ok"}, add="Anna")
    before = reviewed(sheet)
    sheet.write_bytes(edit(sheet.read_text(encoding="utf-8")).encode())
    assert before == reviewed(sheet)


@pytest.mark.parametrize(
    ("edit", "line_of", "reason"),
    [
        (lambda text: "", 1, "this is no review sheet"),
        (lambda text: text.replace("schema=1", "schema=9"), "schema=9", "the sheet has schema 9"),
        (lambda text: text.replace("## Sample 2 of 2", ""), "F2.1", "F1.3 comes next"),
        (lambda text: text[: text.index("## Sample 2 of 2")], None, "the sheet ends after sample 1 of 2"),
        (lambda text: text.replace("F1.2", "F1.3"), "F1.3", "F1.2 comes next"),
        (lambda text: text.replace(BOXES, "yes", 1), "F1.1", "has no line of marks below it"),
        (lambda text: text.replace(BOXES, "[x] ok [x] missed [ ] wrong", 1), "[x] ok", "is marked as ok and missed"),
        (lambda text: re.sub(r"- F1\.1 .*\n", "", text), BOXES, "these marks belong to no field"),
        (lambda text: re.sub(r"- F1\.2 .*\n.*\n", "", text), "## Sample 2", "has 1 fields and should have 2"),
        (lambda text: text.replace("M1 date:", "M1 dates: x"), "M1 dates", "did you mean `date`?"),
        (lambda text: text.replace("M1 date:", "M2 date: x"), "M2 date", "stands in sample 1"),
    ],
)
def test_a_sheet_damaged_beyond_reading_is_an_error_with_its_line(sheet: Path, edit: Any, line_of: Any, reason: str) -> None:
    """Never a wrong figure."""
    text = edit(sheet.read_text(encoding="utf-8"))
    sheet.write_text(text, encoding="utf-8")
    result = run("review", sheet)
    assert (2, "") == (result.exit_code, result.stdout)
    assert reason in result.stderr
    if isinstance(line_of, str):
        line_of = text[: text.index(line_of)].count("\n") + 1
    assert re.match(rf"ctxguard review: {re.escape(str(sheet))}:{r'[0-9]+' if line_of is None else line_of}: ", result.stderr)


@pytest.mark.parametrize("raw", [None, b"\xff\xfe\x00\x01"])
def test_a_sheet_that_is_no_text_is_an_error(raw: bytes | None, tmp_path: Path) -> None:
    """Named, exit code 2."""
    if raw is not None:
        (tmp_path / "x.md").write_bytes(raw)
    result = run("review", tmp_path / "x.md")
    assert (2, "") == (result.exit_code, result.stdout)
    assert "x.md" in result.stderr


def test_a_sheet_is_never_overwritten(sheet: Path, tmp_path: Path) -> None:
    """It may hold somebody's marks."""
    before = sheet.read_bytes()
    result = run("sample", tmp_path / "s.jsonl", "-o", sheet)
    assert 2 == result.exit_code
    assert "stays as it is" in result.stderr
    assert before == sheet.read_bytes()
    assert "Cannot write" in run("sample", tmp_path / "s.jsonl", "-o", tmp_path / "none" / "sheet.md").stderr


def test_the_same_seed_chooses_the_same_compactions(tmp_path: Path) -> None:
    """Another seed chooses others; without `-o` the sheet is printed."""
    files = [saved(tmp_path / f"s{number}.jsonl", compacted.session(f"The budget is {number}00 EUR.")) for number in range(1, 9)]
    sheets = [run("sample", *files, "--n", "2", "--seed", seed).stdout for seed in ("1", "1", "2")]
    assert sheets[0] == sheets[1] != sheets[2]
    assert 2 == sheets[0].count("## Sample ")
    assert "chosen at random with seed 1 from 8." in sheets[0]


def test_conversations_without_a_compaction_are_compacted_on_request(tmp_path: Path) -> None:
    """And the sheet says that no file records it."""
    turns = [
        turn for number in range(8) for turn in compacted.chat(f"Please ship order ORD-{number}001 for {number}50 EUR. " + "It is urgent. " * 20)
    ]
    file = saved(tmp_path / "chat.json", turns)
    refused = run("sample", file)
    assert 2 == refused.exit_code
    assert "--compact makes compactions" in refused.stderr
    done = run("sample", file, "--compact")
    assert 0 == done.exit_code
    assert "1 of them are recorded in no file: ctxguard's extractive summarizer made them for this sheet" in done.stdout
    assert "> <context_summary" in done.stdout
    assert " kept " in done.stdout


def test_a_conversation_with_nothing_to_compact_is_not_on_the_sheet(tmp_path: Path) -> None:
    """A greeting is no sample."""
    assert 2 == run("sample", saved(tmp_path / "chat.json", [{"role": "user", "content": "hi"}]), "--compact").exit_code


def test_a_file_that_cannot_be_read_is_named_and_the_sheet_holds_the_others(tmp_path: Path) -> None:
    """The exit code is 2, the sheet is written."""
    (tmp_path / "bad.json").write_bytes(b"\x00")
    result = run("sample", tmp_path / "bad.json", saved(tmp_path / "s.jsonl", compacted.session()), "-o", tmp_path / "sheet.md")
    assert 2 == result.exit_code
    assert "bad.json" in result.stderr
    assert 1 == reviewed(tmp_path / "sheet.md")["samples"]
    assert "cannot be sampled" in run("sample", "-").stderr


def test_later_compactions_are_shown_with_what_earlier_ones_left(tmp_path: Path) -> None:
    """What the first one lost is no field of the second."""
    log = compacted.events()
    log += [{**log[3], "id": 5, "args": {"content": "The deadline is 2026-12-15."}}]
    log += [{**log[2], "id": 6, "args": {"forgotten_event_ids": [3, 4, 5], "summary": "They talked."}}]
    text = run("sample", saved(tmp_path / "e.json", log)).stdout
    second = text[text.index("compaction 2") :].partition("## Sample")[0]
    assert "2026-12-15" in second
    assert "500 EUR" not in second


words = st.text(max_size=40) | st.sampled_from(
    ["- F1.1 kept amount: x", BOXES, "## Sample 2 of 2", "a\r\nb", "\x1b[2J", "> x", "\ud800", "M1 date: x"]
)
fields = st.builds(
    SheetField,
    kind=st.sampled_from(["amount", "date"]),
    text=words,
    source=words,
    became=st.sampled_from(["kept", "lost", "changed"]),
    now=st.none() | words,
)
samples = st.builds(
    Sample,
    file=words,
    place=words,
    made_by=st.just("x"),
    before=st.lists(words, max_size=3),
    after=words,
    fields=st.lists(fields, max_size=3),
    more_fields=st.integers(0, 3),
)


@given(st.lists(samples, min_size=1, max_size=3))
def test_no_text_of_a_transcript_can_write_marks_or_break_a_sheet(given_: list[Sample]) -> None:
    """Whatever stands in a conversation, an unmarked sheet reads back as unmarked, field by field."""
    filled = read_sheet(written(given_, about="All."))
    assert [(item.kind, item.became) for sample in given_ for item in sample.fields] == [(item.kind, item.became) for item in filled.fields]
    assert {None} >= {item.mark for item in filled.fields}
    assert [] == filled.unseen


@given(st.text(max_size=300))
def test_any_text_is_a_sheet_or_an_error_with_a_line(text: str) -> None:
    """Nothing else is raised."""
    try:
        read_sheet("<!-- ctxguard-sheet schema=1 samples=1 -->\n" + text)
    except SheetError as error:
        assert error.line >= 1


def test_real_transcripts_give_a_sheet(field_transcripts: Path) -> None:
    """Compacted on request, whatever their format; the sheet reads back."""
    text = run("sample", *sorted(field_transcripts.glob("*")), "--compact", "--n", "12", "--seed", "3").stdout
    filled = read_sheet(text)
    assert 12 == filled.samples
    assert filled.fields
