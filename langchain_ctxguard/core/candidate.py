"""A draft -> the view it would make: cleaned, bounded, compiled, fitted to the budget, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.attributes import read_stated, with_values_in_force
from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary, text_tokens, with_files_listed
from langchain_ctxguard.core.carry_over import carried_over, copy_record, held_by
from langchain_ctxguard.core.clean import Cleaned, clean
from langchain_ctxguard.core.compile import Compiled, rendered, rendered_digests, shortened
from langchain_ctxguard.core.crossing import (
    NOTHING,
    Watched,
    by_weight,
    compared,
    invented,
    is_found_again,
    is_out_of_date,
    retold,
    told_by,
    watched,
    with_present_values,
    without_wrong_values,
)
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.evidence import listed_files
from langchain_ctxguard.core.identity import ANCHORS, is_synthetic, make_cut, message_keys
from langchain_ctxguard.core.invariants import Broken, broken
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.material import Bounds, Material, results_by_id
from langchain_ctxguard.core.merge import Passed, merge
from langchain_ctxguard.core.people_said import said_by_people, with_open, with_said, without_rules
from langchain_ctxguard.core.provenance import Sources, folded
from langchain_ctxguard.core.render import (
    copy_lines,
    inside,
    open_inferred,
    render_evidence,
    render_fact,
    render_fields,
    render_files,
    render_inferred_rule,
    render_rules,
    rules_fingerprint,
)
from langchain_ctxguard.core.requests import asked_in, recent, spoken_in
from langchain_ctxguard.core.retention import missing_rules
from langchain_ctxguard.core.roles import SUMMARY, escaped, text_of
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.core.tight_fit import TightRoom, fitted
from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut, TightForm
from langchain_ctxguard.domain.control import ControlField, FieldChange, FieldDiff
from langchain_ctxguard.domain.copied import Copied
from langchain_ctxguard.domain.evidence import Evidence, Stated
from langchain_ctxguard.domain.invariant import StructuredState
from langchain_ctxguard.domain.standing import Mode
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.version import FieldCounts, FieldNote, field_digest

_NOTED = 100
"""Control fields named in a record one by one."""

_LITTLE = 8
"""A summary is cut again by one part in so many at most."""

_SLACK = 4
"""Tokens by which counts of parts and of the whole may differ."""

_ROUNDS = 3
"""How often the control fields are looked for again after some were carried: those may have pushed others out."""


_READ = ("watched", "said", "sources", "_stated", "_retold", "_fields_shown", "_kept", "_passed", "_around")
"""What a bench reads once of the messages, whatever it makes of it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that could be committed."""

    head: ContextHead
    view: Compiled
    tokens: int
    cleaned: Cleaned
    dropped_keys: int
    repaired: int
    """How many texts to keep were missing from the summary and were put in verbatim."""

    lost: int = 0
    """How many of them found no room."""

    diff: FieldDiff = field(default_factory=FieldDiff)
    """What the draft alone would have done to the control fields."""

    missing: tuple[ControlField, ...] = ()
    """Critical fields that this view does not tell."""

    fields: FieldCounts = field(default_factory=FieldCounts)
    notes: tuple[FieldNote, ...] = ()
    """The critical fields that the draft lost or changed, for the record."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A view, and what became of the control fields in it."""

    head: ContextHead
    view: Compiled
    tokens: int
    summary: StructuredSummary
    diff: FieldDiff = field(default_factory=FieldDiff)
    missing: tuple[ControlField, ...] = ()
    repaired: int = 0
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class _Kept:
    """What stays of the conversation, the same whatever the summary says."""

    tail: Sequence[BaseMessage]
    cut: Cut
    newest: str | None
    elided: dict[str, int]


