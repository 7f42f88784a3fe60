"""Control fields: the values a conversation turns on, what became of them, and how two sets of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import Value

WEAK_CONFIDENCE = 0.7
"""Below it, the loss of a field only warns."""

FLIPS = 3
"""A field whose value went back and forth this often is unsettled: its loss only warns."""

CRITICAL_CAP = 20
"""How many critical fields a ledger holds before it ranks the rest as non-critical."""


KEY = "_key"
"""Where `core.normalize.key_of` remembers a field's key; no field of the model, so neither compared nor dumped."""


class FieldKind(StrEnum):
    """What sort of value a field holds; it decides how values compare."""

    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    AMOUNT = "amount"
    PERCENTAGE = "percentage"
    QUANTITY = "quantity"
    TEMPERATURE = "temperature"
    DURATION = "duration"
    ORDER_ID = "order_id"
    INVOICE_ID = "invoice_id"
    TICKET_ID = "ticket_id"
    COMMIT = "commit"
    UUID = "uuid"
    PHONE = "phone"
    EMAIL = "email"
    IBAN = "iban"
    ID = "id"
    VERSION = "version"
    IP = "ip"
    CONNECTION_STRING = "connection_string"
    URL = "url"
    PATH = "path"
    ANCHOR = "anchor"
    ERROR_CODE = "error_code"
    PAYMENT_TERM = "payment_term"
    NAME = "name"
    EMPHASIS = "emphasis"
    CHOICE_CONFIRMED = "choice_confirmed"
    CHOICE_REJECTED = "choice_rejected"
    PATTERN = "pattern"
    """Found by a pattern of the config file; `label` is the pattern's name."""


IDENTIFIERS = frozenset({FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID, FieldKind.COMMIT, FieldKind.UUID})
"""Kinds whose values name a thing: two of them are two things, whatever stands around them."""

STATEMENTS = frozenset({FieldKind.EMPHASIS, FieldKind.CHOICE_CONFIRMED, FieldKind.CHOICE_REJECTED})
"""Kinds whose raw span is a clause; they compare as text."""


class FieldEvent(Value):
    """A value a field had, and why it has it no longer; or a value someone disagreed with."""

    raw: str
    value: str | None = None
    origin: Origin = "user"
    source_turn: int | None = None
    message_id: str | None = None
    at: datetime | None = None
    reason: Literal["superseded", "corrected", "conflict", "closed"] = "superseded"
    """`conflict`: somebody of lower origin said this; it never came into force."""


class ControlField(Value):
    """One value that must survive a compaction. The raw span is the value of record; `value` serves comparison."""

    field_id: str = ""
    """Stable over a thread: kind and label, or kind and value where the value is the identity."""

    kind: FieldKind
    label: str = ""
    """What it is the value of: `deadline`, 预算, or the path in a tool's JSON. Empty where the text does not say."""

    raw: str
    """The span as written, whole and verbatim."""

    value: str | None = None
    """Comparable form (`2026-06-30`, `50000 CNY`); `None`: it cannot be told, and `raw` is compared."""

    origin: Origin = "user"
    source_turn: int | None = None
    """Position of the message among those given, from 0."""

    message_id: str | None = None
    start: int = 0
    """Where `raw` begins in the text of its message."""

    at: datetime | None = None
    """When it was said, where known: what a relative date was resolved against."""

    confidence: float = 1.0
    critical: bool = False
    version: int = 1
    history: tuple[FieldEvent, ...] = ()
    context: str = ""
    """The sentence it stood in, copied when its message left the view."""

    is_closed: bool = False
    """The matter has ended: its absence is no loss."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; what `core.normalize.key_of` remembers of the value is not taken along."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop(KEY, None)
        return copied

    @property
    def flips(self) -> int:
        """How often the value returned to one it had before."""
        values = [event.value or event.raw for event in self.history if event.reason != "conflict"]
        values.append(self.value or self.raw)
        return sum(value in values[:index] for index, value in enumerate(values))

    @property
    def is_weak(self) -> bool:
        """Say whether losing it only warns: it is uncertain, or it keeps flipping."""
        return self.confidence < WEAK_CONFIDENCE or self.flips >= FLIPS

    @property
    def stop(self) -> int:
        """Where `raw` ends in the text of its message."""
        return self.start + len(self.raw)


_SET = set(ControlField.model_fields)


_new, _set = object.__new__, object.__setattr__


def new_field(values: dict[str, Any]) -> ControlField:
    """Return a field of values known to be right, without validating them: an extraction makes thousands.

    Args:
        values: Every attribute by name, in the order of the class; the dictionary becomes the field's own. Start from `{**BLANK, ...}`.
    """
    field = _new(ControlField)
    # The four attributes of a pydantic model; the model is frozen, so they are set past it.
    _set(field, "__dict__", values)
    _set(field, "__pydantic_fields_set__", _SET)
    _set(field, "__pydantic_extra__", None)
    _set(field, "__pydantic_private__", None)
    return field


ChangeKind = Literal["digit", "shifted", "unit", "extended", "truncated", "negated", "blurred", "renamed", "value"]
"""How a value differs: a digit, a date or time moved, another unit or currency, an id grown or cut, a negation gone or new, a vague word for a value,
other words, or simply another value."""


class FieldChange(Value):
    """One control field before and after a compaction."""

    before: ControlField
    after: ControlField | None = None
    """What stands in its place; `None` where nothing does."""

    how: ChangeKind | None = None
    """`None`: gone without a trace."""

    found: str | None = None
    """The words that stand in its place where they are no field: 近期 for a date."""


class FieldDiff(Value):
    """What a compaction did to the control fields."""

    lost: tuple[FieldChange, ...] = ()
    """Gone, or blurred to a vague word."""

    changed: tuple[FieldChange, ...] = ()
    """Another value stands where this one stood."""

    added: tuple[ControlField, ...] = ()
    """Values that no field before had: nothing in the conversation says them."""

    kept: int = 0

    def __iter__(self) -> Iterator[FieldChange]:  # type: ignore[override]  # a diff is a list of findings, not of pydantic's pairs
        """Iterate over what was lost, then what changed."""
        yield from self.lost
        yield from self.changed

    @property
    def is_clean(self) -> bool:
        """Say whether every field is still there with its value."""
        return not (self.lost or self.changed)

    @property
    def critical(self) -> tuple[FieldChange, ...]:
        """The findings that must be mended: critical fields, the weak and the closed ones left out."""
        return tuple(change for change in self if change.before.critical and not (change.before.is_weak or change.before.is_closed))
