"""What really happened: tool calls, their results and the files they touched. Copied from messages, never described by a model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_serializer, model_serializer

from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import Value

Status = Literal["done", "failed", "no_result"]

ArtifactState = Literal["read", "written", "removed", "touched"]
"""What a call does to a file, told from the tool's name; `touched` where the name does not say."""


class Reference(Value):
    """A key to something kept elsewhere, by its name: it is copied, never described."""

    name: str
    """`evidence_id`, `artifact_hash`, `tool_call_id`, `test_run_id` or `approval_id`."""

    value: str
    call_id: str = ""
    """The call whose arguments or result held it."""


class Action(Value):
    """One tool call that left the visible context."""

    tool: str
    call_id: str
    arguments: str
    """Canonical JSON of the arguments, shortened for display; `argument_digest` covers the whole."""

    argument_digest: str
    status: Status
    result: str = ""
    """First line of the result, shortened for display."""


class Artifact(Value):
    """A file a tool call named in its arguments."""

    path: str
    last_tool: str
    last_status: Status
    anchor: str = ""
    """Where in the file, as the call has it: a symbol, or a line or range of lines."""

    state: ArtifactState = "touched"
    """What the last call that succeeded did to it; a later look does not undo a change."""

    is_done: bool = False
    """Whether a call that changes files succeeded on it and none failed since."""


class Stated(Value):
    """An attribute a person gave a value that has no pattern of its own: the reviewer, the style, the host."""

    head: str
    about: tuple[str, ...] = ()
    """What it is the attribute of: two with other words here are two things."""

    value: str
    earlier: tuple[str, ...] = ()
    """What it was before, oldest first: said so no more."""

    origin: Origin = "user"


class Evidence(Value):
    """Actions oldest first, files in order of first touch, and how many older actions are only counted."""

    actions: tuple[Action, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    references: tuple[Reference, ...] = ()
    """Keys found in arguments and results, oldest first. One is never replaced by another; of very many the oldest are counted only."""

    omitted_references: int = 0
    files_listed: int | None = None
    """How many of the newest finished files the summary names; `None`: all of them."""

    omitted_actions: int = 0
    omitted_artifacts: int = 0
    inferred: tuple[InferredConstraint, ...] = ()
    """Rules people said in messages that left, oldest first: quoted, never in force before a person confirms them."""

    inferred_shown: int = 0
    """How many of the newest of them are shown; the others wait, or are not to be shown."""

    inferred_bare: bool = False
    """They are shown without the messages they were said in: room was short."""

    fields: tuple[ControlField, ...] = ()
    """The control fields of what was evicted, as they stood at the cut: the critical ones, and the newest of the others."""

    carried: tuple[str, ...] = ()
    """Ids of those shown, because nothing else in the view says them."""

    carried_bare: bool = False
    """They are shown without the sentences they stood in."""

    stated: tuple[Stated, ...] = ()
    """What people stated of attributes in messages that left: the superseded ones, and the newest of the others."""

    retold: dict[str, str] = Field(default_factory=dict)
    """Quotes that tell a value that holds no longer, as they are shown: by the id of the rule or of the field."""

    @model_serializer(mode="wrap")
    def _without_what_is_not(self, as_usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = as_usual(self)
        return {name: value for name, value in data.items() if value or name not in {"stated", "retold", "inferred_bare"}}

    @field_serializer("stated")
    def _stated_in_short(self, stated: tuple[Stated, ...]) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json", exclude_defaults=True) for one in stated]

    @field_serializer("fields")
    def _fields_in_short(self, fields: tuple[ControlField, ...]) -> list[dict[str, Any]]:
        # The head lies in every checkpoint: what a field does not have takes no room there.
        return [field.model_dump(mode="json", exclude_defaults=True) for field in fields]

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to show."""
        return not (self.actions or self.artifacts or self.omitted_actions or self.inferred_shown or self.carried)
