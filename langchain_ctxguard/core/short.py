"""Whether a caller's budget is short, and the bench that then writes the record tight.

Short is a small budget in which the ordinary form, with its frames and its marks before each line, has no room for what people stated. Then the kept
part shrinks to the newest request and what follows it before anything a person stated is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.candidate import Bench, Candidate
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.material import Bounds, choice_of, material_of, unit_costs
from langchain_ctxguard.core.people_said import STATED, ranked
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.render import open_inferred, render_fact
from langchain_ctxguard.core.roles import last_request
from langchain_ctxguard.core.select import Choice
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.core.tight_lines import CLOSING, OPENING, lead
from langchain_ctxguard.domain.config import ContextSize
from langchain_ctxguard.domain.summary import Fact, SummaryDraft

LARGEST = 2_000
"""Tokens up to which a budget may be short: in a larger one frames and marks take no share worth a word."""

_ROOM = 2 / 3
"""Part of the room for a summary that what people stated may take in the ordinary form: the rest is for what was done and found out."""

_ROOM_AGAIN = 1 / 2
"""The same where the record is tight already: it does not change its form for a few words."""


def may_be_short(plan: Plan, *, is_full: bool) -> bool:
    """Say whether a budget is a caller's, must be met, and is small."""
    return is_full and plan.is_callers_budget and plan.limit is not None and plan.limit <= LARGEST


def tells_too_little(bench: Bench) -> bool:
    """Say whether the ordinary form has no room for what people stated."""
    body = bench.situation.head.body
    share = _ROOM if body is None or body.tight is None else _ROOM_AGAIN
    needed = sum(_tokens(bench, f"- {render_fact(fact)}\n") for fact in _stated(bench))
    return needed > (bench.bounds.summary - bench.bounds.floor) * share


def _stated(bench: Bench) -> list[Fact]:
    """Return what people stated, in what leaves now and in what earlier versions tell, the rules aside."""
    previous = bench.material.previous
    rules = {folded(rule.text) for rule in open_inferred(bench.material.evidence.inferred)}
    order = ranked((*(() if previous is None else previous.facts), *bench.said), rules=rules)
    return [one.fact for one in order if one.score >= STATED]


def _tokens(bench: Bench, line: str) -> int:
    return text_tokens(bench.count, line) - text_tokens(bench.count, "")


_MARGIN = 1.1
"""What is counted line by line may come to a little more in one text."""


@dataclass(frozen=True, slots=True)
class TightBench:
    """The bench for the tight form, and the version that tells no more than what must stay."""

    bench: Bench
    least: Candidate


def tight_bench(
    situation: Situation, plan: Plan, bounds: Bounds, count: CountTokens, *, tokens_before: int, ordinary: Bench | None = None
) -> TightBench | None:
    """Return the bench that writes the record tight, `None` where nothing can leave the view.

    What it needs at the least is the truth: where that is more than the budget, a budget of just so much is enough.

    Args:
        situation: The conversation.
        plan: How the compaction is to go.
        bounds: Room for summary and evidence in the ordinary form.
        count: Counts tokens.
        tokens_before: Tokens of the view as it is.
        ordinary: The bench for the ordinary form, if there is one.
    """
    cutting = _Cutting(situation, plan, bounds, count, tokens_before, unit_costs(situation.repaired, count))
    found = None if ordinary is None else cutting.with_all_stated(ordinary)
    if found is not None:
        return found
    whole = _from_request(situation, plan)
    reserve = 0
    for attempt, keep in enumerate((whole, whole, _ALONE)):
        # Everything from the newest request on; then what leaves the rules room; then the newest unit alone, and the request.
        made = cutting.at(keep, reserve if keep is whole else plan.limit or 0, may_shrink=attempt > 0)
        if made is None:
            continue
        if found is None or made.least.tokens < found.least.tokens:
            found = made
        if cutting.holds(made):
            return made
        reserve = made.least.tokens - made.bench.without_record
    return found


_ALONE: ContextSize = ("messages", 1)


@dataclass(frozen=True, slots=True)
class _Cutting:
    """One conversation, cut for the tight form."""

    situation: Situation
    plan: Plan
    bounds: Bounds
    count: CountTokens
    tokens_before: int
    costs: Sequence[int]

    def holds(self, made: TightBench) -> bool:
        return self.plan.limit is None or made.least.tokens <= self.plan.limit

    def at(self, keep: ContextSize, reserve: int, *, may_shrink: bool) -> TightBench | None:
        """Return the bench that keeps so much and leaves `reserve` tokens for the record."""
        choice, elided = self._choice(keep, reserve, may_shrink=may_shrink)
        if choice.at == 0 and not elided:
            return None
        material = material_of(self.situation, self.plan, choice.at, elided, self.count)
        return _with_least(Bench(self.situation, self.plan, material, self.bounds, self.count))

    def with_all_stated(self, ordinary: Bench) -> TightBench | None:
        """Return the bench that keeps as much as was asked for, or as much of it as leaves room for all that people stated; `None` if none does."""
        rules = open_inferred(ordinary.material.evidence.inferred)
        lines = [*(rule.text for rule in rules), *(fact.statement for fact in _stated(ordinary)), OPENING, CLOSING, lead(100)]
        room = int(_tokens(ordinary, "\n".join(lines)) * _MARGIN) + ordinary.values_tokens
        choice, elided = self._choice(self.plan.keep, room, may_shrink=True)
        messages = self.situation.repaired.messages
        request = last_request(messages)
        if not choice.fits or choice.at == 0 or (request is not None and choice.at > request):
            return None
        if choice.at == ordinary.material.at and elided == ordinary.material.elided:
            made = _with_least(ordinary)
        else:
            material = material_of(self.situation, self.plan, choice.at, elided, self.count)
            made = _with_least(Bench(self.situation, self.plan, material, self.bounds, self.count))
        return made if self.holds(made) else None

    def _choice(self, keep: ContextSize, reserve: int, *, may_shrink: bool) -> tuple[Choice, dict[str, int]]:
        return choice_of(
            *(self.situation, self.situation.repaired, self.plan, self.bounds, self.count),
            is_full=True,
            tokens_before=self.tokens_before,
            keep=keep,
            reserve=reserve,
            may_shrink=may_shrink,
            costs=self.costs,
        )


def _with_least(bench: Bench) -> TightBench:
    tight = bench.tight()
    least = tight.tight(is_least=True)
    return TightBench(tight, least.candidate(least.cleaned(SummaryDraft(), least.sources), least.sources))


def _from_request(situation: Situation, plan: Plan) -> ContextSize:
    """Return what is kept from the newest request on; what the plan keeps where that is not among the messages."""
    messages = situation.repaired.messages
    request = last_request(messages)
    if request is None or plan.keep[1] == 0:
        return plan.keep
    kept = len(messages) - request
    return ("messages", min(kept, int(plan.keep[1]))) if plan.keep[0] == "messages" else ("messages", kept)
