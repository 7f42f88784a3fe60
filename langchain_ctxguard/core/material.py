"""What leaves the view, and how much room there is for what stands in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core import evidence as evidence_of
from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.infer import LIMIT, after_task, infer, merged
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.recalled import without_recalled
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.render import open_inferred, render_evidence, render_summary
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import is_request, last_request, text_of
from langchain_ctxguard.core.said import may_lay_down
from langchain_ctxguard.core.select import Choice, Claims, choose, shares
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.core.units import Repaired, given_call_id
from langchain_ctxguard.domain.config import CompactionSettings, ContextSize
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import StructuredSummary

_SUMMARY_WINDOW_SHARE = 0.02
_SUMMARY_CONTEXT_SHARE = 0.25
_SUMMARY_LEAST = 800
_TOLD_OF_BUDGET = 3
"""What a summary tells may take one part in so many of a budget, its frame not counted: of a small one the frame takes a share that says nothing."""

_RESULT_LEAST = 40
_GAP, _POINTER = 25, 50
"""Tokens of the line that stands for what is left out."""

_ASKED_LEAST = 300
"""Tokens for what people asked for along the way, where a share of the context would be less."""

_EVIDENCE_LEAST = 150
"""Tokens for the record of a few calls, where a share of a short conversation would hold none."""

_CARRIED_LEAST = 400
"""Tokens for carried fields: twenty values without their sentences."""

_SUMMARY_OF_EVICTED = 0.77
_FLOOR_SLACK = 48


@dataclass(frozen=True, slots=True)
class Bounds:
    """Tokens the rendered summary and evidence may take; `floor` is the least a summary with its frame makes do with."""

    summary: int
    evidence: int
    floor: int
    carried: int = 0
    """Tokens the carried fields may take even where the evidence may not."""

    quoted: int = 0
    """Tokens the quotes of what people laid down may take even where the evidence may not."""

    beside: int = 0
    """Tokens of the evidence that were added for them."""

    values: int = 0
    """Tokens that critical values people gave may need, within a caller's budget: at most, since the summary tells some of them."""


@dataclass(frozen=True, slots=True)
class Material:
    """What leaves the view, and what the flow knows about it."""

    repaired: Repaired
    keys: list[str]
    at: int
    raw_at: int
    left: tuple[BaseMessage, ...]
    """The messages before the cut, as the redactor leaves them."""

    evicted: tuple[BaseMessage, ...]
    sources: tuple[str, ...]
    tokens: int
    request: BaseMessage | None
    request_key: str | None
    evidence: Evidence
    elided: dict[str, int]
    previous: StructuredSummary | None = None
    """The summary in force, as the redactor leaves it."""

    ended: frozenset[str] = frozenset()
    """Rules people said that do not stand: a later one took their place, or a person decided on them. Folded."""

    redactor_failure: str | None = None
    """Name of the error the application's redactor failed with: what it failed on is withheld, and no model may be asked."""


