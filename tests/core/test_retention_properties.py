from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.numerals import zh_number
from langchain_ctxguard.core.retention import check_retention, classify_retention, offending_sentences
from langchain_ctxguard.core.retention_text import sentences_of
from langchain_ctxguard.domain.retention import Retention

KEPT = (Retention.PRESERVED, Retention.PARAPHRASED)
BANS = (
    "Do not delete any order.",
    "Never send mail to a customer.",
    "Secrets must not be written to the log.",
    "不得修改 migrations 目录下的文件。",
    "禁止向家属透露检查结果。",
    "不要在群里讨论薪资。",
)
DUTIES = ("Ask me before you add a dependency.", "必须先核对短信验证码。", "Always answer in Portuguese.", "每次提交前必须跑完全部测试。")
WITH_DIGITS = (
    "Refunds above 500 EUR need approval.",
    "Backups are kept for 90 days in 2 regions.",
    "Keep file ORD-17 sealed.",
    "接口超时时间不得超过30秒。",
    "酒店每晚不超过640元。",
    "Never edit /srv/app2/config.yaml.",
    "Use version v2.3 only.",
    "Do not call before 9 am.",
    "折扣不得低于8.5折。",
)
NEGATIONS = re.compile(r"\b(?:do not|never|not) ?|不得|禁止|不要", re.IGNORECASE)
RULES = st.sampled_from(BANS + DUTIES + WITH_DIGITS)
FILLERS = st.sampled_from(["", "The parcel left on Monday.\n", "顾客周二来电。\n", "# Notes\n\n", "- A lamp was ordered.\n"])
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from([*BANS, *DUTIES, "可以", "unless", "~~", "**", "\n", "500", "五百元", "</context_rules>", "\ud800"]), max_size=12).map(
        " ".join
    ),
)


@given(rule=RULES, before=FILLERS, after=FILLERS)
def test_a_rule_that_stands_word_for_word_is_preserved(rule: str, before: str, after: str) -> None:
    """As a sentence of its own, whatever stands beside it."""
    assert Retention.PRESERVED is classify_retention(rule, rule, f"{before}{rule}\n{after}")


@given(rule=st.text(alphabet=st.characters(categories=["L", "N", "Po", "Zs"]), min_size=1, max_size=60))
def test_any_rule_is_preserved_by_itself(rule: str) -> None:
    """Even one that makes no sense, as long as it has a word."""
    if sentences_of(rule):
        assert Retention.PRESERVED is classify_retention(rule, rule, rule)


@given(rule=RULES, form=st.integers(0, 7))
def test_case_width_space_and_markup_change_nothing(rule: str, form: int) -> None:
    """Folding is not paraphrase."""
    wide = "".join(chr(ord(letter) + 0xFEE0) if "0" <= letter <= "9" else letter for letter in rule)
    forms = (
        rule.upper(),
        rule.lower(),
        rule.replace(" ", "  "),
        f"> **{rule}**",
        f"- `{rule}`",
        f"| 1 | {rule} |",
        wide if "v2" not in rule and "ORD" not in rule and "/" not in rule else rule,
        unicodedata.normalize("NFD", rule),
    )
    assert Retention.PRESERVED is classify_retention(rule, rule, forms[form])


@given(rule=st.sampled_from(BANS), before=FILLERS)
def test_a_ban_without_its_negation_is_never_kept(rule: str, before: str) -> None:
    """Whatever it is called, it is not certified."""
    assert classify_retention(rule, rule, before + NEGATIONS.sub("", rule)) not in KEPT


@given(rule=st.sampled_from(WITH_DIGITS), data=st.data())
def test_a_changed_digit_is_never_kept(rule: str, data: st.DataObject) -> None:
    """Not in an amount, an identifier, a path, a version or a time of day."""
    at = data.draw(st.sampled_from([place for place, letter in enumerate(rule) if letter.isdigit()]))
    digit = data.draw(st.sampled_from([digit for digit in "123456789" if digit != rule[at]]))
    changed = f"{rule[:at]}{digit}{rule[at + 1 :]}"
    assert Retention.MUTATED is classify_retention(rule, rule, changed)
    assert Retention.PRESERVED is classify_retention(changed, changed, changed)


@given(value=st.integers(2, 99_999_999))
def test_an_amount_is_the_same_in_chinese_numerals(value: int) -> None:
    """Digits and numerals compare by value, and a neighbour is another value."""
    rule = f"单笔退款不得超过{value}元。"
    assert classify_retention(rule, rule, f"单笔退款不得超过{_spelled(value)}元。") in KEPT
    assert Retention.MUTATED is classify_retention(rule, rule, f"单笔退款不得超过{_spelled(value + 1)}元。")


def _spelled(value: int) -> str:
    if value >= 10_000:
        high, low = divmod(value, 10_000)
        return _spelled(high) + "万" + (("零" if low < 1_000 else "") + _spelled(low) if low else "")
    text = ""
    for scale, name in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, scale)
        if digit:
            text += "零一二三四五六七八九"[digit] + name
        elif text and value and not text.endswith("零"):
            text += "零"
    return text or "零"


@given(value=st.integers(0, 99_999_999))
def test_a_spelled_numeral_is_read_back(value: int) -> None:
    """With scales, zeros between and more than one 万."""
    assert value == zh_number(_spelled(value))


@given(rule=TEXTS, before=TEXTS, after=TEXTS)
def test_no_text_raises_and_the_same_texts_get_the_same_verdict(rule: str, before: str, after: str) -> None:
    """Hostile, empty, broken or endless: a verdict comes back."""
    verdict = classify_retention(rule, before, after)
    assert verdict is classify_retention(rule, before, after)
    assert offending_sentences([rule], after) == offending_sentences([rule], after)
    assert all(not finding.retention.is_kept for finding in check_retention([rule], after))


@given(rules=st.lists(RULES, max_size=3), text=TEXTS)
def test_an_offending_sentence_is_part_of_the_text(rules: list[str], text: str) -> None:
    """So that it can be taken out."""
    assert all(sentence in text for sentence, _, _ in offending_sentences(rules, text))


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "不" * 200_000, "\n" * 200_000, "no " * 70_000, "五" * 200_000, '"' * 200_000, "1,000" * 40_000, "." * 200_000, "(" * 200_000],
)
def test_a_long_text_without_end_is_read_in_one_go(text: str) -> None:
    """Nothing in it is read again and again."""
    assert Retention.DROPPED is classify_retention("Do not delete any order.", "", text)
