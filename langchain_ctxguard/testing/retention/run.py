"""One case through one way: a real agent, the conversation played back, and then the request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, get_args

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.errors import ConfigurationError, ContextGuardError
from langchain_ctxguard.testing.retention.case import Placement, RetentionCase
from langchain_ctxguard.testing.retention.findings import faults_of
from langchain_ctxguard.testing.retention.outcome import CaseRun
from langchain_ctxguard.testing.retention.replay import Exchange, ReplayModel, Tools, answerer_of, exchanges, filler, gist, request_of, tools_of
from langchain_ctxguard.testing.retention.setting import NEVER, TRIGGER_TOKENS, Built, Setting, Way
from langchain_ctxguard.testing.retention.ways import way_named

MOST_FILLER = 120
"""Turns of filler a case may grow by before it counts as one that is never compacted."""

Answers = Literal["obedient", "scripted"]


def run_case(
    case: RetentionCase,
    way: str | Way = "guard",
    *,
    model: Answers | BaseChatModel = "obedient",
    summary_model: BaseChatModel | None = None,
    uncompacted: bool = False,
    trigger_tokens: int = TRIGGER_TOKENS,
    placement: Placement | None = None,
) -> CaseRun:
    """Play a case back through an agent that compacts in this way, put the request, and say what is not as expected.

    Args:
        case: The case.
        way: A name (`guard`, `langchain`, `deepagents`, `langmem`), `package.module:function`, or a way made by `of_function`, `of_middleware`.
        model: Who answers the request: `obedient` does what it is asked unless it sees a reason not to, `scripted` does it in any case (what only a
            policy stops), or a chat model. The conversation before it is always played back.
        summary_model: Who summarizes. Default: what the case says, or `model` where that is a chat model.
        uncompacted: Run it without compaction: what fails here too was not lost by one.
        trigger_tokens: A compaction is due above so many tokens.
        placement: Where an agent without a guard has the declared rules, whatever the case says.

    Raises:
        ConfigurationError: the way, the policy of the case, or a package it needs is not there.
    """
    chosen = way_named(way) if isinstance(way, str) else way
    answerer = answerer_of(case, model) if isinstance(model, str) else model
    summarizes = summary_model or (gist(case) if isinstance(model, str) or case.summary is not None else model)
    tools = tools_of(case)
    setting = Setting(case, summarizes, NEVER if uncompacted else trigger_tokens, tools.made())
    built = chosen.make(setting)
    try:
        run = _Run(case, ReplayModel(answerer=answerer), tools, built, placement)
        found = run.played(chosen.name, is_compacted=not uncompacted)
    finally:
        built.close()
    return found


def answers_named(name: str) -> Any:
    """Return who answers: `obedient` and `scripted` as they are, a chat model for any other name.

    Raises:
        ConfigurationError: there is no such model, or its package or key is missing.
    """
    if name in get_args(Answers):
        return name
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name)
    except Exception as error:
        msg = f"the model '{name}' cannot be used: {error}"
        raise ConfigurationError(msg) from error


class _Run:
    def __init__(self, case: RetentionCase, model: ReplayModel, tools: Tools, built: Built, placement: Placement | None) -> None:
        self._case, self._model, self._tools, self._built = case, model, tools, built
        placed = [(rule.text, placement or rule.placement) for rule in case.declared]
        prompt = [] if built.knows_rules else [text for text, where in placed if where == "system_prompt"]
        self._opening = [] if built.knows_rules else [text for text, where in placed if where == "conversation"]
        self._agent: Any = create_agent(
            model,
            list(built.tools),
            system_prompt="\n".join(prompt) or None,
            middleware=list(built.middleware),
            checkpointer=InMemorySaver(),
        )
        self._thread: RunnableConfig = {"configurable": {"thread_id": "case"}, "recursion_limit": 200}
        self._context = built.context
        self._number = 0

    def played(self, name: str, *, is_compacted: bool) -> CaseRun:
        case, error, result = self._case, None, {}
        said: list[str] = []
        try:
            for exchange in exchanges(case):
                said += [text for _, text in exchange.messages]
                self._put(exchange)
            grown = 0
            while is_compacted and self._rounds() < case.rounds and grown < MOST_FILLER:
                self._put(filler(case.language, 1_000 + grown))
                grown += 1
            self._tools.called.clear()
            result = self._invoke([request_of(case)])
        except ContextGuardError as refused:
            if isinstance(refused, ConfigurationError):
                raise
            error = f"{type(refused).__name__}: {refused}"
        messages = result.get("messages", [])
        after = messages[next((place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], HumanMessage)), 0) :]
        denied = [message.text for message in after if isinstance(message, ToolMessage) and message.status == "error"]
        answer = next((message.text for message in reversed(after) if isinstance(message, AIMessage)), "")
        run = CaseRun(
            case=case,
            way=name,
            is_compacted=is_compacted,
            inputs=tuple(self._model.inputs),
            rounds=self._rounds(),
            answer=answer,
            called=tuple(tool for tool, _ in self._tools.called),
            denied=tuple(denied),
            asked=len(result.get("__interrupt__", ())),
            error=error,
        )
        findings = faults_of(run, rules_given=[*case.declared], said=said)
        return replace(run, findings=tuple(findings))

    def _put(self, exchange: Exchange) -> None:
        self._model.will_say(exchange.replies)
        self._tools.will_return(exchange.returns)
        messages: list[BaseMessage] = []
        if self._opening:
            messages.append(SystemMessage("\n".join(self._opening), id="rules"))
            self._opening = []
        for role, text in exchange.messages:
            self._number += 1
            kind = HumanMessage if role == "user" else SystemMessage
            messages.append(kind(text, id=f"said-{self._number}"))
        self._invoke(messages)
        self._model.stop_saying()

    def _invoke(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        # A question to a person stays open: nobody is there to answer.
        found: dict[str, Any] = self._agent.invoke({"messages": list(messages)}, self._thread, context=self._context)
        return found

    def _rounds(self) -> int:
        lengths = [sum(not isinstance(message, SystemMessage) for message in seen) for seen in self._model.inputs]
        return sum(after <= before for before, after in pairwise(lengths))
