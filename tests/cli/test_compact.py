"""`ctxguard compact` reads a transcript and says what became of it, to people and to programs."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.run_report import print_report
from langchain_ctxguard.errors import RetentionError

RULE = "Never delete an order. 不得删除订单。"
LAST = "So what is left to do?"


def conversation(turns: int = 12) -> list[dict[str, Any]]:
    """A chat with a tool call in each turn, long enough to be worth compacting."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "read_order", "arguments": json.dumps({"order": turn})}}
        messages += [
            {"role": "user", "content": f"Please look at order {turn}. " + "It was placed last week by the customer. " * 10},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "name": "read_order", "content": f"Order {turn}: " + "one line of goods; " * 30},
            {"role": "assistant", "content": f"Order {turn} is complete. " + "All goods are there. " * 10},
        ]
    return [*messages, {"role": "user", "content": LAST}]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A chat file."""
    return saved(tmp_path / "chat.json", conversation())


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A file of two runs."""
    return saved(tmp_path / "runs.json", [{"task_id": task, "trial": 0, "traj": conversation(8)} for task in (1, 2)])


def saved(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(build_app(), ["compact", *map(str, arguments)], input=stdin)


def printed(*arguments: str | Path, code: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert code == result.exit_code, result.output
    return json.loads(result.stdout)


def test_json_gives_messages_outcome_tokens_and_record(chat: Path) -> None:
    """What `--json` prints can be sent and checked by a program."""
    data = printed(chat, "--keep", "1")
    assert ["messages", "outcome", "tokens_before", "tokens_after", "record"] == list(data)
    assert "accepted" == data["outcome"] == data["record"]["outcome"]
    assert data["tokens_after"] < data["tokens_before"]
    assert (data["tokens_before"], data["tokens_after"]) == (data["record"]["tokens_before"], data["record"]["tokens_after"])
    assert {"role": "user", "content": LAST} == data["messages"][-1]


def test_calls_and_results_stay_together(chat: Path) -> None:
    """Every result printed answers a call printed before it."""
    called: set[str] = set()
    answered = []
    for message in printed(chat, "--keep", "3")["messages"]:
        called |= {call["id"] for call in message.get("tool_calls", [])}
        if message["role"] == "tool":
            answered.append(message["tool_call_id"])
    assert answered
    assert called == set(answered)


def test_the_file_is_compacted_to_the_budget(chat: Path) -> None:
    """`--budget` bounds the result; a run that fits is left alone."""
    before = printed(chat)["tokens_before"]
    half = printed(chat, "--budget", str(before // 2))
    assert half["tokens_after"] <= before // 2
    fits = printed(chat, "--budget", str(before * 2))
    assert ("skipped", before) == (fits["outcome"], fits["tokens_after"])


def test_more_turns_kept_are_more_messages_kept(chat: Path) -> None:
    """`--keep` counts turns."""
    one, three = printed(chat, "--keep", "1"), printed(chat, "--keep", "3")
    assert one["record"]["kept_messages"] < three["record"]["kept_messages"]


def test_the_rules_of_the_config_stand_in_the_result(chat: Path, tmp_path: Path) -> None:
    """`constraints` of the file are pinned verbatim."""
    config = tmp_path / "ctxguard.yaml"
    config.write_text(f"constraints:\n  - {RULE!r}\ncompaction:\n  keep: [turns, 1]\n", encoding="utf-8")
    data = printed(chat, "--config", config)
    assert 1 == data["record"]["rules_in_force"]
    assert 1 == json.dumps(data["messages"], ensure_ascii=False).count(RULE)


def test_several_runs_come_under_runs(two_runs: Path) -> None:
    """Each with its name and the keys of a single run."""
    data = printed(two_runs, "--keep", "1")
    assert ["task 1 trial 0", "task 2 trial 0"] == [entry.pop("name") for entry in data["runs"]]
    assert [["messages", "outcome", "tokens_before", "tokens_after", "record"]] * 2 == [list(entry) for entry in data["runs"]]


def test_what_cannot_fit_names_both_numbers_and_exits_with_1(chat: Path) -> None:
    """The error of a run is in its data; the messages are those of the file."""
    data = printed(chat, "--budget", "1", code=1)
    assert "rejected" == data["outcome"]
    assert 1 == data["error"]["budget"] < data["error"]["needed"]
    assert str(data["error"]["needed"]) in data["error"]["message"]
    assert conversation()[-1] == data["messages"][-1]
    assert len(conversation()) == len(data["messages"])


def test_one_rejected_run_does_not_stop_the_others(two_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run gets its outcome; the exit code tells that one has none."""
    from langchain_ctxguard import compact as floor

    missing = RetentionError("Rule 'a' is missing.", missing=("a",))
    real, calls = floor.compact_messages, iter(range(2))

    def failing_first(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == 0:
            raise missing
        return real(*args, **kwargs)

    monkeypatch.setattr(floor, "compact_messages", failing_first)
    first, second = printed(two_runs, "--keep", "1", code=1)["runs"]
    assert ({"message": "Rule 'a' is missing."}, "accepted") == (first["error"], second["outcome"])


def test_people_get_plain_lines_in_a_pipe(two_runs: Path) -> None:
    """No colours, no boxes, no line folded at a width nobody has."""
    result = run(two_runs, "--keep", "1")
    assert 0 == result.exit_code
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    assert f"{two_runs}: 2 runs, read as tau_bench" == lines[0]
    assert lines[1].startswith("task 1 trial 0: accepted, ")
    assert lines[1].endswith("%)")
    assert "2 runs: 2 accepted" == lines[-1]
    assert 2 == sum(line.startswith("  reason: ") for line in lines)


def test_faults_of_the_input_are_told_by_message_id(tmp_path: Path) -> None:
    """Who recorded the transcript finds the message that is wrong."""
    messages = [*conversation(), {"role": "tool", "tool_call_id": "nobody", "content": "late", "id": "m-7"}, {"role": "user", "content": "and?"}]
    result = run(saved(tmp_path / "chat.json", messages), "--keep", "1")
    assert "input fault: orphan result in message m-7 (call nobody)" in result.stdout


def test_names_from_the_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """An escape sequence in a thread's name is shown, not sent."""
    hostile = {"id": "a\x1b[2Jb\nc", "messages": conversation()}
    assert "a\\x1b[2Jb\\nc: " in run(saved(tmp_path / "x.json", hostile)).stdout
    refused = run(saved(tmp_path / "y.json", [{"role": "user\x1b[2J", "content": "x"}]))
    assert "\x1b" not in refused.output


def test_out_writes_the_same_json_and_reads_back(chat: Path, tmp_path: Path) -> None:
    """The file written is a transcript itself."""
    out = tmp_path / "out.json"
    result = run(chat, "--keep", "1", "-o", out)
    assert 0 == result.exit_code
    assert f"Written to {out}" == result.stdout.splitlines()[-1]
    assert printed(chat, "--keep", "1") == json.loads(out.read_bytes())
    assert 0 == run(out, "--keep", "1").exit_code


def test_out_replaces_a_file_and_keeps_its_mode(chat: Path, tmp_path: Path) -> None:
    """A private file stays private, and no temporary file is left."""
    out = saved(tmp_path / "out.json", "old")
    out.chmod(0o600)
    assert 0 == run(chat, "-o", out).exit_code
    assert 0o600 == stat.S_IMODE(out.stat().st_mode)
    assert ["chat.json", "out.json"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_write_that_fails_leaves_the_old_file(chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole or not at all."""
    out = saved(tmp_path / "out.json", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = run(chat, "-o", out)
    assert 2 == result.exit_code
    assert "No space left on device" in result.output
    assert '"old"' == out.read_text()
    assert ["chat.json", "out.json"] == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["chat.json", "link.json", "./sub/../chat.json"])
def test_the_input_is_never_overwritten(chat: Path, tmp_path: Path, name: str) -> None:
    """Under none of its names."""
    before = chat.read_bytes()
    (tmp_path / "link.json").symlink_to(chat)
    (tmp_path / "sub").mkdir()
    result = run(chat, "-o", f"{tmp_path}/{name}")
    assert 2 == result.exit_code
    assert "is the file being read" in result.output
    assert before == chat.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing.json"], "cannot be read"),
        (["{chat}", "-o", "{dir}/none/out.json"], "does not exist"),
        (["{chat}", "-o", "{dir}"], "no regular file"),
        (["{chat}", "-o", "-"], "use --json"),
        (["{chat}", "--config", "{dir}/none.yaml"], "Cannot read the config file"),
        (["{chat}", "--config", "{bad}"], "bad.yaml:2"),
        (["{chat}", "--keep", "-1"], "--keep"),
        (["{chat}", "--budget", "0"], "--budget"),
        (["{bad}"], "bad.yaml:1: not valid JSON"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_start_exits_with_2_and_a_reason(chat: Path, tmp_path: Path, arguments: list[str], reason: str) -> None:
    """No traceback, nothing on standard output."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("compaction:\n  keep: [moons, 3]\n", encoding="utf-8")
    result = run(*[argument.format(chat=chat, dir=tmp_path, bad=bad) for argument in arguments])
    assert (2, "") == (result.exit_code, result.stdout)
    assert reason in result.stderr
    assert "Traceback" not in result.stderr


def test_standard_input_is_read_and_errors_name_it(chat: Path) -> None:
    """`-` is standard input."""
    assert 0 == run("-", stdin=chat.read_bytes()).exit_code
    refused = run("-", stdin=b'[\n{"role": "user", "content": "a"},\n{"content": "b"}]')
    assert 2 == refused.exit_code
    assert "<stdin>:3: `[1]` has no `role`" in refused.stderr


def test_text_that_has_no_utf8_is_escaped(tmp_path: Path) -> None:
    """Half a surrogate pair and a number that is none come out as valid JSON."""
    file = tmp_path / "x.json"
    file.write_bytes(b'[{"role": "user", "content": [{"type": "odd", "text": "a\\ud800", "score": NaN}]}]')
    raw = run(file, "--budget", "100000", "--json").stdout_bytes
    data = json.loads(raw.decode("utf-8"), parse_constant=pytest.fail)
    assert [{"type": "odd", "text": "a\ud800", "score": None}] == data["messages"][0]["content"]


def test_help_loads_no_message_classes() -> None:
    """`ctxguard --help` answers at once: no LangChain, no LangGraph."""
    program = (
        "import sys; from typer.testing import CliRunner; from langchain_ctxguard.cli import build_app; "
        "results = [CliRunner().invoke(build_app(), args).exit_code for args in (['--help'], ['compact', '--help'], ['demo', '--help'])]; "
        "print(results, sorted({name.split('.')[0] for name in sys.modules} & {'langchain', 'langchain_core', 'langgraph', 'tiktoken'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "[0, 0, 0] []\n" == done.stdout


def test_it_runs_as_a_program(chat: Path) -> None:
    """`python -m langchain_ctxguard.cli` is the command: JSON on standard output, nothing on standard error."""
    command = [sys.executable, "-m", "langchain_ctxguard.cli", "compact", str(chat), "--keep", "1", "--json"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert ("accepted", b"") == (json.loads(done.stdout)["outcome"], done.stderr)


def test_no_progress_bar_in_a_pipe(chat: Path) -> None:
    """Standard error stays empty where nobody watches."""
    assert "" == run(chat).stderr


def test_an_empty_list_of_runs_is_reported_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to say is said."""
    print_report([], source="x.json")
    assert "x.json: 0 runs\n" == capsys.readouterr().out
