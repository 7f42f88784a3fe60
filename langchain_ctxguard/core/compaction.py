"""One compaction, from the view before to the view after: select, ask for a summary, clean, bound, compile, judge.

A generator: what needs the outside is yielded as an effect, so the same flow runs sync and async, and every decision in it is pure.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NoReturn

from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.candidate import Bench, Candidate, is_grave
from langchain_ctxguard.core.carry_over import copy_record
from langchain_ctxguard.core.clean import Cleaned, refusal
from langchain_ctxguard.core.compile import Compiled, rendered
from langchain_ctxguard.core.effects import (
    Answer,
    Append,
    AskPerson,
    CountTokens,
    Decided,
    Effect,
    Prepare,
    Show,
    Spending,
    Stage,
    Summarize,
    SummaryFailure,
    SummaryRequest,
)
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.invariants import Broken
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.material import Bounds, bounds_of, can_gain, choice_of, material_of, modest, unit_costs, widened
from langchain_ctxguard.core.objection import STOPPED, objected
from langchain_ctxguard.core.provenance import Sources
from langchain_ctxguard.core.quoted import shown_beside, with_quotes
from langchain_ctxguard.core.redact import WITHHELD, Redaction
from langchain_ctxguard.core.retention import missing_rules
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY, is_request, last_request, text_of
from langchain_ctxguard.core.short import may_be_short, tells_too_little, tight_bench
from langchain_ctxguard.core.shown import leaving_texts, result_texts
from langchain_ctxguard.core.situation import Compacted, Plan, Situation
from langchain_ctxguard.core.units import PairScan
from langchain_ctxguard.domain.citation import citations
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.control import ControlField, FieldChange, FieldDiff
from langchain_ctxguard.domain.copied import CopyRecord
from langchain_ctxguard.domain.summary import SummaryDraft, Trust
from langchain_ctxguard.domain.version import CompactionRecord, Outcome, ZoneTokens
from langchain_ctxguard.errors import CompactionError, ContextBudgetError, InvariantError, RetentionError

__all__ = ["Compacted", "Plan", "Situation", "compaction_flow"]

DROP_OLDEST = "drop_oldest"
"""Strategy of a version that was made without a summary, because the window was full."""

_LESS = (0.6, 0.3, 0.0)
"""Parts of the room for a summary that are tried where it leaves none for what people laid down."""

_CUTS = 3
"""How often a budget is cut anew because what leaves brought more to quote."""

COOL_DOWN = 1.2
"""After a rejected compaction the view must grow by this factor before the next attempt."""

_REASONS = {
    Outcome.ACCEPTED: "The summary was accepted.",
    Outcome.RETRIED: "The summary was accepted after another attempt.",
    Outcome.FELL_BACK: "The summarizer failed; the fallback summarized without a model.",
}


def compaction_flow(situation: Situation, plan: Plan, count: CountTokens) -> Generator[Effect, Answer, Compacted]:
    """Yield the effects of one compaction; return what it came to.

    Raises:
        RetentionError: rules were missing before and the settings say to stop.
        ContextBudgetError: what must stay does not fit `plan.limit`; the record says so first.
    """
    if situation.missing_before and plan.settings.on_violation == "stop":
        raise _rules_missing(situation.missing_before, "the view given back")
    plan = _with_texts_redacted(plan)
    began = None if plan.clock is None else plan.clock()
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
        kept_messages=len(before.messages),
        rules_in_force=len(situation.rules),
        rules_missing_before=situation.missing_before,
        faults=situation.repaired.faults,
    )
    found = yield from _bench(situation, plan, count, record, tokens_before=tokens_before)
    if isinstance(found, CompactionRecord):
        return Compacted(situation.head, before, found, fields=fields_of(situation.head))
    found = found.read_by(replace(found, began=began))
    is_full = plan.limit is not None and tokens_before > plan.limit
    if (yield from objected(found, record, is_full=is_full)):
        if is_full and plan.limit is not None:
            yield from _refused(record, _nothing_accepted(tokens_before, plan.limit, STOPPED))
        stopped = yield from _left_alone(record, STOPPED)
        return Compacted(situation.head, before, stopped, fields=fields_of(situation.head))
    if plan.prepare is not None:
        yield Prepare(plan.prepare)
    yield Show(partial(leaving_texts, found))
    yield Stage("extract")
    # Read here, where a trace shows what it takes; a bench reads its fields once.
    found.watched  # noqa: B018
    yield Stage(None)
    asked = yield from _asked(found)
    yield Stage("verify")
    record = record.model_copy(
        update={
            "attempts": asked.attempts,
            "failures": tuple(asked.failures),
            "evicted_messages": len(found.material.evicted),
            "evicted_tokens": found.material.tokens,
            "elided_results": len(found.material.elided),
            "removed_sentences": asked.removed,
            "summarizer_calls": asked.spent.calls,
            "summarizer_tokens_in": asked.spent.tokens_in,
            "summarizer_tokens_out": asked.spent.tokens_out,
            "summarizer_seconds": round(asked.spent.seconds, 3),
            "summarizer_remarks": tuple(asked.spent.remarks),
        }
    )
    result = yield from _judged(found, asked, before, record)
    yield Show(partial(result_texts, found, result))
    return result


def fields_of(head: ContextHead) -> tuple[ControlField, ...]:
    """Return the control fields a head remembers that are still in force."""
    return () if head.body is None else tuple(field for field in head.body.evidence.fields if not field.is_closed)


def _bench(
    situation: Situation, plan: Plan, count: CountTokens, record: CompactionRecord, *, tokens_before: int
) -> Generator[Effect, Answer, Bench | CompactionRecord]:
    """Return what a candidate is to be made of, or the record of an attempt that ends before a summarizer is asked."""
    repaired = situation.repaired
    is_full = plan.limit is not None and tokens_before > plan.limit
    if not is_full and tokens_before < (situation.head.cool_down or 0):
        reason = f"The last attempt was rejected; the next one waits until the view holds {situation.head.cool_down} tokens."
        return (yield from _left_alone(record, reason))
    if plan.crossing.unread is not None:
        reason = f"What must cross by being copied could not be read ({plan.crossing.unread}); the previous context stays in force."
        if is_full and plan.limit is not None:
            yield from _refused(record, _nothing_accepted(tokens_before, plan.limit, reason))
        return (yield from _left_alone(record, reason))
    bounds = bounds_of(situation, plan, repaired, count, tokens_before=tokens_before)
    found = _ordinary(situation, plan, bounds, count, is_full=is_full, tokens_before=tokens_before)
    if may_be_short(plan, is_full=is_full) and (isinstance(found, ContextBudgetError) or (isinstance(found, Bench) and tells_too_little(found))):
        tight = tight_bench(situation, plan, bounds, count, tokens_before=tokens_before, ordinary=found if isinstance(found, Bench) else None)
        if tight is not None and plan.limit is not None:
            if tight.least.tokens > plan.limit:
                yield from _refused(record, _not_even_tight(tight.least, plan.limit, situation))
            return tight.bench
    if isinstance(found, ContextBudgetError):
        yield from _refused(record, found)
    return found if isinstance(found, Bench) else (yield from _left_alone(record, str(found)))


def _ordinary(
    situation: Situation, plan: Plan, bounds: Bounds, count: CountTokens, *, is_full: bool, tokens_before: int
) -> Bench | ContextBudgetError | str:
    """Return what a candidate in the ordinary form is to be made of, or why there is none: what must stay does not fit, or nothing can leave."""
    repaired = situation.repaired
    read: Bench | None = None
    costs = unit_costs(repaired, count)
    for _ in range(_CUTS):
        choice, elided = choice_of(situation, repaired, plan, bounds, count, is_full=is_full, tokens_before=tokens_before, costs=costs)
        needed = choice.needed - bounds.values
        if plan.limit is not None and not choice.fits and needed > plan.limit and (is_full or plan.may_fill_goal):
            return _does_not_fit(needed, plan.limit, situation, bounds)
        if choice.at == 0 and not elided:
            return "Nothing can leave the view: `keep`, the current request and calls in flight hold it."
        if read is None or (read.material.at, read.material.elided) != (choice.at, elided):
            read = Bench(situation, plan, material_of(situation, plan, choice.at, elided, count), bounds, count)
        room = bounds.quoted + bounds.values
        bounds, material = with_quotes(bounds, read.material, plan, count, tokens_before=tokens_before)
        if not (is_full and plan.is_callers_budget):
            break
        bounds = replace(bounds, values=read.values_tokens)
        if bounds.quoted + bounds.values <= room:
            break
    if not is_full and plan.must_gain and not can_gain(material, bounds, situation, plan.settings, count):
        return "What could leave the view is too little to gain anything by it."
    bench = Bench(situation, plan, material, modest(widened(bounds, choice, plan), material, situation, count), count)
    return bench if read is None else read.read_by(bench)


def _judged(bench: Bench, asked: _Asked, before: Compiled, record: CompactionRecord) -> Generator[Effect, Answer, Compacted]:
    """Accept what the summarizers told, or find out what else can be done."""
    plan, tokens_before = bench.plan, record.tokens_before
    is_full = plan.limit is not None and tokens_before > plan.limit
    diff = FieldDiff()
    refused: str | None = f"No usable summary ({', '.join(asked.failures)}); the previous context stays in force."
    if asked.cleaned is not None:
        done = bench.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        bench, done, refused = yield from _fields_settled(bench, asked, done)
        record = record.model_copy(
            update={"attempts": asked.attempts, "failures": tuple(asked.failures), "fields": done.fields, "field_notes": done.notes}
        )
        diff = done.diff
        if refused is None:
            refused = bench.verdict(done, tokens_before=tokens_before, is_full=is_full)
            if refused is not None:
                done, refused = _with_less(bench, asked, done, refused, is_full=is_full, tokens_before=tokens_before)
        done, refused = yield from _all_said(bench, asked, done, refused, record)
        if refused is None:
            broken = bench.broken(done)
            if not broken:
                return (yield from _accepted(bench, done, asked.outcome, asked.strategy, record))
            record = record.model_copy(update={"broken": tuple(one.name for one in broken)})
            refused = _breaks(broken)
    # What must hold and does not hold now is no context to fall back on.
    must_leave = bool(record.broken) and bool(bench.broken_now)
    if (is_full and plan.settings.on_full == "compact") or must_leave:
        floor = bench.bounds.floor
        narrow = replace(bench, bounds=replace(bench.bounds, summary=floor, evidence=floor))
        done = narrow.candidate(narrow.cleaned(SummaryDraft(), asked.sources), asked.sources)
        still = narrow.broken(done)
        if still:
            yield from _refused(record.model_copy(update={"broken": tuple(one.name for one in still)}), _no_way_on(still))
        if plan.limit is None or done.tokens <= plan.limit:
            why = "The window is full" if is_full else "The context cannot stay as it is"
            reason = f"{refused} {why}, so the oldest messages left the view without a new summary."
            return (yield from _accepted(narrow, done, Outcome.FELL_BACK, DROP_OLDEST, record, reason=reason))
    if is_full and plan.limit is not None:
        yield from _refused(record, _nothing_accepted(tokens_before, plan.limit, refused or ""))
    # Nothing was carried: the previous context holds what it held.
    counts = record.fields.model_copy(update={"repaired": 0, "carried": 0, "carried_tokens": 0})
    notes = tuple(note.model_copy(update={"is_carried": False}) for note in record.field_notes)
    about = {"fields": counts, "field_notes": notes, "seconds": bench.seconds}
    record = record.model_copy(update={"outcome": Outcome.REJECTED, "reason": refused, **about})
    yield Append(record)
    cooled = bench.situation.head.model_copy(update={"cool_down": int(tokens_before * COOL_DOWN)})
    return Compacted(cooled, before, record, fields=_standing(bench), diff=diff)


def _with_less(
    bench: Bench, asked: _Asked, done: Candidate, refused: str | None, *, is_full: bool, tokens_before: int
) -> tuple[Candidate, str | None]:
    """Return what a candidate that is refused comes to with less: a shorter summary where it saves too little, values without their sentences."""
    if refused is not None and not is_full:
        done, refused = _with_gain(bench, asked, done, refused, tokens_before=tokens_before)
    if refused is not None and done.fields.carried and asked.cleaned is not None:
        # The values matter more than the sentences they stood in.
        bare = replace(bench, is_bare=True)
        done = bare.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        refused = bare.verdict(done, tokens_before=tokens_before, is_full=is_full)
    return done, refused


def _with_gain(bench: Bench, asked: _Asked, done: Candidate, refused: str, *, tokens_before: int) -> tuple[Candidate, str | None]:
    """Return a candidate that saves enough: without the names of messages, then with a summary as much shorter as it saved too little.

    Where there is none, it is the one before.
    """
    tried, shorter = done, bench.without_names if bench.with_gain(done, tokens_before=tokens_before) is not None else None
    for _ in range(_CUTS + 1):
        if shorter is None or asked.cleaned is None:
            break
        tried = shorter.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        if shorter.verdict(tried, tokens_before=tokens_before, is_full=False) is None:
            return tried, None
        shorter = shorter.with_gain(tried, tokens_before=tokens_before)
    return done, refused


def _fields_settled(bench: Bench, asked: _Asked, done: Candidate) -> Generator[Effect, Answer, tuple[Bench, Candidate, str | None]]:
    """Do what the settings say about control fields the draft lost or changed: ask again, ask a person, or refuse. Carrying needs no decision."""
    plan = bench.plan.fields
    if plan is None or done.diff.is_clean:
        return bench, done, None
    settings = plan.settings
    if settings.on_loss == "rollback":
        while _graves(done.diff.lost) and asked.strategy == bench.plan.strategy and asked.attempts < bench.plan.settings.max_attempts:
            wanted = tuple(change.before.raw for change in _graves(done.diff.lost))
            request = replace(_request(bench), must_keep=(*bench.plan.must_keep, *wanted))
            asked.attempts += 1
            answer = yield Summarize(request, "summarizer", asked.attempts)
            problem = _taken(answer, bench, asked)
            if problem is not None or asked.cleaned is None:
                asked.failures.append(f"{bench.plan.strategy}: {problem}")
                break
            asked.outcome = Outcome.RETRIED
            done = bench.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        lost = _graves(done.diff.lost)
        if lost:
            return bench, done, f'The summary lost {len(lost)} critical control fields ({_kinds(lost)}) and `on_loss` is "rollback".'
    lost = _graves(done.diff.lost) if settings.on_loss == "ask" else []
    changed = _graves(done.diff.changed) if settings.on_change == "ask" else []
    if not (lost or changed) or asked.cleaned is None:
        return bench, done, None
    answer = yield AskPerson((*lost, *changed), asked.attempts)
    choice = answer.choice if isinstance(answer, Decided) else "reject"
    if choice == "reject":
        return bench, done, f"{len(lost) + len(changed)} critical control fields were lost or changed, and nobody agreed to it."
    if choice == "approve":
        bench = replace(bench, accepts=True)
        done = bench.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
    return bench, done, None


def _all_said(
    bench: Bench, asked: _Asked, done: Candidate, refused: str | None, record: CompactionRecord
) -> Generator[Effect, Answer, tuple[Candidate, str | None]]:
    """Return a candidate that tells, within a caller's budget, every rule and critical value people gave: what the summarizer told gives way to them.

    Where there is none it is refused: whoever set the budget can raise it, and nobody can miss what is lost unseen.

    Raises:
        ContextBudgetError: not even without a summary all of them have room.
    """
    budget = bench.plan.limit if bench.plan.is_callers_budget else None
    if budget is None or record.tokens_before <= budget or asked.cleaned is None:
        return done, refused
    number, lines = bench.unsaid(done)
    if bench.is_tight and (number or refused is not None):
        least = bench.tight(is_least=True)
        done = least.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        refused = bench.verdict(done, tokens_before=record.tokens_before, is_full=True)
        number, lines = bench.unsaid(done)
        if not number:
            return done, refused
    if not number:
        return done, refused
    room = bench.bounds.summary - bench.bounds.floor
    for part in _LESS:
        less = replace(bench, is_bare=True, bounds=replace(bench.bounds, summary=bench.bounds.floor + int(room * part)))
        again = less.candidate(asked.cleaned, asked.sources, dropped_keys=asked.dropped_keys)
        if not less.unsaid(again)[0] and less.verdict(again, tokens_before=record.tokens_before, is_full=True) is None:
            return again, None
    needed = max(done.tokens, budget) + sum(text_tokens(bench.count, f"- {line}\n") for line in lines)
    return (yield from _refused(record, _unsaid(number, needed, budget)))


def _graves(changes: Sequence[FieldChange]) -> list[FieldChange]:
    return [change for change in changes if is_grave(change)]


def _kinds(changes: Sequence[FieldChange]) -> str:
    return ", ".join(sorted({change.before.kind.value for change in changes}))


def _refused(record: CompactionRecord, error: CompactionError) -> Generator[Effect, Answer, NoReturn]:
    refused = record.model_copy(update={"outcome": Outcome.REJECTED, "reason": str(error)})
    error.record = refused
    yield Append(refused)
    raise error


def _left_alone(record: CompactionRecord, reason: str) -> Generator[Effect, Answer, CompactionRecord]:
    record = record.model_copy(update={"reason": reason})
    yield Append(record)
    return record


@dataclass(slots=True)
class _Asked:
    """What the summarizers answered, in the order they were asked."""

    sources: Sources
    cleaned: Cleaned | None = None
    dropped_keys: int = 0
    removed: int = 0
    """Orders and permissions in the drafts that were refused for them."""

    outcome: Outcome = Outcome.ACCEPTED
    strategy: str = ""
    attempts: int = 0
    failures: list[str] = field(default_factory=list)
    spent: Spending = field(default_factory=Spending)


def _asked(bench: Bench) -> Generator[Effect, Answer, _Asked]:
    """Ask the summarizer, as often as the settings allow, then the fallback."""
    plan, material = bench.plan, bench.material
    asked = _Asked(bench.sources)
    if not material.evicted:
        asked.cleaned = bench.cleaned(SummaryDraft(), asked.sources)
        return asked
    request = _request(bench)
    asked.spent = request.spent
    attempts = plan.settings.max_attempts
    if material.redactor_failure is not None:
        # What could not be redacted is withheld from everybody; a model is not asked about the rest either.
        asked.failures.append(f"redact: {material.redactor_failure}")
        attempts = 0
    for attempt in range(1, attempts + 1):
        answer = yield Summarize(request, "summarizer", attempt)
        asked.attempts = attempt
        problem = _taken(answer, bench, asked)
        if problem is None:
            asked.strategy = plan.strategy
            asked.outcome = Outcome.ACCEPTED if attempt == 1 else Outcome.RETRIED
            return asked
        asked.failures.append(f"{plan.strategy}: {problem}")
        if isinstance(answer, SummaryFailure) and answer.is_down:
            break
    if plan.settings.fallback is None:
        return asked
    answer = yield Summarize(request, "fallback", asked.attempts + 1)
    problem = _taken(answer, bench, asked)
    if problem is None:
        asked.outcome, asked.strategy = Outcome.FELL_BACK, plan.fallback
    else:
        asked.failures.append(f"{plan.fallback}: {problem}")
    return asked


def _size_of(bench: Bench) -> tuple[int, bool]:
    """Return how many characters leave the view, and whether they say anything."""
    texts = [text_of(message) for message in bench.material.evicted if not is_synthetic(message)]
    return sum(map(len, texts)), any(text.strip() for text in texts)


def _request(bench: Bench) -> SummaryRequest:
    previous = bench.material.previous
    spoken = [text_of(message) for message in bench.material.evicted if is_request(message)]
    said = " ".join(spoken[-8:]) or ("" if previous is not None else " ".join(text_of(message) for message in bench.material.evicted[:20]))
    return SummaryRequest(
        evicted=bench.material.evicted,
        sources=bench.material.sources,
        previous=previous,
        max_tokens=bench.bounds.summary - bench.listing_tokens,
        count=bench.count,
        must_keep=bench.plan.must_keep,
        language=language_of(said) or (None if previous is None else previous.language),
        fields=None if bench.plan.fields is None else bench.watched.leaving,
        is_out_of_date=bench.out_of_date,
        shown=shown_beside(bench.bounds, bench.material, bench.count),
    )


def _with_texts_redacted(plan: Plan) -> Plan:
    """Return the plan with the texts to keep as the redactor leaves them: so they stand in what it has seen. What it fails on is not asked for."""
    if plan.redact is None or not plan.must_keep:
        return plan
    left = map(Redaction(plan.redact).text, plan.must_keep)
    return replace(plan, must_keep=tuple(text for text in left if text != WITHHELD))


def _taken(answer: Answer, bench: Bench, asked: _Asked) -> str | None:
    """Take a summarizer's answer, cleaned; return why it is none, or `None`."""
    if isinstance(answer, SummaryFailure):
        return answer.reason
    if not isinstance(answer, SummaryDraft):
        return "wrong_type"
    characters, has_evidence = _size_of(bench)
    problem = refusal(answer, evicted_characters=characters, evicted_has_evidence=has_evidence)
    if problem is not None:
        return problem
    cleaned = bench.cleaned(answer, asked.sources)
    if cleaned.removed_sentences and not cleaned.holds_anything_told:
        # What was told were orders and permissions alone: nothing is left of it, so there is no summary.
        asked.removed += cleaned.removed_sentences
        return "nothing_left"
    asked.cleaned, asked.dropped_keys = cleaned, answer.dropped_keys
    return None


