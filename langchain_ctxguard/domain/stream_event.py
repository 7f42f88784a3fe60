"""What a stream is told of compactions, verdicts and rollbacks: a closed set, names and numbers only. Its JSON is the published form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.version import EventKind

SOURCE: Final = "ctxguard"
SCHEMA_VERSION: Final = 1
"""Raised when a reader of the version before could misread an event. New types and keys are none: a reader passes by what it does not know."""


class _Told(Value):
    source: Literal["ctxguard"] = SOURCE
    """By which our events are told from the application's own."""

    schema_version: Literal[1] = SCHEMA_VERSION
    at: AwareDatetime
    thread: str | None = None
    """`thread_id`; `None` outside of one."""

    namespace: str = ""
    """Of a sub-agent or subgraph; empty: the agent of the thread."""


class _Attempt(_Told):
    attempt: str
    """Names one attempt: what begins with `compaction.started` ends with one other event of the same name."""

    trigger: str = ""
    """What started it: `tokens`, `messages`, `fraction`, `requested`, `phase`, `overflow`, `full`."""


class CompactionStarted(_Attempt):
    """A compaction begins; a summarizer may take its time."""

    type: Literal["compaction.started"] = "compaction.started"
    parent: int = 0
    """The version in force."""


class CompactionFinished(_Attempt):
    """A new version of the context is made. Where a store keeps versions it goes on record next."""

    type: Literal["compaction.finished"] = "compaction.finished"
    outcome: Literal["accepted", "repaired", "retried", "fell_back"]
    version: int
    strategy: str = ""
    """Name of the summarizer whose draft was used; empty where none was."""

    tokens_before: int = 0
    tokens_after: int = 0
    evicted_messages: int = 0
    evicted_tokens: int = 0
    kept_messages: int = 0
    fields_repaired: int = 0
    """Critical control fields the draft lost, carried word for word."""

    fields_lost: int = 0
    rules_in_force: int = 0
    rules_missing: tuple[str, ...] = ()
    seconds: float = 0.0
    reason: str = ""


class CompactionRejected(_Attempt):
    """A compaction was refused; the context before it stays in force."""

    type: Literal["compaction.rejected"] = "compaction.rejected"
    version: int
    tokens: int = 0
    failures: tuple[str, ...] = ()
    """Why answers of summarizers were refused: names, never their words."""

    broken: tuple[str, ...] = ()
    """Names of the invariants a candidate broke."""

    reason: str = ""
    """One sentence of names and numbers; empty where it would hold words of the application's own checks."""


class CompactionSkipped(_Attempt):
    """It was due and nothing was done: nothing could leave the view, or the application stopped it."""

    type: Literal["compaction.skipped"] = "compaction.skipped"
    version: int
    tokens: int = 0
    reason: str = ""


class CompactionFailed(_Attempt):
    """It ended with an error, which ends the run."""

    type: Literal["compaction.failed"] = "compaction.failed"
    error: str
    """Its type, never its words."""


class CompactionPaused(_Attempt):
    """A person is asked, and the run waits; it begins anew with the answer, as another attempt."""

    type: Literal["compaction.paused"] = "compaction.paused"


class _Call(_Told):
    tool: str = ""
    call_id: str | None = None
    rules: tuple[str, ...] = ()
    """Ids of the policy's rules that decided."""

    keys: tuple[str, ...] = ()
    """Which requirements of these rules decided, or what stood in the way: `approval`, `budget`, `standing`."""


class PolicyVerdict(_Call):
    """A tool call was judged. A call that only reads and is allowed is told by `tool.ran` alone."""

    type: Literal["policy.allowed", "policy.denied", "policy.asked"]


class ApprovalAnswered(_Call):
    """A person decided about a call."""

    type: Literal["approval.answered"] = "approval.answered"
    choice: str
    """`approve`, `reject`, `edit`, `respond`."""


class ApprovalRefused(_Call):
    """An answer came that opens nothing; the question stays open."""

    type: Literal["approval.refused"] = "approval.refused"
    why: str


class ToolRan(_Call):
    """A guarded tool ran, or its receipt was given in its place."""

    type: Literal["tool.ran", "tool.receipt"]
    outcome: str = ""
    """`finished`, `failed`, `unknown`, `paused`; empty for a receipt."""

    error: str | None = None
    """Type of an error, never its words."""

    seconds: float | None = None


class RolledBack(_Told):
    """An earlier version's content is in force again, as a new version."""

    type: Literal["rollback"] = "rollback"
    version: int
    """The new one."""

    restored: int | None = None
    """The earlier one."""


class Verified(_Told):
    """Somebody else's compaction was looked at."""

    type: Literal["verification.held", "verification.repaired", "verification.rolled_back", "verification.warned", "verification.approved"]
    gone_messages: int = 0
    lost: int = 0
    changed: int = 0
    carried: int = 0
    remaining: int = 0
    rules_missing: tuple[str, ...] = ()
    request_missing: bool = False


class Noticed(_Told):
    """Something worth knowing that is none of the others."""

    type: Literal["notice"] = "notice"
    kind: EventKind
    version: int = 0


StreamEvent = (
    CompactionStarted
    | CompactionFinished
    | CompactionRejected
    | CompactionSkipped
    | CompactionFailed
    | CompactionPaused
    | PolicyVerdict
    | ApprovalAnswered
    | ApprovalRefused
    | ToolRan
    | RolledBack
    | Verified
    | Noticed
)
STREAM_EVENT: TypeAdapter[StreamEvent] = TypeAdapter(Annotated[StreamEvent, Field(discriminator="type")])

EventType = Literal[
    "compaction.started",
    "compaction.finished",
    "compaction.rejected",
    "compaction.skipped",
    "compaction.failed",
    "compaction.paused",
    "policy.allowed",
    "policy.denied",
    "policy.asked",
    "approval.answered",
    "approval.refused",
    "tool.ran",
    "tool.receipt",
    "rollback",
    "verification.held",
    "verification.repaired",
    "verification.rolled_back",
    "verification.warned",
    "verification.approved",
    "notice",
]


def read_event(chunk: Any) -> StreamEvent | None:
    """Return a chunk of `stream_mode="custom"` as an event of ours; `None` for anything else, and for what a newer version may have added.

    >>> read_event({"progress": 0.5}) is None
    True
    """
    if not isinstance(chunk, Mapping) or chunk.get("source") != SOURCE:
        return None
    known = _BY_TYPE.get(str(chunk.get("type")))
    if known is None:
        return None
    try:
        return known.model_validate({key: value for key, value in chunk.items() if key in known.model_fields})
    except ValidationError:
        return None


def events_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of one event."""
    schema = STREAM_EVENT.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Stream event of langchain-ctxguard", **schema}


def events_table() -> str:
    """Return the events as a Markdown table: types, what happened, and the keys beside those of every event."""
    lines = ["| `type` | what happened | keys |", "| --- | --- | --- |"]
    for one in get_args(StreamEvent):
        types = ", ".join(f"`{name}`" for name in get_args(one.model_fields["type"].annotation))
        keys = ", ".join(f"`{name}`" for name in one.model_fields if name not in _Told.model_fields and name != "type")
        lines.append(f"| {types} | {one.__doc__} | {keys} |")
    return "\n".join(lines)


def _by_type() -> dict[str, type[StreamEvent]]:
    return {name: one for one in get_args(StreamEvent) for name in get_args(one.model_fields["type"].annotation)}


_BY_TYPE = _by_type()
