"""What `stream_mode="custom"` is told, and who tells it: `StreamEvents`, `read_event`, and the types of events."""

from __future__ import annotations

from langchain_ctxguard.backends.stream import StreamEvents
from langchain_ctxguard.domain.stream_event import (
    ApprovalAnswered,
    ApprovalRefused,
    CompactionFailed,
    CompactionFinished,
    CompactionPaused,
    CompactionRejected,
    CompactionSkipped,
    CompactionStarted,
    EventType,
    Noticed,
    PolicyVerdict,
    RolledBack,
    StreamEvent,
    ToolRan,
    Verified,
    events_json_schema,
    read_event,
)

__all__ = [
    "ApprovalAnswered",
    "ApprovalRefused",
    "CompactionFailed",
    "CompactionFinished",
    "CompactionPaused",
    "CompactionRejected",
    "CompactionSkipped",
    "CompactionStarted",
    "EventType",
    "Noticed",
    "PolicyVerdict",
    "RolledBack",
    "StreamEvent",
    "StreamEvents",
    "ToolRan",
    "Verified",
    "events_json_schema",
    "read_event",
]
