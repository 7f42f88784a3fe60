"""An earlier head under a new number, and what two heads differ in."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_ctxguard.core.carry_over import carried_over
from langchain_ctxguard.core.compile import rendered_digests
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.core.render import open_inferred, summary_body
from langchain_ctxguard.domain.context import ContextBody, ContextHead
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.domain.version_diff import FieldMove, TextChanges, VersionDiff


def renumbered(head: ContextHead, number: int, *, pins: str = "") -> ContextHead:
    """Return `head` as version `number`: the same content, and the digests of how it is shown under that number."""
    body = head.body
    if body is not None:
        body = body.model_copy(update={"rendered": rendered_digests(body, pins, version=number)})
    return head.model_copy(update={"version": number, "body": body, "cool_down": None, "pins": None})


def head_digest(head: ContextHead) -> str:
    """Return what tells a head from any other; empty for one that stands for nothing. A cool-down is no part of what it shows."""
    if head.body is None:
        return ""
    # The copy of the record is renewed as the record moves; how it is shown is not what a version stands for.
    body = carried_over(head.body, None)
    plain = {"version": head.version, "cut": head.cut.model_dump(mode="json"), "body": body.model_dump(mode="json")}
    return digest_of(canonical_json(plain))


def fields_fingerprint(fields: Sequence[ControlField]) -> str:
    """Return what changes exactly when a field of the ledger has another value, or is closed; empty without fields."""
    if not fields:
        return ""
    told = sorted([field.field_id, field.value or field.raw, str(field.is_closed)] for field in fields)
    return digest_of(canonical_json(told))[:16]


def head_diff(
    before: ContextHead, after: ContextHead, *, tokens: tuple[int, int] = (0, 0), consents: tuple[int | None, int | None] = (None, None)
) -> VersionDiff:
    """Return what `after` shows and `before` does not, and the other way round.

    Args:
        before: The earlier head.
        after: The later one.
        tokens: Of both views, for the report.
        consents: Number of the last consent entry each was made under.
    """
    one, two = before.body, after.body
    old = {} if one is None else {field.field_id: field for field in one.evidence.fields}
    new = {} if two is None else {field.field_id: field for field in two.evidence.fields}
    moved = (FieldMove(before=old[name], after=field) for name, field in new.items() if name in old)
    return VersionDiff(
        before=before.version,
        after=after.version,
        fields_gone=tuple(field for name, field in old.items() if name not in new),
        fields_new=tuple(field for name, field in new.items() if name not in old),
        fields_changed=tuple(move for move in moved if key_of(move.before) != key_of(move.after) or move.before.is_closed != move.after.is_closed),
        rules_changed=("" if one is None else one.rules_fingerprint) != ("" if two is None else two.rules_fingerprint),
        inferred=_changes(_inferred(one), _inferred(two)),
        summary=_changes(_items(one), _items(two)),
        actions_new=_actions(two) - _actions(one),
        files=_changes(_files(one), _files(two)),
        consents_changed=None if consents == (None, None) else consents[0] != consents[1],
        tokens_before=tokens[0],
        tokens_after=tokens[1],
    )


def _changes(before: Sequence[str], after: Sequence[str]) -> TextChanges:
    return TextChanges(gone=tuple(text for text in before if text not in after), new=tuple(text for text in after if text not in before))


def _inferred(body: ContextBody | None) -> list[str]:
    return [] if body is None else [rule.text for rule in open_inferred(body.evidence.inferred)]


def _items(body: ContextBody | None) -> list[str]:
    return [] if body is None else [line.removeprefix("- ") for line in summary_body(body.summary).splitlines() if line.strip()]


def _files(body: ContextBody | None) -> list[str]:
    return [] if body is None else [artifact.path for artifact in body.evidence.artifacts]


def _actions(body: ContextBody | None) -> int:
    return 0 if body is None else len(body.evidence.actions) + body.evidence.omitted_actions
