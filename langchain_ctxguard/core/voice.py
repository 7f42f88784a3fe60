"""Text -> what its writer says in his own voice. Quotes, code, pasted documents, logs and reported paragraphs are somebody else's words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 400
"""Characters of a sentence; what runs on is cut at a comma or a blank."""

COVER = "\ua7f7"
"""Stands for a quoted character inside a sentence: a letter of no word."""

_WRAPPED = 60
"""A line so long that goes on in lower case was broken by an editor, not by its writer."""

_ITEM_LENGTH = 7

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_CITED = re.compile(r"\s*(?:[-*]\s+)?[>＞]")
_INDENTED = re.compile(r"(?: {4,}|\t)(?!\s*(?:[-*•]|\d{1,3}[.)、]))\s*\S")
_BLOCK_MARKS = (":", "：", ">", "＞", "|", "]", "\t", "    ", "```", "~~~")
"""What no shown block is without: a text that has none of them is its writer's own."""

_SPEAKER = re.compile(r"\s*[*_\[]*(?:assistant|ai|bot|system|tool|chatgpt|claude|助手|助理|系统|系統|模型|机器人|客服)[*_\]]*\s*[:：]", re.IGNORECASE)
_LOGGED = re.compile(
    r"\d+[:|](?: {2,}|\t)\s*\S|\s*(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]+\S*\s+)?\[?(?:ERROR|FATAL|INFO|DEBUG|WARN|TRACE|CRITICAL|[A-Z]\w*(?:Error|"
    r"Exception))\]?\s*[:：\]|]"
)
_LEAD_IN = re.compile(
    r"\b(?:said|says|wrote|writes|told|replied|answered|asked|states?|reads|reply|email|e-mail|errors?|logs?|output|traceback|stack|messages?|"
    r"transcript|"
    r"readme|document|article|prompt|examples?|for instance|e\.g\.|translate|translation|proofread|summari[sz]e|rewrite|rephrase|"
    r"steps(?: to reproduce)?|repro(?:duce|duction)?)\b|"
    r"说|写道|写着|回复|报错|错误|日志|输出|邮件|原文|文档|文章|提示如下|例如|比如|示例|例子|举例|翻译|润色|总结一下|概括|改写|复现|步骤|聊天记录",
    re.IGNORECASE,
)
_OWN_LEAD = re.compile(
    r"\b(?:rules?|agree\w*|conventions?|guidelines?|constraints?|requirements?|remember|i (?:said|told you)|follow these)\b|"
    r"约定|规则|规矩|规范|守则|遵守|要求|说好|原则|记住|注意|我说过",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{2,30})(?:\s[^<>\n]{0,200})?>")
_PASTED = frozenset(
    # One word list reads better than thirty quoted strings.
    """
    article attachment attachments blockquote cite code conversation context data doc docs document documents email example examples excerpt file
    file_content file_contents files history log logs message output page paste pasted pre quote result search_results source sources system-reminder
    text tool_result transcript uploaded_files website
    """.split()  # noqa: SIM905
)
_BLANK = re.compile("[\xa0\u2000-\u200a\u202f\u205f\ufeff]")
"""Blanks that pages and word processors put where others type a space; and the mark some files begin with."""

_QUOTED = re.compile(
    r"(?<!`)`{1,2}(?!`)[^`\n]{1,2000}`{1,2}"
    r"|(?<![A-Za-z0-9\"])\"(?=[^\s\"])[^\"]*(?:\"|\Z)"
    r"|(?<![\w'])'(?=[^\s'])(?:[^'\n]|(?<=\w)'(?=\w)){1,300}'(?!\w)"
    r"|‘[^‘\n]{1,300}?’(?!\w)"
)
_QUOTE = re.compile("[\"'`‘]")
"""What every quotation of `_QUOTED` opens with."""

_PAIRS = {"“": "”", "「": "」", "『": "』", "«": "»", "《": "》"}
_MARK = re.compile("[“”「」『』«»《》]")
_END = re.compile(r"[。！？；!?.;\n]")
"""What every boundary begins with."""

_BOUNDARY = re.compile(r"[。！？；!?]+[”’」』）\"')]*|[.;](?=[\"'”’)]*(?:\s|\Z))[\"'”’)]*|\n+")
_ABBREVIATIONS = ("e.g.", "i.e.", "mr.", "mrs.", "ms.", "dr.", "no.", "vs.", "etc.", "approx.", "nr.")
_SOFT_BREAKS = ("，", ", ", "、", "；", "; ", " ")
_EDGES = " \t\r\n\f\v\u3000"
_BULLETS = _EDGES + "*•·#|-–—"


class Span(NamedTuple):
    """A part of a text."""

    start: int
    stop: int


def own_voice(text: str) -> str:
    r"""Return `text` with what its writer only shows covered up, and blanks of any width as spaces; every character keeps its place.

    >>> own_voice("Never stop.\n> Always stop.")
    'Never stop.\n              '
    """
    return _without_quotes(_without_blocks(_without_pasted(_BLANK.sub(" ", text))))


