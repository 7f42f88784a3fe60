"""What a call proposes to use: packages it installs, lines it adds to requirement files, imports it writes, options it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_ctxguard.core.edits import edits_in
from langchain_ctxguard.core.options import REFUSES, OptionName
from langchain_ctxguard.core.packages import installed, package, written
from langchain_ctxguard.core.shell_words import command_in
from langchain_ctxguard.core.terms import is_question

_ADOPTS = re.compile(
    r"(?:\b(?:use|using|adopt|adopting|add|adding|install|installing|introduce|introducing|switch(?:ing)? (?:back )?to|migrat(?:e|ing) to|"
    r"go(?:ing)? with|depend(?:ing)? on|implement(?:ing)? (?:\w+ ){0,4}(?:with|using)|replac(?:e|ing) (?:\S+ ){1,4}(?:with|by)|based on|choose|pick|"
    r"bring(?:ing)? in|import(?:ing)?)\s+(?:the\s+|a\s+|an\s+)?|"
    r"(?:使用|采用|改用|引入|安装|换成|切换到|改为|改成|选择|选用|添加依赖|加入|基于|导入|用)\s*)[`\"'“「《]?",
    re.IGNORECASE,
)
_CHOICE_KEY = re.compile(
    r"(?:^|_)(?:option|choice|strategy|approach|library|package|packages|dependency|dependencies|framework|backend|engine|database|driver|tool|solution|chosen|"
    r"design|method|algorithm|provider|module|name|plan|decision|选择|方案|依赖|库)$",
    re.IGNORECASE,
)
_SENTENCE = 400
_SHORT = 60


def proposed_in(tool: str, args: Mapping[str, Any], names: frozenset[str], text_of: Callable[[str], str | None]) -> Iterator[OptionName]:
    """Yield what a call proposes to use, as far as it is among `names`: the rest interests nobody.

    Args:
        tool: Its name.
        args: Its arguments.
        names: Names of what was turned down, as `name_of` writes them.
        text_of: Returns what a file holds now: what stands in it already is not proposed.
    """
    line = command_in(args, tool=tool)
    edits = edits_in(tool, args)
    if line is not None:
        yield from installed(line)
    elif edits:
        for edit in edits:
            yield from written(edit, text_of)
    else:
        yield from _chosen(args, names)


def _chosen(value: Any, names: frozenset[str], key: str = "") -> Iterator[OptionName]:
    """Yield the options that arguments name: as the whole of a short value, or in a sentence that takes them up."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _chosen(inner, names, str(name))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _chosen(inner, names, key)
    elif isinstance(value, str) and 1 < len(value) <= _SENTENCE and not is_question(value):
        # Whoever asks about an option does not take it up.
        whole = package(value)
        if len(value) <= _SHORT and _CHOICE_KEY.search(key) and whole.name in names:
            yield whole
        else:
            yield from _taken_up(value, names)


def _taken_up(text: str, names: frozenset[str]) -> Iterator[OptionName]:
    for found in _ADOPTS.finditer(text):
        if REFUSES.search(text[: found.start()]):
            continue
        rest = text[found.end() :]
        for name in names:
            pattern = re.escape(name).replace("\\-", r"[-_.\s]*")
            is_word = name[-1:].isascii()
            stands = re.match(rf"{pattern}(?P<version>\s*(?:==|@|v|\s)\s*\d[\d.]*)?" + (r"(?![A-Za-z0-9_-])" if is_word else ""), rest, re.IGNORECASE)
            if stands is not None:
                version = re.search(r"\d[\d.]*", stands["version"] or "")
                yield OptionName(name, "" if version is None else version[0].rstrip("."))
