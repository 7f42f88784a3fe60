"""Real transcripts at half of their tokens: within budget, valid for every provider, the last request verbatim."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard import compact_messages
from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.backends.transcripts import Run, read_transcript
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from tests.support.providers import check_all_providers, check_provider_valid, check_signed_blocks

FILES = [
    "deerflow_thread_4f3e55ee.json",
    "deerflow_thread_7cfa5f8f.json",
    "deerflow_thread_d3e5adaf.json",
    "deerflow_thread_fe3f7974.json",
    "sweagent_marshmallow1867_fc.traj",
    "sweagent_pydicom1458.traj",
    "tau-bench_gpt4o_airline_36.json",
]
RULES = ["Never show a phone number.", "禁止删除任何业务数据"]


def check(run: Run) -> None:
    """Compact one run to half of its tokens and hold it to every promise."""
    count = counter_for()
    budget = count(run.messages) // 2
    compaction = compact_messages(run.messages, budget=budget, constraints=RULES)
    assert compaction.outcome in ("accepted", "repaired", "fell_back")
    assert compaction.tokens_after == count(compaction.messages)
    assert compaction.tokens_after <= budget
    assert [] == check_provider_valid(compaction.messages)
    assert [] == check_all_providers(compaction.messages)
    assert [] == check_signed_blocks(run.messages, compaction.messages)
    request = [message for message in run.messages if isinstance(message, HumanMessage)][-1]
    assert 1 == sum(message is request for message in compaction.messages)
    assert all(rule in compaction.messages[0].text for rule in RULES)


@pytest.mark.parametrize("file", FILES)
def test_a_real_run_over_4000_tokens_keeps_every_promise_at_half(field_transcripts: Path, file: str) -> None:
    """Accepted within the budget, pairs whole by an own check and by the providers' own conversion code."""
    runs = [run for run in read_transcript(field_transcripts / file).runs if counter_for()(run.messages) > 4_000]
    assert runs
    for run in runs:
        check(run)


@pytest.mark.parametrize("file", FILES)
def test_rounds_on_a_real_run_stay_within_the_bound(field_transcripts: Path, file: str) -> None:
    """A run that grows message by message is compacted again and again; no view is over its budget or invalid."""
    run = read_transcript(field_transcripts / file).runs[0]
    budget = max(2_500, counter_for()(run.messages) // 4)
    head = None
    for end in range(8, len(run.messages) + 1, 6):
        compaction = compact_messages(run.messages[:end], budget=budget, constraints=RULES, previous=head)
        head = compaction.head
        assert compaction.tokens_after <= budget
        assert [] == check_provider_valid(compaction.messages)


@pytest.mark.field("C163")
@pytest.mark.parametrize(("said", "draft"), [("Where is order 7?", "They asked for order 7."), ("订单 7 在哪里？", "用户询问订单 7。")])
def test_a_summary_is_told_from_what_people_said_by_its_name(said: str, draft: str) -> None:
    """In any language, as messages and as dicts; an interface looks for no words."""
    given = [HumanMessage(f"{said} " * 20), AIMessage(f"{said} 7 " * 20)] * 4
    done = compact_messages(given, keep=("messages", 1), summarizer=Telling(draft))

    named = [message for message in done.messages if message.name == "context_summary"]
    assert [True] == [said in message.text for message in named]
    assert {"context_summary", "context_evidence", None} >= {message.name for message in done.messages}
    assert 1 == sum(one.get("name") == "context_summary" for one in done.to_dicts())
    assert all(message.name is None for message in given)


class Telling:
    """A summarizer that says one thing."""

    name = "telling"

    def __init__(self, text: str) -> None:
        """Say `text`."""
        self.text = text

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Say it, of the first message."""
        return SummaryDraft(facts=(Fact(statement=self.text, source=request.sources[0]),))

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Say the same."""
        return self.summarize(request)
