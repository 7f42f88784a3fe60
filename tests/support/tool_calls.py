"""Tools that keep count, and the four places a call is made from: an agent, a plain graph, a sub-agent, nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Interrupt

PLACES = ("agent", "graph", "deep", "direct")


class Messages(BaseChatModel):
    """Answers with what a function makes of the messages it is sent."""

    answer: Callable[[list[BaseMessage]], AIMessage]

    @property
    def _llm_type(self) -> str:
        return "messages"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Messages:
        """Take any tools; the script decides what is called."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])


def calls(*made: tuple[str, dict[str, Any]], ids: str = "c") -> AIMessage:
    """Return a model's message that makes calls, with ids `c0`, `c1`, ..."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": f"{ids}{place}", "type": "tool_call"} for place, (name, args) in enumerate(made)]
    )


def in_turns(*answers: AIMessage | str) -> Messages:
    """Return a model that gives one answer after another, told by how many stand in the conversation since it was first asked."""
    before: list[int] = []

    def answer(messages: list[BaseMessage]) -> AIMessage:
        said = sum(isinstance(message, AIMessage) for message in messages)
        before[:] = before or [said]
        said -= before[0]
        found = answers[min(said, len(answers) - 1)]
        return AIMessage(found) if isinstance(found, str) else found.model_copy(deep=True)

    return Messages(answer=answer)


class Ran:
    """Tools that note what they ran with, and do nothing else."""

    def __init__(self) -> None:
        """Begin with nothing run."""
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def tool(self, name: str, *arguments: str, result: str = "done", raises: Exception | None = None, **settings: Any) -> BaseTool:
        """Return a tool of that name; an argument `n:int` is a number, any other a text."""
        parts = [argument.partition(":") for argument in arguments]
        properties = {part[0]: {"type": {"int": "integer", "": "string"}.get(part[2], part[2])} for part in parts}

        def run(**given: Any) -> str:
            self.calls.append((name, given))
            if raises is not None:
                raise raises
            return result

        schema = {"type": "object", "properties": properties, "title": name}
        return StructuredTool.from_function(run, name=name, description=name, args_schema=schema, **settings)

    @property
    def names(self) -> list[str]:
        """What ran, in order."""
        return [name for name, _ in self.calls]


def agent_with(tools: Sequence[Any], *answers: AIMessage | str, middleware: Sequence[Any] = (), **settings: Any) -> Any:
    """Return an agent whose model gives these answers."""
    settings.setdefault("checkpointer", InMemorySaver())
    return create_agent(in_turns(*answers), list(tools), middleware=list(middleware), **settings)


def graph_with(node: Any, *answers: AIMessage | str, checkpointer: Any = None) -> Any:
    """Return a plain graph whose model gives these answers and whose node `tools` runs the calls."""
    model = in_turns(*answers)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer or InMemorySaver())


def raw_graph(tools: Sequence[BaseTool], *answers: AIMessage | str) -> Any:
    """Return a plain graph with LangGraph's own `ToolNode`: one task for all calls of a message."""
    return graph_with(ToolNode(list(tools)), *answers)


def deep_agent_with(tools: Sequence[Any], *answers: AIMessage | str, **settings: Any) -> Any:
    """Return a deep agent whose sub-agent gives these answers."""
    from deepagents import create_deep_agent

    task = calls(("task", {"description": "do it", "subagent_type": "worker"}), ids="t")

    def answer(messages: list[BaseMessage]) -> AIMessage:
        is_inner = any(message.type == "human" and message.text == "do it" for message in messages)
        return inner.answer(messages) if is_inner else outer.answer(messages)

    inner, outer = in_turns(*answers), in_turns(task, "all done")
    worker = {"name": "worker", "description": "works", "system_prompt": "work", "tools": list(tools)}
    settings.setdefault("checkpointer", InMemorySaver())
    return create_deep_agent(model=Messages(answer=answer), tools=list(tools), subagents=[worker], **settings)


def thread(name: str = "t") -> dict[str, Any]:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": name}}


def say(graph: Any, given: Any = "go", *, name: str = "t", is_async: bool = False, **settings: Any) -> dict[str, Any]:
    """Run a graph with a message, or with a command, and return its state."""
    given = {"messages": [("user", given)]} if isinstance(given, str) else given
    if is_async:
        return dict(asyncio.run(graph.ainvoke(given, thread(name), **settings)))
    return dict(graph.invoke(given, thread(name), **settings))


def questions(state: dict[str, Any]) -> list[Interrupt]:
    """Return what a person is asked, ordered by the calls asked about."""
    return sorted(state.get("__interrupt__", ()), key=lambda one: str(one.value.get("tool_call_ids", one.value)))


def approve(**more: Any) -> dict[str, Any]:
    """Return the answer that agrees."""
    return {"decisions": [{"type": "approve"}], **more}


def reject(message: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the answer that does not."""
    return {"decisions": [{"type": "reject", **({} if message is None else {"message": message})}], **more}


def edit(name: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the answer that makes another call of it."""
    return {"decisions": [{"type": "edit", "edited_action": {"name": name, "args": args}}], **more}


def respond(message: str) -> dict[str, Any]:
    """Return the answer in the tool's place."""
    return {"decisions": [{"type": "respond", "message": message}]}


def resume(graph: Any, answer: Any, **settings: Any) -> dict[str, Any]:
    """Answer the one question there is, or each of several by its interrupt: `{id: answer}`."""
    return say(graph, Command(resume=answer), **settings)


def results(state: dict[str, Any]) -> list[ToolMessage]:
    """Return the results of calls in a state."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def told(state: dict[str, Any]) -> str:
    """Return what the model was told by the tools."""
    return "\n".join(str(message.content) for message in results(state))
