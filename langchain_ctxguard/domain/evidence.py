"""What really happened: tool calls, their results and the files they touched. Copied from messages, never described by a model."""

from __future__ import annotations

from typing import Literal

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

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to show."""
        return not (self.actions or self.artifacts or self.omitted_actions)
