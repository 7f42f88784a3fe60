"""A tool call in the making: what is fixed about it, what was read for it, and how its steps go on record."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from langchain_ctxguard.core.approvals import binding_of
from langchain_ctxguard.core.authorize import Needs
from langchain_ctxguard.core.effects import (
    Answer,
    Effect,
    NoteCall,
    Overtaken,
    PortFailed,
    PutContent,
    Ran,
    ReadCalls,
    WorkWord,
    WriteCalls,
)
from langchain_ctxguard.domain.approval import Approval, Binding
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.policy import DoneCall, ToolRequest, Verdict
from langchain_ctxguard.domain.tool_call import (
    CallLedger,
    CallRecord,
)

TURNS = 32
"""How often a call is judged anew before nobody can say any more what holds: others write, a person answers wrongly."""

Result = TypeVar("Result")
ToolFlow = Generator[Effect, Answer, Result]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict may rest on, read for this call."""

    now: datetime
    consents: Consents | None = None
    approvals: tuple[Approval, ...] = ()
    budgets: Budgets | None = None
    done: tuple[DoneCall, ...] = ()


class Judge(Protocol):
    """Decides about calls. Pure: what it does not find in the facts it has in itself, fixed for the call."""

    @property
    def fingerprint(self) -> str:
        """Of the rules."""

    def needs(self, request: ToolRequest, now: datetime) -> Needs:
        """Return what has to be read for a verdict."""

    def remembers(self, tool: str) -> bool:
        """Say whether a rule looks at whether this tool was called before."""

    def decide(self, request: ToolRequest, facts: Facts) -> Verdict:
        """Return the verdict."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call about to be judged, and what is fixed about it."""

    request: ToolRequest
    may_ask: bool = False
    """Whether a run waits here that can pause."""

    shares_task: bool = False
    """Whether other calls ask in the same task: then an answer must name its question."""

    constraints: tuple[str, ...] = ()
    context_version: int | None = None
    siblings: tuple[str, ...] = ()
    """Ids of all calls of the message that made it."""

    is_work: bool = False
    """Whether somebody keeps a record of the agent's work, which has a say in the call."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call returned when it ran."""

    text: Any = None
    form: str | None = None
    """What that can be made of again; `None`: the text is all there was."""

    lead: str = ""
    """Says that the call was not run again."""

    is_same_call: bool = False
    """Whether this very call ran, begun anew with its node: it returns what it returned then. Another one is told that it was not run again."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a call came to."""

    kind: Literal["ran", "denied", "rejected", "receipt", "answered", "edited"]
    text: str = ""
    """What the model reads in the tool's place; nothing where it ran."""

    ran: Ran | None = None
    verdict: Verdict | None = None
    edited: ToolRequest | None = None
    """The call a person made of it: to be judged like any other."""

    receipt: Receipt | None = None
    """What is on record of what it returned before, where it is answered with that."""


class CannotTellError(Exception):
    """Something the verdict needs is not to be had."""

    def __init__(self, what: str) -> None:
        """Keep what it is, in names."""
        super().__init__(what)
        self.what = what


@dataclass(slots=True)
class Case:
    """A call in the making."""

    call: Call
    judge: Judge
    clock: Callable[[], datetime]
    request: ToolRequest
    consents: Consents | None = None
    budgets: Budgets | None = None
    ledger: CallLedger | None = None
    is_replayed: bool = False
    heard: tuple[tuple[str, Mapping[str, Any]], WorkWord | None] | None = None
    """What the record of the agent's work said, and to which call: to others it may say something else."""

    content: dict[str, str] = field(default_factory=dict)
    """Addresses of what is kept of the call, by what it is."""

    @property
    def word(self) -> WorkWord | None:
        """What the record of the agent's work said to the call as it is now; `None`: nothing, or it was not asked."""
        return None if self.heard is None or self.heard[0] != (self.request.tool, self.request.args) else self.heard[1]


def tried(judging: Callable[[], Result]) -> Result:
    """Return a judgement; whatever it raises means that nobody can tell."""
    try:
        return judging()
    except Exception as error:
        raise CannotTellError(type(error).__name__) from error


def need(effect: Effect) -> ToolFlow[Answer]:
    """Ask for what the verdict cannot do without."""
    answer = yield effect
    if isinstance(answer, PortFailed):
        raise CannotTellError(answer.error)
    return answer


def ledger_of(thread: str) -> ToolFlow[CallLedger]:
    """Read what is on record of a thread's calls."""
    found = yield from need(ReadCalls(thread))
    assert isinstance(found, CallLedger)  # noqa: S101 - what the effect is answered by
    return found


def bound(case: Case) -> Binding:
    """Return the one call an approval of this case would be for."""
    return tried(lambda: binding_of(case.request, case.judge.fingerprint))


def written(case: Case, *events: Any, expected: bool = True) -> ToolFlow[bool]:
    """Put events on the thread's stream; say whether that was done, and read it again where somebody was faster."""
    ledger, thread = case.ledger, case.request.thread
    assert ledger is not None  # noqa: S101 - read before anything is written
    assert thread is not None  # noqa: S101 - as above
    found = yield from need(WriteCalls(thread, events, ledger.seq if expected else None))
    if isinstance(found, Overtaken):
        case.ledger = yield from ledger_of(thread)
        return False
    assert isinstance(found, CallLedger)  # noqa: S101 - what the effect is answered by
    case.ledger = found
    return True


def noted(
    case: Case, verdict: Verdict, *, step: str = "judged", is_needed: bool = False, request: ToolRequest | None = None, **about: Any
) -> ToolFlow[None]:
    """Put a step on record, its words apart."""
    asked_for = request or case.request
    content: Answer = None
    if step in {"judged", "asked"}:
        kept = {"tool": asked_for.tool, "args": asked_for.args, "reason": verdict.reason, "instead": verdict.instead}
        content = yield PutContent(asked_for.thread, kept)
        if isinstance(content, PortFailed) and is_needed:
            raise CannotTellError(content.error)
    record = recorded(case, step, verdict=verdict, request=request, content=content if isinstance(content, str) else None, **about)
    answer = yield NoteCall(record)
    if isinstance(answer, PortFailed) and is_needed:
        raise CannotTellError(answer.error)


def recorded(case: Case, step: str, *, verdict: Verdict | None = None, request: ToolRequest | None = None, **about: Any) -> CallRecord:
    """Return a step of a call for the record."""
    asked_for = request or case.request
    own: dict[str, Any] = {}
    if verdict is not None:
        own = {
            "arguments": verdict.arguments,
            "decision": str(verdict.decision),
            "rules": verdict.rules,
            "keys": tuple(dict.fromkeys(finding.key for finding in verdict.findings)),
            "enforces": verdict.enforces,
            "effect": verdict.effect,
            "is_irreversible": verdict.irreversible,
            "reading": verdict.reading,
            "approvals": verdict.approvals,
        }
    own |= about
    return CallRecord.model_validate(
        {
            "step": step,
            "tool": asked_for.tool,
            "call_id": asked_for.call_id,
            "thread": asked_for.thread,
            "namespace": asked_for.namespace,
            "requester": asked_for.requester,
            "surface": asked_for.surface,
            "fingerprint": case.judge.fingerprint,
            "constraints": case.call.constraints,
            "context_version": case.call.context_version,
            "at": case.clock(),
            **own,
        }
    )
