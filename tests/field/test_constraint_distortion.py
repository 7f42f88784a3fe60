"""Field reports about rules that came out of a compaction as something else: the kind is noticed, not just the one wording."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention import check_retention, classify_retention, offending_sentences
from langchain_ctxguard.domain.retention import Retention


@pytest.mark.field("C047")
@pytest.mark.parametrize(
    ("rule", "after"),
    [
        ("Avoid em-dashes, use commas.", "Replace em-dashes by --."),
        ("Never use tabs; indent with spaces.", "Indent with tabs."),
        ("禁止使用破折号，改用逗号。", "破折号统一换成两个连字符。"),
    ],
)
def test_a_rule_that_was_turned_round_is_not_certified(rule: str, after: str) -> None:
    """A paraphrase that means something else is a finding, whatever class it gets."""
    assert [rule] == [finding.text for finding in check_retention([rule], after)]


@pytest.mark.field("C049")
@pytest.mark.parametrize(
    ("rule", "after"),
    [
        ("Do NOT push", "user discussed not pushing"),
        ("Never push to main.", "Early on, the user mentioned that nothing should be pushed to main."),
        ("You must run the tests before a commit.", "The user had asked for the tests to be run before a commit."),
        ("禁止推送到 main 分支", "之前用户提到过不要推送到 main 分支"),
    ],
)
def test_a_rule_told_as_a_story_is_weakened(rule: str, after: str) -> None:
    """History binds nobody."""
    assert Retention.WEAKENED is classify_retention(rule, rule, after)


@pytest.mark.field("C049")
def test_a_story_that_says_the_rule_still_holds_is_kept() -> None:
    """Told from the past and in force."""
    after = "On Monday the manager ruled that nothing may be pushed to main, and this still applies."
    assert Retention.PARAPHRASED is classify_retention("Never push to main.", "", after)


@pytest.mark.field("C056")
@pytest.mark.parametrize(("rule", "after"), [("Reply in Spanish, always.", "Reply in English, always."), ("一律用西班牙语回答", "一律用英文回答")])
def test_an_exchanged_language_is_a_changed_value(rule: str, after: str) -> None:
    """And a sentence that says so is taken out of a summary."""
    assert Retention.MUTATED is classify_retention(rule, rule, after)
    assert [after] == [sentence for sentence, _, _ in offending_sentences([rule], after)]
