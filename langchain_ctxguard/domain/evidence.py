"""What really happened: tool calls, their results and the files they touched. Copied from messages, never described by a model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_serializer

from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.value import Value


class Action(Value):
    """One tool call that left the visible context."""

    tool: str
    call_id: str
    arguments: str
    """Canonical JSON of the arguments, shortened for display; `argument_digest` covers the whole."""

    argument_digest: str
    status: Literal["done", "failed", "no_result"]
    result: str = ""
    """First line of the result, shortened for display."""


class Artifact(Value):
    """A file a tool call named in its arguments."""

    path: str
    last_tool: str
    last_status: Literal["done", "failed", "no_result"]


class Evidence(Value):
    """Actions oldest first, files in order of first touch, and how many older actions are only counted."""

    actions: tuple[Action, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    omitted_actions: int = 0
    omitted_artifacts: int = 0
    inferred: tuple[InferredConstraint, ...] = ()
    """Rules people said in messages that left, oldest first: quoted, never in force before a person confirms them."""

    inferred_shown: int = 0
    """How many of the newest of them are shown; the others wait, or are not to be shown."""

    fields: tuple[ControlField, ...] = ()
    """The control fields of what was evicted, as they stood at the cut: the critical ones, and the newest of the others."""

    carried: tuple[str, ...] = ()
    """Ids of those shown, because nothing else in the view says them."""

    carried_bare: bool = False
    """They are shown without the sentences they stood in."""

    @field_serializer("fields")
    def _fields_in_short(self, fields: tuple[ControlField, ...]) -> list[dict[str, Any]]:
        # The head lies in every checkpoint: what a field does not have takes no room there.
        return [field.model_dump(mode="json", exclude_defaults=True) for field in fields]

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to show."""
        return not (self.actions or self.artifacts or self.omitted_actions or self.inferred_shown or self.carried)
