"""Whether a sentence settles what it says, or asks, supposes, or tells what somebody else thinks: that ends no earlier value. English and Chinese."""

from __future__ import annotations

import re

from langchain_ctxguard.core.field_text import sentence_at
from langchain_ctxguard.core.said import asks

_MAY_BE = re.compile(
    r"[?？吗呢]|\b(?:if|unless|suppose|supposing|assuming|maybe|perhaps|might|wonder\w*|says?|said|claims?|told|heard|hears?|thinks?|thought|believes?|guess\w*"
    r"|suggest\w*|propos\w+|rumou?rs?|apparently|supposedly|according|kidding|joking)\b|如果|假如|要是|倘若|万一|也许|可能|或许|听说|据说|觉得|认为|建议|提议|考虑|开玩笑|说",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(?:\W|\b(?:ok|okay|so|and|then|also|hi|hey|hello|sorry|actually|well|now|no|wait|but)\b)*"
    r"(?:(?:can|could|would|will) you\b|please\b"
    r"|(?:change|move|make|set|update|push|switch|book|use|put|shift|reschedule|postpone|extend|let['’]s)\b)"
    r"|.*(?:请|帮我|帮忙|麻烦|劳驾)",
    re.IGNORECASE,
)
"""A request that is put as a question, or that asks for a nod behind it."""

_SUPPOSED = re.compile(
    r"\b(?:if(?! (?:possible|you (?:can|could|don['’]t mind)|that (?:works|is ok|suits)|it['’]s ok)\b)|unless|suppose|supposing|assuming|maybe"
    r"|perhaps|might|what about|how about|wonder\w*|kidding|joking|rumou?rs?|apparently|supposedly|(?:i|we) (?:heard|hear))\b"
    r"|如果|假如|要是|倘若|万一|也许|可能|或许|听说|据说|考虑|开玩笑",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"(?<!\bi )(?<!\bwe )\b(?:thinks?|thought|believes?|guess(?:es|ed)?|suggests?|suggested|proposes?|proposed)\b"
    r"|(?<!我)(?<!我们)(?:觉得|认为|建议|提议)",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\bas )\b(?:says?|said|claims?|claimed|told (?:me|us)|according to)\b"
    r"|(?<!我)(?<!我们)(?<!再)(?<!照)说(?!明|不|好|服|法|到)",
    re.IGNORECASE,
)


def may_be_unsettled(text: str) -> bool:
    """Say whether there may be such a sentence in a text: a cheap look."""
    return _MAY_BE.search(text) is not None


def is_unsettled(text: str, start: int, stop: int, *, is_change: bool) -> bool:
    """Say whether the sentence around a value leaves it open.

    Args:
        text: What was said.
        start: Where the value begins.
        stop: Where it ends.
        is_change: Whether the value is said to be new: then it counts though somebody else said it ("the client says it is now June 9").

    >>> text = "Is the deadline June 9?"
    >>> is_unsettled(text, 16, 22, is_change=False)
    True
    """
    low, high = sentence_at(text, start, stop)
    sentence = text[low : high + 1]
    if _SUPPOSED.search(sentence) or _OPINION.search(sentence):
        return True
    if asks(sentence) and not _ORDERS.match(sentence):
        return True
    return not is_change and _HEARSAY.search(sentence) is not None
