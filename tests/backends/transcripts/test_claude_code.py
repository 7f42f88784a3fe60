"""Sessions of Claude Code are read as the conversation a model had, with its compactions, branches and sub-agents."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import CompactionKind, CompactionMark, Run, parse_transcript
from langchain_ctxguard.core.roles import is_request

Line = dict[str, Any]


def at(second: int) -> str:
    return f"2026-06-14T10:{second // 60:02}:{second % 60:02}.000Z"


def user(key: str, parent: str | None, content: Any, **more: Any) -> Line:
    return {"type": "user", "uuid": key, "parentUuid": parent, "sessionId": "s", "message": {"role": "user", "content": content}, **more}


def answer(key: str, parent: str | None, *blocks: Line, message: str | None = None, **more: Any) -> Line:
    said = {"id": message or key, "role": "assistant", "model": "m", "content": list(blocks)}
    return {"type": "assistant", "uuid": key, "parentUuid": parent, "sessionId": "s", "message": said, **more}


def text(said: str) -> Line:
    return {"type": "text", "text": said}


def use(call_id: str, name: str = "Bash", **given: Any) -> Line:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any, **more: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def boundary(key: str, logical: str | None, **more: Any) -> Line:
    line = {"type": "system", "subtype": "compact_boundary", "uuid": key, "parentUuid": None, "logicalParentUuid": logical, "sessionId": "s"}
    return {**line, "content": "Conversation compacted", "timestamp": at(30), "compactMetadata": {"trigger": "auto", "preTokens": 9}, **more}


def read_all(*lines: Line) -> tuple[Run, ...]:
    return parse_transcript("\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode(), path="s.jsonl", name="file").runs


def read(*lines: Line) -> Run:
    (run,) = read_all(*lines)
    return run


def said(run: Run) -> list[Any]:
    return [message.content for message in run.messages]


def test_blocks_become_messages_calls_and_results() -> None:
    """Thinking stays a block, a call a call; a failed result says so, and what the program kept of it is its artifact."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    todo = {"content": "write it", "status": "pending"}
    run = read(
        user("u1", None, "做吧", timestamp=at(1)),
        answer("a1", "u1", thinking, text("ok"), use("t1", "TodoWrite", todos=[todo]), timestamp=at(2)),
        user("u2", "a1", [result("t1", "no", is_error=True)], toolUseResult={"oldTodos": [], "newTodos": [todo]}, timestamp=at(3)),
        answer("a2", "u2", text("done")),
    )
    assert "s" == run.name
    assert [
        HumanMessage("做吧", id="u1", additional_kwargs={"timestamp": at(1)}),
        AIMessage(
            [thinking, text("ok")],
            id="a1",
            tool_calls=[{"name": "TodoWrite", "args": {"todos": [todo]}, "id": "t1", "type": "tool_call"}],
            response_metadata={"id": "a1", "model_name": "m"},
            additional_kwargs={"timestamp": at(2)},
        ),
        ToolMessage(
            "no", id="u2", tool_call_id="t1", status="error", artifact={"oldTodos": [], "newTodos": [todo]}, additional_kwargs={"timestamp": at(3)}
        ),
        AIMessage("done", id="a2", response_metadata={"id": "a2", "model_name": "m"}),
    ] == run.messages


def test_an_answer_written_block_by_block_is_one_message() -> None:
    """Results between its lines come after it, those of parallel calls too, whatever parent they name."""
    run = read(
        user("u1", None, "go"),
        answer("a1", "u1", text("look"), message="m1"),
        answer("a2", "a1", use("t1"), message="m1"),
        user("r1", "a2", [result("t1", "one")]),
        answer("a3", "a2", use("t2"), message="m1"),
        user("r2", "a3", [result("t2", "two")]),
        answer("a4", "r2", text("done"), message="m2"),
    )
    assert ["go", "look", "one", "two", "done"] == said(run)
    assert isinstance(run.messages[1], AIMessage)
    assert ["t1", "t2"] == [call["id"] for call in run.messages[1].tool_calls]


def test_the_order_is_that_of_the_parents() -> None:
    """Lines that were written out of order are read in order."""
    lines = [user("0", None, "0", timestamp=at(0))]
    for n in range(1, 40):
        key, parent = str(n), str(n - 1)
        lines.append(answer(key, parent, text(key), timestamp=at(n)) if n % 2 else user(key, parent, key, timestamp=at(n)))
    random.Random(3).shuffle(lines)
    assert [str(n) for n in range(40)] == said(read(*lines))


