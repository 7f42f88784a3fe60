"""Which of two things a rule puts first, in both languages and however it says so; and whether a passage turns it round."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_order import is_order_turned
from langchain_ctxguard.core.retention_text import sentences_of


def is_turned(rule: str, passage: str) -> bool:
    return is_order_turned(sentences_of(rule), sentences_of(passage))


@pytest.mark.parametrize(
    ("rule", "passage"),
    [
        ("Review the code before you deploy it.", "Deploy the code before you review it."),
        ("Before you deploy, review the code.", "Before you review the code, deploy."),
        ("Deploy only after a review.", "Review only after you deploy."),
        ("Review, then deploy.", "Deploy, then review."),
        ("Review the code before you deploy it.", "Deploy, and then review."),
        ("Review the code before you deploy it.", "After you deploy, review the code."),
        ("Never deploy before a review.", "Deploy before the review."),
        ("发货之前必须核对地址", "核对地址之前必须发货"),
        ("先测试再部署", "先部署再测试"),
        ("先测试，然后部署", "部署之后测试"),
    ],
)
def test_what_comes_first_is_turned_round(rule: str, passage: str) -> None:
    """`before`, `after`, `then`, at either end of a sentence, in a ban as well."""
    assert is_turned(rule, passage)
    assert is_turned(passage, rule)


@pytest.mark.parametrize(
    ("rule", "passage"),
    [
        ("Review the code before you deploy it.", "Before you deploy, review the code."),
        ("Review the code before you deploy it.", "Deploy after the review."),
        ("Review, then deploy.", "Review before you deploy."),
        ("Never deploy before a review.", "Review before you deploy."),
        ("Review the code before you deploy it.", "Review and deploy the code."),
        ("Review the code before you deploy it.", "Call the customer before the refund."),
        ("Review the code before you deploy it.", "Deploy the code before the customer calls."),
        ("Review and test the code before you deploy it.", "Review the code before you test and deploy it."),
        ("Review the code.", "Deploy the code before you review it."),
        ("发货之前必须核对地址", "必须核对地址，再发货"),
        ("先测试再部署", "测试之后部署"),
    ],
)
def test_the_same_order_or_another_subject_is_not(rule: str, passage: str) -> None:
    """Said another way, with one of the two things alone, with no order, or about something else."""
    assert not is_turned(rule, passage)
