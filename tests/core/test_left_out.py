from __future__ import annotations

from langchain_core.messages.utils import count_tokens_approximately

from langchain_ctxguard.core.bounds import bounded_summary
from langchain_ctxguard.core.left_out import counted, together
from langchain_ctxguard.core.render import inside, render_summary
from langchain_ctxguard.domain.summary import Fact, LeftOut, StructuredSummary


def test_what_the_bound_cuts_off_is_counted_in_the_text_the_model_reads() -> None:
    """Of errors, corrections, amounts and dates every one is told or counted."""
    facts = (
        *(Fact(statement=f"Error: job {number} failed", said_by="tool") for number in range(40)),
        *(Fact(statement=f"No, I meant room {number}.", said_by="user") for number in range(40)),
        *(Fact(statement=f"第{number}批报价是{number + 100}元", said_by="ai") for number in range(40)),
    )
    bounded = bounded_summary(StructuredSummary(facts=facts), version=1, max_tokens=500, count=count_tokens_approximately)

    assert bounded.left_out is not None
    told = len(bounded.facts)
    assert len(facts) == told + bounded.left_out.errors + bounded.left_out.corrections + bounded.left_out.amounts
    assert f"Not listed: {bounded.left_out.errors} errors, " in render_summary(bounded, version=1)


def test_a_summary_that_holds_everything_says_nothing_of_it() -> None:
    """Silence means that nothing is missing."""
    summary = StructuredSummary(facts=(Fact(statement="It costs 12 EUR.", said_by="ai"),))

    assert summary == bounded_summary(summary, version=1, max_tokens=500, count=count_tokens_approximately)
    assert "Not listed" not in render_summary(summary, version=1)


def test_the_count_grows_over_the_rounds_and_is_no_value_anybody_said() -> None:
    """Rounds add up; the numbers of the count itself are frame, not content."""
    left_out = together(LeftOut(errors=2, amounts=3), counted(["errors", "amounts", None]))

    assert LeftOut(errors=3, amounts=4) == left_out
    assert "Not listed" not in inside(render_summary(StructuredSummary(original_goal="Ship it.", left_out=left_out), version=1))
