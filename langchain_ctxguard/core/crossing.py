"""The control fields of one compaction: which were there, which the candidate still tells, which must be carried, which values are out of date.

The summarizer gets no vote: what the view after does not say is copied into it, with the sentence it stood in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.attributes import with_values_in_force
from langchain_ctxguard.core.bounds import bounded_evidence, text_tokens
from langchain_ctxguard.core.carried import sentence_of
from langchain_ctxguard.core.compile import rendered, rendered_digests
from langchain_ctxguard.core.diff import diff_fields, how_changed, stale_mentions
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.labels import is_same_label
from langchain_ctxguard.core.ledger import Said, merge_fields
from langchain_ctxguard.core.lexicon import claims_authority, gives_order, hides_text
from langchain_ctxguard.core.normalize import group_of, is_same_field_value, key_of, normalize
from langchain_ctxguard.core.recalled import is_retold
from langchain_ctxguard.core.render import inside, render_evidence, render_rules
from langchain_ctxguard.core.roles import is_foreign_summary, is_note, speaker_of, text_of
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.core.text import unmarked
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.control import STATEMENTS, ControlField, FieldChange, FieldDiff, FieldKind
from langchain_ctxguard.domain.evidence import Stated
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, StructuredSummary

CONTEXT_LIMIT = 200
"""Characters of the sentence a carried value is shown with."""

_HISTORY_KEPT = 6
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class Watched:
    """The control fields of a conversation around one cut."""

    ledger: tuple[ControlField, ...]
    """Fields of everything before the cut, as the head stores them: the critical, and the newest of the others."""

    checked: tuple[ControlField, ...]
    """The critical ones in force: each must be in the view afterwards."""

    others: tuple[ControlField, ...]
    """Non-critical ones of the part that leaves now."""

    present: tuple[ControlField, ...]
    """All of them after the messages that stay: a value these replaced holds no longer."""

    known: frozenset[str]
    """Keys of every value anybody said."""

    beside: frozenset[str]
    """Keys of the values that stand in messages that stay."""

    leaving: tuple[ControlField, ...] = ()
    """Those in force, critical or not, whose value stands in no message that stays."""

    demoted: int = 0
    aged_out: int = 0

    @cached_property
    def has_history(self) -> bool:
        """Whether any value was replaced or any matter ended."""
        return any(field.history for field in self.present)


NOTHING = Watched((), (), (), (), frozenset(), frozenset())


def watched(
    ledger: Sequence[ControlField],
    evicted: Sequence[BaseMessage],
    kept: Sequence[BaseMessage],
    *,
    keys: Sequence[str],
    plan: FieldPlan,
    must_keep: Sequence[str] = (),
    request_key: str | None = None,
    is_apart: Callable[[ControlField], bool] = lambda _: False,
    stated: Sequence[Stated] = (),
    start: int = 0,
) -> Watched:
    """Return the fields around a cut.

    Args:
        ledger: Fields of what was evicted before.
        evicted: Messages that leave now; the carried request was read when it was evicted and is not among them.
        kept: Messages after the cut.
        keys: Identity of the evicted messages, then of the kept ones.
        plan: Settings and patterns.
        must_keep: Values, labels or sentences that are critical for this compaction.
        request_key: The evicted message that stands in the view all the same.
        is_apart: Says of a stressed sentence that it is a rule somebody decided on, or that is not to be looked for: it is no value to carry.
        stated: What people stated of attributes: a value one of these replaced holds no longer.
        start: Position of `evicted[0]` in the original list.
    """
    cap = plan.settings.critical_cap
    wanted = (*plan.settings.critical, *must_keep)
    found = _found(evicted, keys[: len(evicted)], plan, start)
    said = _said(evicted, keys[: len(evicted)])
    whole = merge_fields(ledger, found, said=said, must_keep=wanted, cap=cap)
    here = set(said)
    fields = [_in_context(field, said) if field.critical and field.message_id in here else field for field in whole.fields]
    fields = [
        field.model_copy(update={"critical": False}) if field.kind is FieldKind.EMPHASIS and field.critical and is_apart(field) else field
        for field in fields
    ]
    stored, aged_out = _bounded(fields, plan.settings.remembered)
    staying = _found(kept, keys[len(evicted) :], plan, start + sum(not is_synthetic(message) for message in evicted))
    present = merge_fields(stored, staying, said=_said(kept, keys[len(evicted) :]), must_keep=wanted, cap=10**6).fields if staying else stored
    if any(field.history for field in present):
        # The sentence of a value that holds may tell another one that does not.
        stored = tuple(
            field.model_copy(update={"context": _fresh(field.context, present, plan)[0]}) if field.critical and field.context else field
            for field in stored
        )
    holds = {field.field_id: key_of(field) for field in present if not field.is_closed}
    is_ended = _ended_by(stated, said)
    in_force = [field for field in stored if holds.get(field.field_id) == key_of(field) and not is_ended(field)]
    standing = (field for field in (*found, *ledger) if request_key is not None and field.message_id == request_key)
    beside = frozenset(key_of(field) for field in (*staying, *standing))
    known = {key_of(field) for field in (*found, *staying, *present)}
    known |= {key_of(ControlField(kind=field.kind, raw=event.raw, value=event.value)) for field in present for event in field.history}
    return Watched(
        ledger=stored,
        checked=tuple(field for field in in_force if field.critical),
        others=tuple(field for field in in_force if not field.critical and field.message_id in here),
        present=tuple(present),
        known=frozenset(known),
        beside=beside,
        # Also what is too old to be remembered after this: now it can still be told.
        leaving=tuple(
            field
            for field in fields
            if not field.is_closed and (key := key_of(field)) not in beside and holds.get(field.field_id, key) == key and not is_ended(field)
        ),
        demoted=len(whole.demoted),
        aged_out=aged_out,
    )


def _ended_by(stated: Sequence[Stated], said: Mapping[str, Said]) -> Callable[[ControlField], bool]:
    """Return what says of a field that the sentence it was said in tells an attribute people have given another value since."""
    if not any(one.earlier for one in stated):
        return lambda _: False

    def is_ended(field: ControlField) -> bool:
        if field.kind in STATEMENTS or field.origin != "user":
            return False
        source = said.get(field.message_id or "")
        told = field.context or ("" if source is None else sentence_of(field, source.text, limit=CONTEXT_LIMIT))
        return bool(told) and field.raw in told and field.raw not in with_values_in_force(told, stated)[0]

    return is_ended


def _found(messages: Sequence[BaseMessage], keys: Sequence[str], plan: FieldPlan, start: int) -> list[ControlField]:
    """Return the fields of messages. A summary another tool left speaks for the model.

    What a tool or a model stresses is no statement to keep, and a value or label of theirs that is an order, in plain words or encoded, is no value.
    """
    if not messages:
        return []
    found = extract_fields(messages, now=plan.now, patterns=plan.patterns, timezone=plan.timezone, start=start)
    told = {key for key, message in zip(keys, messages, strict=True) if _is_told(message)}
    found = [field.model_copy(update={"origin": "ai"}) if field.message_id in told else field for field in found] if told else found
    return [
        field.model_copy(update={"critical": False})
        if field.critical and field.origin in {"tool", "ai"} and (field.kind in STATEMENTS or _instructs(field))
        else field
        for field in found
    ]


def _instructs(field: ControlField) -> bool:
    # A label may well be called "approval"; what stands behind it may not be one.
    return claims_authority(field.raw) or any(gives_order(text) or hides_text(text) for text in (field.raw, field.label or ""))


def _said(messages: Sequence[BaseMessage], keys: Sequence[str]) -> dict[str, Said]:
    return {key: Said("ai" if _is_told(message) else speaker_of(message), text_of(message)) for key, message in zip(keys, messages, strict=True)}


def _is_told(message: BaseMessage) -> bool:
    return is_note(message) or is_foreign_summary(message)


def _in_context(field: ControlField, said: Mapping[str, Said]) -> ControlField:
    """Return the field with the sentence a person said it in. The words around a tool's value are not carried: they may be an instruction."""
    if field.kind in STATEMENTS or field.origin != "user":
        return field
    context = sentence_of(field, said[field.message_id or ""].text, limit=CONTEXT_LIMIT)
    if not context or context == field.raw or claims_authority(context):
        return field
    return field.model_copy(update={"context": context})


