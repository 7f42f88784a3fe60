"""Stream events: a closed set with a published schema."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import jsonschema
import pytest

from langchain_ctxguard.domain.stream_event import STREAM_EVENT, EventType, StreamEvent, events_json_schema, read_event

NOW = datetime(2026, 6, 30, tzinfo=UTC)
LEAST: dict[str, dict[str, Any]] = {
    "compaction.finished": {"attempt": "a", "outcome": "accepted", "version": 1},
    "compaction.rejected": {"attempt": "a", "version": 1},
    "compaction.skipped": {"attempt": "a", "version": 1},
    "compaction.failed": {"attempt": "a", "error": "ValueError"},
    "approval.answered": {"choice": "approve"},
    "approval.refused": {"why": "digest"},
    "rollback": {"version": 3},
    "notice": {"kind": "head_refused"},
}


def least(kind: str) -> dict[str, Any]:
    """Return the smallest event of a type, as it is sent."""
    attempt = {"attempt": "a"} if kind.startswith("compaction.") else {}
    return {"source": "ctxguard", "schema_version": 1, "type": kind, "at": "2026-06-30T00:00:00Z", **attempt, **LEAST.get(kind, {})}


@pytest.mark.parametrize("kind", get_args(EventType))
def test_every_type_is_sent_read_and_published(kind: str) -> None:
    """What is sent fits the schema and reads back as the value it was."""
    event = read_event(least(kind))
    assert event is not None
    sent = event.model_dump(mode="json")
    jsonschema.Draft202012Validator(events_json_schema()).validate(sent)
    assert event == read_event(sent)
    assert (kind, "ctxguard", 1) == (sent["type"], sent["source"], sent["schema_version"])


def test_the_set_is_closed() -> None:
    """The names of `EventType` are those of the classes, each of one class."""
    names = [name for one in get_args(StreamEvent) for name in get_args(one.model_fields["type"].annotation)]
    assert sorted(get_args(EventType)) == sorted(names)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(least("rollback") | {"type": "compaction.exploded"}, events_json_schema())


@pytest.mark.parametrize("chunk", [None, "half of x", 7, {"progress": 1}, {"source": "other", "type": "rollback"}, {"source": "ctxguard"}])
def test_chunks_of_the_application_are_none_of_ours(chunk: Any) -> None:
    """They are passed by, whatever they are."""
    assert read_event(chunk) is None


def test_a_reader_passes_by_what_a_newer_version_added() -> None:
    """A key it does not know, a type it does not know, a version it cannot read."""
    newer = read_event({**least("rollback"), "colour": "red"})
    assert newer is not None
    assert 3 == newer.version  # type: ignore[union-attr]  # a rollback
    assert read_event({**least("rollback"), "type": "context.melted"}) is None
    assert read_event({**least("rollback"), "schema_version": 2}) is None
    assert read_event({**least("rollback"), "version": "many"}) is None


def test_the_schema_speaks_of_each_type_once() -> None:
    """By its discriminator, so that a checker names the class that failed."""
    schema = events_json_schema()
    assert sorted(get_args(EventType)) == sorted(schema["discriminator"]["mapping"])
    assert "https://json-schema.org/draft/2020-12/schema" == schema["$schema"]
    assert STREAM_EVENT.validate_python(least("notice")) == read_event(least("notice"))
