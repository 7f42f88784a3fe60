"""A guard that nobody uses any more is gone, with its store: whoever makes one for each request must not fill the memory."""

from __future__ import annotations

import gc
import weakref

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool

from langchain_ctxguard import ContextGuard, GuardStore
from langchain_ctxguard.backends.tokens import counter_for
from tests.graph.models import ScriptedChat


def share() -> BaseTool:
    @tool
    def share_it(what: str) -> str:
        """Share something with somebody else."""
        return what

    return share_it


def test_a_closed_guard_is_collected() -> None:
    """Whatever caches of the process counted its tools and messages."""

    def used() -> list[weakref.ref[object]]:
        store = GuardStore.open("memory://")
        guard = ContextGuard(constraints=["Never delete an order."], store=store, trigger=("tokens", 1_000))
        tools = guard.tools([share()])
        agent = create_agent(ScriptedChat(), tools, middleware=[guard])
        agent.invoke({"messages": [HumanMessage("Hello.")]})
        guard.close()
        store.close()
        return [weakref.ref(guard), weakref.ref(store), weakref.ref(type(tools[0]))]

    left = [used() for _ in range(3)]
    gc.collect()
    # What a library remembers of the last run is one run, not all of them.
    assert [] == [one for refs in left[:-1] for ref in refs if (one := ref()) is not None]


def test_a_counter_keeps_no_tool_and_no_function() -> None:
    """Counted again they cost the same, and equal ones of another class or function are others."""
    counter = counter_for("gpt-4o")

    def made() -> tuple[weakref.ref[object], weakref.ref[object], int]:
        def look(what: str) -> str:
            """Look at something."""
            return what

        one = share()
        kind = type("Kind", (type(one),), {})
        twin = kind(**{name: getattr(one, name) for name in ("name", "description", "args_schema", "func")})
        counted = counter.count_tools([twin, look])
        assert counted == counter.count_tools([twin, look])
        return weakref.ref(kind), weakref.ref(look), counted

    kind, look, counted = made()
    gc.collect()
    assert (None, None) == (kind(), look())
    assert counted == made()[2]
