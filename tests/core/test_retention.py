from __future__ import annotations

import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, convert_to_openai_messages

from langchain_ctxguard.core.compile import leading_system
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.retention import check_retention, classify_retention, missing_rules, offending_sentences
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.retention import Retention, RetentionFinding, SemanticJudge
from langchain_ctxguard.errors import ConfigurationError

RULES = (Constraint(constraint_id="a", text="Never delete."), Constraint(constraint_id="b", text="绝不删除\n第二行"))


def test_rules_that_are_pinned_are_not_missing() -> None:
    """Whatever stands around them."""
    assert () == missing_rules(RULES, leading_system([SystemMessage("Be kind.")], render_rules(RULES)))
    assert () == missing_rules((), None)


@pytest.mark.parametrize(
    ("system", "missing"),
    [
        (None, ("a", "b")),
        (SystemMessage("Never delete"), ("a", "b")),
        (SystemMessage("never delete."), ("a", "b")),
        (SystemMessage("Never  delete."), ("a", "b")),
        (SystemMessage("Never delete. 绝不删除 第二行"), ("b",)),
        (SystemMessage("x 绝不删除\n第二行 y"), ("a",)),
        (SystemMessage([{"type": "text", "text": "Never delete."}, "绝不删除\n第二行"]), ()),
        (SystemMessage([{"type": "image", "text": "Never delete."}]), ("a", "b")),
        (SystemMessage("Ｎever delete."), ("a", "b")),
    ],
)
def test_a_rule_is_there_byte_for_byte_or_missing(system: SystemMessage | None, missing: tuple[str, ...]) -> None:
    """Almost is not there."""
    assert missing == missing_rules(RULES, system)


def said(constraint: str, after: str) -> str:
    return classify_retention(constraint, constraint, after).value


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("Never delete a file without approval.", "Ideally files are deleted after approval."),
        ("Never delete a file without a backup.", "A backup should be made when deleting a file."),
        ("未经批准不得删除文件", "Ideally files are deleted after approval."),
        ("Never delete a file unless the manager agrees.", "Ideally files are deleted after approval."),
    ],
)
def test_advice_that_names_the_condition_of_a_ban_weakens_it(constraint: str, after: str) -> None:
    """What had to come first is only recommended now; nobody says the opposite."""
    assert "weakened" == said(constraint, after)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Bob", "mutated"), ("Bob Miller", "mutated"), ("grey northern harbour crane", "mutated"), ("grey northern harbour crane tower", "paraphrased")],
)
def test_a_name_in_the_place_of_another_has_up_to_three_words_more(name: str, expected: str) -> None:
    """A longer stretch is no name but other words for the rule."""
    assert expected == said("Send the monthly report to Alice.", f"Send the monthly report to {name}.")


CHAIN = ("禁止删除任何业务数据", "删除数据要小心", "用户对数据操作有要求")


