"""How `ctxguard demo` is called; what it does is in `demo.py`."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_ctxguard.cli.about import described


@described("ctxguard demo", cannot=None)
def demo(*, json_output: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False) -> None:
    """Run one conversation under a naive summary, LangChain's summarizer and ContextGuard, and show what became of its rules."""
    from langchain_ctxguard.cli.demo import demo_command

    demo_command(json_output=json_output)
