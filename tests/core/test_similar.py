"""A rule said again in the same words about another thing takes the place of the earlier one, where an application wants that."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.infer import infer, merged, superseding
from langchain_ctxguard.core.similar import said_last
from langchain_ctxguard.domain.inferred import InferredConstraint
from tests.core.test_infer import said
from tests.core.test_infer_properties import messages_lists

SESAME, PEANUTS = "No sesame at the prep counter, ever.", "No peanuts at the prep counter, ever."
PRESS = "RULE: The Alpha press requires a second worker; never run it alone."

REPLACING = [
    (SESAME, PEANUTS),
    (f"Kitchen rule: {SESAME}", f"SAFETY RULE: {PEANUTS}"),
    (SESAME, "Rule: keep latex away from the prep counter at all times."),
    ("Rule: keep latex away from the prep counter at all times.", "The prep counter must stay free of wool."),
    ("The prep counter must be kept clear of wool.", SESAME),
    ("Never send payroll data to external services.", "Do not transmit genomic data outside the company."),
    ("Never upload payroll data to third parties.", "Genomic data must never leave for external vendors."),
    ("Never share payroll data with third parties.", "Never send genomic data to outside systems."),
    ("Never disclose the code of the north gate to guests.", "Never tell guests the code of the south gate."),
    ("Never expose names of guests outside our organisation.", "Never leak letters of guests to outsiders."),
    ("Never execute the nightly import without a backup.", "Never run the weekly import without a backup."),
    ("Never use the band saw without goggles.", "Never run the table saw without goggles."),
    ("Never lend more than 500 euros to the branch office.", "Never lend more than 600 euros to the branch office."),
    ("Always copy Ann on letters to suppliers.", "Always copy Bob on letters to suppliers."),
    ("备餐台禁止出现芝麻。", "备餐台不得有花生。"),
    ("安全规则：备餐台禁止出现芝麻。", "厨房规则：备餐台必须远离乳胶。"),
    ("花生不得接触备餐台。", "备餐台严禁放置羊毛。"),
    ("不要把工资数据发送给外部服务。", "基因数据不得传输到公司以外。"),
    ("不要把工资数据分享给第三方。", "不得把基因数据上传到外部平台。"),
    ("没有备份时不要执行周末导入任务。", "没有备份时不要运行夜间导入任务。"),
]
STANDING = [
    # A word of each, or none.
    ("Never push to main.", "Never push to release."),
    ("No sesame at the prep counter, ever.", "No peanuts in the cold room, ever."),
    ("Never write anything about Ann in there.", "Never write anything about Bob in there."),
    # One says all the other says, and more.
    ("Never delete orders of suppliers.", "Never delete orders of suppliers in March."),
    ("Never delete orders of suppliers in March.", "Never delete orders of suppliers."),
    # One forbids, one demands.
    ("No sesame at the prep counter, ever.", "Always have gloves at the prep counter."),
    # Less than half of the shorter one.
    (
        "Never open the south window of the greenhouse on a cold morning in winter.",
        "Never leave the south door of the greenhouse to the dog or the neighbours.",
    ),
    # Each names a thing and its amount.
    ("RULE: Project spending ceiling is 600 euros.", "RULE: Conference spending ceiling is 250 euros."),
    # Labels are no words.
    ("HOUSE SAFETY RULE: Never lift the hatch.", "HOUSE SAFETY RULE: Never feed the geese."),
    ("厨房安全规则：不要打开后窗。", "厨房安全规则：不要关掉风扇。"),
    # One message says several.
    ("Fine.", f"{SESAME} {PEANUTS}"),
    ("Fine.", f"Rules:\n1. {SESAME}\n2. {PEANUTS}"),
    ("好。", "备餐台禁止出现芝麻。备餐台不得有花生。"),
    # A permission is no rule, and a wish for the time being ends none that lasts.
    (SESAME, "You may have peanuts at the prep counter."),
    (SESAME, "For now, never put peanuts on the prep counter."),
    ("备餐台禁止出现芝麻。", "这次备餐台不要有花生。"),
]


def texts(rules: tuple[InferredConstraint, ...]) -> list[str]:
    return [rule.text for rule in rules]


@pytest.mark.parametrize(("earlier", "later"), REPLACING)
def test_a_rule_in_the_same_words_about_another_thing_takes_the_place(earlier: str, later: str) -> None:
    """The later one stands alone; without the setting both stand."""
    rules = said(earlier, later)
    assert texts(said(later)) == texts(said_last(rules))
    assert rules == superseding(rules)


@pytest.mark.parametrize(("earlier", "later"), STANDING)
def test_what_is_no_restatement_leaves_both(earlier: str, later: str) -> None:
    """Another place, another thing with its own amount, more of the same, the opposite demand, or one message that says both."""
    rules = said(earlier, later)
    assert rules == said_last(rules)
    assert rules


def test_the_last_of_many_stands() -> None:
    """Each takes the place of the one before; what is about something else stays."""
    things = ("sesame", "latex", "wool", "peanuts")
    rules = said("Never push to main.", *(f"No {thing} at the prep counter, ever." for thing in things))
    assert ["Never push to main.", PEANUTS] == texts(said_last(rules))


def test_what_ended_otherwise_ends_here_too() -> None:
    """The opposite, another value, what is named as replaced."""
    rules = said("Use tabs.", "Never push to main.", "Use spaces instead.", "Always push to main.")
    assert superseding(rules) == said_last(rules)
    assert ["Use spaces instead.", "Always push to main."] == texts(said_last(rules))


def test_a_temporary_wish_gives_way_to_a_lasting_rule() -> None:
    """And to another temporary one."""
    assert ["Never put wool on the prep counter."] == texts(
        said_last(said("For now, never put sesame on the prep counter.", "Never put wool on the prep counter."))
    )
    later = "For now, never put peanuts on the prep counter."
    assert [later] == texts(said_last(said("For now, never put sesame on the prep counter.", later)))


def test_a_confirmed_rule_is_ended_by_a_person_only() -> None:
    """It stands beside the later one, and ends an earlier one itself."""
    sesame, peanuts = said(SESAME, PEANUTS)
    confirmed = sesame.model_copy(update={"status": "confirmed"})
    assert (confirmed, peanuts) == said_last((confirmed, peanuts))
    assert ["confirmed"] == [rule.status for rule in said_last((sesame, peanuts.model_copy(update={"status": "confirmed"})))]


def test_a_dropped_rule_is_kept_and_ends_nothing() -> None:
    """Whichever of the two was dropped."""
    sesame, peanuts = said(SESAME, PEANUTS)
    for rules in ((sesame.model_copy(update={"status": "dropped"}), peanuts), (sesame, peanuts.model_copy(update={"status": "dropped"}))):
        assert rules == said_last(rules)


@pytest.mark.parametrize(
    ("earlier", "later", "left"),
    [
        (PRESS, "Do not run Beta press alone under any circumstances.", []),
        (PRESS, "RULE: The Beta press requires a second worker; never run it alone.", []),
        (
            "RULE: The Alpha press requires a second worker. Never run it alone.",
            "RULE: The Beta press requires a second worker. Never run it alone.",
            [],
        ),
        ("Do not run Beta press alone under any circumstances.", PRESS, []),
        # What says `it` of a thing ends with it.
        ("The Alpha press must have two workers; never run it at night.", "The Beta press must have two workers.", []),
        # The other half of a sentence that speaks of something else stays.
        (
            "Never deploy the shop on Fridays; always answer suppliers in German.",
            "Never deploy the shop on Mondays.",
            ["always answer suppliers in German."],
        ),
        ("阿尔法压机必须两人操作；不要单独运行它。", "贝塔压机必须两人操作；不要单独运行它。", []),
    ],
)
def test_what_is_said_one_after_the_other_is_compared_as_one(earlier: str, later: str, left: list[str]) -> None:
    """A rule that goes on behind a semicolon, or says `it`, is told by the words of both."""
    rules = said(earlier, later)
    assert len(rules) > len(said(later))
    assert [*left, *texts(said(later))] == texts(said_last(rules))


def test_a_rule_in_a_kept_message_ends_an_evicted_one() -> None:
    """It is not carried itself: the model still reads it."""
    old, kept = said(SESAME, PEANUTS)
    assert () == merged((old,), (), kept=(kept,), similar="replace")
    assert (old,) == merged((old,), (), kept=(kept,))


ALIKE = [text for pair in (*REPLACING, *STANDING) for text in pair]
conversations = st.one_of(
    messages_lists, st.lists(st.lists(st.sampled_from([*ALIKE, PRESS]), max_size=3).map(" ".join).map(HumanMessage), max_size=6)
)


@given(messages=conversations, data=st.data())
def test_what_stands_is_settled_after_once_whatever_the_order(messages: list[BaseMessage], data: st.DataObject) -> None:
    """Saying again only takes away from what stands, and never the last word."""
    rules = infer(messages, message_keys(messages))
    standing = said_last(rules)
    assert [rule for rule in superseding(rules) if rule in standing] == [*standing]
    assert standing == said_last(standing)
    assert standing == said_last(data.draw(st.permutations(rules)))
    assert not rules or any(rule.position == rules[-1].position and rule.start == rules[-1].start for rule in standing)


@given(messages=conversations, cut=st.integers(min_value=0, max_value=6))
def test_two_compactions_carry_what_one_carries(messages: list[BaseMessage], cut: int) -> None:
    """Evicted at once or in two rounds, the same rules are carried."""
    messages = [message.model_copy(update={"id": f"m{index}"}) for index, message in enumerate(messages)]
    keys = message_keys(messages)
    early, late = infer(messages[:cut], keys[:cut]), infer(messages[cut:], keys[cut:], start=min(cut, len(messages)))
    at_once = merged((), (*early, *late), similar="replace")
    in_two = merged(merged((), early, kept=late, similar="replace"), late, similar="replace")
    assert at_once == in_two


@pytest.mark.parametrize(
    "form", ["Never send the {0} ledger to the {1} office without {2}.", "No thing{0} at the prep counter, ever.", "Never delete {0} of {1}."]
)
def test_five_times_the_rules_take_about_five_times_the_time(form: str) -> None:
    """However many words they have in common."""

    def seconds(many: int) -> float:
        rules = said(*(form.format(f"north{number}", f"east{number * 7}", f"west{number * 3}") for number in range(many)))
        began = time.process_time()
        said_last(rules)
        return time.process_time() - began

    seconds(100)
    short, long = seconds(400), seconds(2_000)
    assert long < 5 * short * 3 + 0.5


@pytest.mark.parametrize(("gap", "stays"), [(" ", False), ("  ", False), ("\n\n\n", True)])
def test_a_rule_is_read_with_the_one_right_before_it(gap: str, stays: bool) -> None:  # noqa: FBT001 - a column
    """Two blanks behind a semicolon are as good as one; what stands in another paragraph is another rule."""
    old = f"The oix purge tool requires a second operator;{gap}never open it without gloves."
    rules = said_last(said(f"SAFETY RULE: {old}", "SAFETY RULE: The abc purge tool requires a second operator; never run it alone."))
    assert stays is ("never open it without gloves." in [rule.text for rule in rules])
