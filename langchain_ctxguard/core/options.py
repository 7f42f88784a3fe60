"""Names of options: what was turned down, by the names it goes by, and whether something proposed is one of them. English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_ctxguard.core.terms import fold
from langchain_ctxguard.domain.summary import Decision, Rejected

_QUOTED = re.compile(r"[`\"'“”‘’「『《]([^`\"'“”‘’」』》\n]{2,60})[`\"'“”‘’」』》]")
_REASON = re.compile(r"\s+(?:because|since|due to|as it|for)\b.*|[(（:：,，;；。].*|\s[-–—]{1,2}\s.*", re.IGNORECASE | re.DOTALL)
_LEADING = re.compile(
    r"^(?:(?:to|we|let's|option|plan|approach|方案)\s*[A-Da-d1-9]?\s*[:：.)]?\s+|"
    r"(?:use|using|using the|adopt|adopting|add|adding|install|installing|introduce|introducing|switch(?:ing)? to|mov(?:e|ing) to|migrat(?:e|ing) to|"
    r"go(?:ing)? with|depend(?:ing)? on|pull(?:ing)? in|bring(?:ing)? in|choose|choosing|pick(?:ing)?|a|an|the|new|external)\s+|"
    r"(?:使用|采用|改用|引入|安装|换成|切换到|改为|选择|选用|依赖|添加|加入|用|上)\s*)+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:\s+(?:library|package|dependency|module|framework|crate|gem|plugin|approach|solution|option|instead|client|sdk)|"
    r"\s*(?:库|包|依赖|框架|模块|插件|方案|组件|这个库|第三方库|来实现|实现|做缓存|的方案))+$",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?:\s+|(?<=[\w\]])\s*(?:==|>=|<=|~=|!=|\^|~|@|=)\s*)v?(?P<version>\d+(?:\.(?:\d+|[x*]))*)(?:\.?[x*])?\s*$")
REFUSES = re.compile(
    r"(?:\b(?:not|never|no|without|avoid|instead of|rather than|don't|do not|stop|drop|remov\w*|replac\w*|uninstall\w*|rejected|ban\w*)\b"
    r"[^.;。；\n]{0,40}|(?:不|别|勿|无需|禁止|避免|拒绝|移除|删除|去掉|卸载|放弃|而不是|而非|替换掉?)[^。；\n]{0,12})$",
    re.IGNORECASE,
)
"""Ends where what follows is refused, not taken up."""

_ALIASES = {
    "bs4": "beautifulsoup4",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "cv2": "opencv-python",
    "pil": "pillow",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "jwt": "pyjwt",
    "psycopg2-binary": "psycopg2",
    "opencv-python-headless": "opencv-python",
    "attr": "attrs",
    "serial": "pyserial",
    "mysqldb": "mysqlclient",
    "postgres": "postgresql",
    "golang": "go",
}
"""Names under which packages are imported, or spoken of, other than the one they are installed by; from their own documentation."""

_SIGNS = re.compile(r"[-_.\s]+")
_WORDS = 5
"""An option of more words is a sentence: it is known by what it quotes, or by itself as a whole."""


@dataclass(frozen=True, slots=True)
class OptionName:
    """One name, and the version it speaks of; without one, of all."""

    name: str
    version: str = ""

    def is_meant_by(self, other: OptionName) -> bool:
        """Say whether something proposed is this option: the same name, and where a version was turned down, that version."""
        if self.name != other.name:
            return False
        return not self.version or other.version == self.version or other.version.startswith(f"{self.version}.")


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """An option that was turned down, with the decision it was turned down in."""

    option: Rejected
    decision: Decision
    names: tuple[OptionName, ...]
    trace: int | None = None


def name_of(text: str) -> OptionName:
    """Return a name as it is compared: packages by the rule of PEP 503, extras and versions apart.

    >>> name_of("Typing_Extensions[all]==4.1").name, name_of("Typing_Extensions[all]==4.1").version
    ('typing-extensions', '4.1')
    """
    bare = text.strip().strip("`\"'").split(";", 1)[0].strip()
    found = _VERSION.search(bare)
    version = "" if found is None else found["version"].rstrip(".x*")
    base = bare if found is None else bare[: found.start()]
    base = re.sub(r"\s*\[[^\]]*\]", "", re.sub(r"\s*(?:[<>=~!^]=?|@).*$", "", base) if not base.startswith("@") else base)
    name = _SIGNS.sub("-", fold(base)).strip("-")
    return OptionName(_ALIASES.get(name, name), version)


def names_of_option(option: str) -> tuple[OptionName, ...]:
    """Return the names an option goes by: what it quotes, and itself without the words around it.

    >>> [one.name for one in names_of_option("use the requests library (no async)")]
    ['requests']
    """
    found = [name_of(quoted) for quoted in _QUOTED.findall(option)]
    bare = _TRAILING.sub("", _REASON.sub("", _LEADING.sub("", option.strip())).strip()).strip()
    if bare and (len(bare.split()) <= _WORDS or not found):
        found.append(name_of(bare))
    return tuple(dict.fromkeys(one for one in found if len(one.name) > 1 or "\u3400" <= one.name[:1] <= "\u9fff"))


def turned_down(decisions: Iterable[tuple[int | None, Decision]]) -> tuple[TurnedDown, ...]:
    """Return the options that are turned down by decisions, oldest first: what was chosen since is so no more."""
    standing: list[TurnedDown] = []
    for trace, decision in decisions:
        chosen = names_of_option(decision.chosen)
        standing = [one for one in standing if not any(_is_chosen(name, decision.chosen, chosen) for name in one.names)]
        for option in decision.rejected:
            names = tuple(name for name in names_of_option(option.option) if not any(name.is_meant_by(other) for other in chosen))
            if names:
                standing.append(TurnedDown(option, decision, names, trace))
    return tuple(standing)


def _is_chosen(name: OptionName, text: str, chosen: Sequence[OptionName]) -> bool:
    """Say whether a choice takes an option up: as what it names, or as a word of it that is not refused there."""
    if any(name.is_meant_by(other) for other in chosen):
        return True
    pattern = re.escape(name.name).replace("\\-", r"[-_.\s]*")
    found = None if name.version else re.search(rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9_-])", text, re.IGNORECASE)
    return found is not None and REFUSES.search(text[: found.start()]) is None


def first_meant(standing: Sequence[TurnedDown], proposed: Iterable[OptionName]) -> tuple[TurnedDown, OptionName] | None:
    """Return the newest decision against something proposed, `None` where there is none."""
    given = list(proposed)
    for one in reversed(standing):
        for name in given:
            if any(own.is_meant_by(name) for own in one.names):
                return one, name
    return None