def test_lines_without_parents_follow_each_other() -> None:
    """Some writers leave the parent out."""
    assert ["a", "b", "c"] == said(read(user("1", None, "a"), answer("2", None, text("b")), user("3", "gone", "c")))


def test_a_rewind_leaves_its_branch_as_a_run_of_its_own() -> None:
    """The conversation is what led to the last line; nothing that was said is lost."""
    main, branch = read_all(
        user("1", None, "a", timestamp=at(1)),
        answer("2", "1", text("b"), timestamp=at(2)),
        user("3", "2", "wrong", timestamp=at(3)),
        answer("4", "3", text("oh"), timestamp=at(4)),
        user("5", "2", "right", timestamp=at(5)),
        answer("6", "5", text("good"), timestamp=at(6)),
    )
    assert (("s", ["a", "b", "right", "good"]), ("s branch 2", ["wrong", "oh"])) == ((main.name, said(main)), (branch.name, said(branch)))


def test_sidechains_are_runs_of_their_own() -> None:
    """A sub-agent's conversation is not its caller's."""
    runs = read_all(
        user("1", None, "go"),
        answer("2", "1", use("t1", "Task", prompt="look")),
        user("x1", None, "look", isSidechain=True, agentId="a7"),
        answer("x2", "x1", text("seen"), isSidechain=True, agentId="a7"),
        user("y1", None, "look there", isSidechain=True),
        answer("y2", "y1", text("nothing"), isSidechain=True),
        user("3", "2", [result("t1", "seen")]),
        answer("4", "3", text("done")),
    )
    assert [("s", ["go", "", "seen", "done"]), ("s sidechain a7", ["look", "seen"]), ("s sidechain", ["look there", "nothing"])] == [
        (run.name, said(run)) for run in runs
    ]


def test_a_compaction_is_marked_with_its_summary() -> None:
    """What was before it is read too; the summary is no request of the person."""
    run = read(
        user("1", None, "never delete"),
        answer("2", "1", text("ok")),
        boundary("b", "2"),
        user("3", "b", "This session is being continued", isCompactSummary=True),
        answer("4", "3", text("on it")),
    )
    assert ["never delete", "ok", "This session is being continued", "on it"] == said(run)
    assert (CompactionMark(2, CompactionKind.SUMMARY, 2, (0, 1), at(30)),) == run.compactions
    assert [True, False, False, False] == [is_request(message) for message in run.messages]


def test_messages_that_a_compaction_preserved_are_not_dropped() -> None:
    """The log names the first and the last of them, and the next line may follow either them or the summary."""
    kept = {"compactMetadata": {"preservedSegment": {"headUuid": "3", "anchorUuid": "s1", "tailUuid": "4"}}}
    for parent in ("s1", "4"):
        run = read(
            user("1", None, "a"),
            answer("2", "1", text("b")),
            user("3", "2", "c"),
            answer("4", "3", text("d")),
            boundary("b", "4", **kept),
            user("s1", "b", "so far", isCompactSummary=True),
            user("5", parent, "e", timestamp=at(50)),
            boundary("b2", "5"),
            user("s2", "b2", "so far again", isCompactSummary=True, timestamp=at(51)),
            user("6", "s2", "f", timestamp=at(52)),
        )
        assert ["a", "b", "c", "d", "so far", "e", "so far again", "f"] == said(run)
        assert [(4, 4, (0, 1)), (6, 6, (2, 3, 4, 5))] == [(mark.start, mark.summary, mark.dropped) for mark in run.compactions]


