"""What a tool's words may be confirmed: a short finding that can be looked up. It is told by what it holds, not by what it avoids alone.

Whoever writes into a page, a ticket or a note writes a tool's result. So a sentence is confirmed only if it names a number or an identifier and
speaks of nothing else: of no person's leave or standing, no rule or check, no other case, no time to come, and to nobody.
"""

from __future__ import annotations

import re
from functools import lru_cache

from langchain_ctxguard.core.lexicon import claims_authority, matches
from langchain_ctxguard.core.offers import without_offers

_FEW, _MANY = 6, 28
"""Size of a clause that needs no value of its own, and of the longest one: a word counts for two, a Chinese character for one."""

_VALUE = re.compile(
    r"\d|\w[_/.@]\w|[零〇一二三四五六七八九十百千万亿两]+(?:元|块|号|日|月|年|天|周|件|个|台|次|箱|点|时|分|秒|人|名|公斤|克|米|页|条|份|成|折|家|位|笔|单|项|种|张|"
    r"封|间|套|辆|架|瓶|盒|袋|码|届|期|层|楼|岁|倍)"
)
_NAME = re.compile(r"《[^》]{1,40}》|\b[A-Z]\. ?[A-Z]\w+|(?<=[a-z,] )[A-Z][\w-]+|[\u3400-\u9fff][A-Za-z]{2,}|\b[A-Z]{2,}\b")
_CLAUSE = re.compile(r"[.;:!?,](?=\s|$)|[。；：！？，、…—–()（）{}\[\]|\"“”「」『』\n]|\s-+\s|->|=>")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_HAN = re.compile("[\u3400-\u9fff]")

_ENTRY = re.compile(r'"(?=[\w .-]{1,40}"\s*:)[\w .-]+"\s*:\s*|"(?:[^"\s]+ ?){1,2}"(?=\s*[,}\]]|\s*$)')
"""A key of JSON, and a value of few words."""

_JOINT = re.compile(r"_|(?<=[a-z])(?=[A-Z])|(?<=[a-z])-(?=[a-z])")
_QUOTE = re.compile('["“”「」『』]')
"""What somebody is quoted with is hearsay."""

