"""Found fields -> the ledger: a later value replaces an earlier one of the same thing, what was called off is closed, the critical are bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.carried import sentence_of
from langchain_ctxguard.core.dialect import read_messages
from langchain_ctxguard.core.diff import stands_whole
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_matter import (
    NOTHING,
    Matter,
    is_named,
    is_of_another,
    matter_at,
    named_with,
    names_nothing_else,
    says_kind,
    stems_of,
)
from langchain_ctxguard.core.field_patterns import ending_words
from langchain_ctxguard.core.field_text import folded, sentence_at
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.labels import (
    Change,
    attribute_at,
    attribute_parts,
    change_at,
    is_of_many,
    is_same_attribute,
    is_same_label,
    may_change,
    parts_of,
    words_for,
)
from langchain_ctxguard.core.normalize import group_of, is_same_field_value, key_of
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.core.unsettled import is_unsettled, may_be_unsettled
from langchain_ctxguard.core.user_patterns import PatternSet
from langchain_ctxguard.domain.control import CRITICAL_CAP, IDENTIFIERS, KEY, STATEMENTS, ControlField, FieldEvent, FieldKind, new_field
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import digest_of

_ENDED = re.compile(
    r"\b(?:forget(?: about)?|never mind|ignore|disregard|drop|scrap|cancel(?:led|ed)?|scratch) (?:the |that |my |our |all (?:the "
    r")?)?(?P<a>[^,.;!?\n]{2,60})"
    r"|(?P<b>[^,.;!?\n]{2,60}?) (?:is|are|was|has been|have been|got)(?: now| already)? (?:cancel?led|off|no longer (?:needed|relevant|valid"
    r"|required)|obsolete|void|done with|called off|closed|resolved|withdrawn|moot)\b"
    r"|(?:不用管|不必管|忘了|忘掉|忽略|取消|不考虑|不用再管|别管)(?P<c>[^，。；！？\n,;]{1,30}?)(?:了|吧|$|[，。；！？,;\n])"
    r"|(?P<d>[^，。；！？\n,;]{1,30}?)(?:已经?|就|都|也)?(?:取消|作废|撤销|失效|不用管|不需要|关闭|结束|不做数|不算数|不作数)(?:了|掉)?",
    re.IGNORECASE,
)
_LONGEST_END = 100
"""Characters that words which call something off take at the most."""

_BECOMES = re.compile(
    r"[\s\"'`”’」』]*(?:becomes?|became|(?:is|are) (?:now|to be|to become)|turns? into|现在是|现为|变成|变为|改为|改成|→|[-=]>)[\s\"'`“‘「『]*",
    re.IGNORECASE,
)
"""What stands between a value and the one it becomes."""

_KIND_WORDS: tuple[tuple[FieldKind, str], ...] = (
    (FieldKind.ORDER_ID, "order|订单|采购单"),
    (FieldKind.INVOICE_ID, "invoice|bill|发票|账单"),
    (FieldKind.TICKET_ID, "ticket|incident|case|issue|工单|缺陷单"),
)
_THINGS = frozenset({FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID})
_ATTRIBUTED = frozenset({FieldKind.ID, FieldKind.COMMIT, FieldKind.TICKET_ID, FieldKind.PATH})
"""Kinds that may name the one value of something: the code, the branch, the codename."""

_SAME = Change()
_LONGEST_HISTORY = 50
_REMEMBERED = 64
"""How many fields of one word are looked through for the one a value replaces."""

_NO_PERSON = frozenset(["tool", "ai"])
_OF_ONE_VALUE = 8
"""How many things that have one and the same value are told apart."""

_EARLIER = 4
"""How many earlier values of a field are looked at for what it is said of."""

_RANKS: dict[Origin, int] = {"system": 3, "registry": 3, "tool": 2, "user": 1, "ai": 0}
_NEGATIONS = re.compile(
    r"\b(?:not|never|no|don['’]t|do not|doesn['’]t|mustn['’]t|cannot|can['’]t|won['’]t|without|avoid|stop)\b|不要|不能|不得|不可|禁止|严禁|别|勿|不",
    re.IGNORECASE,
)


class Ledger(NamedTuple):
    """The control fields of a conversation as they stand."""

    fields: tuple[ControlField, ...]
    demoted: tuple[str, ...] = ()
    """Ids of fields that are critical by rule and were ranked non-critical, because more than the cap were."""

    @property
    def live(self) -> tuple[ControlField, ...]:
        """The fields still in force."""
        return tuple(field for field in self.fields if not field.is_closed)


class Said(NamedTuple):
    """A message as the ledger reads it."""

    origin: Origin
    text: str


def update_ledger(
    ledger: Sequence[ControlField],
    messages: Sequence[Any],
    *,
    now: datetime | None = None,
    patterns: Mapping[str, str] | PatternSet | None = None,
    timezone: str = "UTC",
    must_keep: Sequence[str] = (),
    cap: int = CRITICAL_CAP,
    start: int = 0,
) -> Ledger:
    """Return the ledger after further messages: their fields extracted, merged, and ranked.

    Args:
        ledger: Fields so far, as the last call returned them.
        messages: The new messages, in any form LangChain accepts.
        now: When they were said, where they do not say.
        patterns: Patterns of the config file; see `extract_fields`.
        timezone: Zone of days and clock times.
        must_keep: Values, labels or sentences that are critical whatever the rules say.
        cap: How many critical fields stay critical.
        start: Position of the first message in the conversation.

    >>> ledger = update_ledger((), [("human", "The deadline is June 30."), ("human", "The deadline is now July 15.")])
    >>> [(field.label, field.raw, [event.raw for event in field.history]) for field in ledger.fields]
    [('deadline', 'July 15', ['June 30'])]
    """
    read = (
        [item for item in messages if isinstance(item, BaseMessage)]
        if all(isinstance(item, BaseMessage) for item in messages)
        else read_messages(messages)
    )
    keys = message_keys(read, start=start)
    found = extract_fields(read, now=now, patterns=patterns, timezone=timezone, start=start)
    said = {key: Said(speaker_of(message), text_of(message)) for key, message in zip(keys, read, strict=True)}
    merged = merge_fields(ledger, found, said=said, must_keep=must_keep, cap=cap)
    # The next messages are compared with what was said, when these are no longer at hand.
    return merged._replace(fields=tuple(_in_sentence(field, said) for field in merged.fields))


def merge_fields(
    ledger: Sequence[ControlField],
    found: Iterable[ControlField],
    *,
    said: Mapping[str, Said] | None = None,
    sentences: Mapping[str, str] | None = None,
    must_keep: Sequence[str] = (),
    cap: int = CRITICAL_CAP,
) -> Ledger:
    """Return the ledger after the newly found fields: a later value replaces an earlier one of the same thing, and ended matters are closed.

    Args:
        ledger: Fields so far, as the last call returned them.
        found: Fields of later messages, in order of appearance.
        said: The later messages by key (`message_id`), oldest first; without them only equal labels tell that a value is replaced, and nothing ends.
        sentences: What the fields so far were said in, by `field_id`, where they do not hold it themselves.
        must_keep: Values, labels or sentences that are critical whatever the rules say.
        cap: How many critical fields stay critical.
    """
    said = said or {}
    book = _Book(ledger, said, sentences or {})
    batches: dict[str | None, list[ControlField]] = {key: [] for key in said}
    for field in found:
        batches.setdefault(field.message_id, []).append(field)
    for key, batch in batches.items():
        if batch:
            book.read(batch)
        message = said.get(key) if key is not None else None
        if message is not None and message.origin in {"user", "system"} and message.text:
            book.close(folded(message.text), key)
    return ranked([_kept(field, must_keep) for field in book.fields] if must_keep else book.fields, cap)


def _in_sentence(field: ControlField, said: Mapping[str, Said]) -> ControlField:
    """Return a person's value with the sentence it was said in."""
    message = said.get(field.message_id or "")
    if message is None or field.context or field.kind in STATEMENTS or field.origin != "user":
        return field
    return new_field({**field.__dict__, "context": sentence_of(field, message.text)})