def _bounded(fields: Sequence[ControlField], remembered: int) -> tuple[tuple[ControlField, ...], int]:
    """Return the critical fields and the newest of the others, and how many that leaves out."""
    others = [index for index, field in enumerate(fields) if not (field.critical and not field.is_closed)]
    out = set(others[: max(0, len(others) - remembered)])
    kept = (_short(field) for index, field in enumerate(fields) if index not in out)
    return tuple(kept), len(out)


def _short(field: ControlField) -> ControlField:
    """Return a field with the newest of its earlier values, and the newest disagreement: the head lies in every checkpoint."""
    if len(field.history) <= 1:
        return field
    ended = [event for event in field.history if event.reason != "conflict"][-_HISTORY_KEPT:]
    conflicts = [event for event in field.history if event.reason == "conflict"][-1:]
    return field.model_copy(update={"history": tuple(event for event in field.history if event in ended or event in conflicts)})


def compared(fields: Sequence[ControlField], shown: Sequence[BaseMessage], seen: Watched, plan: FieldPlan) -> FieldDiff:
    """Return what became of `fields` in the rendered messages of a view; what stands in a message that stays is there.

    The extractor is the one that found them. A value in place of another that somebody said himself is no changed value: the one before is lost.
    """
    missing = [field for field in fields if key_of(field) not in seen.beside]
    # Our own frame says "later", which is no vague word for a date.
    text = "\n".join(inside(text_of(message)) for message in shown)
    found = extract_fields(text, now=plan.now, patterns=plan.patterns, timezone=plan.timezone) if text else []
    diff = diff_fields(missing, found, text=text, glossary=plan.settings.glossary, same_text=plan.same_text)
    lost, changed = [], []
    for change in diff.lost:
        other = _in_its_place(change)
        if other is not None and key_of(other) not in seen.known:
            changed.append(change.model_copy(update={"after": other}))
        else:
            lost.append(change)
    for change in diff.changed:
        if change.after is not None and key_of(change.after) in seen.known:
            lost.append(FieldChange(before=change.before))
        else:
            changed.append(change)
    named = {change.before.field_id for change in changed}
    changed += [change for change in _contradicted(fields, found, seen) if change.before.field_id not in named]
    return FieldDiff(lost=tuple(lost), changed=tuple(changed), added=diff.added, kept=diff.kept + len(fields) - len(missing))


