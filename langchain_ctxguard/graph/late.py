"""What a slow extractor finds missing in a version after its turn, and the version that tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_ctxguard.core.crossing import with_found_late
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import find_cut
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.field_settings import FieldSettings
from langchain_ctxguard.graph.deferred import DeferredCheck
from langchain_ctxguard.graph.pacing import Windows
from langchain_ctxguard.graph.reading import Call, Reader

_LOOKED_BACK = 200
"""Messages before the cut that are verified by a process that did not make the version."""


class LateFindings:
    """Has versions verified after the turn, and puts what that finds into the next head."""

    def __init__(
        self,
        check: DeferredCheck | None,
        settings: CompactionSettings,
        *,
        fields: FieldPlan | None,
        reader: Reader,
        windows: Windows,
        count: CountTokens,
        redact: Redactor | None,
    ) -> None:
        """Bind the check, `None` where no deferred extractor is set: then nothing is ever found late."""
        self._deferred = check
        self._settings = settings
        self._fields = fields
        self._reader = reader
        self._windows = windows
        self._count = count
        self._redact = redact

    def found(self, call: Call, model: Any) -> ContextHead | None:
        """Return the head with what the deferred extractor found missing since, `None` where it found nothing; have a version verified once."""
        if self._deferred is None:
            return None
        head = self._reader.head(call.raw_head)
        if not isinstance(head, ContextHead) or head.body is None:
            return None
        found = self._deferred.take(call.thread, head.version)
        if found is not None:
            window, _ = self._windows.of(model)
            settings = self._fields.settings if self._fields is not None else FieldSettings()
            late = with_found_late(
                head,
                found.fields,
                rules=call.rules,
                share_tokens=int(self._settings.evidence_share * window),
                cap=settings.critical_cap,
                count=self._count,
            )
            if late is not None:
                self._deferred.seen(call.thread, late.version)
                return late
        self.verify(call, ContextHead(version=0), head)
        return None

    def verify(self, call: Call, before: ContextHead, after: ContextHead) -> None:
        """Have the deferred extractor look at what a version stands for; a process that did not make it looks at the newest part of that."""
        if self._deferred is None or after.body is None or self._deferred.was_seen(call.thread, after.version):
            return
        situation = self._reader.situation(replace(call, raw_head=after.to_dict())).situation
        cut = len(call.messages) - len(situation.tail)
        first = find_cut(before.cut, call.messages) or 0 if before.body is not None else max(0, cut - _LOOKED_BACK)
        evicted = call.messages[first:cut]
        if self._redact is not None:
            redaction = Redaction(self._redact)
            evicted = [redaction.message(message) for message in evicted]
        self._deferred.start(call.thread, after.version, evicted, situation.view().messages)
