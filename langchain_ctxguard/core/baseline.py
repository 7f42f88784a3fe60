"""How a workspace was when an agent's work began, told of a look that came later."""

from __future__ import annotations

from collections.abc import Collection

from langchain_ctxguard.domain.workspace import Survey

_UNKNOWN = "?"
"""Mark of a file that was another then; nobody knows which."""


def as_it_began(survey: Survey, touched: Collection[str]) -> Survey:
    """Return a survey as one taken earlier would differ: files that were touched since are told as changes by whoever compares the two.

    Args:
        survey: Taken while the work was under way.
        touched: Files of it that were changed after the work began.

    >>> late = Survey(source="git", marks={"a.py": ".M 1", "b.py": ".M 2"})
    >>> dict(as_it_began(late, {"b.py"}).marks)
    {'a.py': '.M 1'}
    """
    if not touched:
        return survey
    # Git names what differs from a commit: what differs only since then is left out. Elsewhere every file has a mark.
    marks = {path: _UNKNOWN if path in touched else mark for path, mark in survey.marks.items() if survey.source == "files" or path not in touched}
    return survey.model_copy(update={"marks": marks})
