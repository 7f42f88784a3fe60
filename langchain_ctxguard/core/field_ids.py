"""What an identifier names: an order, an invoice, a ticket, a commit, a phone number ... by its form, and by the word beside it."""

from __future__ import annotations

import re
from typing import NamedTuple

from langchain_ctxguard.domain.control import FieldKind

_UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
_IPV4 = re.compile(r"((?:[0-9]{1,3}\.){3}[0-9]{1,3})(/[0-9]{1,2})?")
_VERSION = re.compile(r"[vV]?[0-9]+(?:\.[0-9]+){2,}(?:[-.+~][0-9A-Za-z.]+)*")
_SHORT_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:-[0-9A-Za-z.]+)?")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}")
_MOBILE = re.compile(r"(?:86)?1[3-9][0-9]{9}")
_PHONE = re.compile(r"0[0-9]{2,3}-?[0-9]{7,8}|1[3-9][0-9]-[0-9]{4}-[0-9]{4}|0[0-9]{2,3}-[0-9]{4}-[0-9]{4}|[48]00-?[0-9]{3,4}-?[0-9]{3,4}|[0-9]{3}-[0-9]{3}-[0-9]{4}")
_ERROR = re.compile(r"(?:ORA|TS|CS|ERR|MSB|NU|LNK|SQLSTATE|KB|PLS|TNS|DB|DPY|WSA|E|EC|ERRNO)[-_]?[0-9]{2,6}|0x[0-9A-Fa-f]{4,8}")
_TRACKER = re.compile(r"[A-Z]{2,10}-[0-9]{1,7}")
_SEGMENTED = re.compile(r"[A-Za-z0-9]+(?:[-_/.:#][A-Za-z0-9]+)+")
_NO_IDS = frozenset(
    "COVID GPT UTF ISO SHA MD RFC IPV SARS PM CAT USB MP HTTP TLS SSL GMT UTC Q H A4 X86 X64 ARM WIN MP3 MP4 H264 H265 B2B B2C O2O P2P I18N L10N K8S S3 EC2 V P BO M".split()
)

_PREFIXES = {
    **dict.fromkeys("ORD ORDER PO SO WO MO DD".split(), FieldKind.ORDER_ID),
    **dict.fromkeys("INV INVOICE CN PI FP BILL".split(), FieldKind.INVOICE_ID),
    **dict.fromkeys("INC BUG CHG PR MR TICKET TKT ISSUE CASE CS CR PRB REQ DEF QX".split(), FieldKind.TICKET_ID),
    **dict.fromkeys("CVE RMA SKU SN LOT KEY UID REF ID ISBN EAN HAWB AWB BKG CUST EMP VIP".split(), FieldKind.ID),
}
_KIND_OF_WORD: dict[str, FieldKind | None] = {}


def _words(kind: FieldKind | None, words: str) -> None:
    _KIND_OF_WORD.update(dict.fromkeys(words.split("|"), kind))


_words(FieldKind.ORDER_ID, "order|orders|po|订单|原单|返修单|返单|采购单|订货单|下单|大货单|采购订单|销售单|锅|单号:order")
_words(FieldKind.INVOICE_ID, "invoice|invoices|bill|credit note|receipt|发票|账单|红字发票|形式发票")
_words(
    FieldKind.TICKET_ID,
    "ticket|incident|case|change|defect|pr|pull request|merge request|mr|issue|issues|bug|jira|carry over|close|duplicate|工单|缺陷单|缺陷|变更单|变更|复现单|投诉|投诉单"
    "|故障单|事件单|单子|报修单|合并请求|需求单|问题单|任务单|异常跟",
)
_words(FieldKind.COMMIT, "commit|commits|revision|rev|sha|hash|rebase|cherry-pick|revert|提交|回滚到|合入|补丁")
_words(FieldKind.PHONE, "phone|mobile|call|hotline|tel|telephone|fax|whatsapp|callback|ring|dial|desk|电话|手机|手机号|热线|座机|传真|拨|拨打|打|联系|值班手机|客服")
_words(
    FieldKind.ERROR_CODE,
    "error|errors|error code|fault|fails with|failed with|exception|throws|threw|says|reports|code is|报|报错|错误|错误码|故障码|故障|冒|提示|异常|错误代码|代码",
)
_words(FieldKind.VERSION, "version|release|releases|firmware|upgrade|upgraded|chart|driver|sdk|tag|pinned at|image|from|to|版本|固件|升级|升级到|升到|插件|目标")
_words(
    FieldKind.ID,
    "account|account number|card|passport|serial|chip|chip number|key|key code|code|tracking|tracking number|flight|booking|contract|quote|claim|policy|form|label|batch|loan"
    "|reference|reference number|ref|number|registration|shipment|container|permit|license|membership|member|customer|client|user|sample|lot|patient|reservation|hold|job|rfq"
    "|programme|badge|tour|rma|sku|vin|plate|parcel|id|ids|编号|号码|账号|账户|卡号|身份证|身份证号|护照|合同|流水号|运单|运单号|快递单|快递单号|单号:id|序列号|车次|航班|工号|学号|准考证"
    "|报名号|群号|批号|批次|报价单|保单|税号|车架号|车牌|案号|案件|提货单|入库单|出库单|领料单|押金单|验收单|报关单|报销单|确认号|签证|会员|会员号|商品|物料|道具|备件|设备号|检查号|体检号"
    "|联行号|信用证|预约号|受理号|档案号|密钥|招标|网签|赛事|会签|券码|仲裁|登记号|统一社会信用代码|qq|微信号|联系单",
)
_words(None, "zip|zip code|postcode|postal code|postal|port|room|locker|seat|unit|house|street|page|line|ending|step|route|terminal|model|building|bay|floor|gate|platform|chapter|section|level|row|邮编|端口|尾号|房间|门牌|型号|第|页码|楼")
_EN_WORDS = sorted((word for word in _KIND_OF_WORD if word.isascii()), key=len, reverse=True)
_ZH_WORDS = sorted((word.partition(":")[0] for word in _KIND_OF_WORD if not word.isascii()), key=len, reverse=True)
_NAMED = re.compile(r"\b(?:" + "|".join(map(re.escape, _EN_WORDS)) + r")\b|(?:" + "|".join(map(re.escape, _ZH_WORDS)) + ")", re.IGNORECASE)
_ZH_NAMED = re.compile(r"([\u4e00-\u9fff]{0,4}?)(?:单号|编号|号码|号|单|证|码)(?: ?(?:是|为|还是|改成|改为|换成|写|[:：=]))? ?[“\"]?$")
_GLUE = re.compile(
    r"[\s:：=#(（“\"'`]*(?:(?:number|no\.?|num|id|ids|code|ref|is|are|was|the|of|with|like|under|such as|look like|looks like|called|编号|号码|号|单号|码|代码|是|为|还是|改成|改为|换成"
    r"|用|写|到|走|叫|请|给|已|经|\d+|ref\.?)[\s:：=#(（“\"'`]*){0,3}",
    re.IGNORECASE,
)
_LEFT = 32


