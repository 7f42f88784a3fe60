"""Compaction of long agent runs as a checked state transition.

Rules stay verbatim in every request, tool calls stay whole, the current request stands, claims stay claims, and a summary that does
not hold is refused.
Names load when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
    from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.compact import Compaction, acompact_messages, compact_messages
    from langchain_ctxguard.core.authorize import authorize
    from langchain_ctxguard.core.diff import diff_fields
    from langchain_ctxguard.core.extract import extract_fields
    from langchain_ctxguard.core.retention import check_retention, classify_retention
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.constraint import Constraint
    from langchain_ctxguard.domain.control import ControlField
    from langchain_ctxguard.domain.extensions import Extensions
    from langchain_ctxguard.domain.handoff import Handoff
    from langchain_ctxguard.domain.policy import ToolPolicy, ToolRequest, Verdict
    from langchain_ctxguard.domain.summary import StructuredSummary
    from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
    from langchain_ctxguard.graph.guard import ContextGuard
    from langchain_ctxguard.graph.handoff import HandoffGuard
    from langchain_ctxguard.graph.nodes import CompactContext, PinConstraints, RollbackContext
    from langchain_ctxguard.graph.run_input import RunInput
    from langchain_ctxguard.graph.state import GuardedState
    from langchain_ctxguard.graph.tools import PolicyToolNode, ToolGuard, guard_tools
    from langchain_ctxguard.graph.verifier import ContextVerifier
    from langchain_ctxguard.graph.verify_node import VerifyContext
    from langchain_ctxguard.records.consent_ledger import ConsentLedger
    from langchain_ctxguard.records.consents import ConsentReader
    from langchain_ctxguard.records.constraints import ConstraintRegistry
    from langchain_ctxguard.records.fields import FieldStore

__version__ = "0.1.0"

_HOMES = {
    "ChatModelSummarizer": "backends.chat_model",
    "CompactContext": "graph.nodes",
    "Compaction": "compact",
    "ConsentLedger": "records.consent_ledger",
    "ConsentReader": "records.consents",
    "Constraint": "domain.constraint",
    "ConstraintRegistry": "records.constraints",
    "ContextCheckpointer": "graph.checkpointer",
    "ContextGuard": "graph.guard",
    "ContextVerifier": "graph.verifier",
    "ControlField": "domain.control",
    "Extensions": "domain.extensions",
    "ExtractiveSummarizer": "backends.extractive",
    "FieldStore": "records.fields",
    "GuardConfig": "domain.config",
    "GuardStore": "backends.store",
    "GuardedState": "graph.state",
    "Handoff": "domain.handoff",
    "HandoffGuard": "graph.handoff",
    "PinConstraints": "graph.nodes",
    "PolicyToolNode": "graph.tools",
    "RollbackContext": "graph.nodes",
    "RunInput": "graph.run_input",
    "StructuredSummary": "domain.summary",
    "ToolGuard": "graph.tools",
    "ToolPolicy": "domain.policy",
    "ToolRequest": "domain.policy",
    "Verdict": "domain.policy",
    "VerifyContext": "graph.verify_node",
    "acompact_messages": "compact",
    "authorize": "core.authorize",
    "check_retention": "core.retention",
    "classify_retention": "core.retention",
    "compact_messages": "compact",
    "diff_fields": "core.diff",
    "extract_fields": "core.extract",
    "guard_tools": "graph.tools",
}

__all__ = [
    "ChatModelSummarizer",
    "CompactContext",
    "Compaction",
    "ConsentLedger",
    "ConsentReader",
    "Constraint",
    "ConstraintRegistry",
    "ContextCheckpointer",
    "ContextGuard",
    "ContextVerifier",
    "ControlField",
    "Extensions",
    "ExtractiveSummarizer",
    "FieldStore",
    "GuardConfig",
    "GuardStore",
    "GuardedState",
    "Handoff",
    "HandoffGuard",
    "PinConstraints",
    "PolicyToolNode",
    "RollbackContext",
    "RunInput",
    "StructuredSummary",
    "ToolGuard",
    "ToolPolicy",
    "ToolRequest",
    "Verdict",
    "VerifyContext",
    "acompact_messages",
    "authorize",
    "check_retention",
    "classify_retention",
    "compact_messages",
    "diff_fields",
    "extract_fields",
    "guard_tools",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
