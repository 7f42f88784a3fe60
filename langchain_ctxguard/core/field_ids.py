"""What an identifier names: an order, an invoice, a ticket, a commit, a phone number ... by its form, and by the word beside it."""

from __future__ import annotations

import re
from typing import NamedTuple

from langchain_ctxguard.core.field_patterns import stands_in
from langchain_ctxguard.domain.control import FieldKind

_UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
_IPV4 = re.compile(r"((?:[0-9]{1,3}\.){3}[0-9]{1,3})(/[0-9]{1,2})?")
_VERSION = re.compile(r"[vV]?[0-9]+(?:\.[0-9]+){2,}(?:[-.+~][0-9A-Za-z.]+)*")
_SHORT_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:-[0-9A-Za-z.]+)?")
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}")
_MOBILE = re.compile(r"(?:86)?1[3-9][0-9]{9}")
_PHONE = re.compile(
    r"0[0-9]{2,3}-?[0-9]{7,8}|1[3-9][0-9]-[0-9]{4}-[0-9]{4}|0[0-9]{2,3}-[0-9]{4}-[0-9]{4}|[48]00-?[0-9]{3,4}-?[0-9]{3,4}"
    r"|[48]00[0-9]-[0-9]{3}-[0-9]{3}|1-[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}|(?:86|0086)-[0-9]{2,4}-[0-9]{7,8}|[0-9]{3}-[0-9]{3}-[0-9]{4}"
)
_ERROR = re.compile(r"(?:ORA|TS|CS|ERR|MSB|NU|LNK|SQLSTATE|KB|PLS|TNS|DB|DPY|WSA|E|EC|ERRNO)[-_]?[0-9]{2,6}|0x[0-9A-Fa-f]{4,8}")
_TRACKER = re.compile(r"[A-Z]{2,10}-[0-9]{1,5}")
_SEGMENTED = re.compile(r"[A-Za-z0-9]+(?:[-_/.:#][A-Za-z0-9]+)+")
_NO_IDS = frozenset(
    [
        "COVID",
        "GPT",
        "UTF",
        "ISO",
        "SHA",
        "MD",
        "RFC",
        "IPV",
        "SARS",
        "PM",
        "CAT",
        "USB",
        "MP",
        "HTTP",
        "TLS",
        "SSL",
        "GMT",
        "UTC",
        "Q",
        "H",
        "A4",
        "X86",
        "X64",
        "ARM",
        "WIN",
        "MP3",
        "MP4",
        "H264",
        "H265",
        "B2B",
        "B2C",
        "O2O",
        "P2P",
        "I18N",
        "L10N",
        "K8S",
        "S3",
        "EC2",
        "V",
        "P",
        "BO",
        "M",
    ]
)

_PREFIXES = {
    **dict.fromkeys(["ORD", "ORDER", "PO", "SO", "WO", "MO", "DD", "TB", "ODR"], FieldKind.ORDER_ID),
    **dict.fromkeys(["INV", "INVOICE", "CN", "DN", "PI", "FP", "BILL", "RE"], FieldKind.INVOICE_ID),
    **dict.fromkeys(["INC", "BUG", "CHG", "PR", "MR", "TICKET", "TKT", "ISSUE", "CASE", "CS", "CR", "PRB", "REQ", "DEF", "QX"], FieldKind.TICKET_ID),
    **dict.fromkeys(
        ["CVE", "RMA", "SKU", "SN", "LOT", "KEY", "UID", "REF", "ID", "ISBN", "EAN", "HAWB", "AWB", "BKG", "CUST", "EMP", "VIP"], FieldKind.ID
    ),
}
_PLAIN_PREFIXES = frozenset(["ORD", "ORDER", "INV", "INVOICE", "BUG", "INC", "TICKET", "TKT", "CVE", "SKU"])
_PLAIN_ID = re.compile(f"({'|'.join(sorted(_PLAIN_PREFIXES))})[-_/][A-Za-z0-9_/-]*[0-9]")
_KIND_OF_WORD: dict[str, FieldKind | None] = {}


