"""The model and the tools that play a conversation back, word for word, through a real agent; then somebody else answers the request."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ToolException
from pydantic import PrivateAttr

from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, ToolUse
from langchain_ctxguard.testing.retention.case import RetentionCase, Spoken, Turn


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is put to the agent at once, and what is said and returned until it is done."""

    messages: tuple[tuple[str, str], ...]
    """Role (`user`, `system`) and text."""

    replies: tuple[Spoken, ...]
    returns: tuple[tuple[str, str, bool], ...]
    """Tool, text, and whether it failed, in the order of the calls."""


def exchanges(case: RetentionCase) -> list[Exchange]:
    """Return the conversation as what is put to an agent turn by turn, filler spelled out."""
    found: list[Exchange] = []
    opening: list[tuple[str, str]] = []
    replies: list[Spoken] = []
    returns: list[tuple[str, str, bool]] = []

    def close() -> None:
        if any(role == "user" for role, _ in opening):
            # What ends with a call's result still needs a last word, or the agent would go on.
            ended = replies if replies and not replies[-1].calls else [*replies, Spoken(text=_LAST_WORD[case.language])]
            found.append(Exchange(tuple(opening), tuple(ended), tuple(returns)))
            opening.clear()
            replies.clear()
            returns.clear()

    number = 0
    for turn in case.conversation:
        if turn.filler is not None:
            close()
            found += [filler(case.language, number + place) for place in range(turn.filler)]
            number += turn.filler
        elif turn.user is not None or turn.system is not None:
            close()
            opening.append(_opening(turn))
        elif turn.ai is not None:
            replies.append(turn.ai)
        elif turn.tool is not None:
            returns.append((turn.tool.of, turn.tool.text, turn.tool.failed))
    close()
    if opening:
        found.append(Exchange((*opening, ("user", _BEGIN[case.language])), (Spoken(text=_LAST_WORD[case.language]),), ()))
    return found


def filler(language: str, number: int) -> Exchange:
    """Return the `number`-th turn of other work: a question and a long answer that hold no rule, no claim and no value anybody would miss."""
    subject, detail = _SUBJECTS[language][number % len(_SUBJECTS[language])], _DETAILS[language]
    shift = number // len(_SUBJECTS[language])
    told = " ".join(detail[(shift + place) % len(detail)].format(subject) for place in range(len(detail)))
    return Exchange((("user", _ASKED[language].format(subject)),), (Spoken(text=told),), ())


def _opening(turn: Turn) -> tuple[str, str]:
    return ("user", turn.user) if turn.user is not None else ("system", turn.system or "")


class ReplayModel(BaseChatModel):
    """Says what it is given to say, in order; once that is said, `answerer` answers. Every input is kept."""

    answerer: Any
    """A chat model, or one with its tools bound."""

    _script: deque[Spoken] = PrivateAttr(default_factory=deque)
    _inputs: list[tuple[BaseMessage, ...]] = PrivateAttr(default_factory=list)
    _count: list[int] = PrivateAttr(default_factory=lambda: [0])

    @property
    def inputs(self) -> Sequence[tuple[BaseMessage, ...]]:
        """Every input so far, as it arrived."""
        return self._inputs

    @property
    def _llm_type(self) -> str:
        return "replay"

    def will_say(self, replies: Sequence[Spoken]) -> None:
        """Append to what is said."""
        self._script.extend(replies)

    def stop_saying(self) -> None:
        """Forget what was not said: a turn that ended early must not speak in the next."""
        self._script.clear()

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ReplayModel:
        """Return this model with the tools bound to whoever answers."""
        # A copy shares what is private: it is one conversation, however often it is bound.
        return self.model_copy(update={"answerer": self.answerer.bind_tools(tools, **kwargs)})

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        del run_manager, kwargs
        self._inputs.append(tuple(messages))
        return _result(self._scripted() or self.answerer.invoke(messages, stop=stop))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        del run_manager, kwargs
        self._inputs.append(tuple(messages))
        return _result(self._scripted() or await self.answerer.ainvoke(messages, stop=stop))

    def _scripted(self) -> AIMessage | None:
        if not self._script:
            return None
        spoken = self._script.popleft()
        calls = []
        for call in spoken.calls:
            self._count[0] += 1
            calls.append(ToolCall(name=call.tool, args=dict(call.args), id=f"replayed_{self._count[0]}", type="tool_call"))
        return AIMessage(spoken.text, tool_calls=calls)


def _result(said: BaseMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=said)])


@dataclass(slots=True)
class Tools:
    """The tools of a case: they return what the conversation says they returned, and count what was called."""

    names: Sequence[str]
    properties: Mapping[str, Sequence[str]]
    returns: dict[str, deque[tuple[str, bool]]] = field(default_factory=dict)
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def will_return(self, returns: Sequence[tuple[str, str, bool]]) -> None:
        """Append to what is returned."""
        for tool, text, failed in returns:
            self.returns.setdefault(tool, deque()).append((text, failed))

    def made(self) -> list[BaseTool]:
        """Return them as LangChain tools."""
        return [self._tool(name) for name in self.names]

    def _tool(self, name: str) -> BaseTool:
        def run(**args: Any) -> str:
            self.called.append((name, args))
            queue = self.returns.get(name)
            text, failed = queue.popleft() if queue else (f"{name}: done.", False)
            if failed:
                raise ToolException(text)
            return text

        schema = {"type": "object", "properties": {one: {"description": one} for one in self.properties.get(name, ())}}
        described = f"{name.replace('_', ' ').capitalize()}."
        return StructuredTool.from_function(run, name=name, description=described, args_schema=schema, handle_tool_error=True)


