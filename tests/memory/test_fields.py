"""Critical values a summarizer loses are put back."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.memory.fields import FieldKeeper, kept
from tests.memory.stock import request
from tests.support.models import SpySummarizer

SAID = [
    HumanMessage("Refund 4,500 EUR to order ORD-7731 by 2026-12-15. Thanks a lot."),
    AIMessage("I will."),
    HumanMessage("订单号 ORD-8802，预算5万元，截止日期是2026年11月30日。"),
]


def test_lost_values_are_put_back_in_their_own_words() -> None:
    """Amounts, dates and identifiers a draft leaves out come back as the sentence they were said in, with its source."""
    draft = kept(SummaryDraft(facts=(Fact(statement="They talk about refunds."),)), request(*SAID))
    told = "\n".join(fact.statement for fact in draft.facts)
    assert all(value in told for value in ("4,500 EUR", "ORD-7731", "2026-12-15", "ORD-8802", "5万元", "2026年11月30日"))
    assert {("user", "m-0"), ("user", "m-2")} == {(fact.said_by, fact.source) for fact in draft.facts[1:]}
    assert "Thanks a lot" not in told


def test_a_draft_that_keeps_the_values_is_the_same_draft() -> None:
    """Nothing is added to what lost nothing, however the values are written."""
    draft = SummaryDraft(user_intent="Refund 4,500 EUR for ORD-7731 by December 15, 2026")
    assert draft == kept(draft, request(SAID[0]))
    assert SummaryDraft() == kept(SummaryDraft(), request(*SAID))


def test_a_changed_value_is_replaced_by_the_said_one() -> None:
    """A draft that turns 4,500 into 45,000 loses that sentence, and the user's stands in its place."""
    draft = SummaryDraft(facts=(Fact(statement="The refund for ORD-7731 is 45,000 EUR by 2026-12-15."), Fact(statement="They are polite.")))
    told = [fact.statement for fact in kept(draft, request(SAID[0])).facts]
    assert "They are polite." in told
    assert not any("45,000" in statement for statement in told)
    assert any("4,500 EUR" in statement for statement in told)


def test_a_corrected_value_is_not_put_back() -> None:
    """A value its owner replaced later is not in force; the new one is kept."""
    said = [HumanMessage("The deadline is June 30, 2026."), HumanMessage("The deadline is now July 15, 2026.")]
    told = "\n".join(fact.statement for fact in kept(SummaryDraft(facts=(Fact(statement="They talk."),)), request(*said)).facts)
    assert "July 15" in told
    assert "June 30" not in told


async def test_values_of_the_earlier_summary_are_kept_as_well() -> None:
    """A second summary loses nothing the first one had, and passes it on with who said it; sync and async."""
    earlier = StructuredSummary(facts=(Fact(statement="The budget is 4,500 EUR.", said_by="user", source="m-old"),))
    keeper = FieldKeeper(SpySummarizer(lambda _: SummaryDraft(facts=(Fact(statement="They talk."),))))
    asked = request(HumanMessage("Go on."), previous=earlier)
    assert earlier.facts[0] in keeper.summarize(asked).facts
    assert keeper.summarize(asked) == await keeper.asummarize(asked)
    assert "spy" == keeper.name