def _contradicted(fields: Sequence[ControlField], found: Sequence[ControlField], seen: Watched) -> Iterator[FieldChange]:
    """Yield the values nobody said that stand under the label of a field, though that field is still told elsewhere."""
    labelled = [field for field in fields if field.label and field.kind not in STATEMENTS]
    for other in found:
        if not other.label or other.kind in STATEMENTS or key_of(other) in seen.known:
            continue
        for field in labelled:
            if group_of(field.kind) == group_of(other.kind) and is_same_label(field.label, other.label) and not is_same_field_value(field, other):
                yield FieldChange(before=field, after=other, how=how_changed(field, other))
                break


def _in_its_place(change: FieldChange) -> ControlField | None:
    """Return the value a loss left in its place, where it is one: other digits of the same shape."""
    before = change.before
    if change.found is None or change.how not in {"digit", "shifted"}:
        return None
    return ControlField(kind=before.kind, label=before.label, raw=change.found, value=normalize(before.kind, change.found))


def is_found_again(field: ControlField, messages: Mapping[str, BaseMessage], plan: FieldPlan) -> bool:
    """Say whether the message a field is from, read once more, still gives its value; one that is out of reach counts as it was read."""
    message = messages.get(field.message_id or "")
    if message is None:
        return True
    return key_of(field) in {key_of(one) for one in extract_fields([message], now=plan.now, patterns=plan.patterns, timezone=plan.timezone)}


