"""The top of the page: what happened in words, the timeline, and five questions with their answers."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_ctxguard.domain.audit import Level
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.report.chart import Event, Kind, Lane, Point, Timeline
from langchain_ctxguard.report.document import Answer, Inline, Line, Link, Mark
from langchain_ctxguard.report.page_cache import share_words
from langchain_ctxguard.report.page_compactions import named, summed
from langchain_ctxguard.report.page_versions import back_words
from langchain_ctxguard.report.page_work import work_words
from langchain_ctxguard.report.story import Compaction, Report, Rule
from langchain_ctxguard.report.words import OUTCOMES, count, joined, listed, moment, spans

_ANSWERED = 6
"""Links in one answer."""

_SHORT = 60


def kind_line(report: Report) -> str:
    """Return the line above the title."""
    made = f", read {moment(report.made_at)}" if report.made_at is not None else ""
    return f"{'Stored thread' if report.source == 'thread' else 'Conversation'} from {report.where}{made}"


def lead_of(report: Report) -> list[Line]:
    """Return what happened, in words."""
    lines: list[Line] = [[Mark(f"Altered: {fault}", "bad")] for fault in report.faults]
    return [*lines, " ".join(_happened(report))]


def timeline_of(report: Report) -> Timeline:
    """Return what is drawn."""
    curve = [Point(one.number, one.tokens) for one in report.moments if one.tokens is not None] if not report.curve else []
    points = curve or [Point(x, tokens) for x, tokens in report.curve]
    has_calls = bool(curve)
    return Timeline(
        unit=report.unit if has_calls or report.source == "file" else "moment on record",
        last=report.span,
        points=points,
        events=list(_events(report, points)),
        shares=[(one.number, one.share) for one in report.moments if one.share is not None] if has_calls or report.source == "file" else [],
        breaks=[one.number for one in report.moments if one.drift is not None],
        lanes=[_lane(rule) for rule in report.rules if rule.stretches] if has_calls or report.source == "file" else [],
    )


def figure_words(report: Report) -> str:
    """Return the timeline in words."""
    parts = [f"compaction {one.number} {_fate(one)}" for one in report.compactions]
    parts += [f"rollback to version {one.restores}" for one in report.restored]
    return f"Timeline of tokens: {'; '.join(parts) or 'nothing was compacted'}."


def _fate(one: Compaction) -> str:
    if one.outcome is Outcome.REJECTED or not one.tokens_after:
        return f"{OUTCOMES[one.outcome] if one.outcome else 'recorded'}, at {one.tokens_before:,} tokens"
    return f"{OUTCOMES[one.outcome] if one.outcome else 'recorded'}, {one.tokens_before:,} to {one.tokens_after:,} tokens"


def answers_of(report: Report) -> list[Answer]:
    """Return the five questions a page answers."""
    is_thread = report.source == "thread"
    return [
        Answer("Which rule was where, at each turn?", list(_rules(report)), "rules"),
        Answer("What did each compaction lose, repair or change, and where did it come from?", list(_compactions(report)), "compactions"),
        Answer("Who allowed each action?", list(_actions(report)), "actions"),
        Answer("Why did the cache break?", list(_cache(report)), "cache"),
        Answer("What would a rollback change?", list(_back(report)) if is_thread else report.back_note, "going-back"),
    ]


def _happened(report: Report) -> Iterator[str]:
    made = [one for one in report.compactions if one.outcome is not Outcome.REJECTED]
    refused = len(report.compactions) - len(made)
    seen = count(report.messages, "message") if report.messages else "this thread"
    if not report.compactions:
        yield f"{seen[:1].upper()}{seen[1:]}; nothing was compacted."
    else:
        before, after = sum(one.tokens_before for one in made), sum(one.tokens_after for one in made)
        leaving = "leaving" if len(made) == 1 else "each leaving on average"
        part = "less than 1%" if 0 < after < before / 100 else f"{after / before:.0%}" if before else ""
        share = f", {leaving} {part} of the tokens" if part else ""
        yield f"{seen[:1].upper()}{seen[1:]} and {count(len(made), 'compaction')}{share}."
    if refused:
        yield f"{count(refused, 'attempt').capitalize()} {'was' if refused == 1 else 'were'} refused, and the context before stayed."
    repaired, lost = sum(one.counts.repaired for one in made if one.counts), sum(one.counts.lost for one in made if one.counts)
    if report.source == "thread" and made:
        kept = "no critical value was lost" if not lost else f"{count(lost, 'critical value')} {'was' if lost == 1 else 'were'} lost"
        mended = (
            f"{count(repaired, 'value')} the summaries left out {'was' if repaired == 1 else 'were'} carried word for word, and " if repaired else ""
        )
        yield f"{(mended + kept)[:1].upper()}{(mended + kept)[1:]}."
    if report.source == "file" and made:
        grave = sum(found.level is Level.CRITICAL for one in made for found in one.audit)
        fate = "nothing grave is lost" if not grave else f"{count(grave, 'grave thing')} {'is' if grave == 1 else 'are'} lost, weakened or changed"
        yield f"Held against what was there before, {fate}."
    if report.restored:
        last = report.restored[-1]
        often = "once, to" if len(report.restored) == 1 else f"{len(report.restored)} times, last to"
        yield f"Somebody went back {often} version {last.restores}."
    if report.work is not None and not report.work.note:
        yield work_words(report.work)
    denied = sum(action.decision == "deny" and not action.is_answered for action in report.actions)
    if denied:
        yield f"{count(denied, 'tool call').capitalize()} {'was' if denied == 1 else 'were'} denied."


def _rules(report: Report) -> Iterator[Inline]:
    if not report.rules:
        yield (
            report.rules_note or "No rule is on record."
            if report.source == "thread"
            else "Nobody said a rule in it; what was pinned it does not say."
        )
        return
    kinds = {kind: sum(rule.kind == kind for rule in report.rules) for kind in ("enforced", "checked", "shown", "unenforced", "unknown")}
    words = {"shown": "shown only", "unenforced": "not enforced although it promises to be", "unknown": "of unknown standing"}
    if report.source == "thread":
        yield f"{count(len(report.rules), 'rule')}: {listed([f'{number} {words.get(kind, kind)}' for kind, number in kinds.items() if number])}."
        throughout = [rule for rule in report.rules if _is_throughout(rule, report)]
        if report.moments and throughout:
            who = (
                "It"
                if len(report.rules) == 1
                else "All"
                if len(throughout) == len(report.rules)
                else listed([rule.reference for rule in throughout[:_ANSWERED]])
            )
            yield f" {who} stood in every {report.unit}, from 1 to {report.moments[-1].number:,}."
        moved = [rule for rule in report.rules if rule.stretches and rule not in throughout]
        for rule in moved[:_ANSWERED]:
            yield f" {rule.reference}: {report.unit} {spans(joined([(one.first, one.last) for one in rule.stretches]))}."
        if len(moved) > _ANSWERED:
            yield f" {len(moved) - _ANSWERED:,} more came or went."
        return
    lost = [rule for rule in report.rules if " in compaction " in rule.sentence]
    yield f"{count(len(report.rules), 'rule')} {'was' if len(report.rules) == 1 else 'were'} looked for; " + (
        f"{len(lost)} did not get through a compaction." if lost else "all got through."
    )


def _is_throughout(rule: Rule, report: Report) -> bool:
    return sum(one.last - one.first + 1 for one in rule.stretches) == len([moment for moment in report.moments if moment.rules is not None])


def _compactions(report: Report) -> Iterator[Inline]:
    if not report.compactions:
        yield "There was none."
        return
    worth = [one for one in report.compactions if _is_worth_naming(one)]
    for one in worth[:_ANSWERED]:
        yield Link(f"Compaction {one.number}", f"compaction-{one.number}")
        yield f": {named(one) or summed(one)}. "
    if not worth:
        yield "None lost or changed anything critical."
    elif len(worth) > _ANSWERED:
        yield f"And {len(worth) - _ANSWERED} more."


def _is_worth_naming(one: Compaction) -> bool:
    if one.outcome is Outcome.REJECTED or one.rules_missing:
        return True
    if one.counts is None:
        return bool(one.audit_note) or any(found.level is Level.CRITICAL for found in one.audit)
    return bool(one.counts.repaired or one.counts.lost or one.counts.changed)


def _actions(report: Report) -> Iterator[Inline]:
    if not report.actions or report.source == "file":
        yield report.actions_note or "No tool call is on record."
        return
    by: dict[str, int] = {}
    for action in report.actions:
        words = (
            "answered in the tool's place"
            if action.is_answered
            else {"allow": "allowed", "deny": "denied", "ask": "waiting for a person"}.get(action.decision or "", "without a verdict")
        )
        by[words] = by.get(words, 0) + 1
    yield f"{count(len(report.actions), 'call')}: {listed([f'{number:,} {words}' for words, number in by.items()])}."
    notable = [action for action in report.actions if action.is_notable and action.decision != "deny"]
    for action in notable[-2:]:
        yield f" {action.tool} ({action.call_id}): {action.allowed_by}"


def _cache(report: Report) -> Iterator[Inline]:
    breaks = [one for one in report.moments if one.drift is not None]
    share = share_words(report.moments)
    if not breaks:
        yield " ".join(filter(None, (share, report.cache_note or ("It never broke." if report.moments else "Nothing is on record about it."))))
        return
    yield share
    for one in breaks[:_ANSWERED]:
        yield " " if share or one is not breaks[0] else ""
        yield Link(f"At {report.unit} {one.number:,}", f"turn-{one.number}")
        yield f": {one.why}."
    if len(breaks) > _ANSWERED:
        yield f" And {count(len(breaks) - _ANSWERED, 'more break')}."


def _back(report: Report) -> Iterator[Inline]:
    if not report.going_back:
        yield report.back_note or "There is no earlier version."
        return
    for one in report.going_back[-3:]:
        yield Link(f"To version {one.to}", f"back-{one.to}")
        yield f": {back_words(one)} "


def _events(report: Report, points: list[Point]) -> Iterator[Event]:
    by_number = {one.number: one for one in report.compactions}
    for x, number in report.marks:
        one = by_number[number]
        kind: Kind = "refused" if one.outcome is Outcome.REJECTED else "repaired" if one.outcome is Outcome.REPAIRED else "made"
        label = f"Compaction {number}: {_fate(one)}"
        tokens = one.tokens_before if kind == "refused" or not one.tokens_after else one.tokens_after
        yield Event(x, tokens, kind, label, f"compaction-{number}", number, one.tokens_before)
    by_x = dict(points)
    for x, version in report.backs:
        restored = next(one for one in report.restored if one.version == version)
        label = f"Rollback to version {restored.restores}: {restored.reason}"[: _SHORT * 3]
        # Between two moments, and on the line that joins them.
        around = [by_x[at] for at in (x - 1, x) if at in by_x] or [restored.tokens]
        yield Event(max(0.5, x - 0.5) if report.moments else x, sum(around) / len(around), "back", label, "going-back", version)


def _lane(rule: Rule) -> Lane:
    return Lane(rule.reference, [(one.first, one.last) for one in rule.stretches], is_enforced=rule.kind in {"enforced", "checked"})
