"""What a report tells, as values: the same whether it was read from a store or from a transcript, and before it is a page."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from langchain_ctxguard.domain.audit import AuditFinding
from langchain_ctxguard.domain.consent import ConsentStatus
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.domain.version import FieldCounts, Outcome
from langchain_ctxguard.report.story_work import Work

REPORT_SCHEMA: Literal[1] = 1
"""Version of the JSON form."""


class Message(Value):
    """A message as the page shows it."""

    position: int | None = None
    """In the original conversation, from 0; `None`: it stands for others."""

    key: str = ""
    speaker: str
    name: str = ""
    text: str
    calls: tuple[str, ...] = ()
    """Tool calls it makes: name and arguments on a line."""

    answers: str = ""
    """Id of the call it answers."""

    left_out: int = 0
    """Characters that found no room on the page."""

    is_erased: bool = False


class Fate(Value):
    """What became of one critical value, as the guard put it on record."""

    what: Literal["repaired", "lost", "changed"]
    """`repaired`: the draft lost or changed it, and the view tells it word for word. `changed`: the view tells another value."""

    kind: str
    label: str = ""
    value: str | None = None
    """`None`: erased, or the context of that version is not kept."""

    how: str | None = None
    said_by: str = ""
    position: int | None = None
    """Of the message it came from."""

    message: str | None = None
    """Key of that message."""

    sentence: str = ""


class Compaction(Value):
    """One attempt: what it took, what it made of it, what became of what mattered."""

    number: int
    """From 1, refused ones counted."""

    version: int | None = None
    """`None`: it made none."""

    at: AwareDatetime | None = None
    outcome: Outcome | None = None
    """`None`: a transcript does not say."""

    trigger: str = ""
    reason: str = ""
    strategy: str = ""
    error: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    evicted: int = 0
    kept: int = 0
    rules_in_force: int = 0
    rules_put_back: tuple[str, ...] = ()
    rules_missing: tuple[str, ...] = ()
    counts: FieldCounts | None = None
    notes: tuple[str, ...] = ()
    """Further numbers of the record, in words."""

    fates: tuple[Fate, ...] = ()
    fates_left_out: int = 0
    audit: tuple[AuditFinding, ...] = ()
    audit_note: str = ""
    """What has to be known of the audit; why there is none."""

    before: tuple[Message, ...] = ()
    before_note: str = ""
    after: tuple[Message, ...] = ()
    after_note: str = ""
    consents: tuple[str, ...] = ()
    """Fields of the consents that crossed."""


class Restored(Value):
    """A rollback that was done."""

    version: int
    restores: int
    at: AwareDatetime
    reason: str = ""
    tokens: int = 0


class Moment(Value):
    """A moment at which it is known which rules stood there: a model call, or a tool call where model calls are not on record."""

    number: int
    at: AwareDatetime | None = None
    version: int = 0
    tokens: int | None = None
    common: int | None = None
    hit: int | None = None
    share: float | None = None
    """Part of the call read from the provider's cache."""

    offset: int | None = None
    drift: DriftReason | None = None
    why: str = ""
    """The drift in words, with the rules that moved."""

    rules: tuple[str, ...] | None = None
    """`id@version` in their order; `None`: not known."""


class Stretch(Value):
    """Where a rule stood over some moments."""

    first: int
    last: int
    place: int
    """In the order of the rules, from 1; 0: not known."""

    of: int
    is_reminded: bool = False


class Rule(Value):
    """A rule, how far it is more than words, and where it stood when."""

    reference: str
    text: str | None = None
    """`None`: not on record, or erased."""

    authority: str = ""
    severity: str = ""
    kind: Literal["enforced", "checked", "shown", "unenforced", "unknown"] = "unknown"
    sentence: str = ""
    stretches: tuple[Stretch, ...] = ()
    history: tuple[str, ...] = ()
    """What happened to it in the registry, a line each."""


class Step(Value):
    """One step of an action, in words."""

    at: AwareDatetime | None = None
    text: str


class Action(Value):
    """A tool call: what was judged, who agreed, what came of it."""

    call_id: str
    tool: str
    arguments: str | None = None
    """`None`: only a digest is on record, or they were erased."""

    at: AwareDatetime | None = None
    decision: Literal["allow", "ask", "deny"] | None = None
    """The last verdict; `None`: there is none on record."""

    is_answered: bool = False
    """It was answered in the tool's place: in effect already, or turned down before."""

    allowed_by: str
    """Who allowed it, in a sentence."""

    is_notable: bool = False
    """More than a rule and a yes: somebody was asked, a consent was read, it was denied or failed, or it cannot be undone."""

    steps: tuple[Step, ...] = ()
    chain: tuple[str, ...] = ()
    """The chain of records behind it, a link each."""

    holds: bool = True
    position: int | None = None


class Word(Value):
    """One word of consent on record."""

    seq: int
    field: str
    status: ConsentStatus
    value: str | None = None
    subject: str
    thread: str | None = None
    basis: str = ""
    recorded_by: str = ""
    surface: str = ""
    at: AwareDatetime
    expires_at: AwareDatetime | None = None
    is_in_force: bool = False
    """It is the word that holds, and a grant in force when the report was made."""

    crossed: tuple[int, ...] = ()
    """Numbers of the compactions that carried it."""


class GoingBack(Value):
    """What a rollback to a version would change."""

    to: int
    lines: tuple[str, ...] = ()
    messages_back: int = 0
    """How many messages the model would see again as they were said."""

    note: str = ""
    """Why it cannot be told, where it cannot."""


class Report(Value):
    """Everything a page shows."""

    schema_version: Literal[1] = REPORT_SCHEMA
    source: Literal["thread", "file"]
    name: str
    """The thread, or the conversation in the file."""

    where: str
    """What was read, for people."""

    made_at: AwareDatetime | None = None
    messages: int = 0
    """How many messages the page knows of."""

    unit: str = "model call"
    """What moments are."""

    moments: tuple[Moment, ...] = ()
    curve: tuple[tuple[int, int], ...] = ()
    """Position on the time axis, tokens: where moments have none of their own."""

    marks: tuple[tuple[int, int], ...] = ()
    """Position on the time axis and number of a compaction."""

    backs: tuple[tuple[int, int], ...] = ()
    """Position on the time axis and version of a rollback."""

    span: int = 1
    """The last position on the time axis."""

    rules: tuple[Rule, ...] = ()
    rules_note: str = ""
    compactions: tuple[Compaction, ...] = ()
    restored: tuple[Restored, ...] = ()
    current: int | None = None
    """The version in force; `None`: there is none."""

    actions: tuple[Action, ...] = ()
    actions_note: str = ""
    cache_note: str = ""
    consents: tuple[Word, ...] = ()
    consents_note: str = ""
    work: Work | None = None
    """Of a coding agent; `None`: nothing of it is on record."""

    going_back: tuple[GoingBack, ...] = ()
    back_note: str = ""
    in_sight: tuple[Message, ...] = ()
    """Messages that have not left the view."""

    in_sight_note: str = ""
    faults: tuple[str, ...] = ()
    """What was found altered."""

    read_from: tuple[str, ...] = ()
    """What is on record and what is not, a sentence each."""
