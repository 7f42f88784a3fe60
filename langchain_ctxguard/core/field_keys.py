"""What the key of a JSON value says about it: a unit (`weight_kg`), a currency (`fee_eur`), the kind of an identifier (`invoice_no`)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from langchain_ctxguard.domain.control import FieldKind

_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[\u4e00-\u9fff]+|²|³")
_CURRENCIES = frozenset(
    ["usd", "eur", "gbp", "cny", "rmb", "jpy", "chf", "aud", "cad", "hkd", "sgd", "nzd", "sek", "nok", "dkk", "inr", "krw", "twd", "thb", "pln"]
)
_SPANS = {
    "ms": "PT{}MS", "millis": "PT{}MS", "s": "PT{}S", "sec": "PT{}S", "secs": "PT{}S", "seconds": "PT{}S", "min": "PT{}M", "mins": "PT{}M",
    "minutes": "PT{}M",
    "h": "PT{}H", "hr": "PT{}H", "hrs": "PT{}H", "hours": "PT{}H", "days": "P{}D", "day": "P{}D", "weeks": "P{}W", "months": "P{}M", "years": "P{}Y",
    "分钟": "PT{}M", "小时": "PT{}H", "天数": "P{}D", "天": "P{}D", "月数": "P{}M", "年限": "P{}Y", "秒": "PT{}S",
}  # fmt: skip
_UNITS = {
    "kg": "kg", "g": "g", "mg": "mg", "lb": "lb", "lbs": "lb", "t": "t", "km": "km", "m": "m", "cm": "cm", "mm": "mm", "m2": "m2", "sqm": "m2",
    "m3": "m3", "ml": "ml",
    "l": "l", "ul": "ul", "kwh": "kWh", "kw": "kW", "gb": "GB", "mb": "MB", "kb": "KB", "tb": "TB", "bar": "bar", "psi": "psi", "kpa": "kPa",
    "rpm": "rpm", "ppm": "ppm",
    "mah": "mAh", "hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz", "miles": "miles", "ft": "ft", "litres": "l", "liters": "l",
    "mph": "mph", "kmh": "km/h", "kph": "km/h", "oz": "oz", "mw": "MW", "kva": "kVA", "acres": "acres", "ha": "ha",
}  # fmt: skip
_MONEY = frozenset(
    [
        "amount",
        "price",
        "total",
        "fee",
        "cost",
        "rent",
        "deposit",
        "balance",
        "salary",
        "budget",
        "revenue",
        "refund",
        "subtotal",
        "tax",
        "premium",
        "fare",
        "copay",
        "payment",
        "principal",
        "freight",
        "paid",
        "value",
        "charge",
        "discount",
        "limit",
        "wage",
        "bonus",
        "金额",
        "总价",
        "价格",
        "单价",
        "租金",
        "押金",
        "定金",
        "运费",
        "费用",
        "总额",
        "余额",
        "本金",
        "预算",
        "投资",
        "应付",
        "实付",
        "手续费",
        "税额",
        "货款",
        "保费",
    ]
)
_COUNTERS = frozenset(
    [
        "count",
        "seq",
        "page",
        "pages",
        "index",
        "level",
        "rank",
        "attempt",
        "attempts",
        "retries",
        "version",
        "floors",
        "seats",
        "guests",
        "passengers",
        "size",
        "offset",
        "limit",
        "total_items",
        "hits",
        "minor",
        "ratio",
        "epoch",
        "exp",
        "iat",
    ]
)
_IDENTIFIERS: tuple[tuple[FieldKind, frozenset[str]], ...] = (
    (
        FieldKind.PHONE,
        frozenset(
            ["phone", "tel", "telephone", "mobile", "callback", "hotline", "fax", "whatsapp", "电话", "手机", "手机号", "联系电话", "热线", "座机"]
        ),
    ),
    (FieldKind.INVOICE_ID, frozenset(["invoice", "bill", "credit_note", "发票", "发票号", "发票号码", "账单", "账单号"])),
    (FieldKind.ORDER_ID, frozenset(["order", "po", "so", "wo", "orders", "订单", "订单号", "采购单", "采购单号", "订单编号"])),
    (
        FieldKind.TICKET_ID,
        frozenset(
            [
                "ticket",
                "incident",
                "case",
                "issue",
                "change",
                "defect",
                "bug",
                "jira",
                "工单",
                "工单号",
                "缺陷单",
                "变更单",
                "投诉",
                "事件单",
                "单号",
                "缺陷",
                "任务单",
            ]
        ),
    ),
    (FieldKind.COMMIT, frozenset(["commit", "sha", "revision", "rev", "提交"])),
    (FieldKind.ERROR_CODE, frozenset(["error", "fault", "errno", "reason", "err", "错误码", "错误", "故障码", "错误代码", "异常"])),
    (FieldKind.VERSION, frozenset(["version", "firmware", "tag", "plane", "release", "版本", "版本号", "固件", "客户端版本"])),
)
_SOME_ID = frozenset(
    [
        "id",
        "no",
        "number",
        "ref",
        "reference",
        "rma",
        "sku",
        "serial",
        "sn",
        "tracking",
        "flight",
        "pnr",
        "contract",
        "booking",
        "container",
        "account",
        "policy",
        "loan",
        "lot",
        "batch",
        "sample",
        "patient",
        "customer",
        "user",
        "claim",
        "quote",
        "barcode",
        "store",
        "broker",
        "shipment",
        "registration",
        "supplier",
        "bl",
        "rx",
        "alarm",
        "txn",
        "key",
        "code",
        "sensor",
        "vin",
        "plate",
        "passport",
        "编号",
        "号",
        "账号",
        "合同",
        "合同号",
        "流水号",
        "批号",
        "运单号",
        "快递单号",
        "会员",
        "用户",
        "入库单",
        "出库单",
        "序列号",
        "案号",
        "卡号",
        "项目编号",
        "单据",
        "保单号",
        "身份证",
        "设备号",
        "受理号",
        "报名号",
        "doc",
        "deed",
        "member",
        "license",
        "certificate",
    ]
)
_TEMPERED = frozenset(
    [
        "temp",
        "temperature",
        "setpoint",
        "min",
        "max",
        "target",
        "current",
        "ambient",
        "indoor",
        "outdoor",
        "inside",
        "outside",
        "room",
        "water",
        "air",
    ]
) | {"body", "actual", "mean", "avg", "high", "low"}
_LENGTHS = frozenset(["depth", "height", "width", "length", "rain", "snow", "diameter", "thickness"])
_NOT_AN_ID = frozenset(["zip", "postcode", "postal", "four", "port", "seat", "room", "color", "name", "type", "status", "state", "page"])


class KeyMeaning(NamedTuple):
    """What a key says about its value."""

    kind: FieldKind | None = None
    currency: str = ""
    unit: str = ""
    span: str = ""
    is_money: bool = False
    is_counter: bool = False


@lru_cache(maxsize=4_096)
def meaning_of(path: str) -> KeyMeaning:
    """Return what the last key of a path says, the one above it where the last says nothing."""
    keys = path.split(".")
    found = _read(keys[-1])
    if (
        found.kind is None
        and not (found.currency or found.unit or found.span or found.is_counter)
        and len(keys) > 1
        and keys[-1].lower() in {"id", "no", "number", "code", "value"}
    ):
        above = _read(keys[-2].removesuffix("s") if keys[-2].isascii() else keys[-2])
        if above.kind is not None or above.is_money:
            return above
    if keys[-1].lower() in {"id", "no", "number"} and len(keys) > 1:
        above = _read(keys[-2].removesuffix("s"))
        if above.kind not in {None, FieldKind.ID}:
            return above
    if found.kind is None and keys[-1].lower() in {"at", "value"}:
        return _read(keys[-2]) if len(keys) > 1 else found
    return found


def _read(key: str) -> KeyMeaning:  # noqa: C901, PLR0911, PLR0912 - a list of cases
    words = [word.lower() for word in _SPLIT.findall(key)]
    if not words:
        return KeyMeaning()
    last, every = words[-1], set(words)
    joined = "_".join(words)
    if "minor" in every or joined in {"exp", "iat", "nbf", "epoch", "timestamp_ms"}:
        return KeyMeaning(is_counter=True)
    if last in _CURRENCIES:
        return KeyMeaning(FieldKind.AMOUNT, currency="CNY" if last == "rmb" else last.upper(), is_money=True)
    if "status" in every or last == "状态码" or joined in {"http_code", "statuscode", "status_code"}:
        return KeyMeaning(FieldKind.ERROR_CODE, unit="HTTP")
    if joined.endswith(("last_four", "last4", "last_4")) or every & _NOT_AN_ID:
        return KeyMeaning(is_counter=True)
    if joined == "smtp_code":
        return KeyMeaning(FieldKind.ERROR_CODE, unit="SMTP")
    if joined in {"exit_code", "exit_status", "returncode", "return_code", "退出码"}:
        return KeyMeaning(FieldKind.ERROR_CODE, unit="exit code")
    if last in {"pct", "percent", "percentage", "百分比"}:
        return KeyMeaning(FieldKind.PERCENTAGE)
    if last in {"c", "f", "celsius", "fahrenheit"} and every & _TEMPERED:
        return KeyMeaning(FieldKind.TEMPERATURE, unit="F" if last[0] == "f" else "C")
    for kind, names in _IDENTIFIERS:
        if (
            every & names
            or (not key.isascii() and any(key.endswith(name) for name in names if len(name) > 2 and not name.isascii()))  # noqa: PLR2004
            or joined in names
        ):
            if kind is FieldKind.ERROR_CODE and every & {"rate", "count", "budget", "message"}:
                break
            if kind is FieldKind.ORDER_ID and (every & {"amount", "total", "count", "date"} or key == "orders"):
                break
            if kind is FieldKind.TICKET_ID and every & {"count", "date", "fee", "price"}:
                break
            if last in _MONEY or (last in {"date", "rate", "code"} and kind is not FieldKind.ERROR_CODE):
                return KeyMeaning(FieldKind.ID) if last == "code" else KeyMeaning(is_money=last in _MONEY)
            return KeyMeaning(kind)
    if last in _SPANS and (len(words) > 1 or last in {"years", "days", "months", "hours", "weeks", "minutes", "seconds"}):
        return KeyMeaning(FieldKind.DURATION, span=_SPANS[last])
    if "days" in every or "hours" in every:
        return KeyMeaning(FieldKind.DURATION, span="P{}D" if "days" in every else "PT{}H")
    if last == "in" and every & _LENGTHS:
        return KeyMeaning(FieldKind.QUANTITY, unit="in")
    two = "".join(words[-2:])
    if len(words) > 1 and (last in _UNITS or two in _UNITS):
        return KeyMeaning(FieldKind.QUANTITY, unit=_UNITS.get(two) or _UNITS[last])
    if last in _MONEY or any(key.endswith(name) for name in _MONEY if not name.isascii()):
        return KeyMeaning(is_money=True)
    if every & _COUNTERS:
        return KeyMeaning(is_counter=True)
    if every & _SOME_ID or (not key.isascii() and re.search(r"(?:编号|单号|号码|号|单|码)$", key)):
        return KeyMeaning(FieldKind.ID)
    return KeyMeaning()
