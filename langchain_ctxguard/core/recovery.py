"""What of a hand-over stands in the text a model sees: looked for word for word, since what is described anew may be another thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.render import one_line
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import HandoffItem
from langchain_ctxguard.domain.work_metrics import Element, Recovery, Share
from langchain_ctxguard.domain.worklog import trace_name

_BEGINNING = 160
"""Characters by which a long text is told: a view may show its beginning."""


def recovery_of(handoff: Handoff, view: Sequence[BaseMessage], *, version: int, at_message: int, at: datetime) -> Recovery:
    """Return what a compacted view shows of the hand-over made before it."""
    text = _flat("\n".join(text_of(message) for message in view))
    goals = [line for line in handoff.goal.split("\n") if line.strip()]
    shown: dict[Element, Share] = {
        "goal": _share(goals, text),
        "done": _items(handoff.done, text),
        "pending": _items(handoff.not_done, text),
        "anchors": _share([str(anchor.place) for anchor in handoff.anchors], text),
        "do_not": _share([ban.text for ban in handoff.do_not], text),
    }
    return Recovery(version=version, handoff=handoff.number, namespace=handoff.namespace, shown=shown, at_message=at_message, at=at)


def _items(items: Sequence[HandoffItem], text: str) -> Share:
    """An item is shown by its words, or by its number where it has one: the log has the words."""
    found = sum(_stands(item.text, text) or (item.trace is not None and f"[{trace_name(item.trace)}]" in text) for item in items)
    return Share(found=found, total=len(items))


def _share(texts: Iterable[str], text: str) -> Share:
    wanted = list(texts)
    return Share(found=sum(_stands(one, text) for one in wanted), total=len(wanted))


def _stands(wanted: str, text: str) -> bool:
    return _flat(wanted.removeprefix("Asked last: "))[:_BEGINNING].rstrip("…") in text


def _flat(text: str) -> str:
    return one_line(readable(text))
