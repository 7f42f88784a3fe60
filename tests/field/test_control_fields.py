"""Failures of other compactors that lost, blurred or doubled the values a conversation turns on."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard import Compaction, compact_messages
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.testing.summarizers import ScriptedSummarizer

IDENTIFIERS = (
    "3f2b8c1e-9a4d-4f6b-8e21-5c7d9a0b1e2f",
    "10.24.7.131",
    "https://status.example.com/incidents/4711?tab=log",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "postgresql://reader@db.internal:5432/orders",
    "ORD-20931",
    "INV-2026-0042",
    "v2.14.3",
    "/srv/app/settings.toml",
    "ops@example.com",
)


def forgetful(*statements: str) -> ScriptedSummarizer:
    """A summarizer that tells these sentences only."""
    told = statements or ("They went through the matter.",)
    return ScriptedSummarizer([SummaryDraft(facts=tuple(Fact(statement=one) for one in told))] * 20)


def after(said: list[tuple[str, str]], *, turns: int = 12, **options: Any) -> Compaction:
    """What was said, so many turns of talk, and a compaction of all but the last."""
    talk = [pair for number in range(turns) for pair in (("ai", f"Point {number}. " + "It is so. " * 40), ("human", "Go on."))]
    options.setdefault("summarizer", forgetful())
    return compact_messages([("human", "Hello."), *said, *talk], keep=("turns", 1), **options)


def shown(done: Compaction) -> str:
    """Everything the model would see."""
    return "\n".join(message.text for message in done.messages)


@pytest.mark.field("C085")
def test_ten_exact_identifiers_outlive_forty_turns() -> None:
    """UUID, address, URL, commit, connection string and ids stand afterwards letter by letter."""
    said = [pair for one in IDENTIFIERS for pair in (("human", f"Please note {one} for later."), ("ai", "Noted."))]
    done = after(said, turns=40)

    assert [] == [one for one in IDENTIFIERS if one not in shown(done)]
    assert 0 == done.record.fields.lost


@pytest.mark.field("C087")
def test_chinese_names_and_addresses_keep_their_script() -> None:
    """What was said in Chinese is carried in Chinese, whatever language the summary has."""
    said = [("human", "订单号ORD-7712，收货地址：北京市海淀区中关村大街27号，收件人：王小明，预算三十万元。")]
    done = after(said, summarizer=forgetful("The order goes to Wang Xiaoming, Zhongguancun Street, Beijing."))

    assert all(one in shown(done) for one in ("ORD-7712", "北京市海淀区中关村大街27号", "王小明", "三十万元"))


@pytest.mark.field("C090", "C091")
@pytest.mark.parametrize(
    ("first", "then", "old", "new"),
    [
        ("The budget is $500.", "Change the budget to $800.", "$500", "$800"),
        ("开会时间是周三下午三点。", "开会时间改成周五上午十点。", "周三下午三点", "周五上午十点"),
    ],
)
def test_a_contradicting_value_supersedes_the_old_one(first: str, then: str, old: str, new: str) -> None:
    """The new value is stored, the old one is history, and only one of them is shown."""
    done = after([("human", first), ("ai", "ok"), ("human", then)], summarizer=forgetful(first))

    assert new in shown(done)
    assert old not in shown(done)
    assert old not in [field.raw for field in done.fields]


@pytest.mark.field("C090", "C091")
def test_an_opposite_choice_replaces_the_first() -> None:
    """Chosen first and turned down later is one field with a history, not two."""
    fields = update_ledger((), [("human", "Let's use Redis for the cache."), ("human", "Let's not use Redis for the cache.")]).fields

    live = [field for field in fields if "Redis" in field.raw and not field.is_closed]
    assert 1 == len(live)
    assert live[0].history


@pytest.mark.field("C093")
def test_an_agreement_of_numbered_points_keeps_its_numbers() -> None:
    """The five points stand afterwards, each with its number, in the words they were agreed in."""
    points = ["Never touch the billing module.", "Only use the staging database.", "Always run the tests before a commit.",
              "Do not rename public functions.", "Keep every answer under 200 words."]  # fmt: skip
    agreement = "We agreed on the following rules:\n" + "\n".join(f"{number}. {point}" for number, point in enumerate(points, 1))
    done = after([("human", agreement), ("ai", "Understood.")])

    missing = [f"{number}. {point}" for number, point in enumerate(points, 1) if f"{number}. {point}" not in shown(done)]
    assert [] == missing


@pytest.mark.field("C094")
def test_the_caller_names_what_must_be_kept() -> None:
    """Values, labels and sentences of one call; the record counts them among what was checked."""
    said = [("human", "Hi."), ("ai", "The shelf code is KX-77-B. We left open who pays the freight.")]
    done = after(said, must_keep=["KX-77-B", "We left open who pays the freight."])

    assert "KX-77-B" in shown(done)
    assert "We left open who pays the freight." in shown(done)
    assert "KX-77-B" not in shown(after(said))


@pytest.mark.field("C038")
def test_progress_does_not_fall_between_two_versions() -> None:
    """A summary that tells 42% where 97% was reached is a changed field: its sentence goes, the value stays."""
    said = [("human", "The progress is 97%."), ("ai", "Yes, nearly there.")]
    done = after(said, summarizer=forgetful("The progress is 42%."))

    assert ["42%"] == [change.after.raw for change in done.diff.changed if change.after is not None]
    assert "42%" not in shown(done)
    assert "97%" in shown(done)
