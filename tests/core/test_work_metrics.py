"""How well work came through its compactions is counted, not judged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.recovery import recovery_of
from langchain_ctxguard.core.work_metrics import measured
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import HandoffItem
from langchain_ctxguard.domain.summary import Decision, Rejected
from langchain_ctxguard.domain.work_metrics import Recovery, WorkMetrics
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState
from tests.domain.test_handoff import SHOWN

NOW = datetime(2026, 11, 30, tzinfo=UTC)
EDIT = {"path": "a.py", "old_string": "x", "new_string": "y"}
BACK = {"path": "a.py", "old_string": "y", "new_string": "x"}


def conversation(*calls: tuple[str, dict[str, Any], str], kinds: dict[int, str] | None = None) -> list[BaseMessage]:
    """Return a request and calls with their results; `kinds` says what the guard did with some of them."""
    messages: list[BaseMessage] = [HumanMessage("go")]
    for place, (name, args, result) in enumerate(calls):
        kind = (kinds or {}).get(place)
        status: Any = "error" if kind == "denied" else "success"
        artifact = None if kind is None else {"ctxguard": {"kind": kind, "rules": []}}
        call = {"name": name, "args": args, "id": f"c{place}", "type": "tool_call"}
        messages += [AIMessage("", tool_calls=[call]), ToolMessage(result, tool_call_id=f"c{place}", status=status, artifact=artifact)]
    return messages


def done(number: int, place: int, args: dict[str, Any], sha: str) -> WorkEntry:
    return WorkEntry(
        number=number,
        state=WorkState.DONE,
        text="edit",
        files=(FileState(path="a.py", sha256=sha),),
        effect_digest=effect_digest("edit_file", args),
        tool="edit_file",
        tool_call_id=f"c{place}",
        at=NOW,
    )


def at(version: int, message: int) -> Recovery:
    return Recovery(version=version, handoff=version, at_message=message, at=NOW)


def test_a_clean_run_wastes_nothing() -> None:
    """Reading, changing, reading again what changed: no repetition."""
    messages = conversation(("read_file", {"path": "a.py"}, "x"), ("edit_file", EDIT, "edited"), ("read_file", {"path": "a.py"}, "y"))
    assert WorkMetrics(steps=3) == measured(messages)


def test_an_edit_done_again_is_a_repetition() -> None:
    """Also where it changed the file a second time, and where it was answered with the evidence; not where it had been undone."""
    twice = conversation(("edit_file", EDIT, "edited"), ("edit_file", EDIT, "edited"))
    assert 1 == measured(twice).repeated_edits
    assert 1 == measured(twice, [done(1, 0, EDIT, "1"), done(2, 1, EDIT, "2")]).repeated_edits
    answered = conversation(("edit_file", EDIT, "edited"), ("edit_file", EDIT, "[TRACE-001] done"), kinds={1: "answered"})
    assert (1, 0, 1) == (measured(answered).repeated_edits, measured(answered).reopened_decisions, measured(answered).wasted_steps)
    first = ("write_file", {"path": "a.py", "content": "x"}, "written")
    undone = conversation(first, ("edit_file", EDIT, "edited"), ("edit_file", BACK, "edited"), ("edit_file", EDIT, "edited"))
    log = [done(1, 0, {}, "x"), done(2, 1, EDIT, "y"), done(3, 2, BACK, "x"), done(4, 3, EDIT, "y")]
    assert 0 == measured(undone, log).repeated_edits


@pytest.mark.parametrize("state", [WorkState.NEXT, WorkState.BLOCKED])
def test_only_steps_that_were_done_tell_what_a_call_did(state: WorkState) -> None:
    """A line of another kind under the id of a call says nothing of its files."""
    calls = [("write_file", {"path": "a.py", "content": "x"}), ("edit_file", EDIT), ("edit_file", BACK), ("edit_file", EDIT)]
    log = [done(1, 0, {}, "x"), done(2, 1, EDIT, "y"), done(3, 2, BACK, "x"), done(4, 3, EDIT, "y")]
    beside = WorkEntry(number=5, state=state, text="more", tool_call_id="c1", at=NOW)
    assert 0 == measured(conversation(*((name, args, "ok") for name, args in calls)), [*log, beside]).repeated_edits


def test_a_search_is_repeated_where_nothing_changed_since() -> None:
    """A change between makes it a new look."""
    look = ("grep", {"pattern": "total"}, "a.py:1")
    assert 1 == measured(conversation(look, look)).repeated_searches
    assert 0 == measured(conversation(look, ("edit_file", EDIT, "edited"), look)).repeated_searches
    assert 1 == measured(conversation(("execute", {"command": "ls"}, "a"), ("execute", {"command": "ls"}, "a"))).repeated_searches


def test_refusals_failures_and_reopened_decisions_are_counted() -> None:
    """Each in its own number, and once among the wasted steps."""
    turned_down = {"command": "pip install requests"}
    messages = conversation(
        ("delete_file", {"path": "db.sql"}, "Denied"),
        ("edit_file", EDIT, "Error: no such text"),
        ("execute", turned_down, "turned down in TRACE-001"),
        kinds={0: "denied", 2: "answered"},
    )
    found = measured(messages, recoveries=[at(1, 3)])
    assert (1, 1, 1, 3) == (found.constraint_breaks, found.failed_steps, found.reopened_decisions, found.wasted_steps)
    assert 0 == found.first_failure
    assert (None,) == found.steps_to_first_correct


def test_what_a_contradiction_held_breaks_no_rule() -> None:
    """It cost a step, and runs when it comes again: neither a break nor a repetition."""
    messages = conversation(("edit_file", EDIT, "Denied"), ("edit_file", EDIT, "edited"), kinds={0: "denied"})
    messages[2].artifact = {"ctxguard": {"kind": "denied", "rules": ["reconcile"]}}  # type: ignore[attr-defined]  # a tool's result
    found = measured(messages)
    assert (0, 0, 0, 1) == (found.constraint_breaks, found.repeated_edits, found.failed_steps, found.wasted_steps)


def test_a_decision_for_what_was_turned_down_is_reopened() -> None:
    """Also where nobody held it up."""

    def decided(number: int, chosen: str, *rejected: str) -> WorkEntry:
        decision = Decision(chosen=chosen, rejected=tuple(Rejected(option=one) for one in rejected))
        call = f"t{number}"
        return WorkEntry(number=number, state=WorkState.DECIDED, text=chosen, decision=decision, said_by="agent", tool_call_id=call, at=NOW)

    assert 1 == measured([], [decided(1, "httpx", "requests"), decided(2, "Requests")]).reopened_decisions
    assert 0 == measured([], [decided(1, "httpx", "requests"), decided(2, "aiohttp")]).reopened_decisions


def test_the_stage_of_the_first_failure_and_the_way_back() -> None:
    """How many compactions lay before the first wasted step, and how many steps each compaction took to the first right one."""
    look = ("grep", {"pattern": "total"}, "a.py:1")
    messages = conversation(look, ("edit_file", EDIT, "edited"), ("edit_file", EDIT, "edited"), ("edit_file", BACK, "edited"), look)
    found = measured(messages, recoveries=[at(1, 5), at(2, 9)])
    assert 2 == found.compactions
    assert 1 == found.first_failure
    assert (2, 1) == found.steps_to_first_correct


def test_finished_work_called_open() -> None:
    """What a hand-over lists as not done though a later step stands at its place."""
    place = CodePlace(path="a.py", symbol="total")
    entries = [
        WorkEntry(number=1, state=WorkState.NEXT, text="rename", places=(place,), said_by="agent", at=NOW),
        WorkEntry(number=2, state=WorkState.DONE, text="edit", places=(place,), at=NOW),
    ]
    late = Handoff(made_at=NOW, trace=2, not_done=(HandoffItem(text="rename", places=(place,), trace=1),))
    assert 1 == measured([], entries, handoffs=[late]).finished_called_open
    assert 0 == measured([], entries, handoffs=[late.model_copy(update={"trace": 1})]).finished_called_open


@pytest.mark.parametrize(
    ("text", "later", "count"),
    [
        ("Run the tests.", {"state": WorkState.DONE, "text": "run the  tests"}, 1),
        ("跑一遍测试。", {"state": WorkState.DONE, "text": "跑一遍测试"}, 1),
        ("Run the tests", {"state": WorkState.DECIDED, "text": "skip them", "decision": Decision(chosen="skip them"), "closes": (1,)}, 1),
        ("Run the tests", {"state": WorkState.DONE, "text": "run the tests of the cart"}, 0),
        ("Run the tests", {"state": WorkState.NEXT, "text": "run the tests"}, 0),
    ],
)
def test_finished_work_without_a_place_is_known_by_its_words_or_by_who_closed_it(text: str, later: dict[str, Any], count: int) -> None:
    """The same words count, words that are only alike do not; of an item that no entry says, the order is not known."""
    entries = [
        WorkEntry(number=1, state=WorkState.NEXT, text=text, said_by="agent", at=NOW),
        WorkEntry(number=2, at=NOW, **later),
    ]
    handoff = Handoff(made_at=NOW, trace=2, not_done=(HandoffItem(text=text, trace=1),))
    assert count == measured([], entries, handoffs=[handoff]).finished_called_open
    assert 0 == measured([], entries, handoffs=[handoff.model_copy(update={"trace": 1})]).finished_called_open
    assert 0 == measured([], entries, handoffs=[handoff.model_copy(update={"not_done": (HandoffItem(text=text),)})]).finished_called_open


def test_the_five_elements() -> None:
    """All of a hand-over in sight is 5.0; what is missing takes its part away."""
    whole = recovery_of(SHOWN, [HumanMessage(SHOWN.to_markdown())], version=1, at_message=7, at=NOW)
    assert 5.0 == whole.score
    part = recovery_of(SHOWN, [HumanMessage("[TRACE-014] src/cart.py::total Do not touch migrations/")], version=1, at_message=7, at=NOW)
    assert 3.0 == part.score
    assert {"goal": 0.0, "done": 1.0, "pending": 0.0, "anchors": 1.0, "do_not": 1.0} == {name: share.part for name, share in part.shown.items()}
    assert 5.0 == recovery_of(Handoff(made_at=NOW), [], version=1, at_message=0, at=NOW).score


def test_what_another_file_held_says_nothing_of_an_edit() -> None:
    """A step was undone where its own file was as before, whatever else changed in between."""
    first = ("write_file", {"path": "a.py", "content": "x"}, "written")
    undone = conversation(first, ("edit_file", EDIT, "edited"), ("edit_file", BACK, "edited"), ("edit_file", EDIT, "edited"))
    other = WorkEntry(number=4, state=WorkState.DONE, text="note", files=(FileState(path="z.py", sha256="q"),), at=NOW)
    log = [done(1, 0, {}, "x"), done(2, 1, EDIT, "y"), done(3, 2, BACK, "x"), other, done(5, 3, EDIT, "y")]

    assert 0 == measured(undone, log).repeated_edits