class Named(NamedTuple):
    """What an identifier is, and how sure that is."""

    kind: FieldKind
    start: int
    stop: int
    confidence: float = 1.0


def named_by(text: str, start: int) -> tuple[FieldKind | None, bool, bool]:
    """Return the kind the nearest word before `start` names, whether it stands right before it, and whether any word was found.

    A word that names no identifier (`zip code`, 邮编) gives `None` and `True`.
    """
    low = max(0, start - _LEFT)
    left = text[low:start]
    for mark in "。；\n！？;":
        cut = left.rfind(mark)
        if cut >= 0:
            left = left[cut + 1 :]
    last = None
    for last in _NAMED.finditer(left):
        pass
    if last is None:
        found = _ZH_NAMED.search(left)
        return (FieldKind.ID, True, True) if found else (None, False, False)
    word = last.group().lower()
    gap = left[last.end() :]
    is_tight = len(gap) <= 1 or _GLUE.fullmatch(gap) is not None
    if not is_tight and (found := _ZH_NAMED.search(gap)):
        return FieldKind.ID, True, True
    if word in _KIND_OF_WORD:
        return _KIND_OF_WORD[word], is_tight, True
    return FieldKind.ID, is_tight, True


def identify(text: str, start: int, stop: int, known: dict[str, FieldKind]) -> Named | None:
    """Return what the token between `start` and `stop` identifies, or `None` where it is no identifier.

    Args:
        text: The message, widths folded.
        start: Where the token begins.
        stop: Where it ends.
        known: What tokens with the same beginning were, in this message; added to.
    """
    token = text[start:stop]
    plain = _plain_form(text, start, stop, token)
    if plain is not None:
        return plain
    if "." in token and "/" not in token and _VERSION.fullmatch(token):
        return Named(FieldKind.VERSION, start, stop)
    head, colon, tail = token.partition(":")
    if colon and head.isalpha() and len(head) > 1 and tail and not tail.startswith(":"):
        return identify(text, start + len(head) + 1, stop, known)
    kind, is_tight, is_named = named_by(text, start)
    digits = sum(character.isdigit() for character in token)
    if kind is None and is_named and is_tight:
        return None
    found = _by_form(text, start, stop, token, kind if is_tight else None, kind, digits, known)
    if found and token[0].isalpha():
        beginning = re.match("[A-Za-z]+", token)
        if beginning and found.kind not in {FieldKind.COMMIT, FieldKind.VERSION}:
            known.setdefault(beginning[0], found.kind)
    return found


def _plain_form(text: str, start: int, stop: int, token: str) -> Named | None:
    """Return the kinds that need no word beside them."""
    if len(token) >= 36 and _UUID.fullmatch(token):  # noqa: PLR2004 - a UUID's length
        return Named(FieldKind.UUID, start, stop)
    if token.count(".") == 3 and (found := _IPV4.match(token)) and all(int(part) < 256 for part in found[1].split(".")):  # noqa: PLR2004 - four octets
        if found.end() == len(token):
            return Named(FieldKind.IP, start, stop)
        if token[found.end()] == ":":
            return Named(FieldKind.IP, start, start + found.end())
    if token[0] == "#":
        kind, is_tight, _ = named_by(text, start)
        if kind in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} and is_tight:
            return Named(kind or FieldKind.ID, start, stop)
        return Named(FieldKind.TICKET_ID, start, stop, 0.8) if token[1:].isdigit() and len(token) > 2 else None  # noqa: PLR2004 - #1 is a rank
    return None


