"""What a flow may ask of its driver: a closed set. `Engine.run` and `Engine.arun` match it to the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.budget import Budgets, Charge
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.control import ControlField, FieldChange
from langchain_ctxguard.domain.policy import ToolRequest, Verdict
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.summary import StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.tool_call import CallEvent, CallLedger, CallRecord, Question
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

CountTokens = Callable[[Sequence[BaseMessage]], int]
"""Returns the tokens a list of messages costs; `ports.TokenCounter` is one."""


@dataclass(slots=True)
class Spending:
    """What a summarizer has cost so far. It writes here as it goes, so that a call that fails or is abandoned is on record too."""

    calls: int = 0
    """Calls of a model, failed ones included."""

    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    """Time of the calls and of the pauses between them."""

    remarks: list[str] = field(default_factory=list)
    """What a reader of the record should know of the answers that were taken; names only, never their words."""

    is_over: bool = False
    """Whether nobody waits any more: no further call is made."""

    def remark(self, name: str) -> None:
        """Note something once."""
        if name not in self.remarks:
            self.remarks.append(name)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer is asked."""

    evicted: tuple[BaseMessage, ...]
    """Whole units that leave the view, oldest first; never half a tool call. Complete: nothing was trimmed."""

    sources: tuple[str, ...]
    """Identity of each evicted message, in the same order."""

    previous: StructuredSummary | None
    """The summary in force, to be carried on."""

    max_tokens: int
    """Bound of the rendered summary; what exceeds it is cut from the oldest."""

    count: CountTokens
    must_keep: tuple[str, ...] = ()
    """Texts the summary must contain verbatim: a retry after a loss."""

    language: str | None = None
    """Language of the conversation, where known."""

    fields: tuple[ControlField, ...] | None = None
    """The control fields in force whose value stands in no message that stays, as the ledger has them; `None`: nobody looked for them."""

    shown: tuple[str, ...] = ()
    """What the view shows word for word beside the summary: rules quoted in the evidence, and messages that stay. It need not be told again."""

    is_out_of_date: Callable[[str], bool] | None = field(default=None, compare=False)
    """Says whether a text tells a value that holds no longer; `None`: none does, as far as anybody knows."""

    spent: Spending = field(default_factory=Spending, compare=False)
    """Where a summarizer notes what it costs, over all attempts."""


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ask the summarizer, or the fallback that needs no model. Answered by a `SummaryDraft` or a `SummaryFailure`."""

    request: SummaryRequest
    by: Literal["summarizer", "fallback"]
    attempt: int


@dataclass(frozen=True, slots=True)
class Prepare:
    """Have something done before anything leaves the view, e.g. a hand-over written. Answered by `None`: what fails there stops no compaction."""

    call: Callable[[], None]


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """Why there is no draft. Names and reasons only: the words of an error never become context."""

    reason: str
    is_down: bool
    """`True`: no answer came, asking again is pointless. `False`: an answer came and was no summary."""


@dataclass(frozen=True, slots=True)
class Append:
    """Put a fact on record, after it was decided. Answered by `None`."""

    fact: CompactionRecord | ContextEvent


@dataclass(frozen=True, slots=True)
class Stage:
    """Say what the flow does from here on, for whoever traces it; it ends with the next stage or the flow. Answered by `None`."""

    name: Literal["extract", "verify"] | None
    """`None`: nothing of its own."""


@dataclass(frozen=True, slots=True)
class Show:
    """Show the words of a compaction to hooks that were asked to; nobody makes them where there is none. Answered by `None`."""

    texts: Callable[[], CompactionTexts]


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person what to do about control fields a draft lost or changed. Answered by a `Decided`; where nobody can be asked, by a rejection."""

    findings: tuple[FieldChange, ...]
    attempt: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person said."""

    choice: Literal["repair", "approve", "reject"]
    """Carry the values as they were said; let the draft stand as it is; keep the previous context."""


@dataclass(frozen=True, slots=True)
class ReadConsents:
    """Ask the ledger what the requester consented to. Answered by `Consents`, or `None` where there is no ledger or no subject."""

    subject: str | None
    thread: str | None


@dataclass(frozen=True, slots=True)
class ReadStanding:
    """Read where a thread stands: mode, open question, permissions. Answered by a `StandingState`, or `None` where nobody keeps it."""

    thread: str


@dataclass(frozen=True, slots=True)
class NoteReplaced:
    """Put on record that a person had a call run with other arguments than the agent gave. Answered by nothing."""

    thread: str
    tool: str
    digest: str
    """Of the arguments the agent gave."""

    by_digest: str
    """Of those that run in their place."""

    call_id: str
    by: str


@dataclass(frozen=True, slots=True)
class ReadCalls:
    """Read what is on record of a thread's calls: questions, answers, effects. Answered by a `CallLedger`."""

    thread: str


@dataclass(frozen=True, slots=True)
class WriteCalls:
    """Put events on a thread's stream of calls, if it still ends where it was read. Answered by the new `CallLedger`, or by `Overtaken`."""

    thread: str
    events: tuple[CallEvent, ...]
    expected: int | None = None
    """`None`: wherever the stream ends."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Somebody else wrote first: read again and decide anew."""


