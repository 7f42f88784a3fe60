"""What anybody in service says and lends nothing by: an offer that waits for an answer, a place to look at, leave to ask."""

from __future__ import annotations

import re

_OFFERS = re.compile(
    r"(?:please )?feel free to (?:ask|let me know|reach out|contact (?:me|us))\b|\bas you can see\b|\bno problem\b|"
    r"\b(?:once|after|when|if|as soon as) (?:i have|you(?:'d| would)? (?:confirm|provide|like|choose|need|let|tell|share|decide|give))\b"
    r"[^.!?\n]{0,100}?\b(?:i|we) can (?:then |also )?(?:proceed|assist|help|look into|transfer you to)\b|"
    r"\b(?:let me know|tell me|confirm|choose|provide)\b[^.!?\n]{0,100}?\b(?:and|so) (?:i|we) can (?:then |also )?(?:proceed|assist|help)\b|"
    r"(?:您|你)?(?:也|都|还)?可以?(?:先|再)?(?:去|来|过去)?(?:看看|看一下|看一看|尝尝|试试|逛逛|玩玩|转转|了解一下|参考|考虑一下|考虑看看|打电话问问)",
    re.IGNORECASE,
)


def without_offers(text: str) -> str:
    """Return a text without such phrases; what stands beside them stays.

    >>> without_offers("Once you confirm the date, I can proceed with the booking."), without_offers("There is a museum, 您可以去看看")
    ('  with the booking.', 'There is a museum,  ')
    """
    return _OFFERS.sub(" ", text) if _OFFERS.search(text) else text