def _kept(field: ControlField, must_keep: Sequence[str]) -> ControlField:
    """Return the field as critical where one of the values, labels or sentences names it."""
    if field.critical or field.is_closed:
        return field
    for wish in must_keep:
        plain = folded(wish)
        if (
            is_same_label(field.label, wish.lower())
            or stands_whole(folded(field.raw), plain)
            or (field.value is not None and stands_whole(field.value, plain))
        ):
            return field.model_copy(update={"critical": True})
    return field


def ranked(fields: Sequence[ControlField], cap: int = CRITICAL_CAP) -> Ledger:
    """Return the fields with at most `cap` critical ones, the rest ranked non-critical and named.

    Statements a person stressed and choices come first, then values of higher origin, labelled before unlabelled, newer before older.
    """
    critical = [(index, field) for index, field in enumerate(fields) if field.critical and not field.is_closed]
    if len(critical) <= cap:
        return Ledger(tuple(fields))
    order = sorted(critical, key=lambda item: (_weight(item[1]), item[0]), reverse=True)
    out = {index for index, _ in order[cap:]}
    kept = tuple(field.model_copy(update={"critical": False}) if index in out else field for index, field in enumerate(fields))
    return Ledger(kept, tuple(fields[index].field_id for index in sorted(out)))


def _weight(field: ControlField) -> tuple[int, int, int, int]:
    return (
        (field.kind in STATEMENTS) + (field.kind is FieldKind.PATTERN),
        field.origin in {"user", "system", "registry"},
        bool(field.label) + (field.version > 1),
        0 if field.is_weak else 1,
    )


