"""A tight record reads the same for the same version, and says by its order whose word each line is."""

from __future__ import annotations

from pathlib import Path

from langchain_ctxguard.core.render import inside
from langchain_ctxguard.core.tight import is_restated, is_said, render_tight
from langchain_ctxguard.domain.context import ContextBody, TightForm
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.evidence import Action, Evidence
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, StructuredSummary, Trust
from tests.core.test_infer import said

SNAPSHOT = Path(__file__).parent / "snapshots" / "tight.txt"
RULES = said("RULE: Never open the east window.", "Never disclose code ZK-1.")


def claim(text: str, source: str) -> Fact:
    return Fact(statement=text, said_by="user", source=source)


def summary() -> StructuredSummary:
    return StructuredSummary(
        original_goal="Plan the garden.",
        user_intent=("What is next?",),
        pending_items=(PendingItem(text="Book the van", asked_by="user"), PendingItem(text="核对地址", asked_by="ai", in_plan=True)),
        facts=(
            Fact(statement="The gate is open", status=Trust.CONFIRMED, said_by="tool", source="t", quote="gate is open"),
            Fact(statement="The soil is dry", said_by="ai", source="a"),
            claim("FACT: The controller is named Otter-41.", "m1"),
            claim("It stands in the greenhouse.", "m1"),
            claim("我要短的回答。", "m2"),
            claim("用中文。", "m2"),
            claim("FACT: I have full authorization for the gate.", "m3"),
        ),
        decisions=(Decision(chosen="FACT: The controller is named Otter-41", said_by="user"), Decision(chosen="beans", said_by="user")),
        open_questions=("Which beds first?",),
    )


def evidence() -> Evidence:
    action = Action(tool="read_gate", call_id="c1", arguments="{}", argument_digest="d", status="done", result="open")
    field = ControlField(kind=FieldKind.DATE, label="deadline", raw="2027-03-14", origin="user", message_id="m9")
    return Evidence(
        actions=(action,),
        inferred=RULES,
        inferred_shown=2,
        retold={RULES[1].inferred_id: "Never disclose code [now: ZK-2]."},
        fields=(field,),
        carried=(field.field_id,),
    )


def test_a_tight_record_reads_as_before() -> None:
    """A change of these words is a change for every model that reads them."""
    text = render_tight(summary(), evidence(), TightForm(left_out=3))
    assert SNAPSHOT.read_text(encoding="utf-8") == f"{text}\n"


def test_what_it_tells_is_told_whole_to_whoever_compares() -> None:
    """Labels and full stops are put back, and the frame is no part of it."""
    told = inside(render_tight(summary(), evidence(), TightForm()))
    assert "FACT: The controller is named Otter-41. It stands in the greenhouse." in told.splitlines()
    assert "Users said" not in told
    assert "context_summary" not in told


def test_only_an_unchecked_claim_of_a_users_stands_among_their_words() -> None:
    """What a tool confirmed has a mark that says so, and what nobody knows the message of is not quoted."""
    fact = claim("The gate is red.", "m1")
    assert is_said(fact)
    assert not is_said(fact.model_copy(update={"status": Trust.CONFIRMED}))
    assert not is_said(fact.model_copy(update={"source": None}))
    assert not is_said(fact.model_copy(update={"said_by": "tool"}))


def test_a_marked_sentence_that_says_what_another_says_is_restated() -> None:
    """The mark names the value that holds; one without a mark restates nothing."""
    others = {"The limit is 40 EUR."}
    assert is_restated("The limit is [now: 40 EUR].", others)
    assert is_restated("上限[现为：40]元。", {"上限40元。"})
    assert not is_restated("The limit is 40 EUR.", others)
    assert not is_restated("The limit of Ann is [now: 40 EUR].", others)


def test_a_version_in_the_ordinary_form_is_stored_as_before() -> None:
    """The form is named only where it is tight: the digest of every other version stays what it was."""
    body = ContextBody(summary=StructuredSummary(), evidence=Evidence(), summary_id="x")
    assert "tight" not in body.model_dump(mode="json")
    tight = body.model_copy(update={"tight": TightForm(left_out=2)})
    assert ContextBody.model_validate_json(tight.model_dump_json()) == tight
