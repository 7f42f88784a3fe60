"""One tool call on record: what was asked of whom, what was answered, what was begun and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, TypeAdapter

from langchain_ctxguard.domain.approval import Approval, Approver, Binding
from langchain_ctxguard.domain.citation import GateReading
from langchain_ctxguard.domain.policy import AskNeed, DoneCall
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of

CALL_LEASE_S = 600
"""How long a call that was begun counts as running. After it nobody knows what came of it."""

DecisionType = Literal["approve", "edit", "reject", "respond"]


class Question(Value):
    """What a person is asked about one call, or about several at once. It goes on record before anybody is asked."""

    bindings: tuple[Binding, ...] = Field(min_length=1)
    needs: tuple[tuple[AskNeed, ...], ...]
    """Who has to agree to each of them."""

    task: str
    """Namespace of the task that asks: LangGraph tells the answers of one task apart by their order alone."""

    kind: Literal["approval", "outcome"] = "approval"
    """`outcome`: an earlier attempt was begun and nobody knows what came of it."""

    round: int = 0
    """How often the same was asked and answered before."""

    is_batch: bool = False
    """Whether the calls of a message are asked about by their node, not each by itself."""

    requester: str | None = None
    run: str | None = None

    @property
    def digest(self) -> str:
        """What an answer may echo: equal only where the same is asked."""
        parts = [self.task, [binding.digest for binding in self.bindings], self.kind, self.round, self.is_batch]
        return digest_of(canonical_json(parts))


class Asked(Value):
    """A question is about to be put to a person."""

    type: Literal["asked"] = "asked"
    question: Question
    at: AwareDatetime


class Answered(Value):
    """A person's answer that counts: one decision for each call the question is about."""

    type: Literal["answered"] = "answered"
    question: str
    """`Question.digest`."""

    decisions: tuple[DecisionType, ...]
    edited: tuple[Binding | None, ...] = ()
    """By decision, what an edited call is now."""

    contents: tuple[str | None, ...] = ()
    """By decision, the address of what the person wrote: the edited call, the reason, the answer in the tool's place."""

    value: str = ""
    """Digest of the answer as it came."""

    approver: Approver
    at: AwareDatetime


class AnswerRefused(Value):
    """An answer that opens nothing; the question stays open."""

    type: Literal["refused"] = "refused"
    question: str
    why: Literal["malformed", "digest", "ambiguous", "premature", "approver", "count", "edit"]
    value: str = ""
    """Digest of the answer as it came."""

    approver: Approver
    at: AwareDatetime


class AnswersVoided(Value):
    """The answers of a position are not those on record, as after a replay with others: none of them counts, and the questions are open again."""

    type: Literal["voided"] = "voided"
    position: str
    values: tuple[str, ...]
    """Digests of the answers that came now."""

    at: AwareDatetime


class Begun(Value):
    """A call with an effect key is about to run."""

    type: Literal["begun"] = "begun"
    effect: str
    binding: str
    """`Binding.digest` of the call."""

    tool: str
    call_id: str | None = None
    at: AwareDatetime
    lease_s: int = CALL_LEASE_S


CallOutcome = Literal["finished", "failed", "unknown", "paused"]


class Ended(Value):
    """What came of a call."""

    type: Literal["ended"] = "ended"
    effect: str = ""
    """Empty: it has no effect key, and is on record for rules about the order of calls."""

    outcome: CallOutcome
    receipt: str | None = None
    """Address of what the tool returned."""

    done: DoneCall | None = None
    at: AwareDatetime


class Released(Value):
    """A person lets a call run that was begun or has run."""

    type: Literal["released"] = "released"
    effect: str
    by: Approver
    at: AwareDatetime


CallEvent = Asked | Answered | AnswerRefused | AnswersVoided | Begun | Ended | Released
CALL_EVENT: TypeAdapter[CallEvent] = TypeAdapter(Annotated[CallEvent, Field(discriminator="type")])


class Effects(StrEnum):
    """How a call stands that may run once."""

    NEW = "new"
    RUNNING = "running"
    UNKNOWN = "unknown"
    FINISHED = "finished"


class EffectState(Value):
    """What is on record of one effect key."""

    begun: Begun
    outcome: CallOutcome | None = None
    receipt: str | None = None
    ended_at: AwareDatetime | None = None

    def standing(self, now: datetime) -> Effects:
        """Say how it stands. One that failed or paused may be begun again."""
        match self.outcome:
            case "finished":
                return Effects.FINISHED
            case "failed" | "paused":
                return Effects.NEW
            case "unknown":
                return Effects.UNKNOWN
            case None:
                return Effects.RUNNING if now < self.begun.at + timedelta(seconds=self.begun.lease_s) else Effects.UNKNOWN


class QuestionState(Value):
    """A question and what became of it."""

    question: Question
    seq: int
    """Number of its entry."""

    answer: Answered | None = None


class CallLedger(Value):
    """What a thread's stream of calls adds up to."""

    seq: int = 0
    questions: Mapping[str, QuestionState] = Field(default_factory=dict)
    """By `Question.digest`."""

    effects: Mapping[str, EffectState] = Field(default_factory=dict)
    taken: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By task and position that asks: digests of the answers it took, refused ones among them."""

    approvals: tuple[Approval, ...] = ()
    done: tuple[DoneCall, ...] = ()
    requesters: Mapping[str, str | None] = Field(default_factory=dict)
    """By run, in whose name its newest question was asked."""


class CallRecord(Value):
    """One step of a call, in names, numbers and digests: what is kept when the content is erased."""

    step: Literal["judged", "asked", "answered", "refused", "receipt", "ran"]
    tool: str
    call_id: str | None = None
    thread: str | None = None
    namespace: str = ""
    requester: str | None = None
    surface: str = "tool"
    arguments: str = ""
    """Digest of the arguments."""

    content: str | None = None
    """Address of arguments, reasons and result; `None` where only digests are kept."""

    decision: Literal["allow", "ask", "deny"] | None = None
    rules: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Which requirements decided."""

    fingerprint: str = ""
    """Of the rules."""

    enforces: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    """`id@version` of the constraints in force."""

    context_version: int | None = None
    effect: str = "write"
    is_irreversible: bool = False
    reading: GateReading | None = None
    question: str | None = None
    choice: DecisionType | None = None
    approver: Approver | None = None
    approvals: tuple[str, ...] = ()
    outcome: CallOutcome | None = None
    result: str | None = None
    """Digest of what the tool returned."""

    error: str | None = None
    """Type of an error, never its words."""

    seconds: float | None = None
    at: AwareDatetime
