"""One compaction, from the view before to the view after: select, ask for a summary, clean, bound, compile, judge.

A generator: what needs the outside is yielded as an effect, so the same flow runs sync and async, and every decision in it is pure.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core import evidence as evidence_of
from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary, text_tokens
from langchain_ctxguard.core.clean import Cleaned, clean, refusal
from langchain_ctxguard.core.compile import Compiled, compile_view, leading_system, rendered, rendered_digests
from langchain_ctxguard.core.effects import Answer, Append, CountTokens, Effect, Summarize, SummaryFailure, SummaryRequest
from langchain_ctxguard.core.identity import is_synthetic, make_cut, message_keys
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.provenance import Sources, folded
from langchain_ctxguard.core.render import render_evidence, render_rules, render_summary, rules_fingerprint
from langchain_ctxguard.core.retention import missing_rules
from langchain_ctxguard.core.roles import is_request, last_request, text_of
from langchain_ctxguard.core.select import Choice, Claims, choose, shares
from langchain_ctxguard.core.units import Repaired, repair
from langchain_ctxguard.domain.config import CompactionSettings, ContextSize
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextBody, ContextHead
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.version import CompactionRecord, Outcome, ZoneTokens
from langchain_ctxguard.errors import ContextBudgetError, RetentionError

COOL_DOWN = 1.2
"""After a rejected compaction the view must grow by this factor before the next attempt."""

_SUMMARY_WINDOW_SHARE = 0.02
_SUMMARY_CONTEXT_SHARE = 0.15
_SUMMARY_LEAST = 300
_RESULT_LEAST = 40
_FLOOR_SLACK = 48


@dataclass(frozen=True, slots=True)
class Situation:
    """A conversation as a compaction finds it."""

    tail: Sequence[BaseMessage]
    """The messages after the present cut, as they are in the conversation."""

    rules: tuple[Constraint, ...] = ()
    system: tuple[SystemMessage, ...] = ()
    """The application's system messages, in order."""

    trusted: tuple[SystemMessage, ...] = ()
    """System messages from inside the list, where the settings trust them."""

    head: ContextHead = field(default_factory=lambda: ContextHead(version=0))
    request: BaseMessage | None = None
    """The current request where it lies before the present cut."""

    start: int = 0
    """Position of `tail[0]` in the original list."""

    missing_before: tuple[str, ...] = ()
    """Ids of rules in force that a view given back by the caller no longer held."""

    @property
    def leading(self) -> SystemMessage | None:
        """The one system message of every view of this conversation."""
        return leading_system(self.system, render_rules(self.rules), after=self.trusted)

    def view(self, head: ContextHead | None = None, request: BaseMessage | None = None, tail: Sequence[BaseMessage] | None = None) -> Compiled:
        """Return the present view, or the view of another head over another tail."""
        if head is None:
            head, request, tail = self.head, self.request, self.tail
        return compile_view(self.leading, version=head.version, body=head.body, request=request, tail=tail if tail is not None else self.tail)


@dataclass(frozen=True, slots=True)
class Plan:
    """How this compaction is to go."""

    settings: CompactionSettings
    trigger: str
    """What started it, for the record."""

    keep: ContextSize
    window: int
    goal: int | None = None
    """The view should not exceed this many tokens."""

    limit: int | None = None
    """The view must not exceed this many tokens."""

    min_kept: float = 0.0
    must_keep: tuple[str, ...] = ()
    tool_tokens: int = 0
    nonce: str = ""
    """Random in an agent: no client can then know the id of the summary."""

    strategy: str = ""
    """Name of the summarizer."""

    fallback: str = ""
    """Name of the fallback."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What an attempt came to. `head` and `view` are the previous ones unless a new version was made."""

    head: ContextHead
    view: Compiled
    record: CompactionRecord

    @property
    def is_new(self) -> bool:
        """Say whether a new version was made."""
        return self.record.outcome not in (Outcome.SKIPPED, Outcome.REJECTED)


@dataclass(frozen=True, slots=True)
class _Bounds:
    summary: int
    evidence: int
    floor: int