def test_a_rule_softened_step_by_step_is_weakened_and_then_dropped() -> None:
    """Each step is held against the rule as declared, so decay over rounds shows."""
    assert ["preserved", "weakened", "dropped"] == [said(CHAIN[0], text) for text in CHAIN]


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("You must ask before a release.", "You should ask before a release."),
        ("Never store passwords in plain text.", "Try to avoid storing passwords in plain text."),
        ("禁止外传客户名单", "外传客户名单要谨慎"),
        ("禁止外传客户名单", "外传客户名单要小心"),
        ("不得透露顾客的电话号码", "涉及顾客电话号码时要注意保护"),
        ("发货前必须核对地址", "发货前最好核对地址"),
        ("Do NOT push", "user discussed not pushing"),
        ("Do not restart the gateway.", "Do not restart the gateway where possible."),
        ("Do not restart the gateway.", "Do not restart the gateway unless it hangs."),
        ("Speak plainly and never use abbreviations.", "Speak plainly."),
        ("导出文件之前必须取得授权", "一开始提到过导出文件之前要取得授权"),
    ],
)
def test_less_force_is_weakened(constraint: str, after: str) -> None:
    """Advice, care, a condition, a missing part or a story in place of a rule."""
    assert "weakened" == said(constraint, after)


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("Do not push to main.", "Push to main."),
        ("Never merge your own pull request.", "You may merge your own pull request once CI is green."),
        ("Answer in Portuguese.", "Do not answer in Portuguese."),
        ("Deploy only after a review.", "Deploying without a review is fine."),
        ("禁止在群里讨论薪资", "现在可以在群里讨论薪资"),
        ("发货前必须核对地址", "无需核对地址即可发货"),
        ("维保期间严禁载人", "维保期间不再禁止载人"),
        ("Do not restart the gateway.", "The rule 'Do not restart the gateway' no longer applies."),
        ("Do not restart the gateway.", "Do not restart the gateway. This rule was withdrawn on Monday."),
        ("Do not restart the gateway.", "~~Do not restart the gateway.~~"),
        ("Tell the caller to dial 112.", "Do not tell the caller to dial 112."),
    ],
)
def test_the_opposite_is_contradicted(constraint: str, after: str) -> None:
    """A lost negation, a permission, a duty denied or a rule lifted, even when the rule is quoted word for word."""
    assert "contradicted" == said(constraint, after)


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("The total budget is 500 USD.", "The total budget is 5000 USD."),
        ("The total budget is 500 USD.", "The total budget is 500 EUR."),
        ("预算不得超过五百元", "预算不得超过五千元"),
        ("预算不得超过五百元", "预算上限：5,000元"),
        ("Keep file ORD-1 sealed.", "Keep file ORD-12 sealed."),
        ("Write files only under /srv/app.", "Write files only under /srv/application."),
        ("Use pnpm for every package operation.", "Use yarn for every package operation."),
        ("每箱不得超过25公斤", "每箱不得超过25斤"),
        ("At most one call per turn.", "At least one call per turn."),
        ("Never call before 9 am.", "Never call before 9 pm."),
        ("系统版本必须停留在 v2.3", "系统版本必须停留在 v3.2"),
    ],
)
def test_a_changed_value_is_mutated(constraint: str, after: str) -> None:
    """Amounts, currencies, units, identifiers, paths, tools, directions; a wrong value alone is enough."""
    assert "mutated" == said(constraint, after)


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("Do not delete any order.", "Orders must never be removed."),
        ("Transfers over 10,000 CHF need two employees.", "For each transfer above 10000 CHF 2 employees are required."),
        ("Deploy only before 4 pm.", "Deployments are allowed only before 16:00."),
        ("酒店每晚不超过600元", "酒店一晚最高六百元"),
        ("未经授权不得导出客户数据", "导出客户数据必须先取得授权"),
        ("禁止在 production 环境执行 DROP TABLE。", "DROP TABLE must never be executed in the production environment."),
    ],
)
def test_the_same_in_other_words_is_paraphrased(constraint: str, after: str) -> None:
    """Same force and same values, written another way or in the other language."""
    assert "paraphrased" == said(constraint, after)


@pytest.mark.parametrize(
    "after", ["", "   ", "\n\n", "…", "Three parcels left on Monday.", "The shopper asked how to delete a card.", "May I delete an order?"]
)
def test_what_says_nothing_of_a_rule_drops_it(after: str) -> None:
    """Empty texts, other subjects, the same words about something else, questions."""
    assert "dropped" == said("Do not delete any order.", after)


def test_a_judge_is_asked_only_where_a_rule_does_not_stand_word_for_word() -> None:
    """Its opinion replaces the verdict of the words, its silence leaves it."""
    asked: list[str] = []

    def opinion(constraint: str, before: str, after: str) -> Retention | None:
        asked.append(after)
        return Retention.PARAPHRASED if "purge" in after else None

    rule = "Do not delete any order."
    said_now = [classify_retention(rule, rule, after, judge=opinion).value for after in (rule, "No purge of orders, ever.", "Orders may be deleted.")]
    assert ["preserved", "paraphrased", "contradicted"] == said_now
    assert ["No purge of orders, ever.", "Orders may be deleted."] == asked
    assert isinstance(opinion, SemanticJudge)


def test_a_kept_rule_is_no_finding() -> None:
    """Strings, constraints and mappings are rules alike; a string is one text."""
    text = "Never delete. 绝不删除\n第二行"
    assert [] == check_retention([*RULES, "never  DELETE", {"text": "Never delete.", "id": "x"}], text)
    assert [] == check_retention("Never delete.", text)
    assert [] == check_retention([], text)


def test_a_finding_says_what_became_of_which_rule() -> None:
    """One for each rule that is not kept; a plain string is known by the id it would be pinned under."""
    rule = "Answer in Dutch."
    found = check_retention([{"text": "必须审批", "constraint_id": "approve"}, rule], "建议审批一下。")
    assert [
        RetentionFinding(constraint_id="approve", text="必须审批", retention=Retention.WEAKENED, reason="advice", sentence="建议审批一下。"),
        RetentionFinding(constraint_id=Constraint.from_text(rule).constraint_id, text=rule, retention=Retention.DROPPED, reason="absent"),
    ] == found