class _Book:
    """A ledger while it is written."""

    def __init__(self, ledger: Sequence[ControlField], said: Mapping[str, Said], sentences: Mapping[str, str]) -> None:
        self.fields = list(ledger)
        self._sentences = sentences
        self._said = said
        self._by_key: dict[str, list[int]] = {}
        self._by_group: dict[str, list[int]] = {}
        self._by_head: dict[tuple[str, str], list[tuple[int, frozenset[str]]]] = {}
        self._by_attribute: dict[str, list[int]] = {}
        self._by_id: dict[str, int] = {}
        self._by_words: dict[tuple[bool, str], list[int]] = {}
        self._named: dict[str | None, set[str]] = {}
        self._matters: dict[tuple[str | None, int, str], Matter] = {}
        self._qualified: tuple[ControlField, frozenset[str]] | None = None
        for index, field in enumerate(self.fields):
            self._index(index, field)

    def _index(self, index: int, field: ControlField) -> None:
        group = group_of(field.kind)
        self._by_key.setdefault(key_of(field), []).append(index)
        self._by_group.setdefault(group, []).append(index)
        self._by_id[field.field_id] = index
        if field.label:
            head, more = parts_of(field.label)
            self._by_head.setdefault((group, head), []).append((index, more))
            if field.kind in _ATTRIBUTED and field.origin != "tool":
                self._by_attribute.setdefault(attribute_parts(field.label)[0], []).append(index)
        if field.kind in STATEMENTS:
            self._by_words.setdefault((field.kind is FieldKind.EMPHASIS, _polarity(field)[0]), []).append(index)
        if field.kind in _THINGS:
            self._named.setdefault(field.message_id, set()).add(key_of(field))

    def read(self, batch: list[ControlField]) -> None:
        """Take in the fields of one message."""
        message = self._said.get(batch[0].message_id or "")
        text = folded(message.text) if message else ""
        batch = _scoped(batch)
        self._named.setdefault(batch[0].message_id, set()).update(key_of(field) for field in batch if field.kind in _THINGS)
        fresh: set[int] = set()
        # Only a person, or the application, changes what was said; a tool's newer result is known by what it is about.
        speaks = bool(text) and batch[0].origin in {"user", "system", "registry"}
        if speaks:
            batch = [_attributed(field, text) for field in batch]
        changes = [change_at(text, field.start, field.stop) for field in batch] if speaks and may_change(text) else [_SAME] * len(batch)
        is_open = speaks and may_be_unsettled(text)
        # "from A to B", "not A but B": what is named as old changes nothing, but says which field the new value is for.
        old: ControlField | None = None
        for place, (field, change) in enumerate(zip(batch, changes, strict=True)):
            if is_open and field.kind not in STATEMENTS and is_unsettled(text, field.start, field.stop, is_change=change.is_change):
                # Asked, supposed or told by others: it stands beside what holds and ends nothing.
                self._stand_beside(field, fresh)
                old = None
                continue
            if change.is_old and field.kind not in STATEMENTS and _successor(batch, place):
                old = field
                self._note_old(field, batch[_successor(batch, place) or place], fresh)
                continue
            if change.is_old and self._was_replaced(field, fresh):
                continue  # "use B instead of A": B has taken its place already
            is_change = change.is_change or (old is not None and group_of(old.kind) == group_of(field.kind))
            if is_change and old is None and place and not field.label and _is_what_changes(batch[place - 1], field, text):
                # It replaces what it is said of, and nothing else: one named here for the first time has nothing to replace.
                old = self._known_before(batch[place - 1], fresh)
                is_change = old is not None
            if change.is_change and old is None and _is_named_as_old(batch, changes, place):
                old = self._known_before(batch[place + 1], fresh)
            self._take(field, fresh, is_change=is_change, replaces=old)
            old = None

    def _stand_beside(self, field: ControlField, fresh: set[int]) -> None:
        same = [index for index in self._by_key.get(key_of(field), ()) if not self.fields[index].is_closed]
        if same:
            self._confirm(same[-1], field)
        else:
            self._add(field, fresh)

    def _known_before(self, field: ControlField, fresh: set[int]) -> ControlField | None:
        """Return the field if an earlier message said its value, `None` if this one did."""
        known = self._by_key.get(key_of(field), ())
        return field if any(index not in fresh and not self.fields[index].is_closed for index in known) else None

    def _was_replaced(self, field: ControlField, fresh: set[int]) -> bool:
        """Say whether a value of this very message took the place of this one."""
        return any(event.raw == field.raw for index in fresh for event in self.fields[index].history[-1:])

    def _note_old(self, field: ControlField, new: ControlField, fresh: set[int]) -> None:
        """Make sure the value named as old has a field, so that the new one has something to replace."""
        if not any(not self.fields[index].is_closed for index in self._by_key.get(key_of(field), ())):
            label = field.label or new.label
            self._add(field.model_copy(update={"label": label, "critical": new.critical}), fresh)

    def _take(self, field: ControlField, fresh: set[int], *, is_change: bool, replaces: ControlField | None) -> None:
        same = [index for index in self._by_key.get(key_of(field), ()) if not self.fields[index].is_closed]
        target = self._replaced(field, fresh, is_change=is_change, replaces=replaces)
        if same and (target is None or target in same):
            told = target if target is not None else next((index for index in reversed(same) if not self._is_elsewhere(index, field)), None)
            if told is None and len(same) < _OF_ONE_VALUE:
                # The same value of another thing: each of the two may change alone.
                self._add(field, fresh)
            else:
                self._confirm(same[-1] if told is None else told, field)
            return
        if target is None:
            opposite = self._opposite(field)
            if opposite is not None:
                self._supersede(opposite, field, "superseded", fresh)
                return
            self._add(field, fresh)
            return
        held = self.fields[target]
        if _RANKS[field.origin] < _RANKS[held.origin]:
            self._note_conflict(target, field)
            return
        self._supersede(target, field, "corrected" if replaces is not None else "superseded", fresh)

    def _note_conflict(self, index: int, field: ControlField) -> None:
        """Note that somebody of lower origin said another value."""
        held = self.fields[index]
        event = FieldEvent.model_construct(
            raw=field.raw,
            value=field.value,
            origin=field.origin,
            source_turn=field.source_turn,
            message_id=field.message_id,
            at=field.at,
            reason="conflict",
        )
        # Events of other messages are other events: most are told apart by that alone.
        if not any(known.message_id == event.message_id and known == event for known in held.history):
            self.fields[index] = new_field({**held.__dict__, "history": (*held.history, event)[-_LONGEST_HISTORY:]})

    def _replaced(self, field: ControlField, fresh: set[int], *, is_change: bool, replaces: ControlField | None) -> int | None:  # noqa: C901, PLR0911 - a list of cases
        """Return the index of the field whose value `field` replaces."""
        if field.kind in STATEMENTS:
            return None
        if replaces is not None:
            for index in reversed(self._by_key.get(key_of(replaces), ())):
                if not self.fields[index].is_closed:
                    return index
        if field.field_id:
            # A tool's value of a thing it names: the newest result of the same path for the same thing holds.
            known = self._by_id.get(field.field_id)
            return known if known is not None and not self.fields[known].is_closed else None
        if (attribute := self._of_attribute(field, fresh)) is not None:
            return attribute
        if field.kind in IDENTIFIERS and not is_change:
            return None
        if field.label and field.origin != "tool" and field.kind not in IDENTIFIERS:
            named = self._named_alike(field, fresh, is_change=is_change)
            exact = [index for index in named if parts_of(self.fields[index].label) == parts_of(field.label)]
            if not is_change and exact and "ai" in {field.origin, self.fields[exact[-1]].origin} and is_of_many(field.label):
                # "The phone is ...", the assistant says of a hotel and then of a museum: only words of change tell that it is one phone.
                return None
            if exact:
                return exact[-1] if is_change or len(exact) == 1 else None
            # "The deadline" is the only deadline there is, or nobody knows which.
            qualifiers = {parts_of(self.fields[index].label)[1] for index in named} - {frozenset()}
            if named:
                return named[-1] if len(qualifiers) <= 1 else None
        return self._unnamed(field, fresh) if is_change and field.origin in {"user", "system", "registry"} else None

    def _of_attribute(self, field: ControlField, fresh: set[int]) -> int | None:
        """Return the identifier of the same attribute: there is one code of the gate at a time. `None` where two might be meant."""
        if not (field.label and field.kind in _ATTRIBUTED) or field.origin == "tool":
            return None
        alike = {
            index
            for index in self._by_attribute.get(attribute_parts(field.label)[0], ())[-_REMEMBERED:]
            if index not in fresh
            and not self.fields[index].is_closed
            and is_same_attribute(self.fields[index].label, field.label)
            and not self._is_of_another(index, field, is_change=True)
        }
        return alike.pop() if len(alike) == 1 else None

    def _named_alike(self, field: ControlField, fresh: set[int], *, is_change: bool) -> list[int]:
        """Return the live fields of the same label, those apart that were said of other orders, invoices or accounts."""
        head, more = parts_of(field.label)
        mine = self._named.get(field.message_id)
        held = self._by_head.get((group_of(field.kind), head))
        if not held:
            return []
        alike = {
            index: None
            for index, qualifiers in dict.fromkeys(held[-_REMEMBERED:])  # a value that changes often stands there many times
            if (qualifiers <= more or qualifiers >= more) and (is_change or index not in fresh) and not self.fields[index].is_closed
        }
        return [
            index
            for index in alike
            if not (mine and (theirs := self._named.get(self.fields[index].message_id)) and mine.isdisjoint(theirs))
            and not self._is_of_another(index, field, is_change=is_change)
        ]

    def _unnamed(self, field: ControlField, fresh: set[int]) -> int | None:
        """Return the field an announced change without a label is about: the one value of its kind and unit it can mean.

        What it names must be named where that value was said; of several it might mean it ends none.
        """
        new = self._matter_of(field)
        live: list[int] = []
        for index in reversed(self._by_group.get(group_of(field.kind), ())):
            held = self.fields[index]
            if not (
                index in live  # a value that changes often stands there many times
                or held.is_closed
                or held.origin == "ai"
                or index in fresh
                or held.kind != field.kind
                or _unit(held) != _unit(field)
                or (held.label and field.label)
                or (field.label and not self._speaks_of(index, field.label))
                or self._is_of_another(index, field, is_change=True)
            ):
                live.append(index)
                if len(live) == _REMEMBERED or (not new.names and len(live) > 1):
                    break
        if field.label:
            new = new._replace(names=new.names - stems_of((*words_for(field.label), *field.label.split())))
        for is_wide in (False, True):
            meant = [index for index in live if names_nothing_else(new, self._matters_of(index), is_wide=is_wide)]
            if meant:
                return meant[0] if len(meant) == 1 else None
        return None

    def _matter_of(self, field: ControlField) -> Matter:
        """Return what a field is said of, where the text it was said in is at hand, or its sentence."""
        known = self._matters.get((field.message_id, field.start, field.raw))
        if known is None:
            message = self._said.get(field.message_id or "")
            text = message.text if message else field.context or self._sentences.get(field.field_id, "")
            known = self._matters[field.message_id, field.start, field.raw] = _read_matter(field, text)
        return known

    def _matters_of(self, index: int) -> Iterator[Matter]:
        """Yield what a field is said of, and what its earlier values were."""
        held = self.fields[index]
        yield self._matter_of(held)
        for event in reversed(held.history[-_EARLIER:]):
            if event.reason != "conflict" and (message := self._said.get(event.message_id or "")) is not None:
                place = event.message_id, -1, event.raw
                known = self._matters.get(place)
                if known is None:
                    known = self._matters[place] = _read_matter(event, message.text)
                yield known

    def _is_of_another(self, index: int, field: ControlField, *, is_change: bool) -> bool:
        """Say whether a person's value of the same label is said of another thing; the paths of a tool tell that themselves."""
        if not _NO_PERSON.isdisjoint({field.origin, self.fields[index].origin}):
            return False
        new = self._matter_of(field)
        if not new.names:
            return False
        matters = list(self._matters_of(index))
        held = next((matter for matter in matters if matter.names), matters[0])
        heads = words_for(field.label) if field.label else ()
        if field.label and held is not NOTHING:
            # "The flight budget" is part of "our budget", or another one; it is the same where that was said of flights.
            label = self.fields[index].label
            more = self._qualifiers_of(field, new) - parts_of(label)[1]
            if more and not is_named(more - stems_of(label.split()), held):
                return True
        return is_of_another(new, held, is_change=is_change, apart=heads)

    def _qualifiers_of(self, field: ControlField, new: Matter) -> frozenset[str]:
        """Return what qualifies a field's label: in it, and right before its head."""
        if self._qualified is None or self._qualified[0] is not field:
            self._qualified = field, stems_of(parts_of(field.label)[1]) | new.before(words_for(field.label))
        return self._qualified[1]

    def _is_elsewhere(self, index: int, field: ControlField) -> bool:
        """Say whether the same value of another field is the value of another thing."""
        held = self.fields[index]
        if field.kind in IDENTIFIERS or field.kind in STATEMENTS or not {field.origin, held.origin} <= {"user", "system", "registry"}:
            return False
        if field.label and held.label and not is_same_label(field.label, held.label):
            return True
        return self._is_of_another(index, field, is_change=False)

    def _speaks_of(self, index: int, label: str) -> bool:
        """Say whether the message that said a value has a word for the label in it; one that is not at hand may have."""
        held = self.fields[index]
        message = self._said.get(held.message_id or "")
        text = message.text if message else held.context or self._sentences.get(held.field_id, "")
        plain = text.lower()
        words = (*words_for(label), *label.split())
        return (
            not text
            or says_kind(label, held.kind)
            or any(word in plain for word in words)
            or any(not stems_of(words).isdisjoint(matter.beside) for matter in self._matters_of(index))
        )

    def _opposite(self, field: ControlField) -> int | None:
        """Return the field that says the opposite: the same thing chosen and turned down, the same sentence with and without its negation."""
        if field.kind not in STATEMENTS:
            return None
        words, is_negated = _polarity(field)
        for index in reversed(self._by_words.get((field.kind is FieldKind.EMPHASIS, words), ()) if words else ()):
            held = self.fields[index]
            if not held.is_closed and _polarity(held) == (words, not is_negated):
                return index
        return None

    def _confirm(self, index: int, field: ControlField) -> None:
        """Note that somebody said the value again."""
        held = self.fields[index]
        update: dict[str, object] = {}
        if _RANKS[field.origin] > _RANKS[held.origin]:
            update |= {"origin": field.origin}
        if field.critical and not held.critical:
            update |= {"critical": True}
        if field.confidence > held.confidence:
            update |= {"confidence": field.confidence}
        if field.label and not held.label and held.kind not in IDENTIFIERS:
            update |= {"label": field.label}
        if held.value is None and field.value is not None:
            update |= {"value": field.value}
        if update:
            values = {**held.__dict__, **update}
            if "value" in update:
                values.pop(KEY, None)
            self.fields[index] = new_field(values)

    def _supersede(self, index: int, field: ControlField, reason: Literal["superseded", "corrected"], fresh: set[int]) -> None:
        held = self.fields[index]
        event = FieldEvent(
            raw=held.raw, value=held.value, origin=held.origin, source_turn=held.source_turn, message_id=held.message_id, at=held.at, reason=reason
        )
        label = max((held.label, field.label), key=len) if is_same_label(held.label, field.label) else field.label or held.label
        self.fields[index] = field.model_copy(
            update={
                "field_id": held.field_id, "label": label, "version": held.version + 1, "history": (*held.history, event)[-_LONGEST_HISTORY:],
                "critical": held.critical or field.critical,
            }
        )  # fmt: skip
        keys = self._by_key.get(key_of(held), [])
        if index in keys:
            keys.remove(index)
        self._index(index, self.fields[index])
        fresh.add(index)

    def _add(self, field: ControlField, fresh: set[int]) -> None:
        base = field.field_id or _identity(field)
        name, number = base, 2
        while name in self._by_id:
            name, number = f"{base}~{number}", number + 1
        self.fields.append(new_field({**field.__dict__, "field_id": name}))
        index = len(self.fields) - 1
        self._index(index, self.fields[index])
        fresh.add(index)

    def close(self, text: str, key: str | None) -> None:
        """Close the fields whose matter a text calls off."""
        sentences: dict[tuple[int, int], None] = {}
        behind = 0
        for place in ending_words(text):
            if place >= behind:
                span = sentence_at(text, place, place + 1)
                sentences[span] = None
                # A sentence without an end is read in pieces that overlap by as much as such words take.
                behind = span[1] - _LONGEST_END
        ended = [found for start, stop in sentences for found in _ENDED.finditer(text[start:stop])]
        for words in (next((group for group in found.groups() if group), "") for found in ended):
            for index in self._meant(words, key):
                held = self.fields[index]
                event = FieldEvent(
                    raw=held.raw, value=held.value, origin=held.origin, source_turn=held.source_turn, message_id=key, at=held.at, reason="closed"
                )
                self.fields[index] = held.model_copy(update={"is_closed": True, "critical": False, "history": (*held.history, event)})

    def _meant(self, words: str, key: str | None) -> list[int]:
        """Return the fields an ended matter means: those named by value, or by label."""
        plain = words.lower()
        open_fields = [
            (index, field) for index, field in enumerate(self.fields) if not (field.is_closed or field.kind in STATEMENTS or field.origin == "system")
        ]
        meant = [
            index
            for index, field in open_fields
            if field.kind in IDENTIFIERS and len(field.raw) > 2 and stands_whole(folded(field.raw), words)  # noqa: PLR2004
        ]
        labelled: dict[str, list[int]] = {}
        for index, field in open_fields:
            if index not in meant and field.label and field.message_id != key and self._is_called(field, plain):
                labelled.setdefault(parts_of(field.label)[0], []).append(index)
        for alike in labelled.values():
            # "The deadline" is no particular one where there are two.
            if len({parts_of(self.fields[index].label)[1] for index in alike} - {frozenset()}) <= 1:
                meant += alike
        if not meant:
            for kind, names in _KIND_WORDS:
                if re.search(names, plain):
                    live = [index for index, field in enumerate(self.fields) if field.kind is kind and not field.is_closed]
                    meant += live if len(live) == 1 else []
        return meant

    def _is_called(self, field: ControlField, plain: str) -> bool:
        """Say whether words name a field by its label, and no other one of the sort."""
        heads = words_for(field.label)
        if not any(word in plain for word in heads):
            return False
        named = named_with(plain, heads)
        return named <= stems_of(parts_of(field.label)[1]) or is_named(named, self._matter_of(field))


