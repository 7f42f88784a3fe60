"""Chat models, counters and agents for the tests of the guard: scripted, watched, and small enough to compute by hand."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from pydantic import PrivateAttr

from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.resolve import strength
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import count_characters

RULES = ("Never delete an order.", "绝不显示电话号码。")
PINS = render_rules(tuple(sorted(map(Constraint.from_text, RULES), key=strength)))
WORDS = "The quick brown fox jumps over the lazy dog near the river bank while it rains. "

Script = Callable[[int, list[BaseMessage]], AIMessage | str | BaseException]


class ScriptedChat(BaseChatModel):
    """Answers with `script(number_of_the_call, messages)`, raises what it is given to raise, and keeps every list it was sent."""

    script: Script = lambda number, _: f"answer {number}"
    usage: Callable[[list[BaseMessage]], int] | None = None
    """Tokens reported as input, of the list that was sent; `None`: nothing is reported."""

    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _settings: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """What each call was sent."""
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedChat:
        """Take any tools; the script decides what is called."""
        return self

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self._seen.append(list(messages))
        answer = self.script(len(self._seen) - 1, messages)
        if isinstance(answer, BaseException):
            raise answer
        answer = AIMessage(answer) if isinstance(answer, str) else answer
        if self.usage is not None:
            used = self.usage(messages)
            answer = answer.model_copy(update={"usage_metadata": {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1}})
        return answer

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **_: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])


class StreamingChat(ScriptedChat):
    """A `ScriptedChat` that streams word by word and, like many a streaming model, reports no usage."""

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        words = str(answer.content).split(" ")
        for index, word in enumerate(words):
            text = word if index == len(words) - 1 else f"{word} "
            calls = [
                {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": place, "type": "tool_call_chunk"}
                for place, call in enumerate(answer.tool_calls if index == len(words) - 1 else [])
            ]
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text, tool_call_chunks=calls))
            if run_manager is not None:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


class Counter:
    """Counts as `count_characters` does, adds 50 for each tool, and keeps how many messages it was shown."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.shown = 0
        self.tools_shown = 0

    def __call__(self, messages: Sequence[BaseMessage], /) -> int:
        """Return the tokens of `messages` together."""
        self.shown += len(messages)
        return count_characters(messages)

    def count_tools(self, tools: Sequence[Any]) -> int:
        """Return 50 for each tool."""
        self.tools_shown += len(tools)
        return 50 * len(tools)


class Facts:
    """A hook that keeps what it is told."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.all: list[CompactionRecord | ContextEvent] = []
        self.reports: list[PrefixReport] = []
        self.spans: list[str] = []

    def span(self, name: str, facts: Any) -> Any:
        """Keep the name."""
        from contextlib import nullcontext

        self.spans.append(name)
        return nullcontext()

    def record(self, fact: CompactionRecord | ContextEvent | PrefixReport) -> None:
        """Keep the fact; the report of every call apart."""
        if isinstance(fact, PrefixReport):
            self.reports.append(fact)
        else:
            self.all.append(fact)

    @property
    def records(self) -> list[CompactionRecord]:
        """The attempts."""
        return [fact for fact in self.all if isinstance(fact, CompactionRecord)]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of each attempt."""
        return [fact.outcome for fact in self.records]

    @property
    def made(self) -> list[CompactionRecord]:
        """The attempts that made a version."""
        return [fact for fact in self.records if fact.outcome not in (Outcome.SKIPPED, Outcome.REJECTED)]

    def events(self, kind: str) -> list[ContextEvent]:
        """Return the events of a kind."""
        return [fact for fact in self.all if isinstance(fact, ContextEvent) and fact.kind == kind]


class Notes:
    """A summarizer that answers with one short sentence and keeps what it was asked."""

    name = "notes"

    def __init__(self, text: str = "NOTES: the user asked for things and got them.") -> None:
        """Bind the sentence."""
        self.requests: list[SummaryRequest] = []
        self._text = text

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Keep the request and answer it."""
        self.requests.append(request)
        return SummaryDraft(user_intent=self._text)

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Keep the request and answer it."""
        return self.summarize(request)


@tool
def look_up(key: str) -> str:
    """Look a key up."""
    return f"value of {key}: {WORDS * 2}"