_MORE_TICKETS = (
    "complaint|service request|support request|change request|support case|escalation|problem|服务请求|事件编号|投诉编号|工单编号|缺陷编号|缺陷号"
    "|报修"
)
_MORE_IDS = (
    "reveal|disclose|divulge|requisition|locator|record locator|pnr|箱单|装箱单|变更记录|操作记录|passcode|otp|pin code|door code"
    "|gate code|entry code|confirmation|confirmation number|confirmation code|ein|tax id|验证码|口令|核销码|暗号"
    "|编码|识别码|条码|防伪码"
)


def _words(kind: FieldKind | None, words: str) -> None:
    _KIND_OF_WORD.update(dict.fromkeys(words.split("|"), kind))


_words(
    FieldKind.ORDER_ID,
    (
        "order|orders|order number|order no|order id|orders|po|po number|purchase|purchase order|sales order|work order|订单号|订单编号|采购单号"
        "|销售订单|采购订单号"
        "|订单|原单|返修单|返单|采购单|订货单|下单|大货单|采购订单|销售单"
    ),
)
_words(
    FieldKind.INVOICE_ID,
    (
        "invoice|invoices|invoice number|invoice no|bill|bills|credit note|credit memo|debit note|pro forma|proforma|receipt|对账单|请款单|电费单"
        "|水费单|发票号"
        "|发票号码|账单号|收据|发票|账单|红字发票|形式发票"
    ),
)
_words(
    FieldKind.TICKET_ID,
    "跟踪单|跟进单|整改单|处置单|封禁单|告警单|ticket|tickets|ticket number|incidents|cases|case number|story|epic|task|fix|fixes|reopen"
    "|blocked by|blocks|merge|工单号|报障|报障单|客诉单"
    "|客诉|ticket id"
    "|incident|case|change|defect|pr|pull request|merge request|mr|issue|issues|bug|jira|carry over|close|duplicate|工单|缺陷单|缺陷|变更单|变更"
    "|复现单|投诉|投诉单"
    "|故障单|事件单|单子|报修单|合并请求|需求单|问题单|任务单",
)
_words(FieldKind.COMMIT, "commit|commits|revision|rev|sha|hash|rebase|cherry-pick|revert|提交|回滚到|合入|补丁")
_words(
    FieldKind.PHONE,
    (
        "来电|phone|mobile|cell|reach|contact|phone number|text|switchboard|front desk|helpline|support line|emergency|手机号码|联系电话"
        "|call|hotline|tel"
        "|telephone|fax|whatsapp|callback|ring|dial|desk|电话|手机|手机号|热线|座机|传真|拨|拨打|打|联系|值班手机|客服"
    ),
)
_words(
    FieldKind.ERROR_CODE,
    (
        "showing|shows|displays|display|flashes|blinks|gives|gave|returned|returns|alarm|code|显示|出现|弹出|抛|抛出|返回|故障代码|告警代码|亮|跳"
        "|error|errors|error "
        "code|fault|fails with|failed with|exception|throws|threw|says|reports|报|报错|错误|错误码|故障码|故障|冒|提示|异常|错误代码|代码"
    ),
)
_words(
    FieldKind.VERSION,
    (
        "version|versions|build|patch|v|rc|升至|降到|回退到|更新到|装的是|release|releases|firmware|upgrade|upgraded|chart|driver|sdk|tag|pinned "
        "at|image|from"
        "|to|版本|固件|升级|升级到|升到|插件|目标"
    ),
)
_words(
    FieldKind.ID,
    "account|account number|card|passport|voucher|coupon|ticket stub|pass|warrant|docket|file|dossier|case file|meter|lease|deed|grant|permit "
    "number|application|enrolment|student|employee|staff|badge number|asset|device|unit number|part|part number|article|item|item number|product"
    "|model number|imei|mac|ssn|tax number|vat|vat number|customs|waybill|consignment|pickup|delivery|locker code|access code|pin|promo|voucher "
    "code|license key|licence|quote number|offer|tender|bid|project|programme|plan|study|trial|specimen|prescription|chart number|insurance|policy "
    "number|claim number|plot|parcel number|ref no|our ref|your ref|serial|chip|chip number|key|key code|code|tracking|tracking number|flight"
    "|booking|contract|quote|claim|policy|form|label|batch|loan"
    "|reference|reference number|ref|number|registration|shipment|container|permit|license|membership|member|customer|client|user|sample|lot"
    "|patient|reservation|hold|job|rfq"
    "|programme|badge|tour|rma|sku|vin|plate|parcel|id|ids|编号|号码|账号|合约|协议|凭证|凭证号|登记|登记证|档案|病历|病历号|住院号|门诊号|就诊卡"
    "|处方|处方号|样品|样品号|标本|资产|资产编号|机身号|车号|牌号"
    "|货号|款号|料号|零件|件号|柜号|箱号|封条|封条号|提单|提单号|舱单|订舱|订舱号|座位号|学籍|准考证号|证书|证书号|许可证|许可证号|执照|备案"
    "|备案号|专利|专利号|项目编号|项目号|课题|标段|批文|文号|保单号|理赔|理赔号|赔案|取件码|提货码|兑换码|优惠券"
    "|优惠码|房源|房号码|户号|表号|燃气户号|水表|电表|宽带|专线|设备|设备编号|机台|工位号|证件|证件号|驾照|社保|社保号|公积金|公积金账号|银行卡|卡"
    "|对公账户|收款账号|客户号|客户编号|用户号|粉丝群|群|快递|运单编号|包裹|物流单号|调拨单|盘点单|质检单"
    "|送检单|检测报告|报告|报告编号|申请单|申请号|审批单|签报|派工单|维修单|保修单|保修卡|维保单|收货单|发货单|出货单|退货单|换货单|借款单|报价"
    "|询价单|标书|账户|卡号|身份证|身份证号|护照|合同|流水号|运单|运单号|快递单|快递单号|序列号|车次|航班|工号"
    "|学号|准考证"
    "|报名号|群号|批号|批次|报价单|保单|税号|车架号|车牌|案号|案件|提货单|入库单|出库单|领料单|押金单|验收单|报关单|报销单|确认号|签证|会员|会员号"
    "|商品|物料|道具|备件|设备号|检查号|体检号"
    "|联行号|信用证|预约号|受理号|档案号|密钥|招标|网签|赛事|会签|券码|仲裁|登记号|统一社会信用代码|qq|微信号|联系单",
)
_words(FieldKind.TICKET_ID, _MORE_TICKETS)
_words(FieldKind.ID, _MORE_IDS)
_words(
    None,
    (
        "zip|zip code|postcode|postal code|postal|port|room|locker|seat|unit|house|street|page|ending|step|route|terminal|model|building|bay|floor"
        "|chapter|section|level|row|邮编|端口|尾号|房间|门牌|第|页码|楼"
    ),
)
_LONGEST_ZH = max(len(word) for word in _KIND_OF_WORD if not word.isascii())
_LAST_CHARACTERS = frozenset(word[-1] for word in _KIND_OF_WORD if not word.isascii())
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
_ZH_NAMED = re.compile(r"([\u4e00-\u9fff]{0,4}?)(?:单号|编号|号码|号|单|证|码)(?: ?(?:是|为|还是|改成|改为|换成|写|[:：=]))? ?[“\"]?$")
_GLUE = re.compile(
    r"[\s:：=#(（“\"'`]*(?:(?:me|us|at|on|there|here|back|now|him|her|them|directly|我|一下|number|no\.?|num|id|ids|code|ref|is|are|was|the|of|with|like|under"
    r"|such as|look like|looks like|called|编号|号码|号|单号|码|代码|是|为|还是|改成|改为|换成"
    r"|用|写|到|走|叫|请|给|已|经|\d+|ref\.?)[\s:：=#(（“\"'`]*){0,3}",
    re.IGNORECASE,
)
_TICKETS = re.compile(
    r"\b(?:tickets?|issues?|bugs?|incidents?|sprint|backlog|jira|duplicate|epic|regression|hotfix|rebase|reviewer|reopen|PR)\b"
    r"|缺陷|工单|复现|修复|异常|分支|迭代|关闭|顺延|待合|合并|提单|需求池|看板",
    re.IGNORECASE,
)
_GENERIC_BEFORE = re.compile(r"(?:\b(?:number|no\.?|code|id|ref|reference)|编号|号码?)(?: ?(?:is|是|为|[:：=#]))? ?$", re.IGNORECASE)
_TRAVEL = re.compile(r"\b(?:fly|flying|flight|flights|boarding|train|departs?|airline)\b|航班|机票|坐|乘|飞|车次|高铁|火车|动车|登机", re.IGNORECASE)
_VERSION_WORDS = "(?i)version|firmware|release|build|driver|upgrade|chart|client|版本|固件|驱动|升级|升到|客户端"
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:version|firmware|release|build|driver|upgraded? to|chart|client)|版本|固件|驱动|升级到?|升到|客户端)[^。;\n]{0,6}$", re.IGNORECASE
)
_CALLED = re.compile(r"电话|联系|致电|拨|热线|座机|手机|\b(?:call|phone|ring|dial|mobile|tel|hotline|reach)\b", re.IGNORECASE)
_EXPLAINED = re.compile(r" (?:means|indicates|stands for)\b| ?(?:表示|代表|的意思是)")
_YEARS = re.compile("(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}")
_BARE_NUMBER = re.compile(r"(?:([A-Za-z]+) )?numbers?(?: [a-z]+)? (?:is|are) $", re.IGNORECASE)
_LOCAL = re.compile(r"[2-9][0-9]{2,3}-[0-9]{4}")
_DIGEST = re.compile(r"(?:md5|checksum|digest|fingerprint|校验值|校验和|指纹|摘要|etag|token)[^。;\n]{0,6}$", re.IGNORECASE)
_LIST = re.compile(r"(?:[\s,、，/&和与及跟]|and\b|or\b|#?[A-Za-z]*-?[A-Za-z0-9]*[0-9][A-Za-z0-9-]*)*")
_LEFT = 32
_NEAR = 14
_GENERIC = frozenset({"number", "key code", "code", "id", "ref", "号码", "编号", "to", "from"})
_NUMBERED = frozenset({FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID})
_LISTED = _NUMBERED | {FieldKind.PHONE}
_NO_GAP = frozenset({"", " ", ": ", "：", " #", "#"})
_PLAIN_STOPS = ("\n", ";", "!", "?")
_STOPS = (*_PLAIN_STOPS, "。", "；", "！", "？")
_NO_PAPER = re.compile("(?:清单|名单|菜单|简单|传单|买单)(?: ?(?:是|[:：=]))? ?$")