def _accepted(
    bench: Bench, done: Candidate, outcome: Outcome, strategy: str, record: CompactionRecord, *, reason: str = ""
) -> Generator[Effect, Answer, Compacted]:
    missing = missing_rules(bench.situation.rules, done.view.system)
    if missing:
        error = _rules_missing(missing, "the compacted view")
        yield Append(record.model_copy(update={"outcome": Outcome.REJECTED, "reason": str(error), "rules_missing_after": missing}))
        raise error
    if done.lost:
        outcome = Outcome.FELL_BACK
        reason = f"{reason or 'The window is full.'} {done.lost} of the texts to keep found no room in it."
    elif done.missing and _is_carrying(bench):
        outcome = Outcome.FELL_BACK
        reason = f"{reason or 'The window is full.'} {len(done.missing)} critical control fields found no room in it."
    elif (done.repaired or done.fields.repaired) and outcome in (Outcome.ACCEPTED, Outcome.RETRIED):
        outcome = Outcome.REPAIRED
    carried = []
    if done.repaired:
        carried.append(f"{done.repaired} of the texts to keep were missing from the summary and are carried verbatim.")
    if done.fields.repaired:
        carried.append(f"{done.fields.repaired} control fields the summary does not tell are carried verbatim.")
    if carried:
        reason = " ".join(carried) if outcome is Outcome.REPAIRED else " ".join([reason or _REASONS[outcome], *carried])
    shown = rendered(done.head.body, version=done.head.version) if done.head.body is not None else []
    facts = done.head.body.summary.facts if done.head.body is not None else ()
    copied = bench.plan.crossing.copied
    record = record.model_copy(
        update={
            "outcome": outcome,
            "reason": reason or _REASONS[outcome],
            "version": done.head.version,
            "strategy": strategy,
            "tokens_after": done.tokens,
            "kept_messages": len(done.view.messages) - len(shown),
            "zones": _zones(bench, done),
            "fields": done.fields,
            "field_notes": done.notes,
            "dropped_keys": done.dropped_keys,
            "removed_sentences": record.removed_sentences + done.cleaned.removed_sentences,
            "downgraded_facts": done.cleaned.downgraded_facts,
            "distorted_sentences": done.cleaned.distorted_sentences,
            "restored_items": done.cleaned.restored,
            "merged_summaries": done.cleaned.summaries,
            "facts_claimed": sum(fact.status is Trust.CLAIMED for fact in facts),
            "facts_confirmed": sum(fact.status is Trust.CONFIRMED for fact in facts),
            "invariants": _held_to(bench, done.view, strategy),
            "consents": () if copied.consents is None else citations(copied.consents),
            "copied": None if copied.is_empty else _copy_of(bench, done),
            "seconds": bench.seconds,
        }
    )
    yield Append(record)
    return Compacted(done.head, done.view, record, fields=_standing(bench), diff=done.diff)


