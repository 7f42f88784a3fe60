"""Verification after the turn, by an extractor that is too slow for it: started with the compaction, its finding applied at the next call."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.diff import diff_fields
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.extensions import FieldExtractor
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.records.bounded import Bounded

_AT_ONCE = 4
"""Verifications that run at the same time; the others wait."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the view of a version lost of the part it stands for."""

    version: int
    fields: tuple[ControlField, ...]


class DeferredCheck:
    """Runs one extractor over what was evicted and over what the model sees instead: the same one before and after, or neither counts."""

    def __init__(self, extractor: FieldExtractor, record: Callable[[ContextEvent], None]) -> None:
        """Bind the extractor, and who is told."""
        self._extractor = extractor
        self._record = record
        self._findings: Bounded[Finding] = Bounded(256)
        self._started: Bounded[bool] = Bounded(1_024)
        self._turn = threading.Semaphore(_AT_ONCE)
        self._lock = threading.Lock()

    def start(self, thread: Hashable, version: int, evicted: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> threading.Thread | None:
        """Verify a version in the background, once; return the thread that does it.

        A daemon thread: it holds up neither the turn nor the end of the process.
        """
        with self._lock:
            if not evicted or self._started.get((thread, version)):
                return None
            self._started.put((thread, version), value=True)
        context = contextvars.copy_context()
        worker = threading.Thread(
            target=context.run, args=(self._verify, thread, version, list(evicted), list(shown)), name="ctxguard-deferred", daemon=True
        )
        worker.start()
        return worker

    def was_seen(self, thread: Hashable, version: int) -> bool:
        """Say whether a version was verified, or is being verified, by this process."""
        return bool(self._started.get((thread, version)))

    def seen(self, thread: Hashable, version: int) -> None:
        """Take a version as verified: it was made of a finding."""
        self._started.put((thread, version), value=True)

    def take(self, thread: Hashable, version: int) -> Finding | None:
        """Return the finding for a thread, once; one about a later version than the state has waits."""
        with self._lock:
            found = self._findings.get(thread)
            if found is None or found.version > version or not found.fields:
                return None
            self._findings.put(thread, Finding(found.version, ()))
            return found

    def _verify(self, thread: Hashable, version: int, evicted: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> None:
        with self._turn:
            try:
                before = self._read(evicted)
                after = self._read(shown) if before else []
                lost = diff_fields(before, after, text="\n".join(text_of(message) for message in shown)).critical
            except Exception as error:  # noqa: BLE001 - an extractor may fail in any way; the turn it belongs to is over
                detail = f"The deferred extractor failed with {type(error).__name__}; version {version} stays as it was accepted."
                self._record(ContextEvent(kind="fields_unverified", detail=detail, version=version))
                return
        fields = tuple(change.before for change in lost if any(change.before.raw in text_of(message) for message in evicted))
        with self._lock:
            known = self._findings.get(thread)
            kept = () if known is None else known.fields
            self._findings.put(thread, Finding(version, (*kept, *fields)))
        detail = f"The deferred extractor found {len(fields)} critical values that version {version} does not tell."
        self._record(ContextEvent(kind="fields_found_late", detail=detail, version=version))

    def _read(self, messages: Sequence[BaseMessage]) -> list[ControlField]:
        found: Sequence[object] = self._extractor(messages)
        return [field for field in found if isinstance(field, ControlField)]