def _scoped(batch: list[ControlField]) -> list[ControlField]:
    """Return a tool's fields with ids that name thing and path, where its result is about one thing and holds one value per path."""
    if batch[0].origin != "tool":
        return batch
    things = {field.value or field.raw for field in batch if field.kind in IDENTIFIERS and field.label}
    first = next((field for field in batch if field.kind in IDENTIFIERS and field.label), None)
    paths = [field.label for field in batch]
    if first is None or paths.count(first.label) > 1 or not things:
        return batch
    thing = first.value or first.raw
    return [
        field.model_copy(update={"field_id": f"{field.kind}:{thing}/{field.label}"})
        if field.label and paths.count(field.label) == 1 and field.kind not in IDENTIFIERS
        else field
        for field in batch
    ]


def _attributed(field: ControlField, text: str) -> ControlField:
    """Return an identifier with what it is the one value of, where the text says that: a code, a codename, a branch."""
    if field.label or field.kind not in _ATTRIBUTED:
        return field
    label = attribute_at(text, field.start, field.stop)
    return new_field({**field.__dict__, "label": label}) if label else field


def _successor(batch: list[ControlField], place: int) -> int | None:
    """Return the place of the next field of the same group behind `place`."""
    group = group_of(batch[place].kind)
    for index in range(place + 1, min(len(batch), place + 4)):
        if group_of(batch[index].kind) == group and not is_same_field_value(batch[index], batch[place]):
            return index
    return None


