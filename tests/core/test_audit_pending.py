"""What is open while a run is read, and whether a context still tells it as open."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_pending import Kind, Open, Pending, lost_items
from tests.support.builders import ai, human, result

ITEM = Open("deferred", "Archive the old logs.", 3, "m3")


def opened(*messages: BaseMessage) -> list[tuple[str, str]]:
    """Return what is open after messages: kind and text."""
    pending = Pending()
    pending.read(messages, [f"m{place}" for place in range(len(messages))], start=0)
    return [(item.kind, item.text) for item in pending.held]


def lost(kind: Kind, text: str) -> list[tuple[str, str, str | None]]:
    """Return how an item is lost where a summary is all there is."""
    findings = lost_items([ITEM._replace(kind=kind)], text, text)
    return [(finding.loss.value, finding.level.value, finding.now) for _, finding in findings]


@pytest.mark.parametrize("kind", ["todo", "deferred"])
@pytest.mark.parametrize("done", ["Done: archive the old logs.", "Archived the old logs: done."])
def test_what_is_told_as_done_is_not_told_as_open(kind: Kind, done: str) -> None:
    """Even in its own words."""
    assert [("contradicted", "warning", done)] == lost(kind, done)


def test_a_request_in_its_own_words_is_still_told() -> None:
    """Parts of it may be done; in other words that say it is done, it is contradicted."""
    assert [] == lost("request", "Done: archive the old logs.")
    assert [("contradicted", "warning", "Archived the old logs: done.")] == lost("request", "Archived the old logs: done.")


@pytest.mark.parametrize(("kind", "level"), [("request", "critical"), ("todo", "warning"), ("deferred", "warning")])
def test_what_nothing_tells_is_lost(kind: Kind, level: str) -> None:
    """A request is the gravest; whatever is still told as open is not lost."""
    assert [("lost", level, None)] == lost(kind, "The harbour was quiet.")
    assert [] == lost(kind, "To do: archive the old logs.")
    assert [] == lost(kind, "The old logs remain to be archived later.")


def test_of_nothing_open_nothing_is_lost() -> None:
    """Whatever the text says."""
    assert [] == list(lost_items([], "Done: archive the old logs.", ""))


def test_a_request_is_open_until_it_is_answered() -> None:
    """An answer that calls a tool is none yet, one that asks back is none, and thanks ask for nothing."""
    asked = human("Find order ORD-7.")
    open_request = [("request", "Find order ORD-7.")]
    assert open_request == opened(asked)
    assert open_request == opened(asked, ai("I look.", calls=["a"]), result("a"))
    assert open_request == opened(asked, ai("Which order do you mean?"))
    assert [] == opened(asked, ai("I look.", calls=["a"]), result("a"), ai("It is in Oslo."))
    assert [] == opened(human("Thanks!"))
    assert [("request", "Thanks, and what about ORD-7?")] == opened(human("Thanks, and what about ORD-7?"))


def test_what_is_put_off_is_open_until_it_is_done() -> None:
    """Until a call that did it, or an answer that says so; a call that failed did nothing."""
    asked = human("Find order ORD-7. Later, please archive the old server logs.")
    put_off = ("deferred", "Later, please archive the old server logs.")
    assert put_off in opened(asked)
    assert put_off in opened(asked, ai("It is in Oslo."))
    assert put_off not in opened(asked, ai("I archived the old server logs, done."))
    call = ai(calls=["a"]).model_copy(update={"tool_calls": [{"name": "archive", "args": {"what": "old server logs later please"}, "id": "a"}]})
    assert put_off not in opened(asked, call, result("a", "ok"))
    assert put_off in opened(asked, call, result("a", "no", status="error"))


def test_each_list_of_todos_replaces_the_one_before() -> None:
    """What is over is not open, and what was put off is over with it."""

    def planned(*todos: tuple[str, str]) -> BaseMessage:
        listed = [{"content": text, "status": status} for text, status in todos]
        return ai(calls=["t"]).model_copy(update={"tool_calls": [{"name": "write_todos", "args": {"todos": listed}, "id": "t"}]})

    first = planned(("find it", "in_progress"), ("send it", "pending"), (" ", "pending"))
    assert [("todo", "find it"), ("todo", "send it")] == opened(first)
    assert [("todo", "send it")] == opened(first, planned(("find it", "completed"), ("send it", "pending")))
    assert [] == opened(first, planned(("find it", "cancelled"), ("send it", "done")))
    asked = human("Find it. Then, later, send it.")
    assert [("request", "Find it. Then, later, send it."), ("todo", "x")] == opened(
        asked, planned(("Then, later, send it.", "done"), ("x", "pending"))
    )


def test_what_is_forgotten_is_not_open() -> None:
    """And nothing beside it goes."""
    pending = Pending()
    pending.read([human("Find order ORD-7. Later, archive the old logs.")], ["m0"], start=4)
    request, put_off = pending.held
    assert (4, "m0") == (put_off.message_index, put_off.message_id)
    pending.forget({request})
    assert (put_off,) == pending.held