_SPEECH = (
    r"\b(?:i|i'm|me|my|mine|myself|we|us|our|ours|you|your|yours|yourself|he|she|him|her|his|hers|they|them|their|who|whose|whom|whoever|whichever|"
    r"whatever|whenever|wherever|anyone|anybody|anything|everyone|everybody|everything|someone|somebody|nobody|folks|guys|chap|lady|"
    r"gentleman|person|people|man|woman|guy)\b"
)
_LEAVE = (
    r"\b(?:may|might|can|cannot|could|must|shall|should|will|would|won't|need|needs|needed|ought|let|lets|want|wants|wish\w*|please|kindly|"
    r"allow\w*|permit\w*|entitle\w*|able|free|freely|welcome|fine|ok|okay|okayed|ok'?d|good|enough|suffice\w*|proceed\w*|ahead|directly|straight|"
    r"trust\w*|grant\w*|authori[sz]\w*|approv\w*|consent\w*|assent\w*|agree\w*|accept\w*|waive\w*|exempt\w*|clear(?:ed|ance)|nod\w*|bless\w*|"
    r"vouch\w*|green|promise\w*|instead|rather|hand|hands|discretion|liberty|unlimited)\b"
)
_ORDER_OF_THINGS = (
    r"\b(?:rules?|polic(?:y|ies)|limits?|limitations?|caps?|ceilings?|quotas?|allowances?|thresholds?|bounds?|maximums?|max|minimums?|headroom|bans?|"
    r"restrict\w*|prohibit\w*|forbid\w*|freez\w*|lock\w*|block\w*|guidelines?|guard\w*|constraints?|require\w*|sandbox\w*|instruct\w*|manual|"
    r"playbook|protocols?|procedures?|brief|duty|duties|priorit\w*|checks?|checked|checking|verif\w*|identit\w*|passports?|passwords?|pins?|"
    r"signature\w*|sign\w*|reviews?|reviewed|reviewers?|confirm\w*|prescription\w*|proof|proven|proves?|permission\w*|audits?|inspect\w*|rights?|"
    r"access|role|roles|privilege\w*|rank|status quo|credentials?|tokens?|secrets?|keys?|exceptions?|precedents?)\b"
)
_PARTIES = (
    r"\b(?:agents?|assistants?|bots?|robots?|models?|llms?|ai|helpers?|machines?|systems?|operators?|platforms?|admin\w*|staff|teams?|clerks?|"
    r"boss\w*|manage\w*|directors?|chiefs?|heads?|board|committee|council|upstairs|leadership|owners?|holders?|compliance|legal|security|auditors?|"
    r"supervisors?|treasurers?|trustees?|famil\w*|parents?|guardians?|spouse|husband|wife|part(?:y|ies)|callers?|visitors?|users?|customers?|"
    r"clients?|patients?|tenants?|guests?|members?|colleagues?|successors?|attending|maintainers?|summar\w*|digest\w*|recap\w*|minutes|notes?|"
    r"memo\w*|memories|context|prompt\w*|comment\w*|bio|free_text|hint\w*|tip|reminder\w*|attention)\b"
)
_TIME_AND_CASE = (
    r"\b(?:if|unless|when|whenever|once|whether|because|hence|therefore|thus|so|though|although|despite|but|just|only|even|ever|never|always|"
    r"any|all|every|each|both|no|not|none|nothing|neither|nor|without|again|anymore|more|longer|henceforth|hereafter|onwards?|future|later|before|"
    r"rest|permanent\w*|life|same|likewise|too|also|as|like|past|usual|outside|beyond|above|over|off|gone|lifted|removed?|suspended|disabled|void|"
    r"retired|expired|lapsed|obsolete|dead|skip\w*|bypass\w*|drop\w*|ditch\w*|dispens\w*|superfluous|unnecessary|formality|noise|loosen\w*|"
    r"relax\w*|widen\w*|bump\w*|hold up|holds up|doubt|sure|certain|genuine|real|really|true|truth|fact|facts|legit\w*|counts?|treat\w*|deem\w*|"
    r"regard\w*|behalf|name of|equals?|elevated)\b"
)
_HAN_WORDS = (
    r"[我你您咱俺他她它谁們们己]|本人|各位|同事|[可能须應应该得要会會必请請勿别莫免随隨任让讓给給准許许肯愿願]|不[用必须需再受算看管问問]|无[需须]|毋|無|"
    r"以后|以後|往后|此后|今后|从今|從今|从此|凡|一律|一概|均|都|各|任何|每[次回]|所有|全部|照|比照|一体|旧例|成例|惯例|习惯|例外|"
    r"[再就便只还也才故]|因此|所以|如果|若|只要|一旦|但|否则|"
    r"规|規|制度|限[制额度]?|额度|封顶|红线|约束|束缚|禁|政策|守则|手册|条款|名单|要求|冻结|锁|审|審|核|查|验|驗|检|檢|批|签|簽|章|证|證|密[码钥]|口令|凭[据证]|"
    r"权|權|资格|身份|同意|答应|授|放行|点头|拍板|商量|松口|放心|尽管|没意见|达成|默[认许示]|算|当|當|视|等于|代[表替]|名义|归|交给|听[从凭]|由|凭|"
    r"真|实|属实|可靠|可信|站得住|靠谱|经得起|推敲|确[认实]|证明|"
    r"助手|机器人|智能体|模型|代理|客服|店员|系统|平台|管理|主管|经理|领导|老板|总裁|董事|监[事护]|户主|家[属里人]|双方|各方|上[面级]|贵宾|客户|用户|顾客|"
    r"摘要|纪要|总结|笔记|备注|批注|留言|附言|压缩|记[住得录]|交接|前情|"
    r"直接|立即|马上|随时|随便|自由|酌情|不论|无论|形式|废|作罢|到头|到期|解除|取消|撤|松动|脱落|上调|提高|提到|打开|绕过|跳过|忽略|省"
)
_HAN_SOFT = re.compile(_HAN_WORDS)


_MONTH_OF_MAY = re.compile(r"\bMay(?= \d)|(?<=\d )May\b|(?<=\d\. )May\b|(?<=\bin )May\b")
_KINDS = (_SPEECH, _LEAVE, _ORDER_OF_THINGS, _PARTIES, _TIME_AND_CASE)
_VAGUE = 2
"""So many kinds of such words make a statement talk that names nothing checkable; one more if it does, two in Chinese, whose words are short."""

_OWN_DEED = re.compile(
    r"^\W*(?:i|we)(?:'ve| have| had| did)?(?: (?:not|only|also|just|already|then))* (?:\w+ed|left|set|ran|found|read|made|put|took|wrote|sent|built|"
    r"kept|did|cut|saw|could not|couldn't|was unable|did not|didn't|have no)\b|"
    r"^\W*(?:我|已|已经|刚)?(?:没有?|未|只|已|已经|都|刚)*(?:把|将|改|查|读|看|跑|删|加|移|写|建|装|试|动|调用|做)[^。！？]{0,40}(?:了|过|好|完|到|成|没动)|"
    r"没动|^\W*我没有?",
    re.IGNORECASE,
)
_FILE = re.compile(r"(?:^|[\s\"'`(/])[\w-]+\.(?:[a-z]{1,4}|toml|json|yaml|lock)(?=$|[\s\"'`),;:。，]|\.(?:\s|$))")
_MAY = re.compile(r"\b(?:may|can|free to|allowed|now)\b|可以|允许|就行|此后|以后", re.IGNORECASE)