class Named(NamedTuple):
    """What an identifier is, and how sure that is."""

    kind: FieldKind
    start: int
    stop: int
    confidence: float = 1.0


def named_by(text: str, start: int) -> tuple[FieldKind | None, bool, bool]:  # noqa: C901 - a list of cases
    """Return the kind the nearest word before `start` names, whether it stands right before it, and whether any word was found.

    A word that names no identifier (`zip code`, 邮编) gives `None` and `True`.
    """
    left = text[max(0, start - _LEFT) : start]
    is_plain = left.isascii()
    cut = max(map(left.rfind, _PLAIN_STOPS if is_plain else _STOPS))
    if cut >= 0:
        left = left[cut + 1 :]
    point = left.rfind(". ")
    if point >= 0 and left[max(0, point - 2) : point].lower() not in {"no", "nr"}:
        left = left[point + 2 :]
    word, end = _nearest(left, len(left), is_plain=is_plain)
    if not word:
        found = None if is_plain else _ZH_NAMED.search(left)
        return (FieldKind.ID, True, True) if found and not _NO_PAPER.search(left) else (None, False, False)
    gap = left[end:]
    kind = _KIND_OF_WORD[word]
    is_tight = gap in _NO_GAP or _GLUE.fullmatch(gap) is not None or (kind in _LISTED and _LIST.fullmatch(gap) is not None)
    if word == "原单" and gap.startswith("号"):
        return FieldKind.ID, is_tight, True
    if word in _GENERIC:
        earlier, earlier_end = _nearest(left, end - len(word), is_plain=is_plain)
        if earlier and left[earlier_end : end - len(word)].strip() == "":
            kind = _KIND_OF_WORD[earlier]
        if earlier and _KIND_OF_WORD[earlier] is None:
            return None, is_tight, True
    if not is_tight:
        if (found := _ZH_NAMED.search(gap)) and not _NO_PAPER.search(gap[: found.end()]):
            return FieldKind.ID, True, True
        if len(gap) > _NEAR:
            return None, False, False
    return kind, is_tight, True


