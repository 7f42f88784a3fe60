"""One run of a guarded tool: what the flow has done with it, and what its caller is handed in the end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, assert_never

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolRuntime

from langchain_ctxguard.core import call_texts as texts
from langchain_ctxguard.core.call_case import Settled
from langchain_ctxguard.core.effects import AskAboutCalls, AskedBefore, NobodyThere, PersonsAnswer, Ran, ResolveCall, RunTool
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.graph.call_questions import ask_in_graph, let_pass
from langchain_ctxguard.graph.call_site import Site
from langchain_ctxguard.graph.receipts import receipt_form, receipt_text, returned_from
from langchain_ctxguard.graph.tool_arguments import injected_names, judged_arguments, parsed_arguments

Period = Literal["thread", "run", "day"]


class Gatekeeper(Protocol):
    """What guards tools."""

    def site(self, runtime: Any) -> Site:
        """Return where the running call is made."""

    def request(self, tool: BaseTool, args: Mapping[str, Any], call_id: str | None, site: Site) -> ToolRequest:
        """Return the call as rules see it."""

    def tool_named(self, name: str, among: Sequence[BaseTool] | None = None) -> BaseTool | None:
        """Return another guarded tool: of those an agent has, where they are known."""

    def usage(self, site: Site, periods: tuple[str, ...]) -> dict[Period, Usage]:
        """Return what the models have used."""

    def settle(self, request: ToolRequest, site: Site, hands: Any) -> Settled:
        """Judge a call, and run it where it is allowed."""

    async def asettle(self, request: ToolRequest, site: Site, hands: Any) -> Settled:
        """Do as `settle` does, without blocking the event loop."""


@dataclass(slots=True)
class Frame:
    """What a call brings beside its arguments."""

    tool: BaseTool
    call_id: str | None = None
    config: Any = None
    runtime: Any = None
    running: dict[str, Any] | None = None
    """The arguments the guard let pass, while the tool runs with them."""


FRAME: ContextVar[Frame | None] = ContextVar("ctxguard_tool_frame", default=None)


@dataclass(slots=True)
class Asking:
    """Asks about calls before any of them runs; it runs none."""

    gate: Gatekeeper
    site: Site
    tools: Sequence[BaseTool]

    def ask(self, effect: AskAboutCalls) -> PersonsAnswer | NobodyThere:
        """Put a question to a person."""
        return ask_in_graph(effect, self.site)

    def asked_before(self, effect: AskedBefore) -> PersonsAnswer | None:
        """Let an answer pass by that is on record already."""
        return let_pass(effect, self.site)

    def resolve(self, effect: ResolveCall) -> ToolRequest | None:
        """Return the call a person made of another, `None` where it cannot run here."""
        target = self.gate.tool_named(effect.tool, self.tools)
        args = None if target is None else parsed_arguments(target, effect.args)
        if target is None or args is None:
            return None
        return self.gate.request(target, args, effect.like.call_id, self.site).model_copy(update={"requester": effect.like.requester})

    def usage(self, periods: tuple[str, ...]) -> dict[Period, Usage]:
        """Return what the models have used."""
        return self.gate.usage(self.site, periods)

    def run(self, effect: RunTool) -> Ran:  # noqa: ARG002 - no call is made here
        """Run nothing: each call that was asked about is made by its own tool."""
        return Ran(outcome="failed")

    async def arun(self, effect: RunTool) -> Ran:
        """Run nothing."""
        return self.run(effect)


@dataclass(slots=True)
class ToolRun:
    """One attempt to run a tool with the arguments it would really get."""

    tool: BaseTool
    gate: Gatekeeper
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    frame: Frame
    injected: dict[str, Any]
    names: Mapping[str, Any]
    inner: Callable[..., Any] | None = None
    site: Site = field(default_factory=Site)
    judged: dict[str, Any] | None = None
    """The arguments the tool would run with, as data."""

    came_to: Ran | None = None

    @classmethod
    def of(cls, tool: BaseTool, gate: Gatekeeper, names: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolRun:
        """Return the run that these arguments would be."""
        frame = FRAME.get()
        if frame is None or frame.tool is not tool:
            frame = Frame(tool)
        injected = {name: value for name, value in kwargs.items() if name in names}
        runtime = frame.runtime or next((value for value in injected.values() if isinstance(value, ToolRuntime)), None)
        if runtime is not frame.runtime:
            frame.runtime = runtime
        return cls(tool, gate, args, kwargs, frame, injected, names)

    @property
    def is_inside(self) -> bool:
        """Say whether these very arguments were let pass by the guard a moment ago: a tool without an async form is run by its sync one."""
        return self.frame.running is not None and self.frame.running == judged_arguments(self.tool, self.names, self.args, self.kwargs)

    def settled(self, inner: Callable[..., Any]) -> Any:
        """Judge the call, run it where it is allowed, and return what its caller gets."""
        self.inner = inner
        try:
            settled = self.gate.settle(self._request(), self.site, self)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails in the guard: nothing runs unjudged, and no word of it reaches the model
            settled = self._failed(error)
        if settled.kind != "edited":
            return self._delivered(settled)
        target, given = self._edited(settled)
        return self._told_of_edit(settled, target.run(given, tool_call_id=self.frame.call_id, config=self.frame.config))

    async def asettled(self, inner: Callable[..., Any]) -> Any:
        """Do as `settled` does, without blocking the event loop."""
        self.inner = inner
        try:
            settled = await self.gate.asettle(self._request(), self.site, self)
        except GraphBubbleUp:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            settled = self._failed(error)
        if settled.kind != "edited":
            return self._delivered(settled)
        target, given = self._edited(settled)
        return self._told_of_edit(settled, await target.arun(given, tool_call_id=self.frame.call_id, config=self.frame.config))

    def _request(self) -> ToolRequest:
        self.judged = judged_arguments(self.tool, self.names, self.args, self.kwargs)
        self.site = self.gate.site(self.frame.runtime)
        return self.gate.request(self.tool, self.judged, self.frame.call_id, self.site)

    def _failed(self, error: Exception) -> Settled:
        """Return what a call comes to when the guard fails: what the tool came to if it ran, a denial if it did not."""
        if self.came_to is not None:
            return Settled("ran", ran=self.came_to)
        return Settled("denied", texts.cannot_tell_text(self.tool.name, type(error).__name__))

    def ask(self, effect: AskAboutCalls) -> PersonsAnswer | NobodyThere:
        """Put a question to a person."""
        return ask_in_graph(effect, self.site)

    def asked_before(self, effect: AskedBefore) -> PersonsAnswer | None:
        """Let an answer pass by that is on record already."""
        return let_pass(effect, self.site)

    def usage(self, periods: tuple[str, ...]) -> dict[Period, Usage]:
        """Return what the models have used."""
        return self.gate.usage(self.site, periods)

    def resolve(self, effect: ResolveCall) -> ToolRequest | None:
        """Return the call a person made of this one, `None` where it cannot run here."""
        target = self._target(effect.tool)
        if target is None or (target is not self.tool and not self._can_fill(target)):
            return None
        args = parsed_arguments(target, effect.args)
        if args is None:
            return None
        return self.gate.request(target, args, effect.like.call_id, self.site).model_copy(update={"requester": effect.like.requester})

    def run(self, effect: RunTool) -> Ran:  # noqa: ARG002 - it is the one judged
        """Run the tool."""
        inner, started = self.inner, time.perf_counter()
        assert inner is not None  # noqa: S101 - set before the flow starts
        token = FRAME.set(self.frame)
        self.frame.running = self.judged
        try:
            self.came_to = self._ran(inner(self.tool, *self.args, **self.kwargs), started)
        except BaseException as error:  # noqa: BLE001 - raised again once it is on record
            self.came_to = _raised(error, started)
        finally:
            self.frame.running = None
            FRAME.reset(token)
        return self.came_to

    async def arun(self, effect: RunTool) -> Ran:  # noqa: ARG002 - as above
        """Run the tool without blocking the event loop."""
        inner, started = self.inner, time.perf_counter()
        assert inner is not None  # noqa: S101 - set before the flow starts
        token = FRAME.set(self.frame)
        self.frame.running = self.judged
        try:
            self.came_to = self._ran(await inner(self.tool, *self.args, **self.kwargs), started)
        except BaseException as error:  # noqa: BLE001 - raised again once it is on record
            self.came_to = _raised(error, started)
        finally:
            self.frame.running = None
            FRAME.reset(token)
        return self.came_to

    def _ran(self, value: Any, started: float) -> Ran:
        content = value[0] if self.tool.response_format == "content_and_artifact" and isinstance(value, tuple) and value else value
        outcome: Any = "failed" if isinstance(content, ToolMessage) and content.status == "error" else "finished"
        has_artifact = self.tool.response_format == "content_and_artifact"
        form = partial(receipt_form, value, has_artifact=has_artifact)
        return Ran(value, outcome=outcome, receipt=receipt_text(content), form=form, seconds=time.perf_counter() - started)

    def _delivered(self, settled: Settled) -> Any:
        match settled.kind:
            case "ran":
                assert settled.ran is not None  # noqa: S101 - it ran
                if settled.ran.error is not None:
                    raise settled.ran.error
                return settled.ran.value
            case "denied" | "rejected":
                return self._message(settled, "error")
            case "receipt":
                return self._again(settled)
            case "answered":
                return self._message(settled, "success")
            case "edited":
                return None
            case _:
                assert_never(settled.kind)

    def _message(self, settled: Settled, status: Literal["success", "error"]) -> Any:
        return self._formed(self._told(settled, status))

    def _told(self, settled: Settled, status: Literal["success", "error"]) -> ToolMessage:
        verdict = settled.verdict
        about = {"kind": settled.kind, "rules": list(verdict.rules) if verdict is not None else []}
        return ToolMessage(settled.text, tool_call_id=self.frame.call_id or "", name=self.tool.name, status=status, artifact={"ctxguard": about})

    def _again(self, settled: Settled) -> Any:
        """Return what a call returned when it ran: the very call just that, another one with the word that it was not run again."""
        receipt = settled.receipt
        if receipt is None:
            return self._message(settled, "success")
        returned = returned_from(receipt.form, receipt.text)
        if receipt.is_same_call and not returned.lost:
            return (returned.value, returned.artifact) if self.tool.response_format == "content_and_artifact" else returned.value
        message = self._told(settled, "success")
        value: Any = returned.value
        artifact = returned.artifact
        if isinstance(value, ToolMessage):
            value, artifact = value.content, value.artifact
        lost = [] if not returned.lost else [texts.not_kept_text(returned.lost)]
        if isinstance(value, list) and all(isinstance(block, str | dict) for block in value):
            message.content = [{"type": "text", "text": " ".join([receipt.lead, *lost])}, *value]
        elif lost:
            message.content = " ".join([settled.text, *lost])
        if artifact is not None:
            message.artifact = artifact
        return self._formed(message)

    def _formed(self, content: Any) -> Any:
        return (content, None) if self.tool.response_format == "content_and_artifact" else content

    def _target(self, name: str) -> BaseTool | None:
        if name == self.tool.name:
            return self.tool
        return self.gate.tool_named(name, getattr(self.frame.runtime, "tools", None) or None)

    def _can_fill(self, target: BaseTool) -> bool:
        """Say whether what a graph would inject into another tool is at hand."""
        return all(name == "tool_call_id" or self._filling(target, name) is not None for name in _to_fill(target))

    def _filling(self, target: BaseTool, name: str) -> Any:
        if target is self.tool:
            return self.injected.get(name)
        return self.frame.runtime if name == "runtime" else None

    def _edited(self, settled: Settled) -> tuple[BaseTool, dict[str, Any]]:
        assert settled.edited is not None  # noqa: S101 - it is an edit
        target = self._target(settled.edited.tool)
        assert target is not None  # noqa: S101 - resolved before
        filled = {name: self._filling(target, name) for name in _to_fill(target)}
        return target, {**settled.edited.args, **{name: value for name, value in filled.items() if value is not None}}

    def _told_of_edit(self, settled: Settled, value: Any) -> Any:
        """Return what an edited call came to, and say to the model that it is not the call it made."""
        assert settled.edited is not None  # noqa: S101 - it is an edit
        if isinstance(value, ToolMessage) and value.status != "error":
            said = texts.edited_text(settled.edited.tool, json.dumps(settled.edited.args, ensure_ascii=False, default=str))
            content = value.content
            told = f"{said}\n{content}" if isinstance(content, str) else [{"type": "text", "text": said}, *content]
            value = value.model_copy(update={"content": told})
        return self._formed(value)


def _to_fill(tool: BaseTool) -> list[str]:
    return [name for name in injected_names(tool) if name not in {"run_manager", "config", "callbacks"}]


def _raised(error: BaseException, started: float) -> Ran:
    seconds = time.perf_counter() - started
    if isinstance(error, GraphBubbleUp):
        # The tool waits for something itself; its node begins anew when that is there.
        return Ran(error=error, outcome="paused", seconds=seconds)
    # A tool that says of itself that it failed is believed; of any other error nobody knows when it struck.
    return Ran(error=error, outcome="failed" if isinstance(error, ToolException) else "unknown", seconds=seconds)
