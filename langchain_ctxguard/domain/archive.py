"""Messages that left the view: where each rests, and which version took them out. No text of the conversation."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from langchain_ctxguard.domain.value import Value


class Archived(NamedTuple):
    """One message, as a manifest names it."""

    key: str
    """Its identity, as `core.identity` gives it."""

    address: str
    """Where its content rests in the space of its thread."""

    call_id: str = ""
    """The call it answers; empty where it answers none."""


class Manifest(Value):
    """What one version took out of the view, in order. It rests beside the messages and is erased with them."""

    schema_version: Literal[1] = 1
    first: int = Field(ge=0)
    """Position of the first message in the original conversation."""

    messages: tuple[Archived, ...] = ()
    offloaded: dict[int, Archived] = Field(default_factory=dict)
    """Tool results that stay in the conversation and are shown in part, by their position."""


class ArchivedPart(Value):
    """A manifest as its version names it."""

    archive: str = ""
    """Address of the manifest in the space of the thread; empty: nothing was kept."""

    archived_from: int = Field(default=0, ge=0)
    archived: int = Field(default=0, ge=0)
    left_state: bool = False
    """They may leave the state."""


def handle_of(position: int, address: str) -> str:
    """Return the short name under which a model may ask for a message: its position and the beginning of its digest.

    >>> handle_of(12, "ctx:00ffaa1122")
    '12-00ffaa'
    """
    return f"{position}-{address.rpartition(':')[2][:6]}"
