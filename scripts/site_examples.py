"""Examples of docstrings as code: griffe reads `>>>` outside of a section as prose, and its output as links."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import griffe

_SPEC = importlib.util.spec_from_file_location("site_of_the_docs", Path(__file__).with_name("site.py"))
assert _SPEC
assert _SPEC.loader
site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(site)


class FencedExamples(griffe.Extension):
    """Puts fences around the examples of every docstring."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = site.fenced(obj.docstring.value)
