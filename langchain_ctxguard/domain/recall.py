"""What agents looked for in the archive of a thread, and what is set for it. No text of the conversation."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, ConfigDict, Field, NonNegativeInt

from langchain_ctxguard.domain.value import Value


class RecallSettings(Value):
    """How an agent reads what left its view. The section `recall` of the config file."""

    # YAML tells numbers from texts and `true`; a setting of the wrong type is a mistake, not a spelling.
    model_config = ConfigDict(strict=True)

    hits: int = Field(default=5, ge=1, le=50)
    """How many messages a search shows."""

    excerpt: int = Field(default=300, ge=40, le=4_000)
    """Characters shown of each of them."""

    read: int = Field(default=12_000, ge=200, le=1_000_000)
    """Characters of a message that one `read_message` shows."""

    calls: int = Field(default=3, ge=0, le=1_000)
    """For how many model calls recalled text stays in view; 0: as long as any other tool result."""


class RecallEntry(Value):
    """One use of a recall tool. Texts rest as content of the thread's space, so that they are erased with it."""

    schema_version: Literal[1] = 1
    at: AwareDatetime
    namespace: str = ""
    kind: Literal["search", "read"]
    asked: str
    """Address of what was asked for: the query, or the id."""

    candidates: tuple[tuple[str, float], ...] = ()
    """What the index found, best first: position and address of each message, and its score."""

    shown: tuple[str, ...] = ()
    """What was shown of it; of a read, the message that was read."""

    start: NonNegativeInt = 0
    characters: NonNegativeInt = 0
    """How many characters were shown."""

    calls: NonNegativeInt = 0
    """For how many model calls they stay in view; 0: no end."""

    @property
    def is_miss(self) -> bool:
        """Say whether nothing was found."""
        return not self.shown