@dataclass(frozen=True, slots=True)
class _Material:
    """What leaves the view, and what the flow knows about it."""

    repaired: Repaired
    keys: list[str]
    at: int
    raw_at: int
    evicted: tuple[BaseMessage, ...]
    sources: tuple[str, ...]
    tokens: int
    request: BaseMessage | None
    request_key: str | None
    evidence: Evidence
    elided: dict[str, int]


def compaction_flow(situation: Situation, plan: Plan, count: CountTokens) -> Generator[Effect, Answer, Compacted]:
    """Yield the effects of one compaction; return what it came to.

    Raises:
        RetentionError: rules were missing before and the settings say to stop.
        ContextBudgetError: what must stay does not fit `plan.limit`; the record says so first.
    """
    settings = plan.settings
    if situation.missing_before and settings.on_violation == "stop":
        raise _rules_missing(situation.missing_before, "the view given back")
    before = situation.view()
    tokens_before = count(before.all) + plan.tool_tokens
    record = CompactionRecord(
        outcome=Outcome.SKIPPED,
        reason="",
        trigger=plan.trigger,
        version=situation.head.version,
        tokens_before=tokens_before,
        tokens_after=tokens_before,
        budget=plan.goal,
        rules_in_force=len(situation.rules),
        rules_missing_before=situation.missing_before,
    )
    repaired = repair(situation.tail)
    record = record.model_copy(update={"faults": repaired.faults, "kept_messages": len(before.messages)})
    is_full = plan.limit is not None and tokens_before > plan.limit
    bounds = _bounds(plan, tokens_before, has_tools=any(unit.kind == "tools" for unit in repaired.units), situation=situation, count=count)
    choice, elided = _choice(situation, repaired, plan, bounds, count, is_full=is_full, tokens_before=tokens_before)
    if plan.limit is not None and not choice.fits and (is_full or plan.goal == plan.limit):
        error = _does_not_fit(choice.needed, plan.limit, situation)
        yield Append(record.model_copy(update={"outcome": Outcome.REJECTED, "reason": str(error)}))
        raise error
    if choice.at == 0 and not elided:
        return (yield from _left_alone(situation, before, record, "Nothing can leave the view: `keep`, the current request and calls in flight hold it all."))
    material = _material(situation, repaired, choice.at, elided, count)
    if not is_full and not _can_gain(material, bounds, situation, settings, count):
        return (yield from _left_alone(situation, before, record, "What could leave the view is too little to gain anything by it."))

    asked = _Asked()
    if material.evicted:
        yield from _ask(material, situation, plan, bounds, count, asked)
    else:
        asked.draft, asked.outcome = SummaryDraft(), Outcome.ACCEPTED
    record = record.model_copy(
        update={
            "attempts": asked.attempts,
            "failures": tuple(asked.failures),
            "evicted_messages": len(material.evicted),
            "evicted_tokens": material.tokens,
            "elided_results": len(elided),
        }
    )
    refused = "No usable summary: " + ", ".join(asked.failures) + "; the previous context stays in force." if asked.draft is None else ""
    if asked.draft is not None:
        done = _candidate(asked.draft, material, situation, plan, bounds, count)
        verdict = _verdict(done, material, plan, tokens_before, is_full=is_full)
        if verdict is None:
            return (yield from _accepted(done, asked.outcome, asked.strategy, situation, plan, record, count))
        refused = verdict
    if is_full and plan.limit is not None:
        if settings.on_full == "compact" and material.evicted:
            done = _candidate(SummaryDraft(), material, situation, plan, replace(bounds, summary=bounds.floor, evidence=bounds.floor), count)
            if done.tokens <= plan.limit:
                reason = f"{refused} The window is full, so the oldest messages left the view without a new summary."
                return (yield from _accepted(done, Outcome.FELL_BACK, "drop_oldest", situation, plan, record, count, reason=reason))
        error = ContextBudgetError(
            f"The context holds {tokens_before} tokens, the budget is {plan.limit}, and no compaction was accepted ({refused}) "
            "The previous context stays in force. Raise the budget, keep less, or give the summarizer more room.",
            needed=tokens_before,
            budget=plan.limit,
        )
        yield Append(record.model_copy(update={"outcome": Outcome.REJECTED, "reason": str(error)}))
        raise error
    cooled = situation.head.model_copy(update={"cool_down": int(tokens_before * COOL_DOWN)})
    record = record.model_copy(update={"outcome": Outcome.REJECTED, "reason": refused})
    yield Append(record)
    return Compacted(cooled, before, record)


