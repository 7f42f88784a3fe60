"""A person's word on the rules said in a conversation: confirmed ones are pinned from now on, dropped ones forgotten."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from langchain_ctxguard.core.compile import rendered_digests
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.render import open_inferred, render_rules
from langchain_ctxguard.domain.constraint import Authority, Constraint, ConstraintSource, Scope, Severity
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.control import FieldKind
from langchain_ctxguard.domain.inferred import InferredConstraint


def inferred_in(head: ContextHead) -> tuple[InferredConstraint, ...]:
    """Return the rules nobody decided on yet, oldest first."""
    return () if head.body is None else open_inferred(head.body.evidence.inferred)


def settled(head: ContextHead, *, confirmed: Collection[str] = (), dropped: Collection[str] = (), rules: Sequence[Constraint]) -> ContextHead:
    """Return the next version of `head`, in which the decided rules are no longer quoted.

    Args:
        head: The head in force.
        confirmed: Ids of rules a person confirmed.
        dropped: Ids of rules a person dropped; they are remembered, so that their message does not bring them back.
        rules: The rules in force, for the digest of the pins.
    """
    if head.body is None:
        return head
    evidence = head.body.evidence
    decided = tuple(
        rule.model_copy(update={"status": "confirmed" if rule.inferred_id in confirmed else "dropped"})
        if rule.inferred_id in confirmed or rule.inferred_id in dropped
        else rule
        for rule in evidence.inferred
    )
    shown = min(evidence.inferred_shown, len(open_inferred(decided)))
    words = [folded(rule.text) for rule in evidence.inferred if rule.inferred_id in confirmed or rule.inferred_id in dropped]
    stressed = {field.field_id for field in evidence.fields if field.kind is FieldKind.EMPHASIS and any(_is_of(field.raw, text) for text in words)}
    carried = tuple(name for name in evidence.carried if name not in stressed)
    update = {"inferred": decided, "inferred_shown": shown, "carried": carried}
    body = head.body.model_copy(update={"evidence": evidence.model_copy(update=update)})
    version = head.version + 1
    body = body.model_copy(update={"rendered": rendered_digests(body, render_rules(rules), version=version)})
    return head.model_copy(update={"version": version, "body": body})


def _is_of(stressed: str, rule: str) -> bool:
    """Say whether a stressed sentence is the rule, or a part of it."""
    plain = folded(stressed)
    return plain in rule or rule in plain


def as_constraint(rule: InferredConstraint, *, scope: Scope) -> Constraint:
    """Return what a person confirms: the words as they were said, of no authority until somebody lends it theirs."""
    return Constraint(
        constraint_id=f"inferred-{rule.inferred_id}",
        text=rule.text.strip(),
        source=ConstraintSource(type="message", ref=rule.source),
        scope=scope,
        authority=Authority.INFERRED,
        severity=Severity.MEDIUM,
    )
