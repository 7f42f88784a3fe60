"""Words that carry authority or give orders, in English and Chinese. A match is a reason to distrust, never a proof of anything."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
# Cyrillic and Greek letters a reader takes for Latin ones.
_LOOK_ALIKES = str.maketrans("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅοανρυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijshdqwABEKMHOPCTYXIJSoavpuiABEZHIKMNOPTYX")
_AUTHORITY = re.compile(
    r"\bauthori[sz](?:ed|es|ation|ations)\b|\bapprov(?:ed|al|als|es)\b|\bpermi(?:tted|ssion|ssions)\b|\bconsent(?:s|ed)?\b|\badmin(?:istrator)?s?\b|"
    r"\b(?:is|are|was|were|been|now) allowed\b|\bclearance\b|\bwhitelisted\b|\bexempt(?:ed|ion)?\b|\bwaive[ds]?\b|"
    r"授权|批准|许可|同意|管理员|权限|准许|豁免|放行|有权",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[\s\S]{0,40}\b(?:previous|prior|above|earlier|all|any|the|these|those|system)\b[\s\S]{0,20}"
    r"\b(?:instruction|instructions|rule|rules|prompt|prompts|constraint|constraints|polic(?:y|ies)|guardrails?|message|messages)\b|"
    r"\bfrom now on,? (?:you|the assistant|the agent)\b|\b(?:you|the assistant|the agent) (?:may|can|must|should|shall|is to|are to|will) now\b|"
    r"\bno longer (?:need|needs|required|have|has|applies|apply|necessary)\b|"
    r"\b(?:rules?|restrictions?|constraints?|limits?) (?:do|does|are|is|have been|has been|was|were) "
    r"(?:not apply|lifted|removed|suspended|disabled|waived|void)\b|\bsystem (?:notice|note|message|override|prompt|update)\s*[:：]|"
    r"^\s*(?:system|developer|assistant)\s*[:：]|<\|?(?:im_start|system|endofprompt)|\[/?INST\]|\bthe summary must (?:say|state|include)\b|"
    r"(?:忽略|无视|忘记|忽视|覆盖)[\s\S]{0,16}(?:指令|规则|要求|提示|约束|限制|政策)|从现在起[,，]?(?:你|助手)|(?:你|助手)现在(?:可以|必须|应该)|"
    r"(?:规则|限制|约束)(?:已|已经|不再|被)?(?:解除|取消|失效|作废|适用)|系统(?:通知|提示|消息|公告)\s*[:：]|摘要(?:必须|应当|应该)(?:写|说|包含)",
    re.IGNORECASE | re.MULTILINE,
)
_PLACEHOLDER = re.compile(
    r"previous conversation was too long to summari[sz]e|error generating summary|^\W*(?:none|n/?a|null|todo|tbd|\.\.\.|…|no summary|summary|"
    r"summary unavailable|no content|empty|placeholder|无|暂无|没有|空|摘要)\W*$|\(none\)|^\s*(?:<[^<>]{1,40}>|\[[^\[\]]{1,40}\])\s*$",
    re.IGNORECASE,
)
_PERMISSION = re.compile(
    r"\b(?:may|can|could|allowed|permitted|free to|welcome to|okay to|ok to|need not)\b|可以|允许|准许|可自行|有权", re.IGNORECASE
)
_DEMAND = re.compile(
    r"\b(?:not(?! (?:need|have to))|never|cannot|must|shall|only|unless|without|no one|nobody|required|forbidden|prohibited|always)\b|n't\b|"
    r"不|禁|勿|必须|务必|只|须|严|才",
    re.IGNORECASE,
)
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")


def without_invisible(text: str) -> str:
    """Return `text` without the characters nobody sees: zero-width, soft hyphens, direction marks, tag characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _bare(text: str) -> str:
    """Return `text` as a reader sees it: plain letters for full-width and look-alike ones, nothing invisible."""
    return text if text.isascii() else unicodedata.normalize("NFKC", without_invisible(text)).translate(_LOOK_ALIKES)


def claims_authority(text: str) -> bool:
    """Say whether `text` speaks of authorisation, approval, permission or role: no text can confirm such a thing."""
    return _AUTHORITY.search(_bare(text)) is not None


def gives_order(text: str) -> bool:
    """Say whether `text` tries to instruct its reader, lift a rule or speak as the system."""
    return _ORDER.search(_bare(text)) is not None


def permits(text: str) -> bool:
    """Say whether a rule merely allows something: it forbids nothing and asks for nothing.

    >>> permits("Orders may be deleted."), permits("You may not delete orders.")
    (True, False)
    """
    return _PERMISSION.search(text) is not None and _DEMAND.search(text) is None


def is_placeholder(text: str) -> bool:
    """Say whether `text` stands for a summary that was not made.

    >>> is_placeholder("(none)"), is_placeholder("None of the orders shipped.")
    (True, False)
    """
    bare = _bare(text).strip()
    return not any(character.isalnum() for character in bare) or _PLACEHOLDER.search(bare) is not None


def language_of(text: str) -> str | None:
    """Return `zh`, `ja` or `ko` where that script carries the text, `en` where Latin letters do, else `None`."""
    sample = text[:20_000]
    if len(_KANA.findall(sample)) > 8:  # noqa: PLR2004 - a quoted word is no language
        return "ja"
    han, hangul = len(_HAN.findall(sample)), len(_HANGUL.findall(sample))
    letters = sum(character.isascii() and character.isalpha() for character in sample)
    # A Chinese character carries about as much as four Latin letters.
    if max(han, hangul) * 4 > letters and max(han, hangul) > 0:
        return "zh" if han >= hangul else "ko"
    return "en" if letters else None
