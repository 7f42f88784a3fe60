"""The results a message carries, each with its own text and status: a tool message holds one, a user message of Anthropic's dialect several."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.roles import is_failure, text_of

_FAILURE = re.compile(
    r"\s*(?:[\[<{(*#`\"']{0,3}\s*)(?:(?:fatal |internal |unexpected |tool )?error\b\s*(?:[:：!\]>)]|\d|executing|calling|running|while|when|"
    r"in tool|invoking)|"
    r"traceback \(most recent call last\)|\w+(?:Error|Exception)\b\s*[:：(]|(?:command|execution|request|call|tool) (?:failed|timed out)\b|"
    r"failed to \w+|permission denied\b|access denied\b|exit(?:ed with)? (?:code|status)\s*[:：]?\s*[1-9]|"
    r"(?:your|the) (?:proposed |last |requested )?(?:edit|change|patch|replacement|command)s? (?:has|have) introduced (?:new )?\w* ?errors?\b|"
    r"(?:your|the) (?:proposed |last |requested )?(?:edit|change|patch|replacement|command)s? (?:(?:was|were) (?:not|rejected|refused)|"
    r"(?:has|have) not|could not|did not|cannot|failed)\b|no (?:replacement|change|edit)s? (?:was|were) (?:performed|made|applied)\b|"
    r"(?:patch|hunk #?\d+|string|text) (?:failed|does not apply|not found)\b|"
    r"(?:错误|出错|异常|失败|执行失败|调用失败|请求失败|操作失败|无权限|超时)\s*[:：!！,，。]|(?:\"|')?(?:is_error|isError)(?:\"|')\s*:\s*true|"
    r"(?:\"|')(?:error|错误)(?:\"|')\s*:\s*(?:\"|\{|'|\d|true))",
    re.IGNORECASE,
)

_LAST = 200
_ENDED_BADLY = re.compile(
    r"(?:\b(?:executed|completed|finished|failed) with exit code|^\[?(?:exit|return)(?:ed with)? (?:code|status)\s*[:：]?)\s*[1-9]\d*\.?\]?\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""How tools that run commands end their report: a number other than 0. A negative one is a command that is still running."""

_WITHOUT_RESULTS = frozenset({HumanMessage, AIMessage, SystemMessage})
"""Messages that carry no results where their content is a text: the common case, told without `isinstance`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to one call."""

    call_id: str
    text: str
    is_failed: bool


def results_in(message: BaseMessage) -> tuple[Result, ...]:
    """Return the results in `message`, in order."""
    if type(message.content) is str and type(message) in _WITHOUT_RESULTS:
        return ()
    if isinstance(message, ToolMessage):
        text = text_of(message)
        return (Result(message.tool_call_id, text, is_failure(message) or reports_failure(text)),)
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return ()
    blocks = [block for block in message.content if isinstance(block, dict) and block.get("type") == "tool_result"]
    texts = [text_of(HumanMessage([block])) for block in blocks]
    return tuple(
        Result(str(block.get("tool_use_id", "")), text, bool(block.get("is_error")) or reports_failure(text))
        for block, text in zip(blocks, texts, strict=True)
    )


def reports_failure(text: str) -> bool:
    """Say whether a result begins by reporting an error: many tools return their errors as text and leave the status alone.

    >>> reports_failure("Error: no such file"), reports_failure("Errors found: 0"), reports_failure("错误：无权限")
    (True, False, True)
    """
    return _FAILURE.match(text) is not None or _ENDED_BADLY.search(text[-_LAST:]) is not None


def own_words(message: BaseMessage) -> str:
    """Return what the speaker of `message` said: its text without the results it carries for tools."""
    if isinstance(message.content, str) or not isinstance(message, HumanMessage):
        return text_of(message)
    blocks = [block for block in message.content if not (isinstance(block, dict) and block.get("type") == "tool_result")]
    return text_of(message) if len(blocks) == len(message.content) else text_of(HumanMessage(blocks))
