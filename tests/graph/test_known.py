from __future__ import annotations

import gc
import threading
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard.backends.message_state import state_of
from langchain_ctxguard.graph.known import Known
from langchain_ctxguard.graph.recent_contents import Place

HERE = Place("t", 1, b"")


def kept(message: Any, place: Place = HERE) -> Known:
    known = Known()
    known.remember([(message, b"name", state_of(message))], place)
    return known


def test_an_object_is_known_until_it_changes() -> None:
    """Itself, unchanged, in the place and epoch it was stored in: nothing else."""
    message = AIMessage("x", id="1", additional_kwargs={"a": [1, {"b": 2}]})
    known = kept(message)
    assert [b"name"] == known.names_of([message], HERE)
    assert [None, None] == known.names_of([message.model_copy(deep=True), {"a": 1}], HERE)
    for place in (Place("t", 2, b""), Place("u", 1, b""), Place("t", 1, b"k")):
        assert [None] == known.names_of([message], place)
    message.additional_kwargs["a"][1]["b"] = 3
    assert [None] == known.names_of([message], HERE)


def test_what_could_change_unseen_is_never_known() -> None:
    """An object nobody can copy, a list in itself, what is no model."""
    ring: list[Any] = []
    ring.append(ring)
    for value in (AIMessage("x", additional_kwargs={"a": object()}), AIMessage("x", additional_kwargs={"a": ring}), {"role": "user"}, "text"):
        assert state_of(value) is None


def test_an_extra_field_and_another_class_are_changes() -> None:
    """Fields that no class declares are compared too."""
    message = HumanMessage("x", id="1", mark=[1])  # type: ignore[call-arg]  # whatever a provider adds
    known = kept(message)
    assert [b"name"] == known.names_of([message], HERE)
    message.mark.append(2)  # type: ignore[attr-defined]
    assert [None] == known.names_of([message], HERE)
    message = HumanMessage("x", id="1")
    known = kept(message)
    message.__class__ = type("Other", (HumanMessage,), {})  # type: ignore[assignment]
    assert [None] == known.names_of([message], HERE)


def test_lists_are_forgotten_with_their_last_object() -> None:
    """No thread keeps its messages in memory after its run."""
    known, messages = Known(), [HumanMessage(str(number)) for number in range(3)]
    known.remember([(message, b"name", state_of(message)) for message in messages], HERE, is_read=True)
    del messages
    gc.collect()
    assert {} == known._snapshots


def test_threads_may_ask_and_tell_at_once() -> None:
    """What is asked while it is told is known or not, never another's."""
    known, wrong = Known(), []

    def work(mark: bytes) -> None:
        for _ in range(50):
            messages = [HumanMessage(f"{mark!r}{number}") for number in range(20)]
            known.remember([(message, mark, state_of(message)) for message in messages], HERE, is_read=True)
            wrong.extend(name for name in known.names_of(messages, HERE) if name not in {mark, None})

    threads = [threading.Thread(target=work, args=(mark,)) for mark in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
