"""A plain text that was a memory's summary -> a head that shows it as what it is: an untrusted earlier summary. And back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.clean import ITEM_LIMIT
from langchain_ctxguard.core.compile import parted, rendered
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.identity import make_cut, message_keys
from langchain_ctxguard.core.ledger import merge_fields
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.sentences import sentences
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.domain.context import ContextBody, ContextHead
from langchain_ctxguard.domain.control import STATEMENTS
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import Fact, StructuredSummary
from langchain_ctxguard.domain.value import digest_of

_OURS = re.compile(r"^(?:- )*(?:\[(?:claimed|confirmed|asked)(?: by \w+)?\](?: |$)|-(?: |$))")
"""What stands before an item of our own text: it is written anew, and a mark of trust in a text proves nothing."""

_HEADINGS = frozenset({"Open items:", "Facts:", "Decisions:", "Open questions:"})


def head_of_text(text: str, messages: Sequence[BaseMessage], *, covers: int, version: int) -> ContextHead:
    """Return a head whose summary is `text` and whose cut lies after `covers` messages, leading system messages not counted."""
    rest = parted(messages).rest
    covers = min(covers, len(rest))
    facts = tuple(Fact(statement=item) for item in dict.fromkeys(_items(text)))
    # Whoever wrote the text, nobody can look up who said a value in it: it is a model's word, and not to be lost all the same.
    told = (field.model_copy(update={"origin": "ai", "message_id": None}) for field in extract_fields(text) if field.kind not in STATEMENTS)
    evidence = Evidence(fields=merge_fields((), told).fields)
    body = ContextBody(summary=StructuredSummary(facts=facts), evidence=evidence, summary_id=f"ctx-{digest_of(f'{version}:{text}')[:24]}")
    return ContextHead(version=version, cut=make_cut(rest, message_keys(rest), covers, start=0), body=body)


def _items(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = readable(line)
        while (shorter := _OURS.sub("", bare, count=1)) != bare:
            bare = shorter.strip()
        if not bare or bare in _HEADINGS:
            continue
        if len(bare) <= ITEM_LIMIT:
            yield bare
        else:
            yield from (piece.text for piece in sentences(bare))


def text_of_head(head: ContextHead | None) -> str:
    """Return what a head shows, as plain text: evidence and summary without their frames; empty where it shows nothing."""
    if head is None or head.body is None:
        return ""
    # A frame is an opening tag, a closing tag and a closing line.
    insides = (text_of(message).split("\n")[1:-2] for message in rendered(head.body, version=head.version))
    return "\n".join(line for inside in insides for line in inside)