def test_results_that_were_emptied_are_marked() -> None:
    """Their messages stay; what they said left the context once."""
    emptied = {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": {"compactedToolIds": ["t1", "t9"]}}
    run = read(
        user("1", None, "go"),
        answer("2", "1", use("t1"), use("t2")),
        user("3", "2", [result("t1", "long"), result("t2", "short")]),
        {**emptied, "uuid": "b", "parentUuid": "3", "sessionId": "s"},
        {**emptied, "uuid": "b2", "parentUuid": "b", "sessionId": "s"},
        answer("4", "b2", text("ok")),
    )
    assert (CompactionMark(4, CompactionKind.CLEARED, None, (2,)), CompactionMark(4, CompactionKind.CLEARED)) == run.compactions


def test_a_summary_without_a_boundary_is_a_compaction_all_the_same() -> None:
    """Older writers mark only the summary; a boundary without a summary only drops."""
    (mark,) = read(user("1", None, "a"), user("2", "1", "so far", isCompactSummary=True)).compactions
    assert (1, CompactionKind.SUMMARY, 1, (0,)) == (mark.start, mark.kind, mark.summary, mark.dropped)
    (mark,) = read(user("1", None, "a"), boundary("b", "1"), user("2", "b", "c")).compactions
    assert (1, CompactionKind.DROPPED, None, (0,)) == (mark.start, mark.kind, mark.summary, mark.dropped)


def test_what_the_program_wrote_in_the_users_role_says_so() -> None:
    """Notices give no message; what a person said while the model worked gives one."""
    run = read(
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        user("1", None, "Caveat: ...", isMeta=True),
        {"type": "progress", "uuid": "p", "parentUuid": "1", "sessionId": "s", "data": {}},
        user("2", "p", "go"),
        answer("3", "2", use("t1")),
        user("4", "3", [result("t1", [text("done")]), text("<system-reminder>")]),
        {"type": "attachment", "uuid": "5", "parentUuid": "4", "sessionId": "s", "attachment": {"type": "queued_command", "prompt": "and stop"}},
        {
            "type": "attachment",
            "uuid": "6",
            "parentUuid": "5",
            "attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": "x"},
        },
        {"type": "ai-title", "aiTitle": "A walk", "sessionId": "s"},
        {"type": "summary", "summary": "of another session", "leafUuid": "elsewhere"},
    )
    assert ["Caveat: ...", "go", "", [text("done")], "<system-reminder>", "and stop"] == said(run)
    assert [True, None, None, None, True, None] == [message.additional_kwargs.get("is_meta") for message in run.messages]
    assert "A walk" == run.title
    assert len({message.id for message in run.messages}) == len(run.messages)


def test_a_past_that_was_written_twice_is_read_once() -> None:
    """A resumed session may begin with a copy of what went before."""
    lines = [user("1", None, "a"), answer("2", "1", text("b"))]
    assert ["a", "b", "c"] == said(read(*lines, *lines, user("3", "2", "c")))


def test_sessions_in_one_file_are_runs_of_their_own() -> None:
    """Files that were put together come apart again."""
    runs = read_all(user("1", None, "a"), {**user("9", None, "x"), "sessionId": "t"}, user("2", None, "b"))
    assert [("s", ["a", "b"]), ("t", ["x"])] == [(run.name, said(run)) for run in runs]


def test_the_stream_of_a_run_without_a_session_file_is_read() -> None:
    """Its lines have no parents, and its sub-agents name the call they work for."""
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": []},
        {
            "type": "assistant",
            "session_id": "s",
            "parent_tool_use_id": None,
            "message": {"id": "m1", "role": "assistant", "content": [use("t1", "Task")]},
        },
        {"type": "user", "session_id": "s", "parent_tool_use_id": "t1", "message": {"role": "user", "content": "look"}},
        {"type": "user", "session_id": "s", "parent_tool_use_id": None, "message": {"role": "user", "content": [result("t1", "seen")]}},
        {"type": "result", "session_id": "s", "result": "done"},
    ]
    assert [("s", ["", "seen"]), ("s sidechain t1", ["look"])] == [(run.name, said(run)) for run in read_all(*lines)]


@pytest.mark.parametrize("parents", [["1", "0"], ["0", "1"], ["2", "0", "1"], [None, "3", "1", "2", "0"]])
def test_lines_that_are_their_own_ancestors_are_still_read(parents: list[str | None]) -> None:
    """A damaged log loses no line and hangs nobody."""
    runs = read_all(*(user(str(n), parent, str(n)) for n, parent in enumerate(parents)))
    assert [str(n) for n in range(len(parents))] == sorted(text for run in runs for text in said(run))


@pytest.mark.parametrize("shape", ["chain", "star", "comb", "compactions", "results"])
def test_a_hostile_log_of_ten_thousand_lines_is_read_at_once(shape: str) -> None:
    """Neither depth nor width nor marks make it slow or exhaust the stack."""
    size = 10_000
    if shape == "compactions":
        kept = {"compactMetadata": {"preservedSegment": {"headUuid": "0", "tailUuid": str(size // 2)}}}
        lines = [user(str(n), str(n - 1), "x") if n < size // 2 else boundary(str(n), str(n - 1), **kept) for n in range(size)]
    elif shape == "results":
        lines = [answer("0", None, *(use(str(n)) for n in range(size))), *(user(f"r{n}", "0", [result(str(n), "x")]) for n in range(size))]
    else:
        parents = {"chain": lambda n: n - 1, "star": lambda n: 0, "comb": lambda n: n - 2 + n % 2}[shape]
        lines = [user(str(n), str(max(parents(n), 0)), "x") for n in range(size)]
    runs = read_all(*lines)
    assert sum(line["type"] != "system" for line in lines) == sum(len(run.messages) for run in runs)