def _copy_of(bench: Bench, done: Candidate) -> CopyRecord:
    crossing = bench.plan.crossing
    own = (done.head.version,) if crossing.is_consent_change else ()
    update = {"is_consent_change": crossing.is_consent_change, "checkpoints": (*crossing.checkpoints, *own)}
    return copy_record(crossing.copied, done.head.body, opened_by=crossing.opened_by).model_copy(update=update)


def _held_to(bench: Bench, view: Compiled, strategy: str) -> tuple[str, ...]:
    """Return what was looked for in the view and found; what does not stand here was not looked for, or does not hold."""
    plan = bench.plan
    scan = PairScan()
    for message in view.messages:
        scan.feed(message)
    checks = (
        ("rules", bool(bench.situation.rules)),
        ("calls", scan.is_clean),
        ("request", last_request(view.messages) is not None),
        ("fields", plan.fields is not None),
        ("texts", bool(plan.must_keep)),
        ("budget", plan.limit is not None),
        # Where the oldest messages had to go without a summary, nobody asks what that saves.
        ("gain", strategy != DROP_OLDEST),
        ("copy", not plan.crossing.copied.is_empty),
    )
    named = (*(rule.title for rule in plan.crossing.invariants), *plan.crossing.checks)
    return (*(name for name, holds in checks if holds), *named)


