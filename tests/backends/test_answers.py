"""Every kind of answer has one outcome, and the page that lists them says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.engine import _REASONS
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import human
from tests.support.models import WatchedModel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "summarizers.md"
NOTES: dict[str, Any] = {"user_intent": "用户想要退款", "facts": [{"statement": "退款金额是 80 欧元", "source": 1}]}
TEXT = json.dumps(NOTES, ensure_ascii=False)
CALL = {"name": "lookup", "args": {}, "id": "x", "type": "tool_call"}
NOTES_CALL = {"name": "context_notes", "args": NOTES, "id": "x", "type": "tool_call"}
ENGLISH = json.dumps({"user_intent": "The user wants a refund of the order"})
LATE = TEXT[: TEXT.index("退款金额")]

ANSWERS: dict[str, tuple[str, list[str | AIMessage]]] = {
    "valid JSON, alone or by schema or tool": ("taken", [TEXT, AIMessage("", tool_calls=[NOTES_CALL])]),
    "JSON in a fence, after reasoning, amid prose": ("taken", [f"```json\n{TEXT}\n```", f"<think>hm</think>{TEXT}", f"Here: {TEXT} 好了"]),
    "a comma too many": ("taken", [TEXT[:-1] + ",}", TEXT.replace("}]", "},]")]),
    "broken off, with complete entries": ("truncated", [TEXT[:-2], TEXT[:-4], AIMessage(TEXT, response_metadata={"finish_reason": "length"})]),
    "broken off before anything was complete": ("not_json", [TEXT[:20], AIMessage(TEXT[:12], response_metadata={"stop_reason": "max_tokens"})]),
    "texts where objects belong, numbers, nulls": ("taken", ['{"facts": ["已付款", 80], "decisions": null, "pending_items": "寄出"}']),
    "a type that means nothing there": (
        "wrong_type",
        ['{"facts": 5}', '["a"]', '{"user_intent": {"a": {"b": 1}}}', '{"facts": [{"statement": {"a": 1}}]}'],
    ),
    "keys nobody asked for": ("dropped", [json.dumps({**NOTES, "actions_done": ["x"], "status": "approved"})]),
    "another language than the conversation's": ("wrong_language", [ENGLISH]),
    "nothing, or an object that tells nothing": ("empty", ["", "  \n", "{}", '{"facts": [], "user_intent": ""}']),
    "a sentence that there is no summary": ("placeholder", ["Previous conversation was too long to summarize.", '{"user_intent": "无法总结"}']),
    "an essay": ("not_json", ["The user wrote about an order. " * 30, "用户想要退款，" * 60]),
    "an error page": ("not_json", ["<html><body>502 Bad Gateway</body></html>", "upstream connect error or disconnect/reset before headers"]),
    "a call of another tool, real or written as text": (
        "tool_call",
        [AIMessage("", tool_calls=[CALL]), "<tool_call>lookup</tool_call>", '{"name": "lookup", "arguments": {}}'],
    ),
    "reasoning and nothing else": ("reasoning_only", ["<think>hm</think>", AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}])]),
    "a refusal, or an answer held back by a filter": (
        "refused",
        [
            AIMessage("", additional_kwargs={"refusal": "I cannot."}),
            AIMessage([{"type": "refusal", "refusal": "I cannot."}]),
            AIMessage("", response_metadata={"stop_reason": "refusal"}),
            AIMessage(TEXT, response_metadata={"finish_reason": "SAFETY"}),
        ],
    ),
    "ten times what it was given": ("too_long", [json.dumps({"facts": [f"事实 {number}" for number in range(5_000)]}, ensure_ascii=False)]),
}
CASES = [(kind, outcome, answer) for kind, (outcome, answers) in ANSWERS.items() for answer in answers]


@pytest.mark.parametrize(("kind", "outcome", "answer"), CASES)
async def test_each_answer_has_its_outcome(kind: str, outcome: str, answer: str | AIMessage) -> None:
    """Taken with what is to be known about it, or refused with one word; sync and async alike."""

    def reply(call: int, messages: list[BaseMessage]) -> AIMessage:
        return answer if isinstance(answer, AIMessage) else AIMessage(answer)

    for is_async in (False, True):
        request = SummaryRequest((human("退款"),), ("m-1",), None, 300, count_tokens_approximately, language="zh")
        summarizer = ChatModelSummarizer(WatchedModel(reply=reply))
        try:
            draft = await summarizer.asummarize(request) if is_async else summarizer.summarize(request)
        except InvalidSummaryError as refused:
            assert outcome == refused.reason
            continue
        assert outcome in ("taken", "dropped", *request.spent.remarks)
        assert draft.user_intent or draft.facts
        assert (outcome == "dropped") == (draft.dropped_keys > 0)
        assert request.spent.remarks == ([] if outcome in ("taken", "dropped") else [outcome])


def test_the_page_lists_every_kind_of_answer_and_its_outcome() -> None:
    """A row for each kind, with the word of its outcome, and every word there is."""
    table = PAGE.read_text(encoding="utf-8").partition("| what comes |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE))
    rows.pop("---", None)

    assert list(ANSWERS) == list(rows)
    for kind, (outcome, _) in ANSWERS.items():
        assert outcome.removesuffix("_keys") in rows[kind]
    assert {outcome for outcome, _ in ANSWERS.values()} >= _REASONS
