"""The words of a compaction, made for whoever asked for them and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard import Extensions, GuardConfig, compact_messages
from langchain_ctxguard.core import compaction
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.engine import Engine
from langchain_ctxguard.ports import TextHook

CALL = {"name": "look", "args": {"q": "aisle nine"}, "id": "c1", "type": "tool_call"}
SAID = [
    HumanMessage("The budget is 4711 EUR. " * 20, id="h1"),
    AIMessage("", tool_calls=[CALL], id="a1"),
    ToolMessage("It stands there. " * 40, tool_call_id="c1", name="look", id="t1"),
    *[HumanMessage(f"And then {number}? " * 30, id=f"m{number}") for number in range(6)],
]


class Showing:
    """A hook that keeps words, if it wants them."""

    def __init__(self, *, wants: bool = True) -> None:
        """Begin with none."""
        self.wants_texts = wants
        self.all: list[CompactionTexts] = []

    def span(self, name: str, facts: Any) -> Any:
        """Wrap in nothing."""
        return nullcontext()

    def record(self, fact: Any) -> None:
        """Take no notice."""

    def show(self, texts: CompactionTexts) -> None:
        """Keep them."""
        self.all.append(texts)

    def told(self, name: str) -> Any:
        """Return what was shown under a name."""
        return next(value for texts in self.all if (value := getattr(texts, name)) is not None)


def shown(monkeypatch: Any, **settings: Any) -> Showing:
    """Compact with an engine that shows."""
    hook = settings.pop("hook", None) or Showing()
    monkeypatch.setattr("langchain_ctxguard.compact.Engine", lambda **given: Engine(hooks=[hook], **given))
    compact_messages(SAID, keep=("messages", 1), **settings)
    return hook


def test_what_leaves_is_shown_with_its_calls(monkeypatch: Any) -> None:
    """In order, by role, a call as it was written."""
    evicted = shown(monkeypatch).told("evicted")
    assert ["human", "ai", "tool"] == [message.role for message in evicted[:3]]
    assert 'look({"q": "aisle nine"})' == evicted[1].text
    assert "h1" == evicted[0].message_id


def test_what_it_became_is_shown(monkeypatch: Any) -> None:
    """The draft, the view's summary, and the values of the fields."""
    showing = shown(monkeypatch)
    assert showing.told("draft")
    assert "4711 EUR" in showing.told("summary_after")
    assert "" == showing.told("summary_before")
    assert {"4711 EUR"} <= {field.value for field in showing.told("fields")}


def test_the_redactor_has_seen_every_word(monkeypatch: Any) -> None:
    """Also the values of fields in messages that stay."""
    showing = shown(monkeypatch, extensions=Extensions(redact=lambda text: text.replace("4711", "[sum]")))
    assert "4711" not in "".join(texts.model_dump_json() for texts in showing.all)
    assert "[sum]" in showing.told("evicted")[0].text


def test_words_nobody_wants_are_not_made(monkeypatch: Any) -> None:
    """A hook that does not want them is not shown them, and they cost nothing."""
    made: list[int] = []
    monkeypatch.setattr(compaction, "leaving_texts", lambda _: made.append(1))
    showing = shown(monkeypatch, hook=Showing(wants=False))
    assert isinstance(showing, TextHook)
    assert ([], []) == (showing.all, made)


def test_an_attempt_that_makes_no_version_shows_no_summary(monkeypatch: Any) -> None:
    """The context before it stays in force."""

    class Down:
        name = "down"

        def summarize(self, request: Any) -> Any:
            raise ConnectionError

        async def asummarize(self, request: Any) -> Any:
            raise ConnectionError

    config = GuardConfig.from_dict({"compaction": {"fallback": None, "max_attempts": 1}})
    showing = shown(monkeypatch, summarizer=Down(), config=config)
    assert "" == showing.told("summary_after")
    assert not list(drafts(showing))


def drafts(showing: Showing) -> Iterator[Any]:
    """Yield the drafts that were shown."""
    yield from (texts.draft for texts in showing.all if texts.draft is not None)
