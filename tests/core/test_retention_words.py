"""Words of one meaning share a name, however they are inflected and in both languages; words that only look alike do not."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_words import alternatives_line, concept_of, is_action, meaning_of


@pytest.mark.parametrize(
    ("inflected", "base"),
    [
        ("stopped", "stop"),
        ("stopping", "stop"),
        ("planned", "plan"),
        ("slipped", "slip"),
        ("selling", "sell"),
        ("spelling", "spell"),
        ("rolling", "roll"),
        ("missed", "miss"),
        ("buzzing", "buzz"),
        ("adding", "add"),
        ("rotated", "rotate"),
        ("rotating", "rotate"),
        ("deleted", "delete"),
        ("deletes", "delete"),
        ("policies", "policy"),
        ("copied", "copy"),
        ("boxes", "box"),
        ("branches", "branch"),
        ("bosses", "boss"),
        ("dies", "die"),
        ("ties", "tie"),
        ("orders", "order"),
    ],
)
def test_inflected_words_mean_the_same(inflected: str, base: str) -> None:
    """A doubled consonant, a lost `e`, a plural: the base is found again."""
    assert concept_of(base) == concept_of(inflected)


@pytest.mark.parametrize(("one", "other"), [("sing", "s"), ("bus", "bu"), ("class", "clas"), ("basis", "basi"), ("need", "ne"), ("red", "r")])
def test_what_only_ends_like_an_inflected_word_is_one_of_its_own(one: str, other: str) -> None:
    """Too little would be left of it, or its ending belongs to it."""
    assert concept_of(one) != concept_of(other)


@pytest.mark.parametrize(
    ("english", "chinese"), [("delete", "删除"), ("deleting", "删掉"), ("orders", "订单"), ("dutch", "荷兰语"), ("weekends", "周末")]
)
def test_both_languages_share_a_meaning(english: str, chinese: str) -> None:
    """By the table; a function word means nothing in either."""
    assert meaning_of(english) == meaning_of(chinese) is not None


def test_function_words_mean_nothing() -> None:
    """Words of force are read elsewhere."""
    assert [None, None, None, None] == [meaning_of(word) for word in ("the", "must", "的", "不得")]


def test_what_is_done_comes_before_what_it_is_done_to() -> None:
    """A word that is both is an action; one of a closed set is just that."""
    assert [True, True, False, False] == [is_action(str(concept_of(word))) for word in ("delete", "order_goods", "invoice_doc", "english")]
    lines = [alternatives_line(str(concept_of(word))) for word in ("english", "dutch", "monday", "order")]
    assert lines[0] == lines[1] is not None
    assert lines[2] not in {lines[0], None}
    assert lines[3] is None