def is_bare_number(text: str, start: int) -> bool:
    """Say whether the words before `start` call it a number and do not say of what: "my number is", "the lab number is"."""
    found = _BARE_NUMBER.search(text, max(0, start - _LEFT), start)
    return found is not None and (found[1] or "").lower() not in _KIND_OF_WORD


def _nearest(left: str, stop: int, *, is_plain: bool) -> tuple[str, int]:
    """Return the last naming word that ends at or before `stop`, and where it ends; empty where there is none."""
    words = list(_WORD.finditer(left, 0, stop))
    best, end = "", 0
    for place in range(len(words) - 1, -1, -1):
        word = words[place].group().lower()
        two = f"{words[place - 1].group().lower()} {word}" if place and words[place - 1].end() == words[place].start() - 1 else ""
        if two in _KIND_OF_WORD or word in _KIND_OF_WORD:
            best, end = (two if two in _KIND_OF_WORD else word), words[place].end()
            break
    if is_plain:
        return best, end
    for at in range(stop - 1, end - 1, -1):
        if left[at] in _LAST_CHARACTERS:
            for size in range(min(_LONGEST_ZH, at + 1), 0, -1):
                if left[at + 1 - size : at + 1] in _KIND_OF_WORD:
                    return left[at + 1 - size : at + 1], at + 1
    return best, end


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
    if (beginning := _PLAIN_ID.match(token)) is not None:
        known.setdefault(beginning[1], _PREFIXES[beginning[1]])
        return Named(_PREFIXES[beginning[1]], start, stop)
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