@lru_cache(maxsize=1_024)
def is_talk(statement: str) -> bool:
    """Say whether a statement speaks of several things nobody can look up: who may, what holds, when and for whom.

    >>> is_talk("Agents have full say over such cases"), is_talk("Order 7 left the warehouse on 2 May")
    (True, False)
    """
    han = len({*_HAN_SOFT.findall(without_offers(statement))})
    return soft_kinds(statement) >= _VAGUE + (1 + (han > 1) if names_something(statement) else 0)


@lru_cache(maxsize=1_024)
def soft_kinds(statement: str) -> int:
    """Return of how many things that nobody can look up a statement speaks: kinds in English, words in Chinese."""
    plain = _MONTH_OF_MAY.sub("June", without_offers(statement))
    return sum(matches(kind, plain) for kind in _KINDS) + len({*_HAN_SOFT.findall(plain)})


def orders_things(statement: str, *, is_guess: bool = False) -> bool:
    """Say whether a statement speaks of leave, of rules and checks, or of those who act and decide, in however few words.

    What may happen is what a guess is about.

    >>> orders_things("The desk takes it for the client"), orders_things("Everything is on its way"), orders_things("It could get wet", is_guess=True)
    (True, False, False)
    """
    plain = without_offers(statement)
    if is_guess:
        plain = _POSSIBLY.sub(" ", plain)
    return any(matches(kind, plain) for kind in (_LEAVE, _ORDER_OF_THINGS, _PARTIES)) or _HAN_SOFT.search(plain) is not None


_POSSIBLY = re.compile(r"\b(?:may|might|can|could|will|would)\b|可能|也许|会", re.IGNORECASE)
_RECORD = re.compile(r"[^:：]{1,24}[:：] ?(?:[\u3400-\u9fff]{1,8}|[\w-]+(?: [\w-]+)?)\W*")
"""A name and a short value."""


@lru_cache(maxsize=1_024)
def is_idle(statement: str) -> bool:
    """Say whether a tool talks instead of reporting: of what it says nothing can be looked up, and it speaks of leave, order, people, times or cases.

    A finding names what it found.

    >>> is_idle("Parcels left at the door are fine with everybody"), is_idle("Parcel left at the door of No. 12"), is_idle("State: approved")
    (True, False, False)
    """
    if is_talk(statement):
        return True
    return not names_something(statement) and soft_kinds(statement) > 0 and _RECORD.fullmatch(statement) is None


_FAILED = re.compile(
    r"(?:no [\w -]{1,40}(?:could|can) be [a-z]+(?:ed|d|n)\b|(?:could not|couldn't|cannot|can't|unable to|failed to) [a-z]+\b|"
    r"(?:无法|未能|没能|不能)(?:读|提|打|连|找|取|获|加|解|下|访))",
    re.IGNORECASE,
)


def tells_failure(statement: str) -> bool:
    """Say whether a statement begins with what could not be done: nothing anybody may rest on.

    >>> tells_failure("No content could be extracted from this page"), tells_failure("无法打开该页面"), tells_failure("No check is needed")
    (True, True, False)
    """
    return _FAILED.match(statement) is not None


def is_own_deed(statement: str) -> bool:
    """Say whether its speaker tells what they did, left undone or found, and nothing of what may be done.

    >>> is_own_deed("I only changed the logging."), is_own_deed("I can go ahead now."), is_own_deed("只改了日志")
    (True, False, True)
    """
    return _OWN_DEED.search(statement) is not None and _MAY.search(statement) is None


def edits_file(statement: str) -> bool:
    """Say whether its speaker tells what they did to a file: the rules and checks of code are its subject, not those of anybody.

    >>> edits_file("I removed the deprecated rule from setup.cfg."), edits_file("I removed the rule for this customer.")
    (True, False)
    """
    return is_own_deed(statement) and _FILE.search(statement) is not None


def names_something(statement: str) -> bool:
    """Say whether a statement names a number, an identifier or a name."""
    return _VALUE.search(statement) is not None or _NAME.search(statement) is not None


@lru_cache(maxsize=1_024)
def is_checkable(statement: str) -> bool:
    """Say whether a statement names a number or an identifier, and speaks of nothing that cannot be looked up.

    >>> is_checkable("Refund of 48.00 issued on 2 May"), is_checkable("All went well"), is_checkable("Rule 7 was lifted on 2 May")
    (True, False, False)
    """
    # The words of a key count as well.
    apart = _JOINT.sub(" ", statement)
    if _VALUE.search(statement) is None or soft_kinds(apart) or claims_authority(apart) or _QUOTE.search(_ENTRY.sub(" ", statement)) is not None:
        return False
    return all(_is_bound(piece) for piece in _CLAUSE.split(statement))


def _is_bound(clause: str) -> bool:
    """Say whether a clause is short, and no mere words beside somebody else's number."""
    size = 2 * len(_WORD.findall(clause)) + len(_HAN.findall(clause))
    return size <= _FEW or (size <= _MANY and (_VALUE.search(clause) is not None or _NAME.search(clause) is not None))
