"""Compaction records as scores: numbers a dashboard can draw."""

from __future__ import annotations

from langchain_ctxguard.domain.version import CompactionRecord


def scores_of(record: CompactionRecord) -> dict[str, float]:
    """Return what an attempt came to, as scores.

    `retention`: share of the rules in force that stand in the view after it. `critical_lost` and `fields_changed`: how many critical control fields
    the view no longer tells, and how many the draft told otherwise. `compression`: tokens after in parts of tokens before. `gain_tokens`: tokens won.
    """
    rules = record.rules_in_force
    return {
        "retention": 1.0 if not rules else 1 - len(record.rules_missing_after) / rules,
        "critical_lost": float(record.fields.lost),
        "fields_changed": float(record.fields.changed),
        "compression": record.tokens_after / record.tokens_before if record.tokens_before else 1.0,
        "gain_tokens": float(record.tokens_before - record.tokens_after),
    }