@dataclass(frozen=True, slots=True)
class ReadBudgets:
    """Read how far budgets are used. Answered by `Budgets`."""

    keys: tuple[str, ...]
    usage: tuple[str, ...]
    """`thread`, `run`, `day`: whose tokens and cost to count."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Take from budgets what a call uses, all of it or nothing. Answered by `Reserved`, or by `Exceeded`."""

    charges: tuple[Charge, ...]
    reservation: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """What to settle later."""

    reservations: Mapping[str, str]
    """By `Charge.key`, the name it was reserved under."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A budget that does not hold what the call would use."""

    charge: Charge
    reason: str


@dataclass(frozen=True, slots=True)
class SettleBudgets:
    """Say what became of reservations. Answered by `None`."""

    reserved: Reserved
    as_used: bool
    """`False`: the tool did not do it, and the budget is free again."""


@dataclass(frozen=True, slots=True)
class PutContent:
    """Keep what was called, why it was decided so, or what came of it. Answered by its address, `None` where only digests are kept."""

    thread: str | None
    content: Mapping[str, Any]
    is_needed: bool = False
    """It is no audit: without it the call could not go on."""


@dataclass(frozen=True, slots=True)
class GetContent:
    """Read what `PutContent` kept. Answered by it, `None` where it was erased."""

    thread: str | None
    address: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One call in a question: what a person sees of it."""

    request: ToolRequest
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True)
class AskAboutCalls:
    """Put a question about calls to a person. Answered by a `PersonsAnswer`; by `NobodyThere` where none can be asked."""

    question: Question
    shown: tuple[Shown, ...]
    remark: str = ""
    """What was wrong with the answer before."""


@dataclass(frozen=True, slots=True)
class AskedBefore:
    """Let answers that are on record pass by: LangGraph gives a task its answers again, in their order.

    Answered by the `PersonsAnswer` that came again; by `None` where nobody can be asked.
    """

    question: Question
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class PersonsAnswer:
    """What came back, as it came, and who the runtime says it is from."""

    value: Any
    approver: Approver


@dataclass(frozen=True, slots=True)
class NobodyThere:
    """Nobody can be asked here."""


@dataclass(frozen=True, slots=True)
class ResolveCall:
    """Ask what a tool makes of arguments a person wrote. Answered by the `ToolRequest` that would run, `None` where it cannot."""

    like: ToolRequest
    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run the tool with the arguments that were judged. Answered by a `Ran`."""

    request: ToolRequest


@dataclass(frozen=True, slots=True)
class Ran:
    """What running a tool came to."""

    value: Any = None
    error: BaseException | None = None
    outcome: Literal["finished", "failed", "unknown", "paused"] = "finished"
    receipt: Any = None
    """What to keep of the value, as JSON data: its words."""

    form: Callable[[], str | None] | None = None
    """Makes what the value can be made of again; asked where a repeated call is to return it."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CallAtWork:
    """A call as the record of an agent's work sees it."""

    request: ToolRequest
    effect: Literal["read", "write", "memory"]
    """What it does, as far as rules and tool say."""

    siblings: tuple[str, ...] = ()
    """Ids of all calls of the message that made it: whoever made them knew the same."""

    context_version: int | None = None
    """Of the context it was made in; `None`: nobody can tell."""


@dataclass(frozen=True, slots=True)
class ConsultWork:
    """Ask what the record of an agent's work says to a call the rules let pass. Answered by a `WorkWord`; by `None`: nothing."""

    call: CallAtWork


@dataclass(frozen=True, slots=True)
class WorkWord:
    """What the record of an agent's work says to a call."""

    kind: Literal["held", "in_effect", "turned_down"]
    """`held`: it may not run now. The others: it need not run, and the text is its result."""

    text: str
    """`held`: why, one sentence without a full stop; else what the model reads in the tool's place."""

    instead: str = ""
    """`held`: what to do."""


@dataclass(frozen=True, slots=True)
class NoteWork:
    """Tell the record of an agent's work what a call came to. Answered by `None`."""

    call: CallAtWork
    ran: Ran


@dataclass(frozen=True, slots=True)
class NoteCall:
    """Put a step of a call on the audit record and tell the hooks. Answered by `None`."""

    record: CallRecord


@dataclass(frozen=True, slots=True)
class PortFailed:
    """What was asked of the outside could not be done. The type of the error alone: its words never become context."""

    error: str


ToolEffect = (
    ReadConsents
    | ReadStanding
    | NoteReplaced
    | ReadCalls
    | WriteCalls
    | ReadBudgets
    | Reserve
    | SettleBudgets
    | PutContent
    | GetContent
    | AskAboutCalls
    | AskedBefore
    | ResolveCall
    | RunTool
    | NoteCall
    | ConsultWork
    | NoteWork
)
ToolAnswer = (
    Consents
    | StandingState
    | CallLedger
    | Overtaken
    | Budgets
    | Reserved
    | Exceeded
    | PersonsAnswer
    | NobodyThere
    | ToolRequest
    | Ran
    | WorkWord
    | PortFailed
    | str
    | Mapping[str, Any]
    | None
)
Effect = Summarize | AskPerson | Append | Prepare | Show | Stage | ToolEffect
Answer = SummaryDraft | SummaryFailure | Decided | ToolAnswer
