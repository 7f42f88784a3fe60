"""What a search finds."""

from __future__ import annotations

from langchain_ctxguard.domain.value import Value


class Hit(Value):
    """A text that was found: the key it was indexed under, and how well it fits. Scores compare within one answer."""

    key: str
    score: float
