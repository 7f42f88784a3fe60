"""Texts that must stand in the summary, found where they were said; and whose words a message holds."""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import Speaker, is_note, is_request, speaker_of, text_of
from langchain_ctxguard.domain.summary import Fact
from langchain_ctxguard.ports import SummaryRequest


def kept_verbatim(request: SummaryRequest) -> Iterator[Fact]:
    """Yield a fact for each text of `must_keep` that stands in an evicted message or in the previous summary."""
    for wanted in request.must_keep:
        place = next(
            ((message, source) for message, source in zip(request.evicted, request.sources, strict=True) if wanted in text_of(message)),
            None,
        )
        if place is not None:
            yield Fact(statement=wanted, said_by=origin_of(place[0]), source=place[1], quote=wanted)
            continue
        carried = () if request.previous is None else request.previous.facts
        fact = next((fact for fact in carried if wanted in fact.statement), None)
        if fact is not None:
            yield fact


def origin_of(message: BaseMessage) -> Speaker:
    """Return who said what a message says: a note in the user role speaks for a tool, another tool's summary or nobody the user knows."""
    speaker = speaker_of(message)
    if speaker != "user" or is_request(message):
        return speaker
    if not is_note(message):
        return "tool"
    opening = text_of(message)[:40]
    if ' from="tool"' in opening:
        return "tool"
    return "system" if ' from="system"' in opening else "ai"
