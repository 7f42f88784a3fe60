"""The application's own functions, as a constructor takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.invariant import StructuredState
from langchain_ctxguard.domain.policy import Policy
from langchain_ctxguard.domain.upcoming import UpcomingCompaction
from langchain_ctxguard.domain.version import CompactionRecord

Validator = Callable[[str], "bool | str"]
"""Judges a text: `True` if it passes, `False` or the reason if it does not."""

FieldExtractor = Callable[[Sequence[BaseMessage]], Sequence[ControlField]]
"""Finds control fields in messages. One that asks a model is `backends.model_fields.ModelFieldExtractor`."""


InvariantCheck = Callable[[StructuredState, StructuredState], "bool | str"]
"""Judges rules, consents, fields and tools before and after a compaction: `True` where it holds, `False` or the reason where it does not."""


BeforeCompaction = Callable[[UpcomingCompaction], "bool | str | None"]
"""Is asked before a compaction is made: `False` or a reason stops it."""

AfterCompaction = Callable[[CompactionRecord], "str | None"]
"""Is told of a new version; a text is shown to the model once, in the very next call."""

Redactor = Callable[[str], str]
"""Returns a text without what nobody may keep: the same text for the same text."""


@dataclass(frozen=True, slots=True)
class Extensions:
    """Functions a guard calls at its own points. Objects, not data: none of them can stand in a config file."""

    invariants: Mapping[str, InvariantCheck] = field(default_factory=dict)
    """What must hold across a compaction, by name: `check(before, after) -> bool | str`. Only `True` holds; one that raises does not."""

    validators: Mapping[str, Validator] = field(default_factory=dict)
    """By the name that rules of kind `verifier` and `runtime` know them by. Called in a thread where the run is async."""

    policies: Sequence[Policy] = ()
    """Functions that decide about tool calls beside the policy of the config; the strictest verdict holds."""

    same_text: Callable[[str, str], bool] | None = None
    """Says whether two statements say the same: asked about stressed sentences and choices that the rules find different. It may be called often."""

    deferred_extractor: FieldExtractor | Any | None = None
    """A function or a chat model that looks once more for control fields, after the turn and in a thread of its own.

    What a compaction lost is carried from the next call on.
    """
    before_compaction: BeforeCompaction | None = None
    """Asked before each compaction, also one asked for, and before a summarizer is: `False` or a reason stops it. One that fails stops nothing."""

    after_compaction: AfterCompaction | None = None
    """Told of each new version, once. A text it returns stands in the model's very next call and in no state; in plain graphs nobody sees it."""

    redact: Redactor | None = None
    """Sees every text that leaves the view before anything is made of it: summary, evidence, quotes. Where it fails on a text, that text is withheld
    and no model is asked."""