def _plain_form(text: str, start: int, stop: int, token: str) -> Named | None:  # noqa: PLR0911 - a list of cases
    """Return the kinds that need no word beside them."""
    if len(token) >= 36 and _UUID.fullmatch(token):  # noqa: PLR2004 - a UUID's length
        return Named(FieldKind.UUID, start, stop)
    if token.count(".") == 3 and (found := _IPV4.match(token)) and all(int(part) < 256 for part in found[1].split(".")):  # noqa: PLR2004 - four octets
        if found.end() == len(token):
            is_version = (
                found[2] is None
                and stands_in(_VERSION_WORDS, text[max(0, start - 20) : start])
                and (_VERSION_BEFORE.search(text, max(0, start - 20), start) is not None)
            )
            return Named(FieldKind.VERSION if is_version else FieldKind.IP, start, stop)
        if token[found.end()] == ":":
            return Named(FieldKind.IP, start, start + found.end())
    if token[0] in "#!":
        if token[0] == "!" and start and not text[start - 1].isspace():
            return None
        kind, is_tight, _ = named_by(text, start)
        if kind in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} and is_tight:
            return Named(kind or FieldKind.ID, start, stop)
        return (
            Named(FieldKind.TICKET_ID, start, stop, 0.8)
            if token[1:].isdigit() and len(token) > 2 and (token[0] == "#" or kind is FieldKind.TICKET_ID)  # noqa: PLR2004
            else None
        )
    return None