def _by_form(
    text: str, start: int, stop: int, token: str, tight: FieldKind | None, loose: FieldKind | None, digits: int, known: dict[str, FieldKind]
) -> Named | None:
    letters = any(character.isalpha() for character in token)
    if not letters:
        return _digits_only(text, start, stop, token, tight, loose, digits)
    if tight in {FieldKind.COMMIT, None} and _HEX.fullmatch(token) and not (tight is None and loose is FieldKind.ID):
        return Named(FieldKind.COMMIT, start, stop)
    if tight is FieldKind.VERSION and _SHORT_VERSION.fullmatch(token):
        return Named(FieldKind.VERSION, start, stop)
    beginning = re.match("[A-Za-z]+", token)
    prefix = beginning[0] if beginning else ""
    if prefix.upper() in _NO_IDS or token.upper() in _NO_IDS:
        return None
    if _ERROR.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID}:
        return Named(FieldKind.ERROR_CODE, start, stop)
    if tight is FieldKind.ERROR_CODE and re.fullmatch("[A-Z]{1,5}[-_]?[0-9]{1,6}", token):
        return Named(FieldKind.ERROR_CODE, start, stop)
    segments = re.split("[-_/]", token)
    by_prefix = next((_PREFIXES[segment] for segment in segments[:2] if segment in _PREFIXES), None)
    if tight in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} and digits and (digits > 1 or len(token) > 3):  # noqa: PLR2004
        kind = tight if tight is not FieldKind.ID or by_prefix is None else by_prefix if by_prefix is not FieldKind.TICKET_ID else tight
        return Named(kind, start, stop)
    if by_prefix is not None and digits and (len(segments) > 1 or digits > 3):  # noqa: PLR2004
        return Named(by_prefix, start, stop)
    if prefix in known and _SEGMENTED.fullmatch(token):
        return Named(known[prefix], start, stop)
    if _TRACKER.fullmatch(token):
        kind = loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} else FieldKind.TICKET_ID
        return Named(kind, start, stop, 0.8)
    return _mixed(start, stop, token, loose, digits)


def _mixed(start: int, stop: int, token: str, loose: FieldKind | None, digits: int) -> Named | None:
    """Return what letters and digits name where no word says it."""
    upper = sum(character.isupper() for character in token)
    kind = loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID} else FieldKind.ID
    if re.fullmatch(r"sha(?:256|1|512):[0-9a-f]{6,64}", token):
        return Named(FieldKind.ID, start, stop)
    if upper and re.fullmatch(r"[A-Z0-9]+(?:[-/][A-Z0-9]+)+", token) and digits >= 2:  # noqa: PLR2004
        return Named(kind, start, stop, 0.9)
    if upper and token.isalnum() and token.upper() == token and len(token) >= 6 and digits >= 3:  # noqa: PLR2004
        return Named(kind, start, stop, 0.9)
    if re.fullmatch(r"[A-Z]{2} [0-9]{3,4}", token) and loose is FieldKind.ID:
        return Named(FieldKind.ID, start, stop)
    if re.fullmatch(r"[A-Za-z]+-[0-9]{4,}", token) or (upper and digits >= 4 and re.fullmatch(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*", token)):  # noqa: PLR2004
        return Named(kind, start, stop, 0.75)
    return None


def _digits_only(text: str, start: int, stop: int, token: str, tight: FieldKind | None, loose: FieldKind | None, digits: int) -> Named | None:
    if tight is FieldKind.PHONE and digits >= 5:  # noqa: PLR2004 - short numbers of services
        return Named(FieldKind.PHONE, start, stop)
    if tight is FieldKind.VERSION and "." in token and _SHORT_VERSION.fullmatch(token):
        return Named(FieldKind.VERSION, start, stop)
    if _MOBILE.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID}:
        return Named(FieldKind.PHONE, start, stop)
    if "-" in token and _PHONE.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID}:
        return Named(FieldKind.PHONE, start, stop)
    if "." in token:
        return None
    if tight in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} and digits >= 4:  # noqa: PLR2004
        return Named(tight, start, stop)
    after = text[stop : stop + 8]
    if re.match(r" ?(?:这个|那个|这笔)?(?:订单|order)", after) and digits >= 4:  # noqa: PLR2004
        return Named(FieldKind.ORDER_ID, start, stop)
    if digits >= 12 and "/" not in token and ":" not in token:  # noqa: PLR2004
        return Named(loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID} else FieldKind.ID, start, stop, 0.8)
    if digits >= 8 and "-" in token and token.count("-") <= 4:  # noqa: PLR2004
        return Named(loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.PHONE} else FieldKind.ID, start, stop, 0.75)
    return None