def bounds_of(situation: Situation, plan: Plan, repaired: Repaired, count: CountTokens, *, tokens_before: int) -> Bounds:
    """Return the bounds of summary and evidence: shares of the window, shrunk to fit a small context or budget."""
    context = tokens_before if plan.goal is None else min(tokens_before, plan.goal)
    settings = plan.settings
    has_tools = any(unit.kind == "tools" for unit in repaired.units)
    summary = min(_most(plan), max(_SUMMARY_LEAST, int(_SUMMARY_CONTEXT_SHARE * context)))
    has_record = has_tools or situation.head.body is not None
    evidence = max(int(settings.evidence_share * min(plan.window, context)), min(_EVIDENCE_LEAST, context // 4)) if has_record else 0
    if plan.inferred != "off" and _may_be_told(situation, repaired):
        evidence = max(evidence, _ASKED_LEAST)
    # In a small window the share would hold no value at all.
    carried = max(int(settings.evidence_share * plan.window), min(_CARRIED_LEAST, (plan.goal or plan.window) // 4)) if plan.fields is not None else 0
    floor = text_tokens(count, render_summary(StructuredSummary(original_goal="x"), version=1)) + _FLOOR_SLACK
    if has_record:
        floor += text_tokens(count, render_evidence(Evidence(omitted_actions=1)))
    if plan.goal is not None:
        summary = min(summary, max(floor, plan.goal // 4) if not plan.is_callers_budget else floor + plan.goal // _TOLD_OF_BUDGET)
    return Bounds(summary=max(summary, floor), evidence=evidence, floor=floor, carried=carried)


def _may_be_told(situation: Situation, repaired: Repaired) -> bool:
    """Say whether there may be rules said in conversation to quote: a cheap look, not the search."""
    body = situation.head.body
    if body is not None and body.evidence.inferred:
        return True
    return any(is_request(message) and may_lay_down(own_words(message)) for message in repaired.messages)


def widened(bounds: Bounds, choice: Choice, plan: Plan) -> Bounds:
    """Return `bounds` with the room that pins and kept messages leave free of a budget given to the summary, up to its own limit.

    Only where the budget is the caller's: an agent's goal is its trigger, and filling up to it would start the next compaction.
    """
    if plan.goal is None or not plan.may_fill_goal:
        return bounds
    free = plan.goal - (choice.needed - bounds.floor - bounds.values) - max(0, bounds.evidence - bounds.quoted)
    return replace(bounds, summary=max(bounds.summary, min(_most(plan), free)))


def modest(bounds: Bounds, material: Material, situation: Situation, count: CountTokens) -> Bounds:
    """Return `bounds` with a summary of at most three quarters of what it stands for: of little text a full-sized one would save nothing."""
    body = situation.head.body
    present = 0 if body is None else count(rendered(body, version=situation.head.version))
    # What is quoted takes its part of the room beside the summary.
    most = int(_SUMMARY_OF_EVICTED * (material.tokens + present)) - bounds.quoted
    return replace(bounds, summary=max(bounds.floor, min(bounds.summary, most)))


def _most(plan: Plan) -> int:
    return max(plan.settings.summary_tokens, int(_SUMMARY_WINDOW_SHARE * plan.window))


def unit_costs(repaired: Repaired, count: CountTokens) -> list[int]:
    """Return the tokens of each unit."""
    return [count(repaired.messages[unit.start : unit.stop]) for unit in repaired.units]


def choice_of(
    situation: Situation,
    repaired: Repaired,
    plan: Plan,
    bounds: Bounds,
    count: CountTokens,
    *,
    is_full: bool,
    tokens_before: int,
    keep: ContextSize | None = None,
    reserve: int | None = None,
    may_shrink: bool = True,
    costs: Sequence[int] | None = None,
) -> tuple[Choice, dict[str, int]]:
    """Return where to cut, and the tool results that must be shortened for the kept part to fit: call id -> characters.

    Args:
        situation: The conversation.
        repaired: Its tail as a provider accepts it.
        plan: How the compaction is to go.
        bounds: Room for summary and evidence.
        count: Counts tokens.
        is_full: Whether the view must become smaller.
        tokens_before: Tokens of the view as it is.
        keep: What stays raw, if not what the plan says.
        reserve: Tokens of what will stand for the rest, if not what the bounds say.
        may_shrink: Give up some of `keep`, or of results, where it does not fit.
        costs: Tokens of each unit, where they were counted already.
    """
    messages, units = repaired.messages, repaired.units
    body = situation.head.body
    costs = unit_costs(repaired, count) if costs is None else costs
    leading = situation.leading
    fixed = plan.tool_tokens + (0 if leading is None else count([leading]))
    claims = Claims(
        fixed=fixed,
        reserve=max(bounds.summary, bounds.floor + bounds.values) + max(bounds.evidence, bounds.quoted) if reserve is None else reserve,
        reserve_floor=bounds.floor + bounds.quoted + bounds.values if reserve is None else reserve,
        goal=plan.goal if not is_full or plan.goal is None or plan.limit is None else min(plan.goal, plan.limit),
        min_kept=int(plan.min_kept * tokens_before),
    )
    carried = 0 if situation.request is None else count([situation.request])
    request = last_request(messages)
    must_fit = may_shrink and (is_full or plan.may_fill_goal)
    choice = choose(
        units,
        costs,
        plan.keep if keep is None else keep,
        claims,
        window=plan.window,
        request=request,
        carried=carried,
        may_shrink_keep=must_fit,
    )
    elided = dict(body.elided) if body is not None else {}
    # What can be read again need not fill the window: the goal leaves room to go on.
    aims = [plan.goal if plan.can_read else None, plan.limit if must_fit else None]
    if choice.fits or not any(aims):
        return choice, {} if choice.at == 0 and not is_full else elided
    results = results_by_id(messages[choice.at :])
    result_costs = [count([message]) for message in results.values()]
    for aim in aims:
        room = 0 if aim is None else sum(result_costs) - (choice.needed - aim)
        if results and room >= _RESULT_LEAST * len(results):
            return replace(choice, fits=True), elided | _shown_of(results, result_costs, room, can_read=plan.can_read)
    return choice, elided


def _shown_of(results: Mapping[str, BaseMessage], costs: Sequence[int], room: int, *, can_read: bool) -> dict[str, int]:
    """Return how many characters of results are shown that do not fit the room whole."""
    named = list(results.items())
    shown = {}
    for index, tokens in shares([*results.values()], costs, room).items():
        # The gap's own line costs that much; one share in eight is left for what characters and tokens disagree about.
        call_id, message = named[index]
        per_token = len(text_of(message)) / max(costs[index], 1)
        shown[call_id] = max(80, int(per_token * max(tokens * 7 // 8 - (_POINTER if can_read else _GAP), 0)))
    return shown


def results_by_id(messages: Sequence[BaseMessage]) -> dict[str, BaseMessage]:
    """Return the results in `messages` by the call id the conversation has, each as a message of its own."""
    results: dict[str, BaseMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results[given_call_id(message, message.tool_call_id)] = message
        elif isinstance(message, HumanMessage) and not isinstance(message.content, str):
            for block in message.content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    results[given_call_id(message, str(block.get("tool_use_id", "")))] = HumanMessage([block])
    return results


def material_of(situation: Situation, plan: Plan, at: int, elided: dict[str, int], count: CountTokens) -> Material:
    """Return what a cut before `repaired.messages[at]` evicts. A carried request that a newer one supersedes leaves with it."""
    repaired = situation.repaired
    messages = repaired.messages
    keys = situation.keys
    body = situation.head.body
    redaction = None if plan.redact is None else Redaction(plan.redact)
    leaving = without_recalled(messages[:at])
    seen = [*(leaving if redaction is None else map(redaction.message, leaving)), *messages[at:]]
    evicted, sources = list(seen[:at]), keys[:at]
    tokens = count(messages[:at]) if at else 0
    request, request_key = situation.request, None if body is None else body.request
    latest = last_request(messages)
    requested = 0
    if latest is not None:
        if request is not None and request_key is not None:
            # The request carried so far is superseded and leaves the view with this version.
            evicted, sources = [request if redaction is None else redaction.message(request), *evicted], [request_key, *sources]
            tokens = count([request, *messages[:at]])
        request, request_key = (messages[latest], keys[latest]) if latest < at else (None, None)
        requested = count([messages[latest]]) if latest < at else 0
    known = Evidence() if body is None else body.evidence
    previous = None if body is None else body.summary
    if redaction is not None:
        known, previous = redaction.value(known), None if previous is None else redaction.value(previous)
    units = [unit for unit in repaired.units if unit.stop <= at]
    evidence, ended = _with_inferred(evidence_of.collect(seen, units, known), seen, keys, at, situation, plan)
    return Material(
        repaired=repaired,
        keys=keys,
        at=at,
        raw_at=sum(not is_synthetic(message) for message in messages[:at]),
        left=tuple(seen[:at]),
        evicted=tuple(evicted),
        sources=tuple(sources),
        tokens=tokens - requested,
        request=request,
        request_key=request_key,
        evidence=evidence,
        ended=ended,
        elided=elided,
        previous=previous,
        redactor_failure=None if redaction is None else redaction.failure,
    )


def _with_inferred(  # noqa: PLR0917 - what is known of the messages, in the order it came about
    evidence: Evidence, messages: Sequence[BaseMessage], keys: Sequence[str], at: int, situation: Situation, plan: Plan
) -> tuple[Evidence, frozenset[str]]:
    """Return `evidence` with the rules said in what leaves, and those that do not stand: one said in what stays ends an older one on its subject."""
    if plan.inferred == "off":
        return evidence.model_copy(update={"inferred_shown": 0}), frozenset()
    pinned = {folded(rule.text) for rule in situation.rules}
    found = infer(messages[:at], keys[:at], start=situation.start)
    # What stays can only end what is carried.
    kept = infer(messages[at:], keys[at:], start=situation.start + at) if found or evidence.inferred else ()
    # A wish for the task at hand ends with it: when a person has asked for something else since.
    known = evidence.inferred if last_request([*messages]) is None else after_task(evidence.inferred)
    carried = tuple(rule for rule in merged(known, found, kept=kept, similar=plan.similar_rules) if folded(rule.text) not in pinned)
    shown = len(open_inferred(carried)) if plan.inferred == "pin" else 0
    stands = {folded(rule.text) for rule in (*carried, *kept) if rule.status == "inferred"}
    # Of very many rules the oldest are forgotten, which ends none.
    ended = frozenset(words for rule in (*evidence.inferred, *found) if (words := folded(rule.text)) not in stands) if len(carried) < LIMIT else ()
    return evidence.model_copy(update={"inferred": carried, "inferred_shown": shown}), frozenset(ended)


def can_gain(material: Material, bounds: Bounds, situation: Situation, settings: CompactionSettings, count: CountTokens) -> bool:
    """Say whether evicting the material could save what the settings ask for: known before a summarizer is paid."""
    body = situation.head.body
    present = 0 if body is None else count(rendered(body, version=situation.head.version))
    return material.tokens * (1 - settings.min_gain) > bounds.floor - present