def _by_form(  # noqa: C901, PLR0911, PLR0912, PLR0917 - a list of cases
    text: str, start: int, stop: int, token: str, tight: FieldKind | None, loose: FieldKind | None, digits: int, known: dict[str, FieldKind]
) -> Named | None:
    letters = any(character.isalpha() for character in token)
    if not letters:
        return _digits_only(text, start, stop, token, tight, loose, digits)
    if tight is FieldKind.COMMIT and re.fullmatch("[0-9a-fA-F]{6,40}", token):
        return Named(FieldKind.COMMIT, start, stop)
    if _HEX.fullmatch(token) and _DIGEST.search(text, max(0, start - 24), start):
        return Named(FieldKind.ID, start, stop)
    if tight in {FieldKind.COMMIT, FieldKind.VERSION, None} and _HEX.fullmatch(token) and not (tight is None and loose is FieldKind.ID):
        return Named(FieldKind.COMMIT, start, stop)
    if tight is FieldKind.VERSION and _SHORT_VERSION.fullmatch(token):
        return Named(FieldKind.VERSION, start, stop)
    beginning = re.match("[A-Za-z]+", token)
    prefix = beginning[0] if beginning else ""
    if re.fullmatch(r"(?:sha(?:1|224|256|384|512)|md5|blake2[bs]|crc32)[:=][0-9a-f]{6,128}", token):
        return Named(FieldKind.ID, start, stop)
    if token.upper() in _NO_IDS or (prefix.upper() in _NO_IDS and digits < 4 and tight not in _NUMBERED):  # noqa: PLR2004
        return None
    if tight is None and re.fullmatch("[A-Z]{1,4}[0-9]{2,5}", token) and _EXPLAINED.match(text, stop):
        return Named(FieldKind.ERROR_CODE, start, stop)
    if _ERROR.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID}:
        return Named(FieldKind.ERROR_CODE, start, stop)
    if tight is FieldKind.ERROR_CODE and re.fullmatch("[A-Z]{1,5}[-_]?[0-9]{1,6}|[A-Z]{1,3}[0-9]{1,3}-[0-9]{1,3}|0x[0-9A-Fa-f]+", token):
        return Named(FieldKind.ERROR_CODE, start, stop)
    segments = re.split("[-_/]", token)
    by_prefix = next((_PREFIXES[segment] for segment in segments[:2] if segment in _PREFIXES), None)
    if prefix in {"PR", "MR"} and len(segments) > 2:  # noqa: PLR2004 - requests have a number, no year
        by_prefix = None
    if by_prefix is None and len(segments) == 1 and digits >= 6:  # noqa: PLR2004
        by_prefix = _PREFIXES.get(prefix)
    if by_prefix is not None and segments[0] in _PLAIN_PREFIXES and digits:
        return Named(by_prefix, start, stop)
    if (
        tight is FieldKind.ID
        and _TRACKER.fullmatch(token)
        and re.search("(?<![快递件运流水])单号(?:是|为|[:：])? ?$", text[max(0, start - 8) : start])
    ):
        return Named(FieldKind.TICKET_ID, start, stop, 0.8)
    if tight in _NUMBERED and digits and (digits > 1 or len(token) > 3):  # noqa: PLR2004
        kind = by_prefix if tight is FieldKind.ID and by_prefix is not None and _GENERIC_BEFORE.search(text, max(0, start - 16), start) else tight
        return Named(kind or FieldKind.ID, start, stop)
    if by_prefix is not None and digits and (len(segments) > 1 or digits > 3):  # noqa: PLR2004
        return Named(by_prefix, start, stop)
    if prefix in known and _SEGMENTED.fullmatch(token):
        return Named(known[prefix], start, stop)
    if prefix in known and re.fullmatch("[A-Z]{2} [0-9]{2,4}", token):
        return Named(known[prefix], start, stop)
    if _TRACKER.fullmatch(token):
        is_ticket = loose is FieldKind.TICKET_ID or (loose not in _NUMBERED and _TICKETS.search(text) is not None)
        return Named(FieldKind.TICKET_ID if is_ticket else FieldKind.ID, start, stop, 0.8)
    return _mixed(text, start, stop, token, loose, digits)


