"""A report written by hand: one of everything a page shows, the same each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss
from langchain_ctxguard.domain.consent import ConsentStatus
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.version import FieldCounts, Outcome
from langchain_ctxguard.report.story import (
    Action,
    Compaction,
    Fate,
    GoingBack,
    Message,
    Moment,
    Report,
    Restored,
    Rule,
    Step,
    Stretch,
    Word,
)

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BOTH = ("no-deletes@1", "be-brief@1")
MORE = ("no-deletes@1", "no-exports@1", "be-brief@1")


def at(minutes: int) -> datetime:
    """Return a moment of that morning."""
    return AT + timedelta(minutes=minutes)


def example_report(text: str = "The refund is 250 EUR.", name: str = "order-1042") -> Report:
    """Return the report; `text` stands wherever words of a conversation may."""
    return Report(
        source="thread",
        name=name,
        where="sqlite:///ctxguard.db",
        made_at=at(600),
        messages=9,
        moments=(
            Moment(number=1, at=at(1), tokens=300, rules=BOTH),
            Moment(
                number=2,
                at=at(2),
                version=1,
                tokens=200,
                common=120,
                hit=100,
                share=0.5,
                offset=412,
                drift=DriftReason.COMPACTION,
                why="the context was compacted: version 1",
                rules=BOTH,
            ),
            Moment(
                number=3,
                at=at(4),
                version=1,
                tokens=240,
                common=90,
                hit=60,
                share=0.25,
                offset=77,
                drift=DriftReason.POLICY_UPDATE,
                why="a rule came in, moved, or has a new version: no-exports@1 came in",
                rules=MORE,
            ),
            Moment(number=4, at=at(5), version=3, tokens=260, common=240, hit=240, share=0.92, rules=MORE),
        ),
        marks=((2, 1), (3, 2)),
        backs=((4, 3),),
        span=4,
        rules=(
            Rule(
                reference="no-deletes@1",
                text="Never delete an order.",
                authority="system",
                severity="critical",
                kind="enforced",
                sentence="enforced by a tool rule",
                stretches=(Stretch(first=1, last=2, place=1, of=2), Stretch(first=3, last=4, place=1, of=3)),
            ),
            Rule(
                reference="be-brief@1",
                text=text,
                authority="system",
                severity="low",
                kind="shown",
                sentence="guidance, not enforced",
                stretches=(Stretch(first=1, last=2, place=2, of=2), Stretch(first=3, last=4, place=3, of=3)),
            ),
            Rule(
                reference="no-exports@1",
                kind="unenforced",
                sentence="not enforced: no tool rule or registered validator names it",
                stretches=(Stretch(first=3, last=4, place=2, of=3, is_reminded=True),),
                history=(f"2026-03-02 09:03:00Z: declared by security (system): {text}",),
            ),
        ),
        compactions=(
            Compaction(
                number=1,
                version=1,
                at=at(2),
                outcome=Outcome.REPAIRED,
                trigger="messages",
                reason="1 control fields the summary does not tell are carried verbatim.",
                strategy="extractive",
                tokens_before=420,
                tokens_after=200,
                evicted=3,
                kept=1,
                rules_in_force=2,
                counts=FieldCounts(before=3, kept=1, repaired=1, lost=1, changed=1),
                notes=("1 sentences removed from the summary: they weakened or contradicted a rule",),
                fates=(
                    Fate(what="repaired", kind="amount", label="refund", value="250 EUR", said_by="user", position=0, message="m-1", sentence=text),
                    Fate(what="lost", kind="date", how="the date or time had moved", said_by="tool", message="m-9"),
                ),
                audit=(
                    AuditFinding(
                        subject="field",
                        loss=Loss.CHANGED,
                        level=Level.CRITICAL,
                        kind="date",
                        text="2026-06-30",
                        label="deadline",
                        now="June",
                        said_by="user",
                        message_index=0,
                    ),
                ),
                before=(
                    Message(position=0, key="m-1", speaker="user", text=text),
                    Message(
                        position=1, key="m-2", speaker="ai", name="helper", text="", calls=(f'find_order({{"q": "{text}"}}) \u00b7 c1',), left_out=12
                    ),
                    Message(position=2, key="m-3", speaker="erased", text="", is_erased=True),
                ),
                after=(Message(speaker="told", name="context_summary", text=f"They spoke: {text}"),),
                consents=("consent.share_address",),
            ),
            Compaction(
                number=2,
                at=at(3),
                outcome=Outcome.REJECTED,
                trigger="messages",
                reason="The compaction would save 3 of the 90 tokens it evicts; at least 18 are asked for.",
                tokens_before=240,
                tokens_after=240,
                counts=FieldCounts(before=3),
            ),
        ),
        restored=(Restored(version=3, restores=1, at=at(5), reason=text, tokens=200),),
        current=3,
        actions=(
            Action(
                call_id="c1", tool="find_order", arguments=text, at=at(2), decision="allow", allowed_by="The policy, under rule \u2018look\u2019."
            ),
            Action(
                call_id="c2",
                tool="refund",
                arguments='{"amount": 250}',
                at=at(4),
                decision="allow",
                is_notable=True,
                allowed_by="Approved by eve (finance) through console, under rule \u2018refunds\u2019.",
                steps=(Step(at=at(4), text="a person was asked"), Step(at=at(5), text=f"approved by eve: {text}")),
                chain=("action c2", "The chain does not hold."),
                holds=False,
            ),
            Action(
                call_id="c3",
                tool="delete_order",
                at=at(5),
                decision="deny",
                allowed_by="Nobody: it was denied under rule \u2018keep-orders\u2019.",
                is_notable=True,
            ),
        ),
        consents=(
            Word(
                seq=1,
                field="consent.share_address",
                status=ConsentStatus.GRANTED,
                value="true",
                subject="ann",
                basis="consent",
                recorded_by="checkout page",
                surface="web",
                at=at(0),
                expires_at=at(900),
                is_in_force=True,
                crossed=(1,),
            ),
            Word(seq=2, field="retain_code", status=ConsentStatus.REVOKED, subject="ann", thread=name, basis=text, recorded_by="ann", at=at(1)),
        ),
        going_back=(
            GoingBack(to=1, lines=("- field refund: 250 EUR", "+ summary: They spoke", "~ other rules were in force"), messages_back=4),
            GoingBack(to=2, note="The content of this version was erased; its record stays."),
        ),
        in_sight=(Message(position=3, key="m-4", speaker="tool", text=text, answers="c1"),),
        in_sight_note="One of them is the newest.",
        faults=("Entry 2 of stream audit 'x' is not as it was written",),
        read_from=("3 versions and 2 compaction attempts of this thread.",),
    )