def invented(summary: Iterable[BaseMessage], seen: Watched, plan: FieldPlan) -> tuple[ControlField, ...]:
    """Return the values a rendered summary tells and nobody said."""
    text = "\n".join(inside(text_of(message)) for message in summary)
    found = extract_fields(text, now=plan.now, patterns=plan.patterns, timezone=plan.timezone)
    return tuple(field for field in found if field.kind not in STATEMENTS and key_of(field) not in seen.known and not field.is_weak)


def by_weight(fields: Iterable[ControlField]) -> list[ControlField]:
    """Return fields in the order in which they claim room: what a person stressed and decided, then what has a label, newer before older."""
    numbered = list(enumerate(fields))
    numbered.sort(key=lambda item: (item[1].kind in STATEMENTS, item[1].origin != "tool", bool(item[1].label), item[0]), reverse=True)
    return [field for _, field in numbered]


@dataclass(slots=True)
class Mended:
    """A summary without values that hold no longer."""

    summary: StructuredSummary
    replaced: int = 0
    removed: int = 0


def without_wrong_values(summary: StructuredSummary, wrong: Sequence[FieldChange]) -> Mended:
    """Return the summary without the items that tell another value than the one that was said."""
    values = [folded(change.after.raw) for change in wrong if change.after is not None]
    if not values:
        return Mended(summary)
    mended = Mended(summary)

    def keep(text: str) -> str:
        if any(value in folded(text) for value in values):
            mended.removed += 1
            return ""
        return text

    mended.summary = _mapped(summary, keep)
    return mended


def with_present_values(summary: StructuredSummary, seen: Watched, plan: FieldPlan, stated: Sequence[Stated] = ()) -> Mended:
    """Return the summary with every superseded value marked by the one that holds: "the deadline is [now: July 15]"."""
    mended = Mended(summary)
    if not seen.has_history and not any(one.earlier for one in stated):
        return mended

    said = {folded(item.statement) for item in summary.facts} | {folded(item.text) for item in summary.pending_items}

    def fresh(text: str) -> str:
        marked, replaced = _in_force(text, seen, plan, stated)
        mended.replaced += replaced
        # Beside the later sentence in the same words the marked one tells nothing.
        plain = unmarked(marked)
        is_told = plain != marked and text != summary.original_goal and folded(plain) in said
        return "" if is_told else marked

    mended.summary = _mapped(summary, fresh)
    return mended


def retold(quotes: Iterable[InferredConstraint], seen: Watched, plan: FieldPlan, stated: Sequence[Stated] = ()) -> dict[str, str]:
    """Return the quotes and stressed sentences that tell a superseded value, as they are to be shown, by the id of the rule or the field.

    What was said is stored as it was said: a person who confirms a rule confirms that.
    """
    if not seen.has_history and not any(one.earlier for one in stated):
        return {}
    said = {quote.inferred_id: quote.text for quote in quotes if quote.status == "inferred"}
    said |= {field.field_id: field.raw for field in seen.checked if field.kind in STATEMENTS}
    return {name: new for name, text in said.items() if (new := _in_force(text, seen, plan, stated)[0]) != text}


def is_out_of_date(text: str, seen: Watched, plan: FieldPlan, stated: Sequence[Stated] = ()) -> bool:
    """Say whether a text tells a value that holds no longer."""
    return _in_force(text, seen, plan, stated)[1] > 0


def told_by(messages: Iterable[BaseMessage]) -> list[tuple[str, str]]:
    """Return who says what in messages; a summary another tool left speaks for the model."""
    return [
        ("ai" if _is_told(message) else speaker_of(message), text_of(message))
        for message in messages
        if not is_synthetic(message) and not is_retold(message)
    ]


def _in_force(text: str, seen: Watched, plan: FieldPlan, stated: Sequence[Stated]) -> tuple[str, int]:
    """Return a text with its superseded values marked, those of fields and those of attributes, and how many there were."""
    marked, replaced = _fresh(text, seen.present, plan) if seen.has_history else (text, 0)
    marked, more = with_values_in_force(marked, stated)
    return marked, replaced + more