def matches_from(opening: re.Pattern[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what `pattern` finds in `text`, looked for only where an `opening`, which each of its matches begins with, stands."""
    opened = opening.search(text)
    while opened is not None:
        found = pattern.match(text, opened.start())
        if found is not None:
            yield found
        opened = opening.search(text, opened.end() if found is None else found.end())


def _covered(text: str, spans: list[Span], cover: str) -> str:
    """Return `text` with the spans covered, line breaks left; spans may overlap."""
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for span in sorted(spans):
        if span.stop <= at:
            continue
        start = max(span.start, at)
        parts += (text[at:start], "\n".join(cover * len(line) for line in text[start : span.stop].split("\n")))
        at = span.stop
    return "".join((*parts, text[at:]))


def _without_pasted(text: str) -> str:
    """Cover what stands between the tags of a pasted document."""
    if "</" not in text:
        return text
    opened: defaultdict[str, list[int]] = defaultdict(list)
    spans: list[Span] = []
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if name not in _PASTED and not name.startswith("context"):
            continue
        if not tag[1]:
            opened[name].append(tag.start())
        elif opened[name]:
            spans.append(Span(opened[name].pop(), tag.end()))
    return _covered(text, spans, " ")


def _without_blocks(text: str) -> str:
    """Cover fences, cited lines, indented code, log lines, other speakers, and the paragraph after a line that announces one."""
    if not any(mark in text for mark in _BLOCK_MARKS):
        return text
    spans: list[Span] = []
    fence: str | None = None
    is_shown = is_code = is_announced = False
    was_blank = True
    at = 0
    for line in text.split("\n"):
        stop = at + len(line)
        is_blank = not line or line.isspace()
        marked = None if is_blank else _FENCE.match(line)
        if fence is not None:
            spans.append(Span(at, stop))
            if marked is not None and marked[1] == fence:
                fence = None
        elif marked is not None:
            fence = marked[1]
            is_shown = is_code = False
            spans.append(Span(at, stop))
        elif is_blank:
            # One blank line may stand between an announcement and what it announces.
            is_shown = is_announced
            is_announced = False
        else:
            is_code = (was_blank or is_code) and _INDENTED.match(line) is not None
            if is_shown or is_code or _CITED.match(line) or _SPEAKER.match(line) or _LOGGED.match(line):
                spans.append(Span(at, stop))
            else:
                is_announced = is_shown = _announces(line)
                was_blank = False
                at = stop + 1
                continue
            is_announced = False
        was_blank = is_blank
        at = stop + 1
    return _covered(text, spans, " ")


def _announces(line: str) -> bool:
    """Say whether a line announces somebody's words: `He wrote:`. Rules are announced by their writer."""
    end = line.rstrip()[-LONGEST:]
    return end.endswith((":", "：")) and _LEAD_IN.search(end) is not None and _OWN_LEAD.search(end) is None


def _without_quotes(text: str) -> str:
    """Cover what stands in quotation marks or backticks; a mark that is never closed covers its line."""
    spans: list[Span] = []
    opened: defaultdict[str, list[int]] = defaultdict(list)
    closing = {close: open_ for open_, close in _PAIRS.items()}
    for mark in () if text.isascii() else _MARK.finditer(text):
        if mark[0] in _PAIRS:
            opened[mark[0]].append(mark.end())
        elif opened[closing[mark[0]]]:
            spans.append(Span(opened[closing[mark[0]]].pop(), mark.start()))
    for starts in opened.values():
        # Each line once, however many marks it has.
        last = -1
        for start in starts:
            if start > last:
                last = _line_end(text, start)
                spans.append(Span(start, last))
    for quote in matches_from(_QUOTE, _QUOTED, text):
        is_open = quote[0][0] == '"' and (len(quote[0]) == 1 or not quote[0].endswith('"'))
        stop = _line_end(text, quote.start()) if is_open else quote.end() - 1
        spans.append(Span(quote.start() + 1, stop))
    return _covered(text, spans, COVER)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def spoken_sentences(voice: str) -> Iterator[Span]:
    """Yield where the sentences of a text stand, without the blanks and bullets around them."""
    start = line = 0
    for boundary in matches_from(_END, _BOUNDARY, voice):
        at, stop = boundary.span()
        mark = voice[at]
        if mark == "\n":
            is_wrapped = stop - at == 1 and at - line >= _WRAPPED and voice[at - 1 : at].islower() and voice[stop : stop + 1].islower()
            line = stop
            if is_wrapped and voice[at - 1].isascii():
                continue
        elif mark == "." and _is_no_end(voice, start, at + 1):
            continue
        yield from _pieces(voice, start, stop)
        start = stop
    yield from _pieces(voice, start, len(voice))


def _is_no_end(text: str, start: int, stop: int) -> bool:
    """Say whether a full stop belongs to an abbreviation or to the number of a list item."""
    if text[max(start, stop - 8) : stop].lower().endswith(_ABBREVIATIONS):
        return True
    # ` - 12.` at the start of a sentence; anywhere else a number ends it like a word.
    return stop - start <= _ITEM_LENGTH and text[start : stop - 1].strip(_BULLETS + "(").isdigit()


def _pieces(text: str, start: int, stop: int) -> Iterator[Span]:
    while start < stop and text[start] in _BULLETS:
        start += 1
    while stop > start and text[stop - 1] in _EDGES:
        stop -= 1
    while stop - start > LONGEST:
        end = next(
            (found + len(mark) for mark in _SOFT_BREAKS if (found := text.rfind(mark, start + LONGEST // 2, start + LONGEST)) >= 0), start + LONGEST
        )
        yield Span(start, end)
        start = end
    if stop > start:
        yield Span(start, stop)
