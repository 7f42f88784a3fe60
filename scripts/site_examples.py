"""Examples of docstrings as code: griffe reads `>>>` outside of a section as prose, and its output as links."""

from __future__ import annotations

from typing import Any

import griffe


class FencedExamples(griffe.Extension):
    """Puts fences around the examples of every docstring."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""Return a docstring with fences around its examples.

    >>> fenced("One.\n\n>>> 1 + 1\n2\n\nTwo.").splitlines()[2:6]
    ['```python', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    is_open = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not is_open:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}```python")
            is_open = True
        elif not line.strip() and is_open:
            lines.append("```")
            is_open = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if is_open else [])])