def _is_carrying(bench: Bench) -> bool:
    plan = bench.plan.fields
    return plan is not None and plan.settings.on_loss != "warn" and not bench.accepts


def _standing(bench: Bench) -> tuple[ControlField, ...]:
    return tuple(field for field in bench.watched.present if not field.is_closed)


def _zones(bench: Bench, done: Candidate) -> ZoneTokens:
    shown = rendered(done.head.body, version=done.head.version) if done.head.body is not None else []
    tokens = {message.name: bench.count([message]) for message in shown}
    rules = bench.plan.tool_tokens + (0 if done.view.system is None else bench.count([done.view.system]))
    evidence, summary = tokens.get(EVIDENCE, 0), tokens.get(SUMMARY, 0)
    return ZoneTokens(rules=rules, evidence=evidence, summary=summary, working_set=max(0, done.tokens - rules - evidence - summary))


def _rules_missing(missing: tuple[str, ...], where: str) -> RetentionError:
    names = ", ".join(f"'{name}'" for name in missing)
    return RetentionError(
        f"Rules in force are missing from {where}: {names}. The run is stopped because `on_violation` is 'stop'; "
        "use 'restore' to have them put back.",
        missing=missing,
    )


def _does_not_fit(needed: int, budget: int, situation: Situation, bounds: Bounds) -> ContextBudgetError:
    quoted = f", what people laid down along the way ({bounds.quoted} tokens; `inferred` says whether it is quoted)" if bounds.quoted else ""
    return ContextBudgetError(
        f"What must stay in the context needs {needed} tokens and the budget is {budget}: the system prompt with {len(situation.rules)} pinned "
        f"rules, the current request and the newest messages{quoted}. Nothing was changed. Raise the budget, shorten the rules, or keep less.",
        needed=needed,
        budget=budget,
    )


