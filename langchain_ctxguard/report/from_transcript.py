"""A conversation of a transcript -> what a report tells of it. What a transcript does not say is told as such."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.backends.transcripts.langchain_dump import FORMAT as LANGCHAIN
from langchain_ctxguard.backends.transcripts.langgraph_state import FORMAT as LANGGRAPH
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, Run
from langchain_ctxguard.core.audit import Audited, audit_run
from langchain_ctxguard.core.audit_steps import Step
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.infer import infer, superseding
from langchain_ctxguard.core.roles import calls_of, is_failure, results_of
from langchain_ctxguard.domain.audit import AuditFinding
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import TokenUsage
from langchain_ctxguard.report.messages import fitted, shown
from langchain_ctxguard.report.story import Action, Compaction, Message, Moment, Report, Rule, Stretch
from langchain_ctxguard.report.story import Step as ActionStep

_SNAPSHOTS = frozenset({LANGCHAIN, LANGGRAPH})
_KINDS = {
    CompactionKind.SUMMARY: "a summary took the place of messages",
    CompactionKind.DROPPED: "messages left and nothing took their place",
    CompactionKind.CLEARED: "tool results were emptied",
}
_ARGUMENTS = 2_000
_MOST_RULES = 200


def report_of_run(
    run: Run, *, where: str = "", constraints: Sequence[Constraint] | None = None, must_keep: Sequence[str] = (), now: datetime | None = None
) -> Report:
    """Return what a report tells of one conversation of a transcript.

    Args:
        run: As a reader of transcripts gives it.
        where: The file, for the page.
        constraints: Rules to look for; `None` looks for those people said.
        must_keep: Texts that must survive each compaction.
        now: When the report is made.
    """
    keys = message_keys(run.messages)
    told = [shown(message, position=at, key=key) for at, (message, key) in enumerate(zip(run.messages, keys, strict=True))]
    audited = list(audit_run(run.messages, run.compactions, is_snapshot=run.format in _SNAPSHOTS, constraints=constraints, must_keep=must_keep))
    count = counter_for()
    sizes = [count([message]) for message in run.messages]
    compactions = [_compaction(one, told, sizes) for one in audited]
    visible = set(audited[-1].step.after) if audited else set()
    start = max((one.step.mark.start for one in audited), default=0)
    in_sight = [message for at, message in enumerate(told) if at in visible or at >= start]
    report = Report(
        source="file",
        name=run.title or run.name,
        where=where or "a transcript",
        made_at=now or datetime.now(UTC),
        messages=len(run.messages),
        unit="message",
        moments=tuple(_moments(run.messages)),
        curve=tuple(_curve(sizes, [one.step for one in audited])),
        marks=tuple((min(max(1, one.step.mark.start), len(sizes)), one.step.number) for one in audited),
        span=max(1, len(sizes)),
        rules=tuple(_rules(run.messages, keys, audited, constraints)),
        rules_note="A transcript holds what was said, not what an application pinned."
        if constraints is None
        else "Whether a rule was pinned a transcript does not say; what stands here is where its words were found.",
        compactions=tuple(compactions),
        actions=tuple(_actions(run.messages)),
        actions_note="A transcript says which tools were called and what came of it, not who allowed it.",
        cache_note="A transcript holds what the provider charged where its format keeps that; what broke the cache it does not say.",
        consents_note="A transcript holds no consents: they rest in a ledger.",
        back_note="A transcript holds no versions to go back to.",
        in_sight=tuple(in_sight),
        read_from=(f"Read as {run.format}.", *(["The file ends in the middle of a line; what that line said is not here."] if run.truncated else [])),
    )
    return fitted(report)


def _compaction(one: Audited, told: Sequence[Message], sizes: Sequence[int]) -> Compaction:
    step, found = one
    gone = [at for at in step.before if at not in set(step.after)] if step.mark.summary is not None or step.mark.dropped else []
    summary = () if step.mark.summary is None else (told[step.mark.summary].model_copy(update={"speaker": "told"}),)
    stays = len(step.after) - len(summary)
    return Compaction(
        number=step.number,
        at=_moment(step.mark.timestamp),
        reason=_KINDS.get(CompactionKind(step.mark.kind), str(step.mark.kind)),
        tokens_before=sum(sizes[at] for at in step.before),
        tokens_after=sum(sizes[at] for at in step.after),
        evicted=len(gone),
        kept=stays,
        audit=() if found is None else found.findings,
        audit_note=f"Not audited: {step.why_not}." if found is None else "",
        before=tuple(told[at] for at in gone if at != step.mark.summary),
        before_note="" if gone else f"Which messages left cannot be told: {step.why_not}." if step.why_not else "",
        after=summary,
        after_note="" if summary else "No summary of it is in the file.",
    )


def _curve(sizes: Sequence[int], steps: Sequence[Step]) -> Iterable[tuple[int, int]]:
    """Yield the tokens in sight after each message, and what a compaction left of them."""
    by_start: dict[int, list[Step]] = {}
    for step in steps:
        by_start.setdefault(step.mark.start, []).append(step)
    total, seen = 0, set[int]()
    for at, size in enumerate(sizes):
        for step in by_start.get(at, ()):
            total = sum(sizes[index] for index in step.after)
            seen |= set(step.after)
            yield max(1, at), total
        total += 0 if at in seen else size
        yield at + 1, total
    for step in by_start.get(len(sizes), ()):
        yield len(sizes), sum(sizes[index] for index in step.after)


def _moments(messages: Sequence[BaseMessage]) -> Iterable[Moment]:
    for at, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        usage = TokenUsage.of(message.usage_metadata, message.response_metadata)
        if usage is None:
            continue
        share = None if usage.cache_hit is None else usage.cache_hit / usage.input_tokens if usage.input_tokens else 0.0
        yield Moment(number=at + 1, tokens=usage.input_tokens, hit=usage.cache_hit, share=share)


def _rules(messages: Sequence[BaseMessage], keys: Sequence[str], audited: Sequence[Audited], constraints: Sequence[Constraint] | None) -> list[Rule]:
    """Return the rules and until when they stood: until a compaction left them out, or to the end."""
    last = len(messages)
    ends = _ends(audited)
    if constraints is not None:
        return [
            Rule(
                reference=rule.reference,
                text=rule.text,
                authority=rule.authority,
                severity=rule.severity,
                kind="unknown",
                sentence=_fate(ends.get(rule.text)) or "no compaction in this file left it out",
                stretches=(Stretch(first=1, last=ends[rule.text][0], place=0, of=0),) if rule.text in ends else (),
            )
            for rule in constraints
        ]
    found = superseding(infer(messages, keys))[-_MOST_RULES:]
    return [
        Rule(
            reference=f"said in message {rule.position + 1}",
            text=rule.text,
            authority="said by a person",
            kind="shown",
            sentence=_fate(ends.get(rule.text)) or "words of the conversation, enforced by nothing",
            stretches=(Stretch(first=rule.position + 1, last=max(rule.position + 1, ends.get(rule.text, (last,))[0]), place=0, of=0),),
        )
        for rule in found
    ]


def _ends(audited: Sequence[Audited]) -> dict[str, tuple[int, int, AuditFinding]]:
    """Return where each rule that was lost stood last, which compaction lost it, and how."""
    ends: dict[str, tuple[int, int, AuditFinding]] = {}
    for step, found in audited:
        for finding in () if found is None else found.findings:
            if finding.subject == "constraint":
                ends.setdefault(finding.text, (max(1, step.mark.start), step.number, finding))
    return ends


def _fate(end: tuple[int, int, AuditFinding] | None) -> str:
    if end is None:
        return ""
    now = f"; in its place: \u201c{end[2].now}\u201d" if end[2].now else ""
    return f"{end[2].loss.value} in compaction {end[1]}{now}"


def _actions(messages: Sequence[BaseMessage]) -> Iterable[Action]:
    ended = {call_id: message for message in messages for call_id in results_of(message) if call_id}
    for at, message in enumerate(messages):
        for call in calls_of(message):
            result = ended.get(call.call_id or "")
            outcome: Literal["failed", "returned", "no result"] = "no result" if result is None else "failed" if is_failure(result) else "returned"
            yield Action(
                call_id=call.call_id or f"(no id, message {at + 1})",
                tool=call.name,
                arguments=call.arguments_text[:_ARGUMENTS],
                allowed_by="Not told by a transcript.",
                is_notable=outcome != "returned",
                steps=(ActionStep(text=f"asked for in message {at + 1}: {outcome}"),),
                position=at,
            )


def _moment(text: str | None) -> datetime | None:
    read: Callable[[str], datetime] = datetime.fromisoformat
    try:
        found = None if text is None else read(text)
    except ValueError:
        return None
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)
