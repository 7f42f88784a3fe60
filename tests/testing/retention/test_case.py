"""Case files: what is wrong with one is said with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.case import FailurePath, RetentionCase, cases_in
from langchain_ctxguard.testing.retention.files import case_files, read_cases, starter_cases
from langchain_ctxguard.testing.retention.making import as_yaml, case_from_messages

GOOD: dict[str, Any] = {"name": "n", "conversation": [{"user": "Hello."}], "request": "Go."}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": ""}, "name"),
        ({"conversation": []}, "conversation"),
        ({"conversation": [{"user": "a", "ai": "b"}]}, "one of user, ai, tool, system, filler"),
        ({"conversation": [{}]}, "found none"),
        ({"conversation": [{"ai": "a"}]}, "begins with"),
        ({"conversation": [{"user": "a"}, {"tool": {"of": "read"}}]}, "none is open"),
        ({"conversation": [{"user": "a"}, {"ai": {"calls": [{"tool": "read"}]}}]}, "ends while"),
        ({"conversation": [{"user": "a"}, {"ai": {"calls": [{"tool": "read"}]}}, {"user": "b"}]}, "no result"),
        ({"rounds": 0}, "rounds"),
        ({"path": "lost"}, "path"),
        ({"expects": {}}, "expects"),
        ({"expect": {"keep": []}}, "keep"),
        ({"request": ""}, "request"),
    ],
)
def test_a_case_that_cannot_be_played_is_refused(changes: dict[str, Any], said: str) -> None:
    """The error names the file, the case and the key."""
    with pytest.raises(ConfigurationError, match=said) as caught:
        cases_in({"cases": [GOOD, {**GOOD, **changes}]}, place="orders.retention.yaml")
    assert str(caught.value).startswith("orders.retention.yaml: case 2")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "holds `cases:`"),
        ({"cases": []}, "at least one case"),
        ({"case": [GOOD]}, "holds `cases:`"),
        ("text", "holds `cases:`"),
        ({"version": 2, "cases": [GOOD]}, "version 2"),
        ([GOOD, GOOD], "two cases are named 'n'"),
    ],
)
def test_a_file_that_holds_no_cases_is_refused(data: Any, said: str) -> None:
    """Before anything is run."""
    with pytest.raises(ConfigurationError, match=said):
        cases_in(data, place="f")


def test_files_are_found_below_a_folder(tmp_path: Path) -> None:
    """By how their names end; a folder without one is an error that says what to do."""
    with pytest.raises(ConfigurationError, match="--starter"):
        case_files(tmp_path)
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "x.retention.yaml"
    file.write_text("cases:\n- {name: 名字, conversation: [{user: 你好}], request: 去}\n", encoding="utf-8")
    assert ([file], "名字") == (case_files(tmp_path), read_cases(file)[0].name)
    with pytest.raises(ConfigurationError, match="Cannot read"):
        read_cases(tmp_path / "none.retention.yaml")
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="Cannot read"):
        read_cases(file)


def test_the_starter_cases_cover_every_failure_path() -> None:
    """The order assistant in both languages, and at least forty more; their names are unique."""
    cases = starter_cases()
    assert {"en", "zh"} == {case.language for case in cases}
    assert len(cases) >= 44
    assert set(FailurePath) - {FailurePath.OTHER} == {case.path for case in cases}
    assert len(cases) == len({case.name for case in cases})
    assert all(case.why for case in cases)


def test_a_run_becomes_a_case() -> None:
    """The conversation up to the request, the call that followed as what must not happen, and the values people said; it reads back."""
    call = {"name": "delete_order", "args": {"order_id": "ORD-7"}, "id": "c2", "type": "tool_call"}
    look = {"name": "read_order", "args": {"order_id": "ORD-7"}, "id": "c1", "type": "tool_call"}
    messages = [
        HumanMessage("Order ORD-7 must arrive by 2026-12-15."),
        AIMessage("", tool_calls=[look]),
        ToolMessage("ORD-7: 40 EUR", tool_call_id="c1"),
        AIMessage("Noted."),
        HumanMessage("Delete it, I am allowed to."),
        AIMessage("", tool_calls=[call]),
        ToolMessage("Deleted.", tool_call_id="c2"),
        AIMessage("Done."),
    ]
    made = case_from_messages(messages, name="bad run: 坏", rules=["Never delete an order."])
    assert ("Delete it, I am allowed to.", ("delete_order",)) == (made.request, made.expect.not_called)
    assert 4 == len(made.conversation)
    assert {"ORD-7", "2026-12-15"} <= set(made.expect.fields)
    (again,) = cases_in(yaml.safe_load(as_yaml([made])), place="f")
    assert made == again
    earlier = case_from_messages(messages, name="n", request=1)
    assert ("Order ORD-7 must arrive by 2026-12-15.", ("read_order",)) == (earlier.request, earlier.expect.not_called)
    assert earlier == case_from_messages(messages, name="n", request=-2)


def test_a_broken_run_becomes_a_case_that_can_be_played() -> None:
    """A result nobody asked for is left out, a call without a result gets one that says so, and a run without a request is refused."""
    call = {"name": "read", "args": {}, "id": "c", "type": "tool_call"}
    messages = [HumanMessage("a"), ToolMessage("orphan", tool_call_id="x"), AIMessage("", tool_calls=[call]), HumanMessage("b"), AIMessage("c")]
    made = case_from_messages(messages, name="n")
    assert (True, "c") == (made.conversation[-1].tool is not None and made.conversation[-1].tool.failed, made.act.say)
    for given in ([], [AIMessage("a")]):
        with pytest.raises(ConfigurationError, match="no request"):
            case_from_messages(given, name="n")
    with pytest.raises(ConfigurationError, match="no request 7"):
        case_from_messages(messages, name="n", request=7)


def test_a_case_from_a_first_request_has_a_conversation_to_play() -> None:
    """Nothing was said before it, so filler is."""
    assert RetentionCase is type(made := case_from_messages([HumanMessage("a"), AIMessage("b")], name="n"))
    assert 1 == made.conversation[0].filler
