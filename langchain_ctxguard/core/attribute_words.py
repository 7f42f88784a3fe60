"""Words for what there is one of at a time and no pattern of a value knows: persons in a role, styles, zones, hosts. English and Chinese."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["person", "setting", "place", "count", "other"]
"""What a value of an attribute looks like: a name, any few words, a name or an identifier, `2 of 4`; `other`: a name or an identifier."""

_PERSONS = (
    "owner|负责人|责任人|所有者|assignee|person in charge|经办人",
    "reviewer|审核人|审阅人|评审人|审阅者|审核者|code reviewer",
    "approver|审批人|批准人",
    "lead|leader|组长|队长|领队|tech lead|team lead",
    "manager|经理|主管",
    "maintainer|维护人|维护者",
    "contact|contact person|point of contact|联系人|对接人",
    "on-call|on call|on-call engineer|on-call owner|on-call rotation owner|rotation owner|pager|pager owner|值班|值班医生|值班人员|值班工程师",
    "organizer|organiser|组织者",
    "chair|chairperson|moderator|主持人|主席",
    "treasurer|secretary|captain|coach|队医|教练",
)
_SETTINGS = (
    "style|风格|样式|indentation|indentation style|缩进",
    "tone|语气|口吻",
    "language|语言",
    "time zone|timezone|时区",
    "format|格式",
    "theme|主题",
    "units|unit system|单位制",
)
_NAMES = ("codename|code name|代号",)
_PLACES = (
    "region|区域|地域|可用区",
    "branch|分支",
    "environment|环境",
    "namespace|命名空间",
    "venue|会场|场地",
    "cluster|集群",
)
_LOOSE = (
    "host|server|machine|主机|服务器",
    "database|数据库",
    "name|title|名称|名字|标题",
    "editor|编辑器",
    "channel|频道|渠道",
    "room|会议室",
    "provider|供应商",
    "model|模型",
    "framework|框架",
)
"""There may be several of these: only an announced change ends a value."""

KINDS: dict[str, Kind] = {
    **{row.split("|", 1)[0]: "person" for row in _PERSONS},
    **{row.split("|", 1)[0]: "setting" for row in _SETTINGS},
    **{row.split("|", 1)[0]: "place" for row in (*_PLACES, *_NAMES, *_LOOSE)},
    "phase": "count",
    "only": "person",
}
ONE_AT_A_TIME = frozenset(
    (
        *(row.split("|", 1)[0] for row in (*_PERSONS, *_SETTINGS, *_PLACES, *_NAMES)),
        *("phase", "only", "next step"),
    )
)
"""Restated without more ado, the later value of these holds."""

HEAD_OF: dict[str, str] = {
    **{word: row.split("|", 1)[0] for row in (*_PERSONS, *_SETTINGS, *_PLACES, *_NAMES, *_LOOSE) for word in row.split("|")},
    **dict.fromkeys(("phase", "阶段"), "phase"),
}
HAN_HEADS = sorted((word for word in HEAD_OF if not word.isascii()), key=len, reverse=True)
LONGEST_HEAD = max(len(word.split()) for word in HEAD_OF)

VERBS: dict[str, str] = {
    **dict.fromkeys(
        ("own", "owns", "owned", "owning", "holds", "hold", "carries", "handle", "handles", "handled", "handling", "负责", "接手", "接管"), "owner"
    ),
    **dict.fromkeys(("review", "reviews", "reviewed", "reviewing", "review requests", "审核", "评审", "审阅"), "reviewer"),
    **dict.fromkeys(("approve", "approves", "approved", "approving", "signs off on", "signs off", "审批"), "approver"),
    **dict.fromkeys(("approval", "approvals", "approval requests"), "approver"),
    **dict.fromkeys(("lead", "leads", "led", "leading", "带队"), "lead"),
    **dict.fromkeys(("manage", "manages", "managed", "managing", "管理"), "manager"),
    **dict.fromkeys(("maintain", "maintains", "maintained", "maintaining", "维护"), "maintainer"),
    **dict.fromkeys(("chair", "chairs", "chaired", "chairing", "moderate", "moderates", "主持"), "chair"),
    **dict.fromkeys(("值班",), "on-call"),
}

SIGNS: dict[str, re.Pattern[str]] = {}
"""By head: what a sentence about it has."""

_MORE_SIGNS = {
    "owner": r"own|handl|belong|responsib|in charge|duty|assign|负责|接手|接管",
    "reviewer": r"review|审核|评审|审阅",
    "approver": r"approv|审批|批准",
    "maintainer": "maintain|维护",
    "on-call": "on-call|on call|pager|rotation|值班",
    "lead": r"\blead|\bled\b|组长|带队",
    "style": "style|indent|answers?|repl(?:y|ies)|responses?|风格|样式|缩进",
    "tone": "tone|语气|口吻",
    "language": "language|answer|repl(?:y|ies)|respon|write|speak|语言|回答|回复",
    "time zone": "time ?zone|times?|timestamps?|clocks?|dates|hours|时区|时间",
    "units": "units?|measure|单位|制",
    "host": r"host|server|machine|runs? |runs?$|deployed|service|主机|服务器",
    "phase": "phase|progress|阶段|进度",
    "only": r"\bonly\b",
    "chair": "chair|moderat|主持|主席",
    "url": "https?://",
    "code language": "example|sample|snippet|language|示例|例子|样例|语言",
    "host name": r"\.",
    "day": "day|周|星期|礼拜",
    "code": r"code\b|码|编号",
    "commit": "commit|head|base|branch|revision|build|提交|版本",
    "channel": "#|channel|频道|群",
    "next step": "next|下一步",
}
for _head in {*HEAD_OF.values(), *_MORE_SIGNS}:
    _words = [re.escape(word) for word, head in HEAD_OF.items() if head == _head]
    SIGNS[_head] = re.compile("|".join([*_words, *([_MORE_SIGNS[_head]] if _head in _MORE_SIGNS else [])]), re.IGNORECASE)


DULL = frozenset(
    [
        "the",
        "a",
        "an",
        "our",
        "my",
        "your",
        "this",
        "that",
        "its",
        "their",
        "his",
        "her",
        "these",
        "those",
        "of",
        "for",
        "on",
        "in",
        "at",
        "to",
        "and",
        "is",
        "are",
        "new",
        "current",
        "currently",
        "now",
        "latest",
        "present",
        "preferred",
        "main",
        "primary",
        "actual",
        "overall",
        "week",
        "month",
        "today",
        "duty",
        "rotation",
        "shift",
        "working",
        "active",
        "user",
        "user's",
        "please",
        "code",
        "project",
    ]
)
"""Words that tell no two things apart."""

DULL_HAN = re.compile("我们|咱们|代码|你们|这个|那个|这次|本周|今天|现在|目前|当前|新|项目|以后|今后|从现在起|请|把|将|的|，|就|都|由")

NO_PHASES = frozenset(
    # One word list reads better than twenty quoted strings.
    "over done complete late early next last first final ongoing underway same new open closed behind ahead on still not".split()  # noqa: SIM905
)
"""Words behind "the phase is" that name none."""

NO_NAMES = frozenset(
    [
        "i",
        "we",
        "he",
        "she",
        "it",
        "they",
        "you",
        "this",
        "that",
        "these",
        "those",
        "there",
        "here",
        "nobody",
        "someone",
        "everyone",
        "everybody",
        "anyone",
        "no",
        "all",
        "each",
        "both",
        "who",
        "what",
        "which",
        "please",
        "let's",
        "the",
        "a",
        "an",
        "our",
        "my",
        "your",
        "his",
        "her",
        "its",
        "their",
        "if",
        "and",
        "but",
        "so",
        "then",
        "also",
        "only",
        "note",
        "update",
        "now",
        "new",
        "another",
        "one",
        "some",
        "any",
        "not",
        "never",
        "always",
        "still",
        "yes",
        "ok",
        "okay",
        "maybe",
        "today",
        "tomorrow",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "done",
        "ready",
        "blocked",
        "unclear",
        "open",
        "have",
        "ask",
        "let",
        "tell",
        "send",
        "put",
        "give",
        "use",
        "make",
        "switch",
        "change",
        "move",
        "call",
        "get",
        "say",
    ]
)
ZONES = (
    r"(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|(?:[A-Z][a-z]+/[A-Z][A-Za-z_]+)|[ECMP][SD]?T|AK[SD]T|HST|EAT|CAT|WAT|SAST|NZ[SD]T|AE[SD]T|AC[SD]T|AWST|SGT|HKT|MSK|PKT|ICT|WIB|KST|BRT|ART|CET|CEST|BST|JST|IST|AEST"
    r"|(?:[Pp]acific|[Ee]astern|[Cc]entral|[Mm]ountain|[A-Z][a-z]+)(?: (?:[Ss]tandard|[Dd]aylight))? [Tt]ime|[\u4e00-\u9fff]{2}时间|东八区"
)
LANGUAGES = (
    "English|French|German|Spanish|Italian|Portuguese|Chinese|Mandarin|Cantonese|Japanese|Korean|Russian|Arabic|Hindi|Dutch|Polish|Turkish|Swedish"
)
CODE = (
    r"Python|Rust|Go|Golang|TypeScript|JavaScript|Java|Kotlin|Swift|Ruby|Scala|PHP|Elixir|Erlang|Haskell|OCaml|Clojure|Julia|Perl|Lua|Dart|Zig|MATLAB|Fortran"
    r"|C\+\+|C#|F#|C|R"
)
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
