"""Questions a compaction puts to a person: asked with `interrupt()`, before anything is committed."""

from __future__ import annotations

from typing import Any

from langgraph.types import interrupt

from langchain_ctxguard.core.effects import AskPerson, Decided, SummaryRequest
from langchain_ctxguard.domain.control import FieldChange
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.ports import Summarizer
from langchain_ctxguard.records.bounded import Bounded

_CHOICES = {
    "repair": "carry the values as they were said",
    "approve": "let the summary stand as it is",
    "reject": "keep the previous context",
}


def asked_in_graph(question: AskPerson) -> Decided:
    """Return what a person decides about lost or changed control fields.

    The graph pauses; its run ends with the question. The answer is `{"choice": "repair"}`, `"approve"` or `"reject"`; anything else rejects. Where
    there is no graph to pause, nobody can agree, so it is rejected too.
    """
    shown = {"type": "control_fields", "findings": [_shown(change) for change in question.findings], "answer_with": {"choice": _CHOICES}}
    try:
        answer = interrupt(shown)
    except RuntimeError:
        return Decided("reject")
    choice = answer.get("choice") if isinstance(answer, dict) else answer
    return Decided(choice) if choice in _CHOICES else Decided("reject")


def _shown(change: FieldChange) -> dict[str, Any]:
    before, after = change.before, change.after
    return {
        "finding": "lost" if after is None else "changed",
        "kind": str(before.kind),
        "label": before.label,
        "value": before.raw,
        "said_by": before.origin,
        "message": before.message_id,
        "sentence": before.context,
        "instead": change.found if after is None else after.raw,
    }


class Drafts:
    """Drafts a person was asked about. `interrupt()` runs its node again from the start: the same draft is judged then, not another one."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: Bounded[SummaryDraft] = Bounded(64)

    def kept_by(self, summarizer: Summarizer, thread: Any) -> Summarizer:
        """Return the summarizer that tells the same messages of a thread once."""
        return _Once(summarizer, self._known, thread)


class _Once:
    """A summarizer that gives the draft it gave before, while what it is asked is the same."""

    def __init__(self, inner: Summarizer, known: Bounded[SummaryDraft], thread: Any) -> None:
        self._inner = inner
        self._known = known
        self._thread = thread

    @property
    def name(self) -> str:
        return self._inner.name

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        key = self._key(request)
        found = self._known.get(key)
        if found is None:
            found = self._inner.summarize(request)
            self._known.put(key, found)
        return found

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        key = self._key(request)
        found = self._known.get(key)
        if found is None:
            found = await self._inner.asummarize(request)
            self._known.put(key, found)
        return found

    def _key(self, request: SummaryRequest) -> Any:
        """Return what the draft stands for: any other message in between is another question."""
        previous = None if request.previous is None else request.previous.model_dump(mode="json")
        said = [message.model_dump(mode="json", include={"type", "content", "id"}) for message in request.evicted]
        return self._thread, digest_of(canonical_json([request.sources, said, previous, request.must_keep]))
