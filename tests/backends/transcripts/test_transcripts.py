"""What every transcript file is promised, whatever its format: recognised by content, or refused with file, line and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard.backends.transcripts import READERS, parse_transcript, read_transcript
from langchain_ctxguard.errors import TranscriptError

CHAT = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
TYPED = [{"type": "human", "content": "hello"}, {"type": "ai", "content": "hi"}]
SHAPES: dict[str, Any] = {
    "langgraph": {"values": {"messages": TYPED}, "next": []},
    "langchain": TYPED,
    "openai": CHAT,
    "tau_bench": [{"task_id": 1, "trial": 0, "traj": CHAT}],
    "swe_agent": {"history": CHAT, "trajectory": [], "info": {}},
    "bfcl": {"id": "multi_turn_base_0", "question": [[CHAT[0]], [CHAT[1]]], "initial_config": {}},
    "abcd": [{"convo_id": 1, "original": [["customer", "hello"], ["agent", "hi"]]}],
    "crosswoz": {"7": {"task": ["eat"], "messages": [{**message, "slots": []} for message in CHAT]}},
    "claude_code": [{"type": entry["role"], "uuid": entry["content"], "parentUuid": None, "message": entry} for entry in CHAT],
    "openhands": [
        {"id": index, "source": source, "action": "message", "args": {"content": text}}
        for index, (source, text) in enumerate([("user", "hello"), ("agent", "hi")])
    ],
    "openhands_sdk": [{"kind": "MessageEvent", "id": entry["content"], "llm_message": entry} for entry in CHAT],
    "deepagents": b'## Summarized at 2026-01-02T03:04:05+00:00\n\n<message type="human">hello</message>\n<message type="ai">hi</message>\n\n',
}


def encoded(data: Any, *, indent: int | None = None) -> bytes:
    return data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False, indent=indent).encode()


def refusal(raw: bytes) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        parse_transcript(raw, path="chat.json")
    return caught.value


def test_there_is_a_shape_for_every_reader() -> None:
    """No format is without a test of its recognition."""
    assert sorted(SHAPES) == sorted(reader.FORMAT for reader in READERS)


@pytest.mark.parametrize("form", SHAPES)
def test_the_format_is_recognised_from_content_and_not_from_the_name(form: str, tmp_path: Path) -> None:
    """A misleading file name changes nothing."""
    misnamed = tmp_path / "something.txt"
    misnamed.write_bytes(encoded(SHAPES[form]))
    (run,) = read_transcript(misnamed).runs
    assert (form, ["hello", "hi"]) == (run.format, [message.content for message in run.messages])


@pytest.mark.parametrize("form", SHAPES)
def test_exactly_one_run_comes_out_pretty_printed_or_not(form: str) -> None:
    """White space and a byte order mark mean nothing."""
    raw = b"\xef\xbb\xbf\r\n" + encoded(SHAPES[form], indent=4)
    assert parse_transcript(encoded(SHAPES[form]), path="x") == parse_transcript(raw, path="x")


@pytest.mark.parametrize(
    ("raw", "line", "reason"),
    [
        (b"", 1, "empty"),
        (b" \n\t\n", 1, "empty"),
        (b'{"messages": [\n  {"role": "user", "content": "a"},\n  {"role": }\n]}', 3, "not valid JSON: Expecting value (column 12)"),
        (b'{"role": "user", "content": "a"}\n\n{"role": "user", "content": \n{}', 3, "not valid JSON: Expecting value (column 29)"),
        (b'{"role": "user", "content": "a"}\n{"role": "user", "content": oops}', 2, "not valid JSON: Expecting value (column 29)"),
        (b"## Notes\n\nhello", 1, "the file is text and not valid JSON"),
        (b'{"role": "user"', 1, "not valid JSON"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 3, "NUL byte"),
        ('[{"role": "user"}]'.encode("utf-16"), None, "UTF-16"),
        ('[{"role": "user"}]'.encode("utf-32"), None, "UTF-32"),
        ('[{"role": "user"}]'.encode("utf-16-le"), 1, "NUL byte"),
        ("[\n{'role': 'é'}]".encode("latin-1"), 2, "byte 0xe9"),
        (b"[" * 100_000, None, "nested more than"),
        (b"[" * 300 + b"]" * 300, None, "nested more than"),
        (b'{"role": "user", "content": "a"}\n' + b'{"a":' * 250 + b"1" + b"}" * 250, 2, "nested more than"),
        (b'[{"role": "user",\n"content": ' + b"9" * 5_000 + b"}]", 2, "5000 digits"),
        (b"[]", 1, "empty list"),
        (b"{}", 1, "an object"),
        (b'"hello"', 1, "a text"),
        (b"17", 1, "a number"),
        (b'[{"utterance": "hi"}]', 1, "'utterance'"),
        (b'{"a": 1}\n{"b": 2}\n', 1, "JSONL of 2 lines"),
    ],
)
def test_what_is_no_transcript_is_refused_with_line_and_reason(raw: bytes, line: int | None, reason: str) -> None:
    """Broken, foreign and hostile files get an error a person can act on."""
    error = refusal(raw)
    assert ("chat.json", line) == (error.path, error.line)
    assert reason in str(error)
    assert str(error).startswith("chat.json:")


def test_an_unknown_format_is_told_which_are_known() -> None:
    """Who brings another file learns what would be read."""
    message = str(refusal(b'[{"utterance": "hi"}]'))
    assert [] == [reader.TITLE for reader in READERS if reader.TITLE not in message]


@pytest.mark.parametrize(
    ("data", "place", "line"),
    [
        ([*CHAT, {"content": "x"}], "`[2]` has no `role`", 10),
        ({"messages": [*CHAT, {"role": "alien", "content": "x"}]}, "`messages[2]` has the role 'alien'", 11),
        ({"values": {"messages": [*TYPED, {"content": "x"}]}}, "`values.messages[2]` has no `type`", 12),
        ([{"traj": CHAT}, {"traj": [*CHAT, 7]}], "`[1].traj[2]` is a number", 24),
        ([{"traj": CHAT}, {"task_id": 3}], "`[1]` has no `traj`", 14),
        ({"history": [*CHAT, None], "info": {}}, "`history[2]` is null", 11),
        ({"question": [CHAT, 7]}, "`question[1]` is a number", 13),
        ([SHAPES["bfcl"], {"id": "x"}], "`[1]` has no list of turns", 20),
        ([{"convo_id": 1, "original": [["customer", "hello"], ["robot", "hi"]]}], "`[0].original[1]` has the speaker 'robot'", 9),
        ([{"convo_id": 1, "original": [["customer", "hello"], ["agent"]]}], "`[0].original[1]` is a list that is no pair", 9),
        ({"7": SHAPES["crosswoz"]["7"], "8": {}}, "`8` has no list of `messages`", 19),
        ([*SHAPES["claude_code"], {"type": "user", "message": 3}], "`[2]` has a number under `message`", 20),
        ([*SHAPES["openhands"], {"id": 2}], "`[2]` has neither `action` nor `observation`", 18),
        ([{"history": SHAPES["openhands"]}, {"info": 1}], "`[1]` has no list of events", 22),
        ([*SHAPES["openhands_sdk"], {"kind": "ActionEvent", "id": "a"}], "`[2]` names no tool", 18),
    ],
)
def test_a_message_that_does_not_fit_is_named_by_place_and_line(data: Any, place: str, line: int) -> None:
    """In a large file the faulty message is found without searching."""
    error = refusal(json.dumps(data, indent=2).encode())
    assert line == error.line
    assert f"chat.json:{line}: {place}" in str(error)


def test_in_jsonl_the_line_is_that_of_the_entry() -> None:
    """Blank lines count as lines."""
    error = refusal(b'{"role": "user", "content": "a"}\n\n\n{"content": "b"}\n')
    assert 4 == error.line


@pytest.mark.parametrize("form", [form for form, shape in SHAPES.items() if isinstance(shape, list)])
def test_a_log_whose_writer_was_killed_is_read_up_to_there(form: str) -> None:
    """Wherever the last line is cut, even inside a character, the lines before it are read and the run says so."""
    lines = [json.dumps(entry, ensure_ascii=False).encode() for entry in SHAPES[form]]
    whole = b"\n".join([*lines, lines[-1]]).replace(b"\n", b"\r\n")
    (expected,) = parse_transcript(b"\n".join(lines) if len(lines) > 1 else b"[" + lines[0] + b"]", path="x").runs
    assert expected.truncated is False
    last = '{"number": -1.5e+3, "text": "\\u00e9\\n 订单", "known": [true, false, null]}'.encode()
    for cut in range(1, len(last)):
        (run,) = parse_transcript(whole[: -len(lines[-1])] + last[:cut], path="x", name="x").runs
        assert run.truncated is True, last[:cut]
        assert expected.messages == run.messages


def test_a_cut_line_that_is_not_the_last_is_an_error() -> None:
    """Somebody wrote on after it: that is damage, not an end."""
    error = refusal(b'{"role": "user", "content": "a"}\n{"role": "us\n{"role": "user", "content": "b"}\n')
    assert 2 == error.line


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    """U+2028 may stand in a JSON string; only a newline ends a JSONL entry."""
    lines = [{"role": "user", "content": "a\u2028b\u0085c"}, {"role": "assistant", "content": "d"}]
    raw = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    (run,) = parse_transcript(raw, path="x").runs
    assert ["a\u2028b\u0085c", "d"] == [message.content for message in run.messages]


@pytest.mark.parametrize("path", ["missing.json", "."])
def test_a_file_that_cannot_be_opened_is_a_transcript_error(path: str, tmp_path: Path) -> None:
    """A missing file and a folder get the same kind of error as a broken one."""
    with pytest.raises(TranscriptError, match="cannot be read") as caught:
        read_transcript(tmp_path / path)
    assert str(tmp_path / path) == caught.value.path


def test_chinese_stands_as_it_was() -> None:
    """No text is changed by reading it."""
    rule = "只允许查询,不得新增、修改或删除订单。𠮷"
    (run,) = parse_transcript(encoded([{"role": "user", "content": rule}]), path="x").runs
    assert rule == run.messages[0].content


def test_five_thousand_messages_keep_their_order() -> None:
    """Length is no obstacle."""
    raw = encoded([{"role": ("user", "assistant")[i % 2], "content": str(i)} for i in range(5_000)])
    (run,) = parse_transcript(raw, path="x").runs
    assert [str(i) for i in range(5_000)] == [message.content for message in run.messages]
