"""A chat model that does what the text in front of it says: what it would do wrong shows what the context no longer holds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

Text = str | re.Pattern[str]
"""A string is looked for verbatim, a pattern is searched."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool to call, with its arguments."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sight:
    """What the model sees when a behaviour applies."""

    newest: str
    """The request, or the tool result, that made the behaviour apply."""

    visible: str
    """All text of the input, the system message first."""

    groups: Mapping[str, str]
    """Named groups of the patterns that matched."""

    def __getitem__(self, group: str) -> str:
        """Return a named group of the patterns that matched."""
        return self.groups[group]


Answer = str | ToolUse | tuple[ToolUse, ...]
"""A text, one tool call, or several tool calls at once."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One habit: `when` this is said, do that, `unless` a rule against it is in sight.

    >>> Behaviour(when="delete it", call=ToolUse("delete", {"id": 7}), unless="Never delete.").refusal
    'I cannot do that.'
    """

    when: Text | Sequence[Text]
    """What the newest message must say, all of it; nothing (`()`) fits every message."""

    call: Answer | Callable[[Sight], Answer]
    """What is done."""

    unless: Text | Sequence[Text] = ()
    """Any of these, visible anywhere in the input, turns the behaviour into `refusal`."""

    given: Text | Sequence[Text] = ()
    """All of these must be visible somewhere in the input, or the behaviour does not apply."""

    after: str | None = None
    """Applies to the result of this tool that just came in; unset, to what a person just said."""

    refusal: str = "I cannot do that."


class ObedientModel(BaseChatModel):
    """Answers with the first behaviour that applies to the text it is sent, and knows nothing else.

    It has no memory between calls, so a rule that is not in its input does not exist for it. Without a behaviour that applies it
    repeats the tool results that just came in, or says `otherwise`. It calls no tool it was not offered: it says so instead.

    It obeys every rule it can see, which no real model does: it shows whether a rule is still in the input, not whether
    models comply.
    """

    behaviours: tuple[Behaviour, ...] = ()
    otherwise: str = "Understood."
    token_counter: Callable[[Sequence[BaseMessage]], int] | None = None
    """With it every answer reports `usage_metadata`."""

    offered: frozenset[str] | None = None
    """Names of the bound tools; `None` before `bind_tools`: every tool may be called."""

    _inputs: list[tuple[BaseMessage, ...]] = PrivateAttr(default_factory=list)

    @property
    def inputs(self) -> tuple[tuple[BaseMessage, ...], ...]:
        """Every input so far, as it arrived; a model with tools bound records into the one it came from."""
        return tuple(self._inputs)

    @property
    def _llm_type(self) -> str:
        return "obedient"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> ObedientModel:
        """Return this model with `tools` on offer. `tool_choice` is ignored: behaviours decide."""
        del tool_choice, kwargs
        return self.model_copy(update={"offered": frozenset(map(_name_of, tools))})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        self._inputs.append(tuple(messages))
        message = self._message(self._answer(messages), messages)
        if self.token_counter is not None:
            read, written = self.token_counter(messages), self.token_counter([message])
            message.usage_metadata = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager
        return self._generate(messages, stop, None, **kwargs)

    def _answer(self, messages: Sequence[BaseMessage]) -> Answer:
        visible = "\n".join(map(_readable, messages))
        results = _newest_results(messages)
        # `None` speaks for the person, as in `Behaviour.after`; a request that was already answered by a tool call is not heard again.
        heard: list[tuple[str | None, str]] = [*results] or [(None, _request(messages))]
        for behaviour in self.behaviours:
            for newest in (text for speaker, text in heard if speaker == behaviour.after):
                said, known = _all_found(behaviour.when, newest), _all_found(behaviour.given, visible)
                if said is None or known is None:
                    continue
                if any(_found(text, visible) is not None for text in _texts(behaviour.unless)):
                    return behaviour.refusal
                return behaviour.call(Sight(newest, visible, {**known, **said})) if callable(behaviour.call) else behaviour.call
        return "\n".join(text for _, text in results) or self.otherwise

    def _message(self, answer: Answer, messages: Sequence[BaseMessage]) -> AIMessage:
        if isinstance(answer, str):
            return AIMessage(answer)
        uses = (answer,) if isinstance(answer, ToolUse) else answer
        missing = [use.name for use in uses if self.offered is not None and use.name not in self.offered]
        if missing:
            return AIMessage(f"I have no tool called {', '.join(map(repr, missing))}.")
        # The request's id tells the same words said twice in one thread apart, the results' ids two calls after one request.
        asked = next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), None)
        answered = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
        seed = "\0".join([str(asked), *answered, *map(_readable, messages)])
        digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        calls = [ToolCall(name=use.name, args=dict(use.args), id=f"call_{digest}_{number}", type="tool_call") for number, use in enumerate(uses)]
        return AIMessage("", tool_calls=calls)


def _name_of(tool: Any) -> str:
    schema = convert_to_openai_tool(tool)
    # A provider's own tool (`{"type": "web_search"}`) is a dict without a function.
    return str(schema.get("function", schema).get("name", schema.get("type", "")))


def _texts(texts: Text | Sequence[Text]) -> tuple[Text, ...]:
    return (texts,) if isinstance(texts, str | re.Pattern) else tuple(texts)


def _found(text: Text, where: str) -> Mapping[str, str] | None:
    """Return the named groups of a match (none for a plain string), or `None` where `text` is not found."""
    if isinstance(text, str):
        return {} if text in where else None
    match = text.search(where)
    return None if match is None else {name: value for name, value in match.groupdict().items() if value is not None}


def _all_found(texts: Text | Sequence[Text], where: str) -> dict[str, str] | None:
    """Return the named groups of all `texts` together, or `None` where one of them is not found."""
    groups: dict[str, str] = {}
    for text in _texts(texts):
        found = _found(text, where)
        if found is None:
            return None
        groups.update(found)
    return groups


def _request(messages: Sequence[BaseMessage]) -> str:
    """Return what a person said last."""
    return next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def _readable(message: BaseMessage) -> str:
    """Return the text of a message; the calls an AI message made are part of what a model sees."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    made = [f"{call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}" for call in calls]
    return "\n".join([message.text, *made])


def _newest_results(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Return tool name and text of the results at the end of the list, oldest first."""
    results = []
    names = {call["id"]: call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.append((names.get(message.tool_call_id) or message.name or "", str(message.text)))
    return results[::-1]
