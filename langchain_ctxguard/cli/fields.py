"""`ctxguard fields`: the control fields of a stored thread, and every value one of them ever had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo
from langchain_ctxguard.cli.stores import AsJson, Namespace, Number, Tenant, Thread, Url, fail, json_out, opened, place_of
from langchain_ctxguard.cli.table import show_rows
from langchain_ctxguard.cli.versions import version_log

if TYPE_CHECKING:
    from langchain_ctxguard.domain.context_version import ContextPlace
    from langchain_ctxguard.domain.control import ControlField, FieldEvent
    from langchain_ctxguard.records.versions import VersionLog

_FIELDS = ("field", "kind", "value", "compared as", "by", "message", "standing", "earlier values")
_VALUES = ("field", "value", "compared as", "by", "message", "said", "standing", "in versions")


@described(
    "ctxguard fields sqlite:///ctxguard.db order-17 --history deadline",
    cannot="there is no such version or field, its content is gone, or the store cannot be used",
)
def fields(
    url: Url,
    thread: Thread,
    number: Number = None,
    *,
    history: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Every value of the fields of this label, kind or id, and which versions had it."),
    ] = None,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """List the control fields a version of a thread's context holds: amounts, dates, identifiers and the like, as they were said."""
    with opened("fields", url, tenant) as store:
        log, place = version_log(store), place_of(thread, namespace)
        version = log.newest(place) if number is None else log.get(place, number)
        if version is None:
            fail("fields", f"Thread '{thread}' has no version in this store. `ctxguard threads URL` lists the threads on record.")
        body = log.head_of(version).body
        found = () if body is None else body.evidence.fields
        if history is not None:
            found = tuple(field for field in found if history.casefold() in _names(field))
            if not found:
                fail("fields", f"Version {version.number} of thread '{thread}' holds no field '{history}'. Without --history all are listed.")
        held = _held_in(log, place) if history is not None else {}
        if as_json:
            json_out({"version": version.number, "fields": [_data(field, held if history is not None else None) for field in found]})
        elif history is not None:
            show_rows(_VALUES, (cells for field in found for cells in _history_cells(field, held)))
        elif not show_rows(_FIELDS, map(_cells, found)):
            echo("This version holds no control field.")


Held = dict[tuple[str, str], list[int]]
"""Versions by field and value."""


def _held_in(log: VersionLog, place: ContextPlace) -> Held:
    """Return which versions held which value, as far as their content is kept."""
    from langchain_ctxguard.errors import BlobMissingError

    held: Held = {}
    for version in log.all(place):
        try:
            body = log.head_of(version).body
        except BlobMissingError:
            continue
        for field in () if body is None else body.evidence.fields:
            held.setdefault((field.field_id, field.value or field.raw), []).append(version.number)
    return held


def _names(field: ControlField) -> set[str]:
    return {field.label.casefold(), str(field.kind), field.field_id.casefold()} - {""}


def _name(field: ControlField) -> str:
    return field.label or str(field.kind)


def _standing(field: ControlField) -> str:
    words = ["critical"] if field.critical else []
    words += ["closed"] if field.is_closed else []
    words += ["uncertain"] if field.is_weak else []
    return ", ".join(words) or "-"


def _cells(field: ControlField) -> tuple[str, ...]:
    earlier = "; ".join(f"{event.raw} ({event.reason})" for event in field.history)
    return _name(field), field.kind, field.raw, field.value or "-", field.origin, _message(field.source_turn), _standing(field), earlier or "-"


def _history_cells(field: ControlField, held: Held) -> Iterator[tuple[str, ...]]:
    from langchain_ctxguard.domain.control import ControlField

    values: tuple[FieldEvent | ControlField, ...] = (*field.history, field)
    for one in values:
        said = "-" if one.at is None else f"{one.at:%Y-%m-%d %H:%M:%SZ}"
        standing = f"in force, {_standing(field)}".removesuffix(", -") if isinstance(one, ControlField) else one.reason
        versions = ", ".join(map(str, held.get((field.field_id, one.value or one.raw), ()))) or "-"
        yield _name(field), one.raw, one.value or "-", one.origin, _message(one.source_turn), said, standing, versions


def _data(field: ControlField, held: Held | None) -> dict[str, Any]:
    data = field.model_dump(mode="json")
    if held is not None:
        values: tuple[FieldEvent | ControlField, ...] = (*field.history, field)
        data["held_in"] = {one.value or one.raw: held.get((field.field_id, one.value or one.raw), []) for one in values}
    return data


def _message(turn: int | None) -> str:
    return "-" if turn is None else str(turn)