def _left_alone(situation: Situation, view: Compiled, record: CompactionRecord, reason: str) -> Generator[Effect, Answer, Compacted]:
    record = record.model_copy(update={"reason": reason})
    yield Append(record)
    return Compacted(situation.head, view, record)


@dataclass(slots=True)
class _Asked:
    """What the summarizers answered, in the order they were asked."""

    draft: SummaryDraft | None = None
    outcome: Outcome = Outcome.ACCEPTED
    strategy: str = ""
    attempts: int = 0
    failures: list[str] = field(default_factory=list)


def _ask(
    material: _Material, situation: Situation, plan: Plan, bounds: _Bounds, count: CountTokens, asked: _Asked
) -> Generator[Effect, Answer, None]:
    texts = [text_of(message) for message in material.evicted]
    characters = sum(map(len, texts))
    has_evidence = any(text.strip() for text in texts)
    spoken = [text for text, message in zip(texts, material.evicted, strict=True) if is_request(message)]
    previous = None if situation.head.body is None else situation.head.body.summary
    request = SummaryRequest(
        evicted=material.evicted,
        sources=material.sources,
        previous=previous,
        max_tokens=bounds.summary,
        count=count,
        must_keep=plan.must_keep,
        language=language_of(" ".join(spoken[-8:])) or (previous.language if previous is not None else language_of(" ".join(texts[:20]))),
    )
    for attempt in range(1, plan.settings.max_attempts + 1):
        answer = yield Summarize(request, "summarizer", attempt)
        asked.attempts = attempt
        problem = _problem(answer, characters, has_evidence=has_evidence)
        if problem is None and isinstance(answer, SummaryDraft):
            asked.draft, asked.strategy = answer, plan.strategy
            asked.outcome = Outcome.ACCEPTED if attempt == 1 else Outcome.RETRIED
            return
        asked.failures.append(f"{plan.strategy}: {problem}")
        if isinstance(answer, SummaryFailure) and answer.is_down:
            break
    if plan.settings.fallback is None:
        return
    answer = yield Summarize(request, "fallback", asked.attempts + 1)
    problem = _problem(answer, characters, has_evidence=has_evidence)
    if problem is None and isinstance(answer, SummaryDraft):
        asked.draft, asked.outcome, asked.strategy = answer, Outcome.FELL_BACK, plan.fallback
    else:
        asked.failures.append(f"{plan.fallback}: {problem}")


def _problem(answer: Answer, characters: int, *, has_evidence: bool) -> str | None:
    if isinstance(answer, SummaryFailure):
        return answer.reason
    if not isinstance(answer, SummaryDraft):
        return "wrong_type"
    return refusal(answer, evicted_characters=characters, evicted_has_evidence=has_evidence)