def _fresh(text: str, present: Sequence[ControlField], plan: FieldPlan) -> tuple[str, int]:
    """Return a text with its superseded values marked, and how many there were."""
    found = extract_fields(text, now=plan.now, patterns=plan.patterns, timezone=plan.timezone)
    replaced = 0
    for item, field, event in sorted(stale_mentions(found, present), key=lambda one: one[0].start, reverse=True):
        if text[item.start : item.stop] == item.raw:
            text = text[: item.start] + _mark(field, text, is_over=event.reason == "closed" or field.is_closed) + text[item.stop :]
            replaced += 1
    return text, replaced


def _mark(field: ControlField, text: str, *, is_over: bool) -> str:
    if _HAN.search(text):
        return "[已作废]" if is_over else f"[现为：{field.raw}]"
    return "[no longer valid]" if is_over else f"[now: {field.raw}]"


def _mapped(summary: StructuredSummary, told: Callable[[str], str]) -> StructuredSummary:
    """Return the summary with every text passed through `told`; an item of which nothing is left leaves."""

    def texts(items: Iterable[str]) -> tuple[str, ...]:
        return tuple(new for text in items if (new := told(text)))

    def fact(item: Fact) -> Fact | None:
        new = told(item.statement)
        return item if new == item.statement else item.model_copy(update={"statement": new}) if new else None

    def decision(item: Decision) -> Decision | None:
        chosen = told(item.chosen)
        options = (each.model_copy(update={"option": option, "why": told(each.why)}) for each in item.rejected if (option := told(each.option)))
        return item.model_copy(update={"chosen": chosen, "rejected": tuple(options), "why": told(item.why)}) if chosen else None

    def pending(item: PendingItem) -> PendingItem | None:
        text = told(item.text)
        return item if text == item.text else item.model_copy(update={"text": text}) if text else None

    return summary.model_copy(
        update={
            "user_intent": texts(summary.user_intent),
            "original_goal": told(summary.original_goal),
            "pending_items": tuple(asked for item in summary.pending_items if (asked := pending(item)) is not None),
            "facts": tuple(new for item in summary.facts if (new := fact(item)) is not None),
            "decisions": tuple(kept for item in summary.decisions if (kept := decision(item)) is not None),
            "open_questions": texts(summary.open_questions),
            "open_risks": texts(summary.open_risks),
        }
    )


def with_found_late(
    head: ContextHead, fields: Sequence[ControlField], *, rules: Sequence[Constraint], share_tokens: int, cap: int, count: CountTokens
) -> ContextHead | None:
    """Return the next version of `head`, in which the fields are carried too; `None` where it tells them all.

    What the head's own ledger says of the same label holds: it may be newer than what was found.

    Args:
        head: The head in force.
        fields: Critical fields somebody found missing.
        rules: The rules in force, for the digest of the pins.
        share_tokens: Tokens the carried fields may take.
        cap: How many critical fields stay critical.
        count: Counts tokens.
    """
    body = head.body
    if body is None:
        return None
    known = body.evidence.fields
    shown = "\n".join(inside(text_of(message)) for message in rendered(body, version=head.version))
    new = [
        field
        for field in fields
        if key_of(field) not in {key_of(one) for one in known if one.field_id in body.evidence.carried}
        and folded(field.raw) not in folded(shown)
        and not any(field.label and one.label and is_same_label(one.label, field.label) and not one.critical for one in known)
    ]
    if not new:
        return None
    merged = merge_fields(known, new, cap=cap).fields
    keys = {key_of(field) for field in new}
    added = [field for field in merged if key_of(field) in keys and field.critical and not field.is_closed]
    carried = [field for field in merged if field.field_id in body.evidence.carried]
    if not added:
        return None
    ids = tuple(field.field_id for field in by_weight({field.field_id: field for field in (*carried, *added)}.values()))
    evidence = bounded_evidence(
        body.evidence.model_copy(update={"fields": tuple(merged), "carried": ids}),
        max_tokens=share_tokens + text_tokens(count, render_evidence(body.evidence)),
        count=count,
        carried_tokens=share_tokens,
    )
    version = head.version + 1
    new_body = body.model_copy(update={"evidence": evidence})
    new_body = new_body.model_copy(update={"rendered": rendered_digests(new_body, render_rules(rules), version=version)})
    return head.model_copy(update={"version": version, "body": new_body})