def _is_named_as_old(batch: list[ControlField], changes: list[Change], place: int) -> bool:
    """Say whether the field behind `place` is the value it replaces: "use B instead of A"."""
    behind = place + 1
    return (
        behind < len(batch)
        and changes[behind].is_old
        and group_of(batch[behind].kind) == group_of(batch[place].kind)
        and not _successor(batch, behind)
    )


def _is_what_changes(before: ControlField, field: ControlField, text: str) -> bool:
    """Say whether a value is said of another one of its kind right in front of it: "A becomes B"."""
    return group_of(before.kind) == group_of(field.kind) and _BECOMES.fullmatch(text[before.stop : field.start]) is not None


def _read_matter(field: ControlField | FieldEvent, text: str) -> Matter:
    """Return what a value is said of in a text that holds it."""
    start = field.start if isinstance(field, ControlField) and text.startswith(field.raw, field.start) else text.find(field.raw)
    kind = field.kind if isinstance(field, ControlField) else ""
    return matter_at(text, start, start + len(field.raw), kind) if start >= 0 else NOTHING


def _unit(field: ControlField) -> str:
    return (field.value or "").rpartition(" ")[2] if field.kind in {FieldKind.AMOUNT, FieldKind.QUANTITY, FieldKind.TEMPERATURE} else ""


def _polarity(field: ControlField) -> tuple[str, bool]:
    words = field.value if field.kind is not FieldKind.EMPHASIS and field.value else field.raw
    text = folded(words).casefold()
    if field.kind is not FieldKind.EMPHASIS:
        return re.sub(r"[\W_]+|\b(?:the|a|an)\b", "", text), field.kind is FieldKind.CHOICE_REJECTED
    negations = len(_NEGATIONS.findall(text))
    return re.sub(r"[\W_]+", "", _NEGATIONS.sub("", text)), negations % 2 == 1


def _identity(field: ControlField) -> str:
    if field.label and field.kind not in IDENTIFIERS and field.kind not in STATEMENTS:
        return f"{field.kind}:{field.label}"
    return f"{field.kind}:{digest_of(key_of(field))[:12]}"
