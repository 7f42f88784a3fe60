"""A hand-over: the six things whoever goes on with a piece of work has to know, and the decisions behind them."""

from __future__ import annotations

import json
from typing import Any

from langchain_ctxguard.domain.handoff_blocks import HandoffBlocks
from langchain_ctxguard.domain.handoff_text import read_blocks, written_blocks


class Handoff(HandoffBlocks):
    """What whoever goes on needs, as Markdown and as JSON; each reads back into the other, whatever text is in it."""

    def to_json(self) -> str:
        """Return it as JSON, indented: to be read by people and by `from_json`."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Handoff:
        """Return what `to_json` wrote.

        Raises:
            ValueError: it is no hand-over, or one of a later version.
        """
        data: Any = json.loads(text)
        return cls.model_validate(data)

    def to_markdown(self) -> str:
        """Return it as Markdown, to be read by people, by agents and by `from_markdown`."""
        return written_blocks(self)

    @classmethod
    def from_markdown(cls, text: str) -> Handoff:
        """Return what `to_markdown` wrote: equal to what it was written from.

        Raises:
            ValueError: it is no hand-over; the message names the line.
        """
        return cls.model_validate(read_blocks(text))