def tools_of(case: RetentionCase) -> Tools:
    """Return the tools of a case; what a tool takes is what it is called with."""
    made = [call for turn in case.conversation if turn.ai is not None for call in turn.ai.calls]
    calls = [*made, *([case.act.call] if case.act.call is not None else [])]
    names = case.tool_names
    return Tools(names, {name: tuple(dict.fromkeys(key for call in calls if call.tool == name for key in call.args)) for name in names})


def answerer_of(case: RetentionCase, model: str) -> ObedientModel:
    """Return who answers the request: `obedient` acts unless it sees a reason not to, `scripted` acts in any case."""
    act = case.act
    rules = [rule.text for rule in case.rules]
    unless = act.unless if act.unless is not None else tuple(dict.fromkeys([*rules, *(case.expect.kept or ())]))
    done = act.say or (_LAST_WORD[case.language] if act.call is not None else "")
    does: str | ToolUse = ToolUse(act.call.tool, dict(act.call.args)) if act.call is not None else done
    obeys = model == "obedient"
    behaviours = (
        Behaviour(
            when=case.request,
            call=does,
            unless=unless if obeys else (),
            given=act.given if obeys else (),
            refusal=act.refusal,
        ),
    )
    return ObedientModel(behaviours=behaviours if does else (), otherwise=done or _LAST_WORD[case.language])


def gist(case: RetentionCase) -> BaseChatModel:
    """Return the model that summarizes: it says the summary of the case, or tells a gist of its input and leaves out what was agreed in passing."""
    return _Gist(told=case.summary, language=case.language)


class _Gist(BaseChatModel):
    told: str | None
    language: str

    @property
    def _llm_type(self) -> str:
        return "gist"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        del stop, run_manager, kwargs
        text = "\n".join(message.text for message in messages)
        told = self.told or self._gist(text)
        # Asked for JSON it says the same as JSON.
        answer = json.dumps({"user_intent": told, "facts": [{"statement": told}]}, ensure_ascii=False) if re.search(r"\bJSON\b", text) else told
        return _result(AIMessage(answer))

    def _gist(self, text: str) -> str:
        # What comes up often is what the conversation was about: a real summary's first choice, and never a rule said once.
        words = re.findall(r"[A-Za-z]{5,}|[\u4e00-\u9fff]{2}", text)
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        often = sorted(counts, key=lambda word: (-counts[word], word))[:6]
        return _GIST[self.language].format(", ".join(often))


def stable_id(*parts: str) -> str:
    """Return an id that is the same in every run of a case."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def request_of(case: RetentionCase) -> HumanMessage:
    """Return the request as a message."""
    return HumanMessage(case.request, id=f"request-{stable_id(case.name)}")


_LAST_WORD = {"en": "Done.", "zh": "好的。"}
_BEGIN = {"en": "Let us begin.", "zh": "我们开始吧。"}
_GIST = {
    "en": "The user and the assistant went through several matters ({}). Everything asked so far was answered.",
    "zh": "用户和助手讨论了若干事项（{}）。到目前为止的问题都已答复。",
}
_ASKED = {"en": "Tell me something general about {}.", "zh": "请大致介绍一下{}。"}
_SUBJECTS = {
    "en": (
        "harbours",
        "orchards",
        "bookbinding",
        "tides",
        "bridges",
        "weaving",
        "lighthouses",
        "beekeeping",
        "glaciers",
        "pottery",
        "canals",
        "clocks",
    ),
    "zh": ("港口", "果园", "装订", "潮汐", "桥梁", "织布", "灯塔", "养蜂", "冰川", "陶艺", "运河", "钟表"),
}
_DETAILS = {
    "en": (
        "People who know {} well speak of patience first and of tools second.",
        "What one reads about {} in old books is often a matter of region and of season.",
        "The craft around {} was handed on by watching, and much of it was never written down.",
        "Children who grow up near {} learn the names of things before they learn their uses.",
        "Weather has a larger part in {} than most visitors expect, and light a larger one still.",
        "In museums one finds models of {} that are lovelier than they are exact.",
        "Songs about {} tend to be slow, and the words in them older than the tune.",
        "There is a quiet pleasure in {} that comes from repetition and from small differences.",
    ),
    "zh": (
        "熟悉{}的人常说，先要有耐心，其次才是工具。",
        "旧书里关于{}的说法，多半随地方和季节而不同。",
        "{}的手艺靠看着学，许多细节从来没有写下来。",
        "在{}附近长大的孩子，先认得东西的名字，后来才知道用处。",
        "天气对{}的影响比游客想的要大，光线的影响更大。",
        "博物馆里关于{}的模型，往往好看多于准确。",
        "唱{}的歌大都很慢，歌词比曲子还要老。",
        "{}里有一种安静的乐趣，来自重复，也来自细小的差别。",
    ),
}
