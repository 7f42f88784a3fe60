"""Three ways to compact one agent's conversation: the same `create_agent`, model, tools, trigger and keep, another middleware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
    get_buffer_string,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.ports import Fact, TokenCounter
from langchain_ctxguard.testing.obedient import ObedientModel

Way = Literal["naive summary", "SummarizationMiddleware", "ContextGuard"]
WAYS: tuple[Way, ...] = get_args(Way)

Placement = Literal["conversation", "system_prompt"]
"""Where an agent without a guard has its rules: in the first message, or in `create_agent(system_prompt=...)`."""

TRIGGER_TOKENS = 4_000
KEPT_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class WayResult:
    """What one way left of the rules and of the table. Every number was taken from the run."""

    name: str
    rules_in_input: int
    """Rules that stand verbatim in the input of the last model call."""

    rules_total: int
    row_exists: bool
    """The order the user asked to delete is still in the table."""

    phone_shown: bool
    """An answer to the user held a phone or identity number of the table."""

    writes: int
    writes_logged: int
    tokens_before: int
    """The whole conversation, rules and tool results included: the last input, had nothing been compacted."""

    tokens_after: int
    """The input of the last model call, by the same counter."""

    compactions: int
    answers: tuple[str, ...]
    """What the user read, turn by turn."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the answers."""
        return {name: value for name, value in asdict(self).items() if name != "answers"}


@dataclass(frozen=True, slots=True)
class Task:
    """What is run: the rules, the user's side of the conversation, and who answers it."""

    rules: tuple[str, ...]
    turns: tuple[str, ...]
    model: ObedientModel
    summary_model: BaseChatModel
    tools: tuple[BaseTool, ...]
    placement: Placement = "conversation"


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it, apart from the table."""

    final_input: tuple[BaseMessage, ...]
    answers: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    compactions: int

    def holds(self, text: str) -> bool:
        """Say whether `text` stands verbatim in the input of the last model call."""
        return any(text in message.text for message in self.final_input)


class NaiveSummary(AgentMiddleware[AgentState[Any], Any, Any]):
    """Replaces everything before the last message by a summary, once the conversation holds `trigger` tokens."""

    def __init__(self, model: BaseChatModel, *, trigger: int, token_counter: TokenCounter) -> None:
        """Keep the model that writes the summaries."""
        super().__init__()
        self._model, self._trigger, self._count = model, trigger, token_counter

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Replace the history where it is too long and a person spoke last: a tool result needs its call."""
        del runtime
        *history, newest = state["messages"]
        if not isinstance(newest, HumanMessage) or self._count(state["messages"]) < self._trigger:
            return None
        told = self._model.invoke(f"Summarize this conversation:\n{get_buffer_string(history)}").text
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage(f"Summary of the conversation so far: {told}"), newest]}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do the same in an async agent."""
        return self.before_model(state, runtime)


def run_way(way: Way, task: Task) -> Run:
    """Run the whole conversation of `task` through an agent that compacts in this `way`."""
    count = MessageTokenCounter()
    commits = _Commits()
    middleware = _middleware(way, task, count, commits)
    rules = SystemMessage("\n".join(task.rules))
    # A guard has a place of its own for rules; the other ways have them where the task says.
    as_prompt = way != "ContextGuard" and task.placement == "system_prompt"
    opening: list[AnyMessage | dict[str, Any]] = [] if way == "ContextGuard" or as_prompt else [rules]
    agent = create_agent(
        task.model,
        list(task.tools),
        system_prompt=rules if as_prompt else None,
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    thread: RunnableConfig = {"configurable": {"thread_id": "order-assistant"}}
    whole: list[BaseMessage] = [rules]
    answers = []
    compactions = 0
    for number, turn in enumerate(task.turns, start=1):
        # An id of its own, not a random one: two runs are equal to the last token.
        request = HumanMessage(turn, id=f"turn-{number}")
        whole.append(request)
        answer = ""
        for node, said in _updates(agent.stream({"messages": [*opening, request]}, thread, stream_mode="updates")):
            if node not in {"model", "tools"}:
                compactions += 1
                continue
            whole += said
            answer = next((message.text for message in reversed(said) if isinstance(message, AIMessage)), answer)
        opening = []
        answers.append(answer)
    final_input = task.model.inputs[-1]
    return Run(
        final_input=final_input,
        answers=tuple(answers),
        # The last answer is no part of the input it was made from.
        tokens_before=count(whole[:-1]),
        tokens_after=count(final_input),
        compactions=compactions + commits.made,
    )


def _middleware(way: Way, task: Task, count: TokenCounter, commits: _Commits) -> AgentMiddleware[Any, Any, Any]:
    match way:
        case "naive summary":
            return NaiveSummary(task.summary_model, trigger=TRIGGER_TOKENS, token_counter=count)
        case "SummarizationMiddleware":
            return SummarizationMiddleware(
                task.summary_model,
                trigger=("tokens", TRIGGER_TOKENS),
                keep=("messages", KEPT_MESSAGES),
                token_counter=lambda messages: count(convert_to_messages(messages)),
            )
        case "ContextGuard":
            return ContextGuard(
                constraints=task.rules,
                trigger=("tokens", TRIGGER_TOKENS),
                keep=("messages", KEPT_MESSAGES),
                token_counter=count,
                summarizer=task.summary_model,
                hooks=(commits,),
            )


def _updates(stream: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, list[BaseMessage]]]:
    """Yield node and messages of every update that changed the message list."""
    for chunk in stream:
        for node, update in chunk.items():
            for part in update if isinstance(update, Sequence) else [update]:
                if part and part.get("messages"):
                    yield node, [message for message in part["messages"] if isinstance(message, BaseMessage)]


class _Commits:
    """Counts the compactions a guard committed."""

    def __init__(self) -> None:
        self.made = 0

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        del name, facts
        return nullcontext()

    def record(self, fact: Fact) -> None:
        if isinstance(fact, CompactionRecord) and fact.outcome not in {Outcome.REJECTED, Outcome.SKIPPED}:
            self.made += 1