def _bounds(plan: Plan, tokens_before: int, *, has_tools: bool, situation: Situation, count: CountTokens) -> _Bounds:
    """Return the bounds of summary and evidence: shares of the window, shrunk to fit a small context or budget."""
    context = tokens_before if plan.goal is None else min(tokens_before, plan.goal)
    settings = plan.settings
    summary = max(settings.summary_tokens, int(_SUMMARY_WINDOW_SHARE * plan.window))
    summary = min(summary, max(_SUMMARY_LEAST, int(_SUMMARY_CONTEXT_SHARE * context)))
    evidence = int(settings.evidence_share * min(plan.window, context)) if has_tools or situation.head.body is not None else 0
    floor = text_tokens(count, render_summary(StructuredSummary(original_goal="x"), version=1)) + _FLOOR_SLACK
    if evidence:
        floor += text_tokens(count, render_evidence(Evidence(omitted_actions=1)))
    if plan.goal is not None:
        summary = min(summary, max(floor, plan.goal // 4))
    return _Bounds(summary=max(summary, floor), evidence=evidence, floor=floor)


def _choice(  # noqa: PLR0913 - what the claims on the budget are made of
    situation: Situation,
    repaired: Repaired,
    plan: Plan,
    bounds: _Bounds,
    count: CountTokens,
    *,
    is_full: bool,
    tokens_before: int,
) -> tuple[Choice, dict[str, int]]:
    messages, units = repaired.messages, repaired.units
    body = situation.head.body
    costs = [count(messages[unit.start : unit.stop]) for unit in units]
    leading = situation.leading
    fixed = plan.tool_tokens + (0 if leading is None else count([leading]))
    claims = Claims(
        fixed=fixed,
        reserve=bounds.summary + bounds.evidence,
        reserve_floor=bounds.floor,
        goal=plan.goal if not is_full or plan.goal is None or plan.limit is None else min(plan.goal, plan.limit),
        min_kept=int(plan.min_kept * tokens_before),
    )
    carried = 0 if situation.request is None else count([situation.request])
    request = last_request(messages)
    must_fit = is_full or (plan.goal is not None and plan.goal == plan.limit)
    choice = choose(
        units,
        costs,
        plan.keep,
        claims,
        window=plan.window,
        request=request,
        carried=carried,
        may_shrink_keep=must_fit,
    )
    elided = dict(body.elided) if body is not None else {}
    if choice.fits or not must_fit or plan.limit is None:
        return choice, {} if choice.at == 0 and not is_full else elided
    results = [message for message in messages[choice.at :] if isinstance(message, ToolMessage)]
    result_costs = [count([message]) for message in results]
    room = sum(result_costs) - (choice.needed - plan.limit)
    if room < _RESULT_LEAST * len(results):
        return choice, elided
    for index, tokens in shares(results, result_costs, room).items():
        # The gap's own line costs about 25 tokens; one share in eight is left for what characters and tokens disagree about.
        per_token = len(text_of(results[index])) / max(result_costs[index], 1)
        elided[results[index].tool_call_id] = max(80, int(per_token * max(tokens * 7 // 8 - 25, 0)))
    return replace(choice, fits=True), elided


def _material(situation: Situation, repaired: Repaired, at: int, elided: dict[str, int], count: CountTokens) -> _Material:
    messages = repaired.messages
    keys = message_keys(messages, start=situation.start)
    body = situation.head.body
    evicted, sources = list(messages[:at]), keys[:at]
    request, request_key = situation.request, None if body is None else body.request
    latest = last_request(messages)
    leaving = 0
    if latest is not None:
        if request is not None and request_key is not None:
            # The request carried so far is superseded and leaves the view with this version.
            evicted, sources = [request, *evicted], [request_key, *sources]
        request, request_key = (messages[latest], keys[latest]) if latest < at else (None, None)
        leaving = count([messages[latest]]) if latest < at else 0
    previous = Evidence() if body is None else body.evidence
    units = [unit for unit in repaired.units if unit.stop <= at]
    return _Material(
        repaired=repaired,
        keys=keys,
        at=at,
        raw_at=sum(not is_synthetic(message) for message in messages[:at]),
        evicted=tuple(evicted),
        sources=tuple(sources),
        tokens=count(evicted) - leaving if evicted else 0,
        request=request,
        request_key=request_key,
        evidence=evidence_of.collect(messages, units, previous),
        elided=elided,
    )


def _can_gain(material: _Material, bounds: _Bounds, situation: Situation, settings: CompactionSettings, count: CountTokens) -> bool:
    body = situation.head.body
    present = 0 if body is None else count(rendered(body, version=situation.head.version))
    return material.tokens * (1 - settings.min_gain) > bounds.floor - present


@dataclass(frozen=True, slots=True)
class _Candidate:
    head: ContextHead
    view: Compiled
    tokens: int
    cleaned: Cleaned
    dropped_keys: int
    repaired: int


def _candidate(
    draft: SummaryDraft, material: _Material, situation: Situation, plan: Plan, bounds: _Bounds, count: CountTokens
) -> _Candidate:
    body = situation.head.body
    previous = None if body is None else body.summary
    sources = Sources.of(material.evicted, material.sources)
    goal = previous.original_goal if previous is not None and previous.original_goal else ""
    goal = goal or next((text_of(message) for message in material.evicted if is_request(message)), "")
    spoken = [text_of(message) for message in material.evicted if is_request(message)]
    language = language_of(" ".join(spoken[-8:])) or (None if previous is None else previous.language)
    if draft.is_empty and previous is not None:
        draft = SummaryDraft(
            user_intent=previous.user_intent,
            pending_items=previous.pending_items,
            facts=previous.facts,
            decisions=previous.decisions,
            open_questions=previous.open_questions,
        )
    cleaned = clean(draft, sources, previous=previous, original_goal=goal, language=language)
    head, view, tokens = _fitted(cleaned.summary, material, situation, plan, bounds, count)
    lost = [text for text in plan.must_keep if _is_lost(text, view, sources)]
    if lost:
        facts = tuple(_carried(text, sources) for text in lost)
        summary = cleaned.summary.model_copy(update={"facts": (*cleaned.summary.facts, *facts)})
        head, view, tokens = _fitted(summary, material, situation, plan, bounds, count)
    return _Candidate(head, view, tokens, cleaned, draft.dropped_keys, len(lost))


def _is_lost(text: str, view: Compiled, sources: Sources) -> bool:
    plain = folded(text)
    if not plain or any(plain in folded(text_of(message)) for message in view.messages):
        return False
    return any(plain in spoken for spoken in sources.texts.values())


def _carried(text: str, sources: Sources) -> Fact:
    key = next(key for key, spoken in sources.texts.items() if folded(text) in spoken)
    return Fact(statement=text, said_by=sources.origins[key], source=key)


def _fitted(
    summary: StructuredSummary, material: _Material, situation: Situation, plan: Plan, bounds: _Bounds, count: CountTokens
) -> tuple[ContextHead, Compiled, int]:
    """Return head, view and tokens with summary and evidence shrunk until the view fits the goal, or they can shrink no further."""
    head, view = _built(summary, material, situation, plan, bounds, count)
    tokens = count(view.all) + plan.tool_tokens
    for _ in range(8):
        if plan.goal is None or tokens <= plan.goal:
            break
        over = tokens - plan.goal
        shown = rendered(head.body, version=head.version) if head.body is not None else []
        used = [count([message]) for message in shown]
        if not used:
            break
        summary_used, evidence_used = used[-1], used[0] if len(used) > 1 else 0
        evidence = max(0, min(bounds.evidence, evidence_used) - over)
        rest = max(0, over - (min(bounds.evidence, evidence_used) - evidence))
        narrower = replace(bounds, evidence=evidence, summary=max(bounds.floor // 2, min(bounds.summary, summary_used) - rest))
        if narrower == bounds:
            break
        bounds = narrower
        head, view = _built(summary, material, situation, plan, bounds, count)
        tokens = count(view.all) + plan.tool_tokens
    return head, view, tokens


def _built(
    summary: StructuredSummary, material: _Material, situation: Situation, plan: Plan, bounds: _Bounds, count: CountTokens
) -> tuple[ContextHead, Compiled]:
    version = situation.head.version + 1
    summary = bounded_summary(summary, version=version, max_tokens=bounds.summary, count=count)
    evidence = bounded_evidence(material.evidence, max_tokens=bounds.evidence, count=count)
    tail = situation.tail[material.raw_at :]
    start = situation.start + material.raw_at
    keys = message_keys(tail, start=start)
    cut = make_cut(tail, keys, 0, start=start).model_copy(update={"evicted": material.sources[-1] if material.sources else situation.head.cut.evicted})
    seed = canonical_json([plan.nonce, version, cut.model_dump(), summary.model_dump(mode="json"), evidence.model_dump(mode="json")])
    body = ContextBody(
        summary=summary,
        evidence=evidence,
        summary_id=f"ctx-{digest_of(seed)[:24]}",
        request=material.request_key,
        elided={call_id: limit for call_id, limit in material.elided.items() if call_id in _call_ids(tail)},
        committed_at=keys[-1] if keys else None,
        rules_fingerprint=rules_fingerprint(situation.rules),
    )
    body = body.model_copy(update={"rendered": rendered_digests(body, render_rules(situation.rules), version=version)})
    head = ContextHead(version=version, cut=cut, body=body)
    return head, situation.view(head, material.request, tail)


def _call_ids(messages: Sequence[BaseMessage]) -> set[str]:
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def _verdict(done: _Candidate, material: _Material, plan: Plan, tokens_before: int, *, is_full: bool) -> str | None:
    """Return why a candidate is refused, or `None`."""
    if plan.limit is not None and done.tokens > plan.limit:
        return f"The compacted view holds {done.tokens} tokens and the budget is {plan.limit}."
    gain = tokens_before - done.tokens
    least = plan.settings.min_gain * material.tokens
    # In a full window a small gain that fits is better than none; only growth is refused.
    if gain <= 0 or (gain < least and not is_full):
        return f"The compaction would save {gain} of the {material.tokens} tokens it evicts; at least {int(least)} are asked for."
    return None


def _accepted(  # noqa: PLR0913, PLR0917 - what a commit puts on record
    done: _Candidate,
    outcome: Outcome,
    strategy: str,
    situation: Situation,
    plan: Plan,
    record: CompactionRecord,
    count: CountTokens,
    *,
    reason: str = "",
) -> Generator[Effect, Answer, Compacted]:
    missing = missing_rules(situation.rules, done.view.system)
    if missing:
        error = _rules_missing(missing, "the compacted view")
        yield Append(record.model_copy(update={"outcome": Outcome.REJECTED, "reason": str(error), "rules_missing_after": missing}))
        raise error
    shown = rendered(done.head.body, version=done.head.version) if done.head.body is not None else []
    by_name = {message.name: count([message]) for message in shown}
    rules = plan.tool_tokens + (0 if done.view.system is None else count([done.view.system]))
    evidence, summary = by_name.get("context_evidence", 0), by_name.get("context_summary", 0)
    if done.repaired and outcome is Outcome.ACCEPTED:
        outcome = Outcome.REPAIRED
        reason = f"{done.repaired} of the texts to keep were missing from the summary and are carried verbatim."
    if not reason:
        reason = {
            Outcome.ACCEPTED: "The summary was accepted.",
            Outcome.RETRIED: "The summary was accepted after another attempt.",
            Outcome.FELL_BACK: "The summarizer failed; the fallback summarized without a model.",
        }[outcome]
    record = record.model_copy(
        update={
            "outcome": outcome,
            "reason": reason,
            "version": done.head.version,
            "strategy": strategy,
            "tokens_after": done.tokens,
            "kept_messages": len(done.view.messages) - len(shown),
            "zones": ZoneTokens(rules=rules, evidence=evidence, summary=summary, working_set=max(0, done.tokens - rules - evidence - summary)),
            "dropped_keys": done.dropped_keys,
            "removed_sentences": done.cleaned.removed_sentences,
            "downgraded_facts": done.cleaned.downgraded_facts,
        }
    )
    yield Append(record)
    return Compacted(done.head, done.view, record)


def _rules_missing(missing: tuple[str, ...], where: str) -> RetentionError:
    names = ", ".join(f"'{name}'" for name in missing)
    return RetentionError(
        f"Rules in force are missing from {where}: {names}. The run is stopped because `on_violation` is 'stop'; "
        "use 'restore' to have them put back.",
        missing=missing,
    )


def _does_not_fit(needed: int, budget: int, situation: Situation) -> ContextBudgetError:
    return ContextBudgetError(
        f"What must stay in the context needs {needed} tokens and the budget is {budget}: the system prompt with {len(situation.rules)} pinned rules, the "
        "current request and the newest messages. Nothing was changed. Raise the budget, shorten the rules, or keep less.",
        needed=needed,
        budget=budget,
    )
