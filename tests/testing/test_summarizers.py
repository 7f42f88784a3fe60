from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from langchain_ctxguard.domain.summary import Fact, SummaryDraft, Trust
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.ports import Summarizer, SummaryRequest
from langchain_ctxguard.testing.summarizers import HOSTILITIES, HostileSummarizer, Hostility, LossySummarizer, ScriptedSummarizer

MESSAGES = (HumanMessage("The deadline is 2026-12-15. Never call the customer. 预算是 500 元。"), AIMessage("Noted."), HumanMessage("Go on."))


def request(*, must_keep: tuple[str, ...] = ()) -> SummaryRequest:
    return SummaryRequest(MESSAGES, ("m1", "m2", "m3"), None, 500, count_tokens_approximately, must_keep)


def test_all_of_them_are_summarizers() -> None:
    """Each fake can stand wherever a summarizer is asked for."""
    for fake in (ScriptedSummarizer([SummaryDraft()]), LossySummarizer([]), HostileSummarizer("raises")):
        assert isinstance(fake, Summarizer)
        assert fake.name


async def test_a_script_is_played_in_order_and_its_last_entry_repeats() -> None:
    """Drafts are returned, exceptions raised, requests remembered."""
    last = SummaryDraft(facts=(Fact(statement="two"),))
    scripted = ScriptedSummarizer([SummaryDraft(user_intent="one"), TimeoutError("slow"), last])

    assert scripted.summarize(request()).user_intent == "one"
    with pytest.raises(TimeoutError):
        await scripted.asummarize(request())
    assert [last, last] == [scripted.summarize(request()), await scripted.asummarize(request())]
    assert len(scripted.requests) == 4


def test_a_script_needs_an_entry() -> None:
    """An empty script is refused when it is written, not when it is played."""
    with pytest.raises(ValueError, match="at least one"):
        ScriptedSummarizer([])


async def test_a_lossy_summarizer_forgets_what_it_is_told_to() -> None:
    """The rest of the summary stays."""
    for draft in (LossySummarizer(["2026-12-15"]).summarize(request()), await LossySummarizer(["2026-12-15"]).asummarize(request())):
        assert "2026-12-15" not in str(draft)
        assert "Never call the customer." in [fact.statement for fact in draft.facts]


@pytest.mark.parametrize("learns", [True, False])
def test_a_lossy_summarizer_keeps_what_a_retry_names_only_if_it_learns(*, learns: bool) -> None:
    """Both kinds are needed: one that a retry cures and one that nothing cures."""
    draft = LossySummarizer(["2026-12-15"], learns=learns).summarize(request(must_keep=("2026-12-15",)))

    assert learns == ("2026-12-15" in str(draft))


@pytest.mark.parametrize("mode", HOSTILITIES)
async def test_a_hostile_summarizer_goes_wrong_each_time(mode: Hostility) -> None:
    """Every mode fails or lies alike in sync and async, and counts how often it was asked."""
    hostile = HostileSummarizer(mode, hang_s=0.01)

    for ask in (hostile.summarize, hostile.asummarize):
        try:
            answer = ask(request())
            draft = answer if isinstance(answer, SummaryDraft) else await answer
        except InvalidSummaryError as error:
            assert mode == error.reason
        except ConnectionError:
            assert mode in ("raises", "hangs")
        else:
            assert mode in ("empty_draft", "huge_draft", "poison")
            assert (mode == "empty_draft") == draft.is_empty
            assert (mode == "poison") == any(fact.status is Trust.CONFIRMED for fact in draft.facts)
            assert (mode == "huge_draft") == (len(str(draft)) > 10 * sum(len(str(message.content)) for message in MESSAGES) > 0 and mode != "poison")
    assert hostile.asked == 2
