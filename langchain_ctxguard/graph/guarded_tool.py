"""A tool that judges each of its calls: of the tool's own class, over the tool's own data. Every way into it leads through the guard."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg
from langgraph.prebuilt.tool_node import ToolRuntime
from pydantic import BaseModel, create_model

from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.tool_arguments import RUNTIME, injected_names, wants_runtime
from langchain_ctxguard.graph.tool_run import FRAME, Frame, Gatekeeper, ToolRun

_ENTRANCES = ("run", "arun", "invoke", "ainvoke")


def guarded(tool: BaseTool, gate: Gatekeeper) -> BaseTool:
    """Return a tool that does what `tool` does once the guard let it. Both share their data; the one given stays as it was.

    Raises:
        ConfigurationError: the tool has a way in of its own, past the one that is guarded.
    """
    kind = type(tool)
    for name in _ENTRANCES:
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if owner.__module__.partition(".")[0] != "langchain_core":
            msg = (
                f"The tool '{tool.name}' cannot be guarded: its class {owner.__name__} has a `{name}` of its own, which the guard does not see. "
                "Nothing was wrapped. Put what it does into `_run` and `_arun`."
            )
            raise ConfigurationError(msg)
    twin: BaseTool = object.__new__(_guarded_class(tool, gate))
    for part in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
        object.__setattr__(twin, part, getattr(tool, part))
    return twin


def gate_of(tool: Any) -> Gatekeeper | None:
    """Return what guards a tool, `None` where nothing does."""
    found: Gatekeeper | None = getattr(type(tool), "ctxguard_gate", None)
    return found


def _guarded_class(tool: BaseTool, gate: Gatekeeper) -> type[BaseTool]:
    kind = type(tool)
    inner_run, inner_arun = kind._run, kind._arun  # noqa: SLF001 - what LangChain has subclasses define

    names = injected_names(tool)

    # The signature is what LangChain decides by whether to pass a config and a run manager.
    @functools.wraps(inner_run)
    def _run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        run = ToolRun.of(self, gate, names, args, kwargs)
        if run.is_inside:
            return inner_run(self, *args, **kwargs)
        return run.settled(inner_run)

    @functools.wraps(inner_arun)
    async def _arun(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        run = ToolRun.of(self, gate, names, args, kwargs)
        if run.is_inside:
            return await inner_arun(self, *args, **kwargs)
        return await run.asettled(inner_arun)

    def run(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _framed(self, tool_input, kwargs) as own:
            return kind.run(self, own, *args, **kwargs)

    async def arun(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with _framed(self, tool_input, kwargs) as own:
            return await kind.arun(self, own, *args, **kwargs)

    space: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__annotations__": {"ctxguard_gate": ClassVar[Any]},
        "ctxguard_gate": gate,
        "_run": _run,
        "run": run,
        "arun": arun,
    }
    if inner_arun is not BaseTool._arun:  # noqa: SLF001 - as above
        space["_arun"] = _arun
    if not wants_runtime(tool):
        space["get_input_schema"] = _schema_with_runtime(kind)
    made: type[BaseTool] = type(kind)(kind.__name__, (kind,), space)  # type: ignore[misc]  # the class of the class: pydantic's
    return made


def _schema_with_runtime(kind: type[BaseTool]) -> Callable[..., Any]:
    """Return a `get_input_schema` that has a `ToolNode` pass the runtime beside the arguments; the model's schema is as it was."""
    made: dict[int, type[BaseModel]] = {}

    def get_input_schema(self: BaseTool, config: RunnableConfig | None = None) -> Any:
        schema: Any = kind.get_input_schema(self, config)
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            return schema
        is_described = isinstance(self.args_schema, dict)
        key = 0 if is_described else id(schema)
        if key not in made:
            base = BaseModel if is_described else schema
            added: Any = {RUNTIME: (Annotated[Any, InjectedToolArg(), ToolRuntime], None)}
            made[key] = create_model(schema.__name__, __base__=base, **added)
        return made[key]

    return get_input_schema


@contextmanager
def _framed(tool: BaseTool, tool_input: Any, kwargs: dict[str, Any]) -> Iterator[Any]:
    """Remember what a call brings beside its arguments, and yield the input without it."""
    runtime: Any = None
    if isinstance(tool_input, dict) and RUNTIME in tool_input:
        runtime = tool_input[RUNTIME]
        tool_input = {name: value for name, value in tool_input.items() if name != RUNTIME}
    frame = Frame(
        tool, call_id=kwargs.get("tool_call_id"), config=kwargs.get("config"), runtime=runtime if isinstance(runtime, ToolRuntime) else None
    )
    token = FRAME.set(frame)
    try:
        yield tool_input
    finally:
        FRAME.reset(token)
