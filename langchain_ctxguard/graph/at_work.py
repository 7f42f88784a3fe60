"""The one record of an agent's work that a gate hears: reconciliation, repeats, and whoever writes the work log, in this order."""

from __future__ import annotations

from langchain_ctxguard.core.effects import CallAtWork, Ran, WorkWord
from langchain_ctxguard.graph.reconciler import Reconciler
from langchain_ctxguard.graph.repeats import RepeatGuard
from langchain_ctxguard.ports import WorkRecord


class AtWork:
    """A `ports.WorkRecord` over the three; `guard.gate.attend(AtWork(...))`."""

    def __init__(self, reconciler: Reconciler, repeats: RepeatGuard, watch: WorkRecord | None = None) -> None:
        """Bind the three; `watch` takes notice of what takes effect."""
        self.reconciler = reconciler
        self.repeats = repeats
        self.watch = watch

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Say why a call may not run, or need not; else let the work log look at what it is about to touch."""
        word = self.reconciler.held(call, between=lambda: self.repeats.word(call))
        if word is None and self.watch is not None:
            return self.watch.before(call)
        return word

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Have the work log, then the repeat guard take notice of what a call came to."""
        if self.watch is not None:
            self.watch.after(call, ran)
        self.repeats.after(call, ran)
