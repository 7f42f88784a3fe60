"""Who changes rules, and what nobody may: above one's authority, without a reason, over a newer word."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from langchain_ctxguard.domain.constraint import Authority, Constraint, ConstraintSource, Scope
from langchain_ctxguard.domain.exemption import Exemption
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.ports import Log
from langchain_ctxguard.records.constraint_events import Confirmed, Declared, Event, Exempted, Revoked, Superseded, decode, encode
from langchain_ctxguard.records.constraint_streams import Fold, RuleStreams, exemption_of, rule_ref, scope_key


class ConstraintWriter:
    """Changes rules up to one authority. Every change names its reason; what is refused leaves nothing behind."""

    def __init__(self, streams: RuleStreams, log: Log, *, authority: Authority, by: str) -> None:
        """Write to `log`; made by `ConstraintRegistry.writer`."""
        self._streams = streams
        self._log = log
        self.authority = authority
        self.by = by

    def declare(self, constraint: Constraint, reason: str) -> Constraint:
        """Put a new rule in force and return it as it is on record.

        Raises:
            StoreError: above this writer's authority, already in force, expired, or without a reason.
            LogConflictError: somebody changed a rule of the same scope at the same moment.
        """
        why = self._reason(reason)
        if constraint.supersedes is not None:
            msg = f"'{constraint.reference}' supersedes '{constraint.supersedes}' and would only be declared. Nothing was written; use `supersede`."
            raise StoreError(msg)
        self._may(constraint, "declare")
        rule = self._on_record(constraint)
        fold = self._room_for(rule)
        self._append(Declared(by=self.by, authority=self.authority, reason=why, constraint=rule), fold)
        return rule

    def supersede(self, constraint: Constraint, reason: str) -> Constraint:
        """Put a rule in the place of the one its `supersedes` names, and return it as it is on record.

        Both stand in one scope; the new one has at least the authority of the old.

        Raises:
            StoreError: above this writer's authority, the rule named is not in force, or the number is not above the earlier ones.
            LogConflictError: the rule named was in force and somebody changed it first.
        """
        why = self._reason(reason)
        if constraint.supersedes is None:
            msg = f"'{constraint.reference}' does not say which rule it supersedes. Nothing was written; name the `id@version` in force."
            raise StoreError(msg)
        self._may(constraint, "supersede a rule by")
        old_id, _, number = constraint.supersedes.rpartition("@")
        old, fold = self._standing(old_id, version=int(number))
        self._may(old, "supersede")
        rule = self._on_record(constraint)
        if scope_key(old.scope) != scope_key(rule.scope):
            msg = (
                f"'{old.reference}' holds in {_shown(old.scope)} and '{rule.reference}' would hold in {_shown(rule.scope)}. Nothing was written; "
                "a rule is superseded where it holds: declare the new one under an id of its own, then revoke or exempt the old."
            )
            raise StoreError(msg)
        if rule.authority.rank > old.authority.rank:
            msg = (
                f"'{rule.reference}' ({rule.authority}) has a lower authority than '{old.reference}' ({old.authority}). "
                "Nothing was written; a rule is superseded by one of at least its authority."
            )
            raise StoreError(msg)
        self._room_for(rule, replacing=old)
        self._append(Superseded(by=self.by, authority=self.authority, reason=why, constraint=rule), fold, also=old.constraint_id)
        return rule

    def revoke(self, constraint_id: str, reason: str) -> Constraint:
        """End a rule and return it.

        Raises:
            StoreError: not in force, or above this writer's authority.
            LogConflictError: somebody changed a rule of the same scope at the same moment.
        """
        why = self._reason(reason)
        rule, fold = self._standing(constraint_id)
        self._may(rule, "revoke")
        event = Revoked(by=self.by, authority=self.authority, reason=why, constraint_id=rule.constraint_id, version=rule.version)
        self._append(event, fold)
        return rule

    def exempt(self, constraint_id: str, why: str, until: datetime, scope: Scope | None = None) -> Exemption:
        """Let the version of a rule that is in force rest until a moment, everywhere or in one scope.

        A newer version ends the exemption: nobody exempted it.

        Raises:
            StoreError: not in force, above this writer's authority, or the moment is no future one.
            LogConflictError: somebody changed a rule of the same scope at the same moment.
        """
        reason = self._reason(why)
        if until.tzinfo is None or until <= self._streams.now():
            msg = f"An exemption lasts until a moment in the future, with its time zone; {until.isoformat()} is none. Nothing was written."
            raise StoreError(msg)
        rule, fold = self._standing(constraint_id)
        self._may(rule, "exempt from")
        event = Exempted(
            by=self.by, authority=self.authority, reason=reason, constraint_id=rule.constraint_id, version=rule.version, until=until, scope=scope
        )
        self._append(event, fold)
        return exemption_of(event)

    def confirm(self, constraint: Constraint, reason: str) -> Constraint:
        """Make a rule found in a conversation one of this writer's authority, and return it as it is on record.

        Raises:
            StoreError: not an inferred one, already in force, or this writer's authority is itself only inferred.
            LogConflictError: somebody changed a rule of the same scope at the same moment.
        """
        why = self._reason(reason)
        if constraint.authority is not Authority.INFERRED or self.authority is Authority.INFERRED:
            msg = (
                f"'{constraint.reference}' has authority '{constraint.authority}' and the writer '{self.authority}': "
                "confirming makes an inferred rule one of a person's authority. Nothing was written."
            )
            raise StoreError(msg)
        newest = [fold.newest[constraint.constraint_id][0] for fold in self._folds_with(constraint.constraint_id)]
        rule = self._on_record(constraint.model_copy(update={"authority": self.authority, "version": max(newest, default=0) + 1, "supersedes": None}))
        fold = self._room_for(rule)
        event = Confirmed(by=self.by, authority=self.authority, reason=why, inferred=constraint.reference, constraint=rule)
        self._append(event, fold)
        return rule

    def _reason(self, reason: str) -> str:
        if not reason.strip():
            msg = "A change of rules names its reason; this one is empty. Nothing was written."
            raise StoreError(msg)
        return reason

    def _may(self, constraint: Constraint, verb: str) -> None:
        if constraint.authority.rank < self.authority.rank:
            msg = (
                f"'{self.by}' has authority '{self.authority}' and may not {verb} '{constraint.reference}', which has '{constraint.authority}'. "
                f"Nothing was written; it takes a writer of '{constraint.authority}' or above."
            )
            raise StoreError(msg)

    def _on_record(self, constraint: Constraint) -> Constraint:
        """Return the rule with what nobody said filled in."""
        now = self._streams.now()
        if constraint.expires_at is not None and constraint.expires_at <= now:
            msg = f"'{constraint.reference}' expired at {constraint.expires_at.isoformat()}. Nothing was written; it would never hold."
            raise StoreError(msg)
        unsaid: dict[str, object] = {}
        if constraint.created_at is None:
            unsaid["created_at"] = now
        if "source" not in constraint.model_fields_set:
            unsaid["source"] = ConstraintSource(type="registry", ref=self.by)
        return constraint.model_copy(update=unsaid)

    def _folds_with(self, constraint_id: str) -> list[Fold]:
        """Return what the streams that ever held this id add up to: mostly one."""
        streams = dict.fromkeys(entry.stream for entry in self._streams.entries_about(constraint_id))
        return [fold for fold in map(self._streams.fold, streams) if constraint_id in fold.newest]

    def _standing(self, constraint_id: str, *, version: int | None = None) -> tuple[Constraint, Fold]:
        """Return a rule in force and what its stream adds up to."""
        folds = self._folds_with(constraint_id)
        for fold in folds:
            rule = fold.standing.get(constraint_id)
            if rule is not None and version in {None, rule.version}:
                return rule, fold
        if version is not None:
            self._refuse_late(constraint_id, version, folds)
        name = constraint_id if version is None else f"{constraint_id}@{version}"
        newest = max((fold.newest[constraint_id][0] for fold in folds), default=None)
        known = "no such rule was ever declared" if newest is None else f"its newest version is {newest}"
        msg = f"'{name}' is not in force: {known}. Nothing was written."
        raise StoreError(msg)

    def _refuse_late(self, constraint_id: str, version: int, folds: Sequence[Fold]) -> None:
        """Raise where this version was in force when the writer looked."""
        ends = {fold.stream: fold.seq for fold in folds}
        for entry in self._streams.entries_about(constraint_id):
            event = decode(entry).event
            if isinstance(event, Declared | Superseded | Confirmed) and event.constraint.reference == f"{constraint_id}@{version}":
                raise LogConflictError(entry.stream, expected=entry.seq, found=ends.get(entry.stream, entry.seq))

    def _room_for(self, rule: Constraint, *, replacing: Constraint | None = None) -> Fold:
        """Return what the stream a rule goes to adds up to, once its id is free and its number is new."""
        target = self._streams.fold(self._streams.stream(rule.scope))
        now = self._streams.now()
        for fold in self._folds_with(rule.constraint_id):
            number, authority = fold.newest[rule.constraint_id]
            if rule.version <= number:
                msg = f"'{rule.reference}' is no new version: '{rule.constraint_id}' is at {number}. Nothing was written; use {number + 1} or above."
                raise StoreError(msg)
            if authority.rank < self.authority.rank:
                msg = f"The id '{rule.constraint_id}' belongs to authority '{authority}'. Nothing was written; choose another id."
                raise StoreError(msg)
            standing = fold.standing.get(rule.constraint_id)
            if standing is None or standing == replacing:
                continue
            has_expired = standing.expires_at is not None and standing.expires_at <= now
            if not has_expired or fold.stream != target.stream:
                msg = (
                    f"'{standing.reference}' stands in {_shown(standing.scope)} already. "
                    "Nothing was written; `supersede` it by a rule that names it, or `revoke` it first."
                )
                raise StoreError(msg)
        return target

    def _append(self, event: Event, fold: Fold, *, also: str | None = None) -> None:
        named = event.constraint_id if isinstance(event, Revoked | Exempted) else event.constraint.constraint_id
        refs = dict.fromkeys(rule_ref(self._streams.tenant, name) for name in (named, also) if name is not None)
        self._log.append(fold.stream, [encode(event)], expected=fold.seq, refs=tuple(refs))


def _shown(scope: Scope) -> str:
    return "the global scope" if scope.value is None else f"{scope.kind} '{scope.value}'"
