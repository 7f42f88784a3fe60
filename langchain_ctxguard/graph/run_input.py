"""Notes what a run was given, before anybody adds to it: so that a turn put in by a program never passes for a person's answer."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, TracePolicy
from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.graph.nodes import HasTurns
from langchain_ctxguard.graph.reading import as_messages
from langchain_ctxguard.graph.state import of_state
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.graph.whereabouts import run_key, running_runtime

_NEWEST = 500


class RunInput(AgentMiddleware[Any, Any, Any]):
    """Put it first: what another middleware puts into the conversation before the model is called is then known not to be a person's.

        agent = create_agent(model, tools, middleware=[RunInput(guard), compactor, guard], checkpointer=saver)
        graph.add_node("input", RunInput(guard))     # a plain graph: the first node

    It costs a superstep for each run. Without it, every turn in the user role that is there at the first model call of a run counts as given to it.
    """

    trace_policy: ClassVar[TracePolicy] = COUNTS_ONLY  # type: ignore[misc]  # a constant, as in LangChain's own

    def __init__(self, guard: HasTurns) -> None:
        """Bind the guard that judges tool calls."""
        super().__init__()
        self._turns = guard.turns

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Take notice of the run's messages."""
        messages = as_messages(of_state(state)[0])
        newest = messages[-_NEWEST:]
        keys = message_keys(newest, start=len(messages) - len(newest))
        given = [key for key, message in zip(keys, newest, strict=True) if isinstance(message, HumanMessage)]
        self._turns.standing.note_input(run_key(runtime), given)
        return None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Take notice of the run's messages. Nothing in it waits for anything."""
        return self.before_agent(state, runtime)

    def __call__(self, state: Any) -> dict[str, Any]:
        """Take notice, as a node of a plain graph."""
        self.before_agent(state, running_runtime())
        return {}
