"""A page stays small whatever a conversation holds, and says what it leaves out."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.messages import fitted, shown
from langchain_ctxguard.report.pages import document_of
from langchain_ctxguard.report.story import Compaction, Message, Report
from tests.support.reports import example_report


def report(count: int, text: str, *, parts: int = 1) -> Report:
    """Return a report of so many messages, taken out by so many compactions."""
    size = count // parts
    told = [Message(position=at, key=f"m{at}", speaker="user", text=text) for at in range(count)]
    made = [Compaction(number=part + 1, evicted=size, before=tuple(told[part * size : (part + 1) * size])) for part in range(parts)]
    return Report(source="thread", name="t", where="s", messages=count, compactions=tuple(made))


@pytest.mark.parametrize(
    ("count", "text"),
    [(5_000, "x" * 2_000), (5_000, "\0" * 60), (5_000, "<&>\"'" * 200), (2_000, "预算是五万元。" * 300), (3, "y" * 2_000_000), (12_000, "z" * 300)],
    ids=["long", "nulls", "special", "chinese", "huge", "many"],
)
def test_a_page_stays_below_five_megabytes(count: int, text: str) -> None:
    """What is cut or left out is told, in numbers."""
    told = fitted(report(count, text, parts=3))
    page = render_html(document_of(told))
    assert len(page.encode()) < 5_000_000
    assert "found no room on this page" in page


def test_a_page_of_everything_at_once_stays_below_five_megabytes() -> None:
    """Thousands of calls, verdicts and moments beside the messages."""
    one = example_report("\0<" * 40)
    notable = next(action for action in one.actions if action.is_notable)
    told = report(5_000, "\0\1" * 30, parts=50).model_copy(
        update={
            "actions": tuple(notable.model_copy(update={"call_id": f"c{number}"}) for number in range(3_000)),
            "moments": tuple(one.moments[2].model_copy(update={"number": number}) for number in range(1, 5_001)),
            "in_sight": tuple(Message(position=5_000, speaker="ai", text="", calls=("\0" * 40,) * 20) for _ in range(100)),
        }
    )
    assert len(render_html(document_of(fitted(told))).encode()) < 5_000_000


def test_what_has_room_is_whole() -> None:
    """Five thousand messages of 450 characters are shown to the last one."""
    told = fitted(report(5_000, "a" * 450))
    assert all(message.left_out == 0 and len(message.text) == 450 for message in told.compactions[0].before)
    assert 5_000 == len(told.compactions[0].before)


def test_a_message_names_its_calls_and_what_it_answers() -> None:
    """Also calls whose arguments are no JSON, and very many of them."""
    calls = [{"name": "pay", "args": {"n": number}, "id": f"c{number}"} for number in range(30)]
    told = shown(AIMessage("", tool_calls=calls), position=3, key="k")
    assert 'pay({"n": 0}) · c0' == told.calls[0]
    assert "and 10 more calls" == told.calls[-1]
    assert "c1" == shown(ToolMessage("ok", tool_call_id="c1", name="pay")).answers