@pytest.mark.parametrize("as_dicts", [False, True])
def test_a_finding_says_where_a_rule_survives(*, as_dicts: bool) -> None:
    """Owned by the pinned block, said in the system message, restated in a summary, or only in the tail and so at risk."""
    rules = [
        "Never delete an order.",
        "Answer in Dutch.",
        "Ask before a refund.",
        "Keep replies under six lines.",
        "Log every write.",
    ]
    pinned = leading_system([SystemMessage("Answer in Dutch.")], render_rules([Constraint(constraint_id="a", text=rules[0])]))
    assert pinned is not None
    messages: list[Any] = [
        pinned,
        HumanMessage('<context_summary version="1" trust="untrusted">\nAsk before a refund.\n</context_summary>', name="context_summary"),
        HumanMessage("Keep replies under six lines.", id="u7"),
        AIMessage("Fine."),
    ]
    found = check_retention(rules, convert_to_openai_messages(messages) if as_dicts else messages, with_kept=True)
    assert ["pinned", "system", "summary", "tail", None] == [finding.where for finding in found]
    assert [False, False, False, True, False] == [finding.is_at_risk for finding in found]
    assert [0, 0, 1, 2, None] == [finding.message_index for finding in found]
    assert as_dicts or found[3].message_id == "u7"
    assert [rules[4]] == [finding.text for finding in check_retention(rules, messages)]


def test_a_pinned_rule_is_kept_whatever_a_summary_claims() -> None:
    """Word for word in a better place wins; what a summary makes of it is for `offending_sentences`."""
    system = leading_system([], render_rules([Constraint(constraint_id="a", text="Never delete an order.")]))
    assert system is not None
    found = check_retention(["Never delete an order."], [system, HumanMessage("Orders may be deleted.")], with_kept=True)
    assert [("pinned", "preserved")] == [(finding.where, finding.retention.value) for finding in found]


@pytest.mark.parametrize("bad", [3, None, {"id": "a"}, {"text": 4}])
def test_what_is_no_rule_is_refused(bad: Any) -> None:
    """By its place in the list."""
    with pytest.raises(ConfigurationError, match=r"constraints\[1\] is no rule"):
        check_retention(["a", bad], "text")


def test_offending_sentences_are_those_against_a_pin() -> None:
    """Weakened, contradicted and changed ones, in order; what restates a rule or speaks of something else stays."""
    rules = [{"text": "禁止删除订单。", "id": "no-delete"}, {"text": "Refunds above 500 EUR must be approved by a lead.", "id": "refund"}]
    summary = (
        "顾客改了地址。可以删除订单。物流单号是 5561。Refunds above 5000 EUR must be approved by a lead. "
        "The lead was off on Monday. Refunds above 500 EUR must be approved by a lead. 删除订单要小心。下单三笔。"
    )
    assert [
        ("可以删除订单。", "no-delete", Retention.CONTRADICTED),
        ("Refunds above 5000 EUR must be approved by a lead.", "refund", Retention.MUTATED),
        ("删除订单要小心。", "no-delete", Retention.WEAKENED),
    ] == offending_sentences(rules, summary)


@pytest.mark.parametrize(
    "fact",
    [
        "The user asked how to delete a saved card.",
        "Order ORD-77 was changed by the customer on Monday.",
        "The customer may pay by card.",
        "顾客可以用优惠券支付。",
        "The parcel should arrive on Friday.",
        "Do not delete an order.",
        "May an order be deleted?",
    ],
)
def test_a_sentence_about_something_else_offends_nobody(fact: str) -> None:
    """In doubt it stays."""
    assert [] == offending_sentences(["Never delete an order.", "禁止删除订单。"], fact)


def test_two_hundred_rules_against_fifty_thousand_characters_take_a_moment() -> None:
    """A generous bound that only a change of order would break; the benchmark has the figures."""
    rules = [f"Rule {number}: never change an order of customer {number} without a second confirmation." for number in range(200)]
    text = "The customer asked for the order of the second parcel, and the change was confirmed on Monday. " * 530
    start = time.process_time()
    assert 200 == len(check_retention(rules, text))
    assert time.process_time() - start < 2


def test_the_kept_rules_are_asked_for_by_name() -> None:
    """All arguments have names, and a bare `True` says nothing."""
    found = check_retention(constraints=["Never delete."], messages="Never delete.", with_kept=True)
    assert [Retention.PRESERVED] == [finding.retention for finding in found]
    with pytest.raises(TypeError):
        check_retention(["Never delete."], "Never delete.", True)  # type: ignore[misc]  # noqa: FBT003 - that is what must not work


@pytest.mark.parametrize(
    ("rule", "sentence", "is_offence"),
    [
        ("Never delete customer orders.", "可以删除客户订单。", True),
        ("Never delete customer orders.", "可以删除文件。", False),
        ("Never change files in the production folder.", "可以修改生产文件夹里的文件。", True),
        ("Never change files in the production folder.", "可以修改文件。", False),
    ],
)
def test_a_sentence_of_another_language_offends_where_it_says_most_of_the_rule(rule: str, sentence: str, *, is_offence: bool) -> None:
    """Words that were not translated leave too little to go by."""
    assert ([sentence] if is_offence else []) == [found for found, _, _ in offending_sentences([rule], sentence)]
