from __future__ import annotations

import time
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.extract import extract_fields

PIECES = [
    *(
        "ORD-1",
        "ORD-1-2",
        "#4821",
        "9f3c2ab",
        "5万元",
        "¥50,000",
        "三成",
        "百分之十五",
        "6月30日",
        "下周五下午三点",
        "2026-06-30T10:00:00Z",
        "next Friday at 3 pm",
        "30 days",
    ),
    *(
        "-18 °C",
        "NET 30",
        "a@b.example",
        "http://x.example/a?b=c)",
        "postgres://u:p@h/db",
        "10.0.0.1/8",
        "::1",
        "src/a.py:3",
        "D:\\a b\\c",
        "v1.2.3-rc.1",
        "E0433",
        "HTTP 502",
    ),
    *(
        "记住",
        "千万别",
        "Remember",
        "Never ",
        "不要",
        "就用",
        "let's go with",
        "not the",
        "“星河计划”",
        '"Old Bess"',
        "《北纬》",
        "DE89 3704 0044 0532 0130 00",
        "1Z999AA10123456784",
    ),
    *(
        "{",
        "}",
        '"',
        ":",
        ",",
        "[",
        "]",
        " ",
        "\n",
        "。",
        "，",
        "：",
        "\ud800",
        "\ufeff",
        "０",
        "Ａ",
        "٣",
        "²",
        "\x00",
        "-",
        ".",
        "/",
        "年",
        "月",
        "一",
        "万",
        "0",
        "99999999999999999999",
    ),
]
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)
)
ROLES = st.sampled_from([HumanMessage, AIMessage, SystemMessage, lambda text: ToolMessage(text, tool_call_id="call")])
NOW = datetime(2026, 5, 4, 10, tzinfo=UTC)


@given(TEXTS, ROLES)
def test_no_text_breaks_the_extraction_and_every_span_is_verbatim(text: str, role: type[HumanMessage]) -> None:
    """Whatever is said, by whomever: the raw span stands in the text where the field says."""
    for field in extract_fields([role(text)], now=NOW, timezone="Asia/Shanghai"):
        assert field.raw
        assert text[field.start : field.stop] == field.raw


@given(TEXTS)
def test_the_same_text_gives_the_same_fields(text: str) -> None:
    """Before and after are found by one rule; nothing is remembered between two readings."""
    assert extract_fields(text, now=NOW) == extract_fields(text, now=NOW)


@given(st.lists(st.text(alphabet='{}[]":,.-+0123456789eE\\ abtrufnl', max_size=60), max_size=3))
def test_broken_json_is_read_as_far_as_it_goes(parts: list[str]) -> None:
    """A tool's result is outside text: no nesting, escape or number in it raises."""
    text = '{"a": ' + "".join(parts)
    for field in extract_fields([ToolMessage(text, tool_call_id="call")]):
        assert text[field.start : field.stop] == field.raw


HOSTILE = [
    "a" * 9,
    "1" * 9,
    "1,",
    "一",
    "ORD-",
    "a/",
    "a.",
    "1-",
    "a1-",
    "::",
    "http://",
    "(",
    "不要",
    "记住",
    '"',
    "“",
    "1 a ",
    "12:",
    "DE89",
    "1 h ",
    "not the ",
    "千",
    "\u2019ll take ",
    "[1,",
    '{"a":',
    "年",
    "1.1.1.1.",
]


def test_the_time_is_linear_in_the_text_whatever_the_text() -> None:
    """Four times the text takes about four times as long, for every way to begin a value and never end it."""
    for seed in HOSTILE:
        extract_fields(seed * 500)
        small = min(_seconds(seed * 2_000) for _ in range(3))
        large = min(_seconds(seed * 8_000) for _ in range(3))
        assert large < 4 * 3 * small + 0.05, (seed, small, large)


def test_no_pattern_of_a_config_file_can_make_the_scan_slow() -> None:
    """Nested repeats, which stop a backtracking engine for ever, are matched in passing."""
    started = time.process_time()
    extract_fields("a" * 50_000 + "!", patterns={"nested": "(?:a+)+$", "twins": "(?:a|a)*b"})
    assert time.process_time() - started < 2


def _seconds(text: str) -> float:
    started = time.process_time()
    extract_fields(text)
    return time.process_time() - started
