"""Our own evidence, summary and notes read as what they are: quotes, each on its own, without the words our lines put around them.

`user said (message 3): "Never call me by phone."` quotes a rule; it does not tell of one as history. What others wrote is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.audit_told import is_ours
from langchain_ctxguard.core.roles import text_of

_TAG = re.compile(r"\s*(<context_\w+[^<>\n]*>)\n")
_CLOSING = re.compile(r"^</context_\w+>$")
_RULE = re.compile(r'- user said(?: for the task at hand)? \(message [^\s()]+\): "(?P<said>.*)"')
_VALUES = re.compile(r'- (?P<values>.+?) \((?:user said|user|ai|tool|system|developer)(?:, message [^\s()]+)?\)(?:: "(?P<said>.*)")?')
_BETWEEN = re.compile(r"; (?=[^:;\n]{1,60}: )")
_STRESSED = re.compile(r"stressed: ")
_LEAD = re.compile(
    r"(?:- )?(?:\[TRACE-\d+\] )?(?:\[(?:claimed|confirmed|asked|done|cancelled)(?: by \w+)?\] )?"
    r"(?:(?:First request|Last request in this part), )?(?:user said: |user claims, the consent ledger decides: )?"
)
_CLAIM = re.compile(r" \(user claims; the consent ledger decides\)$")


def as_quotes(message: BaseMessage) -> BaseMessage:
    """Return a message of ours with each quote in it as a paragraph of its own, anybody else's as it is. Its tag stays: by it its place is known."""
    text = text_of(message)
    tag = _TAG.match(text)
    if not is_ours(message) or tag is None:
        return message
    return HumanMessage("\n\n".join([tag[1], *_quotes(text[tag.end() :])]), name=message.name, id=message.id)


def _quotes(body: str) -> Iterator[str]:
    for line in body.split("\n"):
        if _CLOSING.match(line):
            # What follows is the line that takes all authority from what stands above it.
            return
        yield from filter(None, _told(line))


def _told(line: str) -> Iterator[str]:
    rule = _RULE.fullmatch(line)
    if rule is not None:
        yield rule["said"]
        return
    values = _VALUES.fullmatch(line)
    if values is not None:
        yield from (_STRESSED.sub("", value, count=1) if _STRESSED.match(value) else value for value in _BETWEEN.split(values["values"]))
        yield values["said"] or ""
        return
    yield _CLAIM.sub("", line[_lead(line) :])


def _lead(line: str) -> int:
    found = _LEAD.match(line)
    return 0 if found is None else found.end()
