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
}


def encoded(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


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
    raw = b"\xef\xbb\xbf\r\n" + json.dumps(SHAPES[form], indent=4).encode()
    assert parse_transcript(encoded(SHAPES[form]), path="x") == parse_transcript(raw, path="x")


@pytest.mark.parametrize(
    ("raw", "line", "reason"),
    [
        (b"", 1, "empty"),
        (b" \n\t\n", 1, "empty"),
        (b'{"messages": [\n  {"role": "user", "content": "a"},\n  {"role": }\n]}', 3, "not valid JSON: Expecting value (column 12)"),
        (b'{"role": "user", "content": "a"}\n\n{"role": "user", "content": \n', 3, "not valid JSON: Expecting value (column 29)"),
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
