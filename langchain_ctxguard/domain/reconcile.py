"""What a reconciliation finds, what it leads to, and what of it is on record."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, NonNegativeInt, TypeAdapter

from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of
from langchain_ctxguard.domain.workspace import CheckOutcome, CheckResult

RECONCILE_RULE = "reconcile"
"""What stands in the place of a rule where a contradiction or the check holds a call."""

ContradictionKind = Literal["changed", "reverted", "gone", "is_back", "moved"]
"""How a file differs from how the last recorded step left it: it has other content, that of an earlier moment, it is not there, it is there again, or
it is at another place."""


class Contradiction(Value):
    """A file that is not as the last recorded step left it."""

    kind: ContradictionKind
    path: str
    trace: int
    """Number of the step that left it."""

    step: str
    """What that step was."""

    expected: str | None = None
    """SHA-256 of what it left; `None`: it left no file there."""

    found: str | None = None
    """Of what is there now."""

    moved_to: str = ""
    back_to: int | None = None
    """Number of the earlier step whose content it has again; 0: that of the last commit."""

    @property
    def name(self) -> str:
        """What it is known by: equal only for the same file, the same step and the same state found."""
        return digest_of(canonical_json([self.path, self.trace, self.expected, self.found]))[:16]


class StatusItem(Value):
    """One thing that is in effect, or is not."""

    text: str
    places: tuple[CodePlace, ...] = ()
    trace: int | None = None
    is_compared: bool = True
    """Whether there was something in the workspace to hold it against."""


class OutsideChange(Value):
    """A file that changed without a step of the work log that says so."""

    path: str
    how: Literal["new", "changed", "gone", "as_committed"]


class WorkStatus(Value):
    """What holds, after plan, work log and workspace were held against each other."""

    goal: str = ""
    task: str = ""
    """What is to be done now."""

    in_effect: tuple[StatusItem, ...] = ()
    not_in_effect: tuple[StatusItem, ...] = ()
    """What is still to be done, and what was done and is undone."""

    contradictions: tuple[Contradiction, ...] = ()
    claimed: tuple[StatusItem, ...] = ()
    """What somebody says is done and no recorded step shows."""

    outside: tuple[OutsideChange, ...] = ()
    check: CheckResult | None = None
    is_blamed: bool = False
    """Whether the check fails and did not before the agent began."""

    notes: tuple[str, ...] = ()
    """What could not be told, and what else is to be known, one sentence each."""


class CheckSeen(Value):
    """A check as it is on record: what it came to, without its output."""

    outcome: CheckOutcome
    exit_code: int | None = None
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: CheckResult) -> CheckSeen:
        """Return what is kept of a result."""
        return cls(outcome=result.outcome, exit_code=result.exit_code, files=result.files)


class Began(Value):
    """The workspace before the agent changed anything in it, or, where nobody looked then, as it was when somebody did."""

    type: Literal["began"] = "began"
    survey: str = ""
    """Address of the survey."""

    check: CheckSeen | None = None
    after: NonNegativeInt = 0
    """Number of the last step when the check came to that; 0: before the first."""

    at: AwareDatetime


class Noticed(Value):
    """A compaction took place: what was done has to be held against the workspace before anything more is."""

    type: Literal["noticed"] = "noticed"
    version: int
    """Of the context; of somebody else's compaction, a number that grows."""

    at: AwareDatetime


class Stated(Value):
    """The status was written for the model."""

    type: Literal["stated"] = "stated"
    version: int
    status: str
    """Address of the status."""

    survey: str = ""
    contradictions: tuple[str, ...] = ()
    """By `Contradiction.name`."""

    may_mend: tuple[str, ...] = ()
    """Files that may be changed while the check fails."""

    check: CheckSeen | None = None
    is_blamed: bool = False
    print: str = ""
    """What tells the workspace the check ran in from any other; empty where that cannot be told."""

    at: AwareDatetime


class Confirmed(Value):
    """The files were as the status says when the first call that changes something came."""

    type: Literal["confirmed"] = "confirmed"
    at: AwareDatetime


class Held(Value):
    """Contradictions denied the calls of one message, once."""

    type: Literal["held"] = "held"
    calls: tuple[str, ...] = ()
    """Ids of the calls."""

    contradictions: tuple[Contradiction, ...]
    may_mend: tuple[str, ...] = ()
    at: AwareDatetime


class Checked(Value):
    """The check ran again, in a workspace that had changed."""

    type: Literal["checked"] = "checked"
    check: CheckSeen
    is_blamed: bool
    may_mend: tuple[str, ...] = ()
    print: str = ""
    at: AwareDatetime


WaivedPart = Literal["contradictions", "check", "all"]


class Waived(Value):
    """A person, or a rule of the application, lets the agent go on in spite of what was found."""

    type: Literal["waived"] = "waived"
    what: WaivedPart
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    at: AwareDatetime


class SearchSeen(Value):
    """A search that found something, and the files it was found in as they were."""

    type: Literal["search_seen"] = "search_seen"
    effect: str
    """Digest of tool and arguments."""

    call_id: str = ""
    found: tuple[str, ...]
    """Lines of its result, shortened."""

    files: tuple[tuple[str, str], ...]
    """Path and SHA-256 of each."""

    print: str = ""
    """What told the workspace from any other then."""

    at: AwareDatetime


ReconcileEvent = Began | Noticed | Stated | Confirmed | Held | Checked | Waived | SearchSeen
RECONCILE_EVENT: TypeAdapter[ReconcileEvent] = TypeAdapter(Annotated[ReconcileEvent, Field(discriminator="type")])

Phase = Literal["idle", "due", "stated", "settled"]
"""Nothing to reconcile; a compaction took place; the status is written; the first call that changes something was let through or held once."""


class ReconcileState(Value):
    """What the events of one context add up to."""

    phase: Phase = "idle"
    version: int = 0
    """Newest compaction that was noticed."""

    baseline: Began | None = None
    stated: Stated | None = None
    held: tuple[Held, ...] = ()
    """The newest few."""

    told: tuple[str, ...] = ()
    """Names of the contradictions that denied a call before, or were waived: none does so twice."""

    check: CheckSeen | None = None
    is_blocking: bool = False
    may_mend: tuple[str, ...] = ()
    print: str = ""
    searches: tuple[SearchSeen, ...] = ()
    """The newest of them."""

    def held_for(self, call_id: str | None) -> Held | None:
        """Return what denied a call before, `None` where nothing did: it stays denied however often its node begins anew."""
        if not call_id:
            return None
        return next((one for one in self.held if call_id in one.calls), None)