@dataclass(frozen=True)
class Bench:
    """Everything a candidate is made of but the draft."""

    situation: Situation
    plan: Plan
    material: Material
    bounds: Bounds
    count: CountTokens
    accepts: bool = False
    """A person accepted what the draft does to the control fields: nothing is carried."""

    began: float | None = None
    """When the attempt began, by the clock of the plan."""

    is_bare: bool = False
    """Carry values without the sentences they stood in."""

    is_tight: bool = False
    """Write the record in the tight form."""

    is_least: bool = False
    """Tell nothing but what must stay: rules and critical values."""

    def tight(self, *, is_least: bool = False) -> Bench:
        """Return the bench that writes the record tight, or no more of it than must stay; what was read of the messages is not read again."""
        if is_least:
            # Both tell of the same messages, which are read before they part.
            self.watched, self.said, self.sources  # noqa: B018
        return self.read_by(replace(self, is_tight=True, is_bare=True, is_least=is_least))

    def read_by(self, other: Bench) -> Bench:
        """Return another bench for the same cut, which need not read the messages again."""
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name in _READ})
        return other

    @property
    def seconds(self) -> float:
        """How long the attempt has taken so far; 0 where nobody measures."""
        return 0.0 if self.plan.clock is None or self.began is None else round(self.plan.clock() - self.began, 6)

    def cleaned(self, draft: SummaryDraft, sources: Sources) -> Cleaned:
        """Return the summary a draft amounts to, merged with the one in force. An empty draft carries that on."""
        previous = self._previous
        asked = asked_in(self.material.evicted)
        goal = (previous.original_goal if previous is not None else "") or (asked[0] if asked else "")
        rules = tuple(rule.text for rule in self.situation.rules)
        cleaned = clean(
            draft,
            sources,
            previous=previous,
            original_goal=goal,
            language=language_of(" ".join(spoken_in(self.material.evicted)[-8:])),
            rules=rules,
            requests=recent(asked, self.material.evicted),
        )
        merged = merge(cleaned.summary, previous, self._passed, is_told=not draft.is_empty)
        return replace(cleaned, summary=merged.summary, restored=merged.restored, summaries=merged.summaries)

    @cached_property
    def _passed(self) -> Passed:
        material = self.material
        messages, keys = material.repaired.messages[material.at :], material.keys[material.at :]
        return Passed.of(material.evicted, material.sources, messages, keys, state_plan=self.plan.todos)

    def candidate(self, cleaned: Cleaned, sources: Sources, *, dropped_keys: int = 0) -> Candidate:
        """Return the version a cleaned summary makes."""
        cleaned = replace(cleaned, summary=self._standing(cleaned.summary))
        made = self._made(cleaned.summary, self.bounds)
        lost = _lost(self.plan.must_keep, made.view, sources)
        missing = lost
        for summary, bounds in self._carrying(lost, cleaned.summary, sources):
            again = self._made(summary, bounds)
            still = _lost(lost, again.view, sources)
            if len(still) < len(missing):
                made, missing = again, still
            if not missing:
                break
        counts = self._counted(made)
        repaired = len(lost) - len(missing)
        return Candidate(
            made.head,
            made.view,
            made.tokens,
            cleaned,
            dropped_keys,
            repaired,
            len(missing),
            diff=made.diff,
            missing=made.missing,
            fields=counts,
            notes=_notes(made),
        )

    def _standing(self, summary: StructuredSummary) -> StructuredSummary:
        """Return a summary without rules of people's that do not stand; in the tight form with everything people said in what leaves.

        Which of that has room is settled when the view is made.
        """
        ended, before = self.material.ended, self.situation.head.body
        summary = without_rules(summary, ended) if ended else summary
        if not self.is_tight:
            # In the ordinary form rules are quoted apart.
            quoted = {folded(rule.text) for rule in self.material.evidence.inferred} if before is not None and before.tight is not None else ()
            return without_rules(summary, quoted) if quoted else summary
        earlier = () if before is None else before.summary.facts
        goal = summary.original_goal if before is not None and before.tight is None else ""
        facts = with_open(summary, goal=goal, evicted=self.material.sources)
        pinned = [folded(rule.text) for rule in self.situation.rules]
        return summary.model_copy(update={"facts": with_said(facts, self.said, earlier=earlier, pinned=pinned)})

    @cached_property
    def said(self) -> tuple[Fact, ...]:
        """What people said in what leaves now."""
        material = self.material
        return said_by_people(material.evicted, material.sources, material.evidence.inferred, infers=self.plan.inferred != "off")

    def _made(self, summary: StructuredSummary, bounds: Bounds) -> _Made:
        """Return the view of a summary with the control fields it lost carried, and the values that hold no longer marked or removed."""
        plan, seen = self.plan.fields, self.watched
        stated = self._stated[1]
        if plan is None or not (seen.checked or seen.others or seen.has_history or any(one.earlier for one in stated)):
            return _Made(*self._fitted(summary, bounds), summary)
        mended = with_present_values(summary, seen, plan, stated)
        summary, replaced = mended.summary, mended.replaced
        built = self._fitted(summary, bounds)
        first = self._compared((*seen.checked, *seen.others), built[0])
        made = _Made(*built, summary, diff=first, missing=self._grave(first), replaced=replaced)
        if plan.settings.on_loss == "warn" or self.accepts or not made.missing:
            return made
        wanted = made.missing
        wrong = [change for change in first.changed if change.before in wanted]
        summary = without_wrong_values(summary, wrong).summary
        asked = {field.field_id for field in wanted}
        for _ in range(_ROUNDS):
            carried = [field.field_id for field in by_weight(field for field in seen.checked if field.field_id in asked)]
            built = self._fitted(summary, bounds, tuple(carried))
            shown = () if built[0].body is None else built[0].body.evidence.carried
            after = self._compared([field for field in seen.checked if field.field_id not in shown], built[0])
            left = self._grave(after)
            made = _Made(*built, summary, diff=first, missing=left, repaired=len(shown), replaced=replaced)
            more = {field.field_id for field in left} - asked
            if not more:
                break
            # What the carried fields pushed out of the summary is carried too.
            asked |= more
        return made

    def _compared(self, fields: Sequence[ControlField], head: ContextHead) -> FieldDiff:
        plan = self.plan.fields
        # A value that marks a quote as out of date stands in another's sentence: it is not told by that.
        # Nor by a consent whose value happens to be the same.
        body = None if head.body is None else carried_over(head.body, None)
        body = None if body is None else body.model_copy(update={"evidence": body.evidence.model_copy(update={"retold": {}})})
        shown = [] if body is None else rendered(body, version=head.version)
        return FieldDiff() if plan is None else compared(fields, shown, self.watched, plan)

    def _grave(self, diff: FieldDiff) -> tuple[ControlField, ...]:
        """Return the critical fields of a diff that must be mended, as `on_change` has it."""
        plan = self.plan.fields
        on_change = "keep" if plan is None else plan.settings.on_change
        changed = diff.changed if on_change != "accept" else ()
        if plan is not None and on_change == "recheck" and changed:
            messages = dict(zip(self.material.keys, self.material.left, strict=False))
            changed = tuple(change for change in changed if is_found_again(change.before, messages, plan))
        return tuple(change.before for change in (*diff.lost, *changed) if is_grave(change))

    def _counted(self, made: _Made) -> FieldCounts:
        plan, seen = self.plan.fields, self.watched
        if plan is None or made.head.body is None:
            return FieldCounts()
        shown = rendered(made.head.body, version=made.head.version)
        carried = made.head.body.evidence.carried
        alone = made.head.body.evidence.model_copy(update={"actions": (), "artifacts": (), "omitted_actions": 0, "inferred_shown": 0})
        findings = [*made.diff.lost, *made.diff.changed]
        grave = [change for change in findings if is_grave(change)]
        return FieldCounts(
            before=len(seen.checked),
            kept=len(seen.checked) - len([change for change in findings if change.before.critical]),
            repaired=made.repaired,
            lost=len(made.missing),
            changed=sum(change in made.diff.changed for change in grave),
            weak=sum(change.before.critical and change.before.is_weak for change in findings),
            added=len(invented((message for message in shown if message.name == SUMMARY), seen, plan)),
            other_lost=sum(not change.before.critical for change in findings),
            stale_replaced=made.replaced,
            demoted=seen.demoted,
            aged_out=seen.aged_out,
            carried=len(carried),
            carried_tokens=text_tokens(self.count, render_evidence(alone)) if carried else 0,
        )

    def _carrying(self, lost: Sequence[str], summary: StructuredSummary, sources: Sources) -> Iterator[tuple[StructuredSummary, Bounds]]:
        """Yield summaries with the lost texts as facts, and their bounds: first everything, then less and less of what the summarizer told."""
        if not lost:
            return
        facts = tuple(_carried(text, sources) for text in lost)
        yield summary.model_copy(update={"facts": (*summary.facts, *facts)}), self.bounds
        # The bound is ours to stretch, the goal is not.
        room = sum(text_tokens(self.count, f"- {render_fact(fact)}\n") for fact in facts)
        stretched = replace(self.bounds, summary=self.bounds.summary + room)
        left = max(self.bounds.floor, self.bounds.summary - room)
        shorter = bounded_summary(summary, version=self.situation.head.version + 1, max_tokens=left, count=self.count)
        yield shorter.model_copy(update={"facts": (*shorter.facts, *facts)}), stretched
        yield StructuredSummary(facts=facts, language=summary.language), stretched

    def verdict(self, done: Candidate, *, tokens_before: int, is_full: bool) -> str | None:
        """Return why a candidate is refused, or `None`."""
        limit = self.plan.limit
        if limit is not None and done.tokens > limit:
            return f"The compacted view holds {done.tokens} tokens and the budget is {limit}."
        if done.missing and not is_full and self.plan.fields is not None and self.plan.fields.settings.on_loss != "warn" and not self.accepts:
            return f"{len(done.missing)} critical control fields found no room in the compacted view."
        if done.lost and not is_full:
            return f"{done.lost} of the texts to keep found no room in the compacted view."
        gain = tokens_before - done.tokens
        least = self.plan.settings.min_gain * self.material.tokens
        # In a full window a small gain that fits is better than none; only growth is refused.
        if self.plan.must_gain and (gain <= 0 or (gain < least and not is_full)):
            return f"The compaction would save {gain} of the {self.material.tokens} tokens it evicts; at least {int(least)} are asked for."
        return None

    def with_gain(self, done: Candidate, *, tokens_before: int) -> Bench | None:
        """Return the bench whose summary is as much shorter as a candidate saves too little; `None` where that is nothing, or more than a little."""
        body = done.head.body
        least = int(self.plan.settings.min_gain * self.material.tokens)
        short = least - (tokens_before - done.tokens)
        if not self.plan.must_gain or short <= 0 or body is None:
            return None
        told = sum(self.count([message]) for message in rendered(body, version=done.head.version) if message.name == SUMMARY)
        room = min(self.bounds.summary, told) - short - _SLACK
        return None if room < self.bounds.floor or short * _LITTLE > told else replace(self, bounds=replace(self.bounds, summary=room))

    @property
    def without_names(self) -> Bench:
        """The bench that quotes people without the names of the messages they said it in."""
        return replace(self, material=replace(self.material, evidence=self.material.evidence.model_copy(update={"inferred_bare": True})))

    def unsaid(self, done: Candidate) -> tuple[int, list[str]]:
        """Return how many rules and values of people's a view does not tell, and the lines that would tell them."""
        body = done.head.body
        shown = 0 if body is None else body.evidence.inferred_shown
        waiting = open_inferred(self.material.evidence.inferred)
        quotes = waiting[len(waiting) - self.material.evidence.inferred_shown : len(waiting) - shown]
        plan = self.plan.fields
        is_carrying = plan is not None and plan.settings.on_loss != "warn" and not self.accepts
        values = [field for field in done.missing if field.origin == "user"] if is_carrying else []
        lines = [*(render_inferred_rule(rule, self._retold, is_bare=True) for rule in quotes), *render_fields(values, is_bare=True)]
        return len(quotes) + len(values), lines

    def broken(self, done: Candidate) -> tuple[Broken, ...]:
        """Return what must hold and would not, if this candidate were committed: first of all that what was read is what it holds."""
        crossing = self.plan.crossing
        differs = () if copy_record(crossing.copied, done.head.body).holds else (Broken("copy", "what it holds of the record is not what was read"),)
        if not (crossing.invariants or crossing.checks):
            return differs
        missing = {field.field_id for field in done.missing}
        told = tuple(field for field in self.watched.checked if field.field_id not in missing)
        held = held_by(done.head.body)
        after = self._structured(held, told, unseen=missing_rules(self.situation.rules, done.view.system))
        return (*differs, *broken(crossing.invariants, self._before, after, checks=crossing.checks))

    @cached_property
    def broken_now(self) -> tuple[Broken, ...]:
        """What must hold and does not hold as things are: then the previous context cannot stand in for a refused candidate."""
        crossing = self.plan.crossing
        return broken(crossing.invariants, self._before, self._before, checks=crossing.checks)

    @cached_property
    def _before(self) -> StructuredState:
        return self._structured(self.plan.crossing.copied, self.watched.checked)

    def _structured(self, copied: Copied, fields: tuple[ControlField, ...], *, unseen: Sequence[str] = ()) -> StructuredState:
        return StructuredState(
            constraints={rule.constraint_id: rule for rule in self.situation.rules if rule.constraint_id not in unseen},
            consents=copied.consents,
            fields=fields,
            tools=self.plan.crossing.tools,
            state={key.name: key.value for key in copied.state},
            mode=Mode.ACT if copied.standing is None else copied.standing.mode,
            at=None if copied.consents is None else copied.consents.at,
        )

    @cached_property
    def watched(self) -> Watched:
        """The control fields around this cut."""
        plan, situation, material = self.plan.fields, self.situation, self.material
        if plan is None:
            return NOTHING
        return watched(
            material.evidence.fields,
            material.left,
            material.repaired.messages[material.at :],
            keys=material.keys,
            plan=plan,
            must_keep=self.plan.must_keep,
            request_key=material.request_key,
            is_apart=self._is_apart,
            stated=self._stated[1],
            start=situation.start,
        )

    @cached_property
    def listing_tokens(self) -> int:
        """What the line that names the files already done takes of the summary's bound."""
        files = listed_files(with_files_listed(self.material.evidence, max_tokens=self.bounds.summary, count=self.count))
        return text_tokens(self.count, render_files(files)) if files else 0

    @cached_property
    def _stated(self) -> tuple[tuple[Stated, ...], tuple[Stated, ...]]:
        """What people stated of attributes: at the cut, and after the messages that stay."""
        material = self.material
        if self.plan.fields is None:
            return (), ()
        stored = read_stated(material.evidence.stated, told_by(material.left))
        return stored, read_stated(stored, told_by(material.repaired.messages[material.at :]))

    @cached_property
    def _retold(self) -> dict[str, str]:
        """The quotes of the evidence that tell a value that holds no longer."""
        plan = self.plan.fields
        return {} if plan is None else retold(self.material.evidence.inferred, self.watched, plan, self._stated[1])

    @property
    def out_of_date(self) -> Callable[[str], bool] | None:
        """What says whether a text tells a value that holds no longer; `None` where nothing was superseded."""
        plan, seen, stated = self.plan.fields, self.watched, self._stated[1]
        if plan is None or not (seen.has_history or any(one.earlier for one in stated)):
            return None
        return lambda text: is_out_of_date(text, seen, plan, stated)

    @cached_property
    def values_tokens(self) -> int:
        """Tokens the critical values that people gave would take without their sentences, those aside that a quote tells."""
        plan = self.plan.fields
        if plan is None or plan.settings.on_loss == "warn":
            return 0
        quoted = "\n".join(folded(rule.text) for rule in open_inferred(self.material.evidence.inferred))
        grave = [field for field in self.watched.checked if field.origin == "user" and field.critical and not (field.is_weak or field.is_closed)]
        lines = render_fields([field for field in grave if folded(field.raw) not in quoted], is_bare=True)
        return sum(text_tokens(self.count, f"- {line}\n") - text_tokens(self.count, "") for line in lines)

    @cached_property
    def _quoted(self) -> int:
        """Tokens of the quotes, with what those that are out of date are marked by."""
        evidence = self.material.evidence
        if not (self._retold and evidence.inferred_shown):
            return self.bounds.quoted
        alone = Evidence(inferred=evidence.inferred, inferred_shown=evidence.inferred_shown, inferred_bare=evidence.inferred_bare)
        marked = alone.model_copy(update={"retold": self._retold})
        more = text_tokens(self.count, render_evidence(marked)) - text_tokens(self.count, render_evidence(alone))
        return self.bounds.quoted + max(0, more)

    @cached_property
    def _fields_shown(self) -> tuple[ControlField, ...]:
        """The fields of the ledger, the sentences they stood in put right."""
        return tuple(
            field.model_copy(update={"context": new})
            if field.context and (new := with_values_in_force(field.context, self._stated[1])[0]) != field.context
            else field
            for field in self.watched.ledger
        )

    def _is_apart(self, field: ControlField) -> bool:
        """Say whether a stressed sentence is a rule that inferred rules answer for: decided by a person, or not to be quoted."""
        if rule_in(field.raw) is None:
            return False
        plain = folded(field.raw)
        if any(plain in folded(text) or folded(text) in plain for text in self.material.ended):
            return True
        decided = (rule.text for rule in self.material.evidence.inferred if rule.status != "inferred")
        return self.plan.inferred != "pin" or any(plain in folded(text) or folded(text) in plain for text in decided)

    @cached_property
    def sources(self) -> Sources:
        """What the evicted messages and the carried request say, by key: what a user still asks for, no tool has found out."""
        messages, keys = self.material.evicted, self.material.sources
        request, key = self.material.request, self.material.request_key
        if request is not None and key is not None and key not in keys:
            messages, keys = (request, *messages), (key, *keys)
        return Sources.of(messages, keys)

    @property
    def _previous(self) -> StructuredSummary | None:
        return self.material.previous

    @cached_property
    def _kept(self) -> _Kept:
        situation, material = self.situation, self.material
        tail = situation.tail[material.raw_at :]
        start = situation.start + material.raw_at
        keys = message_keys(tail[:ANCHORS], start=start)
        # Named as the original has it: in the repaired order another message may be the last one.
        evicted = _key_before(situation, material.raw_at)
        cut = make_cut(tail[:ANCHORS], keys, 0, start=start).model_copy(update={"evicted": evicted})
        newest = _key_before(situation, len(situation.tail)) if tail else None
        shown = results_by_id(material.repaired.messages[material.at :])
        return _Kept(tail, cut, newest, {call_id: limit for call_id, limit in material.elided.items() if call_id in shown})

    def _fitted(self, summary: StructuredSummary, bounds: Bounds, carried: tuple[str, ...] = ()) -> tuple[ContextHead, Compiled, int]:
        """Return head, view and tokens with summary and evidence shrunk until the view fits the goal, or they can shrink no further."""
        goal = self.plan.goal
        if self.is_tight:
            return self._tightly(summary, carried)
        head, view = self._built(summary, bounds, carried)
        tokens = self._tokens(view)
        for _ in range(8):
            if goal is None or tokens <= goal or head.body is None:
                break
            used = [self.count([message]) for message in rendered(head.body, version=head.version)]
            if not used:
                break
            over = tokens - goal
            evidence_used = min(bounds.evidence, used[0]) if len(used) > 1 else 0
            evidence = max(0, evidence_used - over)
            rest = over - (evidence_used - evidence)
            narrower = replace(bounds, evidence=evidence, summary=max(bounds.floor // 2, min(bounds.summary, used[-1]) - rest))
            if narrower == bounds:
                # The carried fields give way last: their sentences first, then the lightest of them.
                narrower = replace(bounds, carried=bounds.carried // 2)
                if not carried or narrower.carried == bounds.carried:
                    break
            bounds = narrower
            head, view = self._built(summary, bounds, carried)
            tokens = self._tokens(view)
        return head, view, tokens

    def _tokens(self, view: Compiled) -> int:
        return self.count(view.all) + self.plan.tool_tokens

    def _built(self, summary: StructuredSummary, bounds: Bounds, carried: tuple[str, ...]) -> tuple[ContextHead, Compiled]:
        found = self._found(carried)
        evidence = bounded_evidence(found, max_tokens=bounds.evidence, count=self.count, carried_tokens=bounds.carried, quoted_tokens=self._quoted)
        evidence = with_files_listed(evidence, max_tokens=bounds.summary, count=self.count)
        version = self.situation.head.version + 1
        summary = bounded_summary(summary, version=version, max_tokens=bounds.summary, count=self.count, files=listed_files(evidence))
        return self._version(summary, evidence)

    def _tightly(self, summary: StructuredSummary, carried: tuple[str, ...]) -> tuple[ContextHead, Compiled, int]:
        """Return head, view and tokens in the tight form, with as much of what people said as has room."""
        situation = self.situation
        before, after = self._around

        def tokens(text: str) -> int:
            record = HumanMessage(text, name=SUMMARY, id=f"ctx-{'0' * 24}")
            return self.count([*before, record, *after]) + self.plan.tool_tokens

        room = TightRoom(
            goal=self.plan.goal or self.plan.window,
            tokens=tokens,
            count=self.count,
            version=situation.head.version + 1,
            copy=copy_lines(self.plan.crossing.copied),
            critical=frozenset(folded(field.raw) for field in self.watched.checked if field.origin == "user" and field.critical),
            wanted=frozenset(map(folded, self.plan.must_keep)),
            renewed=self._renewed,
            is_least=self.is_least,
        )
        evidence = self._found(carried).model_copy(update={"carried_bare": True, "inferred_bare": True})
        made = fitted(summary, evidence, room)
        head, view = self._version(made.summary, made.evidence, tight=made.tight)
        return head, view, self._tokens(view)

    @cached_property
    def _renewed(self) -> frozenset[str]:
        """The values in force that took the place of others, folded."""
        fields = (field.raw for field in self.watched.present if not field.is_closed and any(event.reason != "conflict" for event in field.history))
        return frozenset(map(folded, (*fields, *(one.value for one in self._stated[1] if one.earlier))))

    @cached_property
    def _around(self) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """What stands before and after the record in the view of this cut."""
        request = self.material.request
        view = self.situation.view_of(ContextHead(version=0), None, self._kept.tail)
        elided = self._kept.elided
        kept = shortened(view.messages, elided, can_read=bool(elided) and self.plan.can_read) if elided else view.messages
        return ([] if view.system is None else [view.system]), [*([] if request is None else [request]), *kept]

    @property
    def without_record(self) -> int:
        """Tokens of the view of this cut without the record of what left."""
        before, after = self._around
        return self.count([*before, *after]) + self.plan.tool_tokens

    def _found(self, carried: tuple[str, ...]) -> Evidence:
        """Return the whole record of this cut, with the fields that are to be carried."""
        update = {"fields": self._fields_shown, "carried": carried, "carried_bare": self.is_bare, "stated": self._stated[0], "retold": self._retold}
        return self.material.evidence.model_copy(update=update)

    def _version(self, summary: StructuredSummary, evidence: Evidence, *, tight: TightForm | None = None) -> tuple[ContextHead, Compiled]:
        """Return the head that holds a summary and a record, and its view."""
        situation, material, kept = self.situation, self.material, self._kept
        version = situation.head.version + 1
        seed = canonical_json([self.plan.nonce, version, kept.cut.model_dump(), summary.model_dump(mode="json"), evidence.model_dump(mode="json")])
        body = ContextBody(
            summary=summary,
            evidence=evidence,
            summary_id=f"ctx-{digest_of(seed)[:24]}",
            request=material.request_key,
            elided=kept.elided,
            can_read=bool(kept.elided) and self.plan.can_read,
            committed_at=kept.newest,
            rules_fingerprint=rules_fingerprint(situation.rules),
            tight=tight,
        )
        body = carried_over(body, self.plan.crossing.copied)
        body = body.model_copy(update={"rendered": rendered_digests(body, render_rules(situation.rules), version=version)})
        head = ContextHead(version=version, cut=kept.cut, body=body)
        return head, situation.view_of(head, material.request, kept.tail)


def _notes(made: _Made) -> tuple[FieldNote, ...]:
    """Return which critical fields the draft lost or changed, and which of them the view tells all the same."""
    carried = frozenset(() if made.head.body is None else made.head.body.evidence.carried)
    grave = [(change, change in made.diff.changed) for change in made.diff if is_grave(change)]
    return tuple(
        FieldNote(
            field=field_digest(change.before.field_id),
            kind=change.before.kind,
            origin=change.before.origin,
            message=change.before.message_id,
            is_changed=is_changed,
            how=change.how,
            is_carried=change.before.field_id in carried,
        )
        for change, is_changed in grave[:_NOTED]
    )


def _key_before(situation: Situation, at: int) -> str | None:
    """Return the key of the message before `tail[at]`, or of the last one evicted earlier."""
    if at == 0:
        return situation.head.cut.evicted
    before = sum(not is_synthetic(message) for message in situation.tail[: at - 1])
    return message_keys(situation.tail[at - 1 : at], start=situation.start + before)[0]


def is_grave(change: FieldChange) -> bool:
    """Say whether a finding must be mended: of a critical field that is settled and still open."""
    field = change.before
    return field.critical and not (field.is_weak or field.is_closed)


def _lost(texts: Sequence[str], view: Compiled, sources: Sources) -> list[str]:
    """Return those of `texts` that the sources say and the view does not."""
    if not texts:
        return []
    # No text reaches over a line break: what is folded holds none.
    # A tight record leaves out labels and full stops that are there for whoever reads it.
    texts_shown = (text for message in view.messages for text in {text_of(message), inside(text_of(message))})
    shown = "\n".join(map(folded, texts_shown))
    said = "\n".join(sources.texts.values())
    return [text for text in texts if (plain := folded(text)) and plain not in shown and folded(escaped(text)) not in shown and plain in said]


def _carried(text: str, sources: Sources) -> Fact:
    plain = folded(text)
    key = next(key for key, spoken in sources.texts.items() if plain in spoken)
    return Fact(statement=text, said_by=sources.origins[key], source=key)
