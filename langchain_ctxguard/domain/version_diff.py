"""What two versions of a context differ in."""

from __future__ import annotations

from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.value import Value


class TextChanges(Value):
    """Texts that only one of two versions has."""

    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class FieldMove(Value):
    """A control field with another value, or another standing, than before."""

    before: ControlField
    after: ControlField


class VersionDiff(Value):
    """Version `after` as seen from version `before`. `str()` is the readable report."""

    before: int
    after: int
    fields_gone: tuple[ControlField, ...] = ()
    fields_new: tuple[ControlField, ...] = ()
    fields_changed: tuple[FieldMove, ...] = ()
    rules_changed: bool = False
    """Other rules were in force."""

    inferred: TextChanges = TextChanges()
    """Rules people said, open ones."""

    summary: TextChanges = TextChanges()
    """Items of the summary, as they are shown."""

    actions_new: int = 0
    files: TextChanges = TextChanges()
    consents_changed: bool | None = None
    """`None`: neither version was made under a consent ledger."""

    tokens_before: int = 0
    tokens_after: int = 0

    @property
    def is_empty(self) -> bool:
        """Say whether both show the same."""
        return not (
            self.fields_gone
            or self.fields_new
            or self.fields_changed
            or self.rules_changed
            or self.inferred != TextChanges()
            or self.summary != TextChanges()
            or self.files != TextChanges()
            or self.actions_new
            or self.consents_changed
        )

    def __str__(self) -> str:
        """Return the report, one finding to a line."""
        lines = [f"version {self.before} -> version {self.after}: {self.tokens_before} -> {self.tokens_after} tokens"]
        lines += [f"  - field {_named(field)}: {field.raw}" for field in self.fields_gone]
        lines += [f"  + field {_named(field)}: {field.raw}" for field in self.fields_new]
        lines += [f"  ~ field {_named(move.after)}: {move.before.raw} -> {move.after.raw}{_closed(move.after)}" for move in self.fields_changed]
        for title, changes in (("rule said", self.inferred), ("summary", self.summary), ("file", self.files)):
            lines += [f"  - {title}: {text}" for text in changes.gone]
            lines += [f"  + {title}: {text}" for text in changes.new]
        if self.rules_changed:
            lines.append("  ~ other rules were in force")
        if self.actions_new:
            lines.append(f"  {self.actions_new:+d} actions")
        if self.consents_changed:
            lines.append("  ~ consents changed")
        return "\n".join(lines if len(lines) > 1 else [*lines, "  no difference"])


def _named(field: ControlField) -> str:
    return field.label or field.kind.value


def _closed(field: ControlField) -> str:
    return " (closed)" if field.is_closed else ""
