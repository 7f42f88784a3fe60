from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from langchain_ctxguard.domain.context import ContextBody
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.summary import (
    Decision,
    Fact,
    PendingItem,
    Rejected,
    StructuredSummary,
    SummaryDraft,
    Trust,
    summary_json_schema,
    upgraded,
)

GOLDEN = Path(__file__).parent / "golden"


def test_a_summary_of_schema_1_stays_readable() -> None:
    """Nothing it said is lost, and what it could not say stays unknown."""
    summary = StructuredSummary.model_validate(json.loads((GOLDEN / "summary_1.json").read_text(encoding="utf-8")))

    assert 2 == summary.schema_version
    assert ("把订单 ORD-7741 的状态查清楚",) == summary.user_intent
    assert [("Call the carrier", None, "open"), ("check the weight", "ai", "open")] == [
        (item.text, item.asked_by, item.state) for item in summary.pending_items
    ]
    assert [Trust.CONFIRMED, Trust.CLAIMED] == [fact.status for fact in summary.facts]
    assert (Decision(chosen="Ship by train", rejected=(Rejected(option="air"), Rejected(option="sea")), why="it is cheaper", said_by="ai"),) == (
        summary.decisions
    )
    assert "Find out why ORD-7741 is late." == summary.original_goal
    assert ("Which address is right?",) == summary.open_questions


def test_an_upgraded_summary_is_one_of_the_present_schema() -> None:
    """Upgrading twice changes nothing more, and the schema that is published accepts it."""
    once = upgraded(json.loads((GOLDEN / "summary_1.json").read_text(encoding="utf-8")))
    summary = StructuredSummary.model_validate(once)

    assert once == upgraded(once)
    Draft202012Validator(summary_json_schema()).validate(summary.model_dump(mode="json"))


@pytest.mark.parametrize("schema", [0, 3, "1", True, None, 1.5])
def test_an_unknown_schema_is_refused(schema: Any) -> None:
    """A summary nobody can read is not guessed at."""
    with pytest.raises(ValidationError):
        StructuredSummary.model_validate({"schema_version": schema})


@given(st.text(), st.sampled_from(["open", "done", "cancelled"]))
def test_what_is_stored_reads_back_equal(text: str, state: Any) -> None:
    """Empty fields are left out, and nothing else."""
    summary = StructuredSummary(
        user_intent=(text, "x"),
        pending_items=(PendingItem(item_id="p", text=text, asked_by="user", source="m", state=state),),
        facts=(Fact(statement=text, also_in=("a", "b")),),
        open_risks=(text,),
    )
    stored = json.loads(json.dumps(summary.stored()))

    assert summary == StructuredSummary.model_validate(stored)
    assert {"schema_version", "user_intent", "pending_items", "facts", "open_risks"} == set(stored)


def test_an_empty_summary_takes_no_room_in_a_checkpoint() -> None:
    """A head is written at every turn."""
    assert {"schema_version": 2} == StructuredSummary().stored()


def test_what_was_done_is_told_by_the_evidence_alone() -> None:
    """The public value shows both; the head holds each once."""
    done = Action(tool="edit_file", call_id="c", arguments="{}", argument_digest="d", status="done")
    evidence = Evidence(
        actions=(done, done.model_copy(update={"status": "failed"})),
        artifacts=(Artifact(path="a.py", last_tool="edit_file", last_status="done"),),
        inferred=(
            InferredConstraint(inferred_id="i-1", text="Never email.", kind="ban", source="m", start=0, stop=12, position=0),
            InferredConstraint(inferred_id="i-2", text="Use tabs.", kind="preference", source="m", start=0, stop=9, position=0),
        ),
    )
    body = ContextBody(summary=StructuredSummary(user_intent=("go",)), evidence=evidence, summary_id="s")

    assert ((done,), evidence.artifacts, ("i-1",)) == (body.structured.actions_done, body.structured.artifacts, body.structured.do_not)
    assert {"schema_version": 2, "user_intent": ["go"]} == body.model_dump(mode="json")["summary"]


def test_the_whole_is_trusted_like_the_least_of_it() -> None:
    """One claim makes it a claim."""
    found = Fact(statement="it is open", status=Trust.CONFIRMED, said_by="tool")

    assert Trust.CONFIRMED is StructuredSummary(facts=(found,)).trust
    assert Trust.CLAIMED is StructuredSummary(facts=(found, Fact(statement="it is blue"))).trust
    assert Trust.CLAIMED is StructuredSummary(facts=(found,), user_intent=("go",)).trust
    assert Trust.CLAIMED is StructuredSummary().trust


def test_every_field_a_summarizer_may_tell_says_what_belongs_there() -> None:
    """Prompts and schemas are made from these words."""
    properties = SummaryDraft.model_json_schema()
    untold = [name for name, field in properties["properties"].items() if not field.get("description") and name not in ("dropped_keys", "left_out")]

    assert [] == untold
    assert {"actions_done", "artifacts", "do_not", "original_goal"}.isdisjoint(properties["properties"])