@tool
def delete_order(order: str) -> str:
    """Delete an order."""
    return f"{order} deleted"


def calling(*keys: str, text: str = "", name: str = "look_up", prefix: str = "call") -> AIMessage:
    """Return an AI message that calls `look_up` once for each key."""
    return AIMessage(text, tool_calls=[{"name": name, "args": {"key": key}, "id": f"{prefix}-{key}", "type": "tool_call"} for key in keys])


def guard_of(**changes: Any) -> ContextGuard:
    """Return a guard that compacts at 600 tokens, counts by characters and takes short notes; `changes` win."""
    given: dict[str, Any] = {
        "constraints": RULES,
        "trigger": ("tokens", 600),
        "keep": ("turns", 1),
        "token_counter": Counter(),
        "summarizer": Notes(),
    }
    return ContextGuard(**{**given, **changes})


def agent_of(model: BaseChatModel, *guards: Any, tools: Sequence[BaseTool] = (), **settings: Any) -> Any:
    """Return an agent with the guards as its middleware."""
    return create_agent(model, list(tools), middleware=list(guards), **settings)


def thread(name: str = "t-1") -> dict[str, Any]:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": name}}


def said(text: str, message_id: str | None = None) -> dict[str, Any]:
    """Return an input with one human message."""
    return {"messages": [HumanMessage(text, id=message_id)]}


def chat(agent: Any, turns: int, *, config: Any = None, text: str = WORDS * 4, start: int = 0) -> dict[str, Any]:
    """Say `turns` long things, one run each; return the last state."""
    state: dict[str, Any] = {}
    for turn in range(start, start + turns):
        state = agent.invoke(said(f"Turn {turn}: {text}"), config or thread())
    return state


async def achat(agent: Any, turns: int, *, config: Any = None, text: str = WORDS * 4, start: int = 0) -> dict[str, Any]:
    """Say `turns` long things, one run each; return the last state."""
    state: dict[str, Any] = {}
    for turn in range(start, start + turns):
        state = await agent.ainvoke(said(f"Turn {turn}: {text}"), config or thread())
    return state


def plain(messages: Sequence[BaseMessage]) -> list[tuple[str, Any, str | None, str | None]]:
    """Return what a provider would be sent of messages: role, content, name and call id."""
    return [(message.type, message.content, message.name, getattr(message, "tool_call_id", None)) for message in messages]


def wire(messages: Sequence[BaseMessage]) -> str:
    """Return a view as text, ids and calls included, to compare byte for byte."""
    return json.dumps([message.model_dump(mode="json") for message in messages], ensure_ascii=False, sort_keys=True)


def system_texts(view: Sequence[BaseMessage]) -> list[str]:
    """Return the texts of the blocks of the system messages."""
    texts: list[str] = []
    for message in view:
        if isinstance(message, SystemMessage):
            content = message.content
            texts += [content] if isinstance(content, str) else [block if isinstance(block, str) else block["text"] for block in content]
    return texts


def assert_pinned(view: Sequence[BaseMessage], pins: str = PINS) -> None:
    """Assert that a view has one system message, that it leads, and that its last block is the pins, byte for byte."""
    assert [0] == [index for index, message in enumerate(view) if isinstance(message, SystemMessage)]
    assert isinstance(view[0].content, list)
    assert {"type": "text", "text": pins} == view[0].content[-1]
    assert 1 == "".join(system_texts(view)).count(pins)


def rendered_names(view: Sequence[BaseMessage]) -> list[str]:
    """Return the names of the rendered messages of a view, in order."""
    return [message.name for message in view if message.name in (EVIDENCE, SUMMARY)]


def head_of(agent: Any, config: Any = None) -> ContextHead:
    """Return the head in the state of a thread."""
    head = read_head(agent.get_state(config or thread()).values.get("ctxguard"))
    assert isinstance(head, ContextHead), head
    return head


def summary_of(head: ContextHead) -> BaseMessage:
    """Return the summary message of a head."""
    assert head.body is not None
    return rendered(head.body, version=head.version)[-1]


def ids(messages: Sequence[BaseMessage]) -> list[str | None]:
    """Return the ids of messages."""
    return list(map(operator.attrgetter("id"), messages))