def _mixed(text: str, start: int, stop: int, token: str, loose: FieldKind | None, digits: int) -> Named | None:  # noqa: PLR0911, PLR0917 - a list of cases
    """Return what letters and digits name where no word says it."""
    upper = sum(character.isupper() for character in token)
    kind = loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID} else FieldKind.ID
    if upper and re.fullmatch(r"[A-Z0-9]+(?:[-/._:][A-Z0-9]+)+", token) and digits >= 2:  # noqa: PLR2004
        return Named(kind, start, stop, 0.9)
    if upper and token.isalnum() and token.upper() == token and len(token) >= 6 and digits >= 3:  # noqa: PLR2004
        return Named(kind, start, stop, 0.9)
    if re.fullmatch(r"[A-Z]{1,2}[0-9]{3,4}", token) and _TRAVEL.search(text):
        return Named(FieldKind.ID, start, stop, 0.8)
    if re.fullmatch(
        r"[a-z]{2,12}_(?=[A-Za-z]*[0-9][A-Za-z]*[0-9])[A-Za-z0-9]{6,}|[a-z]{1,8}-(?=[a-f]*[0-9])[0-9a-f]{8,17}|0x[0-9a-fA-F]{16,64}", token
    ):
        return Named(FieldKind.ID, start, stop, 0.9)
    if re.fullmatch(r"[A-Z]{2} [0-9]{3,4}", token) and loose is FieldKind.ID:
        return Named(FieldKind.ID, start, stop)
    if re.fullmatch(r"[A-Za-z]+-[0-9]{4,}", token) or (upper and digits >= 4 and re.fullmatch(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*", token)):  # noqa: PLR2004
        return Named(kind, start, stop, 0.75)
    return None


def _digits_only(text: str, start: int, stop: int, token: str, tight: FieldKind | None, loose: FieldKind | None, digits: int) -> Named | None:  # noqa: C901, PLR0911, PLR0917 - a list of cases
    if tight is FieldKind.PHONE and digits >= 5:  # noqa: PLR2004 - short numbers of services
        return Named(FieldKind.PHONE, start, stop)
    if tight is FieldKind.COMMIT and 7 <= digits == len(token):  # noqa: PLR2004 - the shortest short hash
        return Named(FieldKind.COMMIT, start, stop)
    if tight is FieldKind.VERSION and "." in token and _SHORT_VERSION.fullmatch(token):
        return Named(FieldKind.VERSION, start, stop)
    if _MOBILE.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID}:
        return Named(FieldKind.PHONE, start, stop)
    if "-" in token and _PHONE.fullmatch(token) and tight not in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID}:
        return Named(FieldKind.PHONE, start, stop)
    if "." in token:
        return None
    if tight not in _NUMBERED and _LOCAL.fullmatch(token) and _CALLED.search(text):
        return Named(FieldKind.PHONE, start, stop, 0.8)
    if tight in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID} and digits >= 4:  # noqa: PLR2004
        return Named(tight, start, stop)
    after = text[stop : stop + 8]
    if re.match(r" ?(?:这个|那个|这笔)?(?:订单|order)", after) and digits >= 4:  # noqa: PLR2004
        return Named(FieldKind.ORDER_ID, start, stop)
    if digits >= 12 and "/" not in token and ":" not in token:  # noqa: PLR2004
        return Named(loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID} else FieldKind.ID, start, stop, 0.8)
    if digits >= 8 and "-" in token and token.count("-") <= 4 and not _YEARS.fullmatch(token):  # noqa: PLR2004
        return Named(loose if loose in {FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.PHONE} else FieldKind.ID, start, stop, 0.75)
    return None
