"""Values of a JSON text, each with its path as label and what its key says about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from langchain_ctxguard.core.field_json import Scalar, scalars_in
from langchain_ctxguard.core.field_keys import meaning_of
from langchain_ctxguard.core.field_reading import values
from langchain_ctxguard.core.field_state import Found, Reading
from langchain_ctxguard.core.normalize import normalize
from langchain_ctxguard.domain.control import IDENTIFIERS, FieldKind

_TRACKED = frozenset(["state", "assignee", "assignee_email", "priority", "reporter", "sprint", "labels", "severity", "resolution"])
_PROMISING = re.compile(
    r"[0-9@/\\_零一二两三四五六七八九十百千万半今明后昨周月货]|[A-Z]{3}|(?i:day\b|tomorrow|hours?|months?|weeks?|years?|receipt|delivery)"
)


def json_fields(reading: Reading) -> list[Found]:
    """Return the fields of a JSON text: each value with its path as label."""
    scalars = list(scalars_in(reading.text))
    found: list[Found] = []
    for scalar in scalars:
        found += _scalar(reading, scalar)
    return found


def _scalar(reading: Reading, scalar: Scalar) -> list[Found]:  # noqa: C901, PLR0911 - a list of cases
    path, start, stop, is_text, beside = scalar
    span = reading.text[start:stop]
    if not is_text:
        one = _number(reading, scalar, span)
        return [one] if one else []
    if not span or span.isspace():
        return []
    meaning = meaning_of(path)
    inner = list(values(reading, start, span)) if _PROMISING.search(span) else []
    whole = len(inner) == 1 and inner[0].start == start and inner[0].stop == stop
    kind = meaning.kind
    if whole and not (inner[0].kind in IDENTIFIERS or inner[0].kind in {FieldKind.PHONE, FieldKind.ERROR_CODE, FieldKind.VERSION}):
        return [inner[0]._replace(label=path)]
    has_digit = any(character.isdigit() for character in span)
    if kind is not None and re.fullmatch(r"[^\s,，。；;]{1,64}(?: [^\s,，。；;]{1,16}){0,4}", span):
        if kind in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.COMMIT}:
            return _named_by_key(reading, kind, scalar, span, inner, whole=whole)
        if kind is FieldKind.PHONE and sum(character.isdigit() for character in span) > 4:  # noqa: PLR2004
            return [Found(kind, start, stop, None, 1.0, path)]
        if kind is FieldKind.ERROR_CODE and " " not in span:
            if meaning.unit:
                return [Found(kind, start, stop, f"{meaning.unit} {span}", 1.0, path)] if span.isdigit() else []
            return [Found(kind, start, stop, None, 1.0, path)] if has_digit or "_" in span or span.isupper() else []
        if kind is FieldKind.VERSION and has_digit and re.fullmatch(r"[vV]?[0-9]+(?:\.[0-9A-Za-z-]+)+", span):
            return [Found(kind, start, stop, None, 1.0, path)]
        if kind in {FieldKind.AMOUNT, FieldKind.QUANTITY, FieldKind.DURATION, FieldKind.PERCENTAGE, FieldKind.TEMPERATURE} and re.fullmatch(
            r"-?[0-9][0-9,.]*", span
        ):
            one = _number(reading, scalar, span)
            return [one] if one else []
    if re.fullmatch(r"-?[0-9][0-9,]*(?:\.[0-9]+)?", span) and (meaning.is_money or _currency_beside(beside)):
        one = _number(reading, scalar, span)
        return [one] if one else []
    if meaning.is_counter and whole:
        return []
    return [item._replace(label=path) for item in inner]


def _named_by_key(_reading: Reading, kind: FieldKind, scalar: Scalar, span: str, inner: list[Found], *, whole: bool) -> list[Found]:  # noqa: PLR0911 - a list of cases
    path, start, stop, _, beside = scalar
    if whole and inner[0].kind in {FieldKind.UUID, FieldKind.IBAN, FieldKind.EMAIL, FieldKind.URL}:
        return [inner[0]._replace(label=path)]
    if (
        kind is FieldKind.ID
        and whole
        and inner[0].kind in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ERROR_CODE, FieldKind.COMMIT}
    ):
        last = path.rsplit(".", 1)[-1].lower()
        if (
            inner[0].kind is not FieldKind.TICKET_ID
            or inner[0].confidence >= 1
            or {"state", "assignee", "assignee_email", "priority", "status"} & set(beside)
        ):
            return (
                [inner[0]._replace(label=path)]
                if last in {"id", "doc", "code", "ref", "reference", "number", "no"}
                else [Found(kind, start, stop, None, 1.0, path)]
            )
    if kind is FieldKind.ID and re.fullmatch("[A-Z]{2,10}-[0-9]{1,6}", span) and _TRACKED & set(beside):
        return [Found(FieldKind.TICKET_ID, start, stop, None, 0.9, path)]
    if kind is FieldKind.ID and path.rsplit(".", 1)[-1].lower() in {"doc", "document"} and {"vat", "tax", "税率"} & set(beside):
        return [Found(FieldKind.INVOICE_ID, start, stop, None, 0.9, path)]
    digits = sum(character.isdigit() for character in span)
    if not digits or (span.isdigit() and len(span) < 4) or (re.fullmatch(r"[0-9]+(?:\.[0-9]+)?%?", span) and len(span) < 4):  # noqa: PLR2004
        if not (span.isupper() and len(span) > 4 and "_" not in span):  # noqa: PLR2004
            return [item._replace(label=path) for item in inner]
        return []
    if re.search(r"[\u4e00-\u9fff]", span) or (" " in span and len(span) > 12):  # noqa: PLR2004
        return [item._replace(label=path) for item in inner]
    return [Found(kind, start, stop, None, 1.0, path)]


def _number(_reading: Reading, scalar: Scalar, span: str) -> Found | None:  # noqa: C901, PLR0911 - a list of cases
    path, start, stop, _, beside = scalar
    meaning = meaning_of(path)
    plain = span.replace(",", "")
    if meaning.is_counter:
        return None
    currency = meaning.currency or (
        _currency_beside(beside) if meaning.is_money or path.rsplit(".", 1)[-1].lower() in {"amount", "value", "total", "金额"} else ""
    )
    if currency:
        return Found(FieldKind.AMOUNT, start, stop, normalize(FieldKind.AMOUNT, f"{plain} {currency}"), 1.0, path)
    kind = meaning.kind
    if kind is FieldKind.PERCENTAGE:
        return Found(kind, start, stop, normalize(kind, f"{plain}%"), 1.0, path)
    if kind is FieldKind.TEMPERATURE:
        return Found(kind, start, stop, normalize(kind, f"{plain}°{meaning.unit}"), 1.0, path)
    if kind is FieldKind.DURATION:
        value = f"PT{float(plain) / 1000:g}S" if meaning.span.endswith("MS") else meaning.span.format(plain)
        return Found(kind, start, stop, value, 1.0, path)
    if kind is FieldKind.QUANTITY:
        return Found(kind, start, stop, f"{_shown(plain)} {meaning.unit}", 1.0, path)
    if kind is FieldKind.ERROR_CODE and meaning.unit:
        if meaning.unit == "HTTP" and not (plain.isdigit() and 400 <= int(plain[:6]) < 600):  # noqa: PLR2004 - statuses that report an error
            return None
        return Found(kind, start, stop, f"{meaning.unit} {plain}", 1.0, path)
    if kind in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.PHONE} and plain.isdigit() and len(plain) > 4:  # noqa: PLR2004
        return Found(kind, start, stop, None, 0.9, path)
    unit = beside.get("unit") or beside.get("units") or beside.get("单位")
    if unit and path.rsplit(".", 1)[-1].lower() in {"qty", "quantity", "amount", "value", "count", "数量"}:
        return Found(FieldKind.QUANTITY, start, stop, f"{_shown(plain)} {unit}", 1.0, path)
    return None


def _shown(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _currency_beside(beside: Mapping[str, str]) -> str:
    for key in ("currency", "币种", "currency_code", "货币", "Currency", "ccy"):
        if re.fullmatch("[A-Za-z]{3}", beside.get(key, "")):
            return "CNY" if beside[key].upper() == "RMB" else beside[key].upper()
    return ""