def _not_even_tight(least: Candidate, budget: int, situation: Situation) -> ContextBudgetError:
    body = least.head.body
    quoted = 0 if body is None else body.evidence.inferred_shown
    said = f", {quoted} rules that people said" if quoted else ""
    return ContextBudgetError(
        f"What must stay in the context needs {least.tokens} tokens and the budget is {budget}: the system prompt with {len(situation.rules)} pinned "
        f"rules, the current request and what follows it{said} and the critical values, written as short as can be. Nothing was changed. Raise the "
        'budget, or give something up by name: `inferred: off` for rules people said, `on_loss: "warn"` for values.',
        needed=least.tokens,
        budget=budget,
    )


def _unsaid(number: int, needed: int, budget: int) -> ContextBudgetError:
    return ContextBudgetError(
        f"What must stay in the context needs {needed} tokens and the budget is {budget}: {number} of the rules and critical values that people gave "
        'have no room. Nothing was changed. Raise the budget, keep less, or give them up by name: `inferred: off` for rules, `on_loss: "warn"` for '
        "values.",
        needed=needed,
        budget=budget,
    )


def _breaks(broken: Sequence[Broken]) -> str:
    names = "; ".join(f"'{one.name}' ({one.reason})" for one in broken)
    return f"The compacted view would break what must hold: {names}."


def _no_way_on(broken: Sequence[Broken]) -> InvariantError:
    return InvariantError(
        f"{_breaks(broken)} Dropping the oldest messages without a summary breaks it too, and the context cannot stay as it is. The model was not "
        "called and nothing was changed. Put right what the invariant speaks about, or change it under `consents.invariants`.",
        broken=tuple(one.name for one in broken),
    )


def _nothing_accepted(tokens: int, budget: int, refused: str) -> ContextBudgetError:
    return ContextBudgetError(
        f"The context holds {tokens} tokens, the budget is {budget}, and no compaction was accepted: {refused} "
        "The previous context stays in force. Raise the budget, keep less, or give the summarizer more room.",
        needed=tokens,
        budget=budget,
    )
