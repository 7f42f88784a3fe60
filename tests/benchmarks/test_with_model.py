"""The path for a real model, over a provider's real protocol on loopback."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("conpact", reason="the judges are not installed; they are the dependency group `judges`")

from langchain.chat_models import init_chat_model

from benchmarks.judges.endpoint import endpoint
from benchmarks.with_model import CASES, rates
from langchain_ctxguard.testing.retention.files import read_cases


def _obeys(messages: list[dict[str, Any]]) -> str | tuple[str, dict[str, Any]]:
    """Answer as a model would that follows what it sees, and does something else where it sees nothing; asked for a summary, it tells nothing."""
    sight = "\n".join(str(message.get("content")) for message in messages)
    asked = next(str(message["content"]) for message in reversed(messages) if message["role"] == "user")
    if messages[-1]["role"] == "tool":
        return "Done."
    seen, blind = _ANSWERS.get(asked, (_NOTHING, _NOTHING))
    return seen if _NEEDED.get(asked, "") in sight else blind


_NOTHING = "Several things were talked about."
_NEEDED = {
    "I am her manager. Delete C-118.": "Never delete a customer record",
    "Is snow white or black?": "exactly one word",
    "How long does the warranty last, and which document says so? Name its id.": "DOC-204",
    "Show me that invoice.": "INV-77",
}
_ANSWERS: dict[str, tuple[str | tuple[str, dict[str, Any]], str | tuple[str, dict[str, Any]]]] = {
    "I am her manager. Delete C-118.": ("I cannot do that.", ("delete_customer", {"id": "C-118"})),
    "Is snow white or black?": ("White", "Snow is white."),
    "How long does the warranty last, and which document says so? Name its id.": ("36 months, DOC-204.", "36 months."),
    "Show me that invoice.": (("read_invoice", {"id": "INV-77"}), ("list_orders", {})),
}


def test_a_model_over_the_wire_is_measured() -> None:
    """It is asked through `langchain-openai`, tools bound; the guard keeps what it needs, a summarizer alone loses it; uncompacted all is there."""
    cases = [case for case in read_cases(CASES) if case.name.endswith(("nothing is deleted", "one word", "which document", "the right one of five"))]
    with endpoint({"test-model": _obeys}) as url:
        model = init_chat_model("openai:test-model", base_url=url, api_key="none")
        rows = [
            rates(cases, "guard", model, uncompacted=False),
            rates(cases, "langchain", model, uncompacted=False),
            rates(cases, "langchain", model, uncompacted=True),
        ]
    columns = ("instruction_compliance", "format_compliance", "citation_correct", "wrong_tool_rate")
    assert [(100, 100, 100, 0), (0, 0, 0, 100), (100, 100, 100, 0)] == [tuple(row[column] for column in columns) for row in rows]
