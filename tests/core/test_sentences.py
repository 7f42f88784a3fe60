"""A sentence is told by the part of it that holds what is to be kept."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.sentences import Sentence, around_values


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("这么多好玩的地方啊，真好，我想找人均消费500-1000元的餐馆，有啥好地方推荐一个呗。", "…我想找人均消费500-1000元的餐馆…"),
        ("听说那边有很多老房子，我们喜欢逛街，想找人均消费500-1000元的餐馆，有啥好地方推荐一个呗。", "…我们喜欢逛街，想找人均消费500-1000元的餐馆…"),
        (
            "We met at the harbour, the room has a view, we pay 80 EUR for it, and that is that.",
            "…the room has a view, we pay 80 EUR for it…",
        ),
    ],
)
def test_a_value_is_told_with_the_clause_before_it_unless_that_only_exclaims(text: str, shown: str) -> None:
    """What stands right before a value says what it is a value of; a cry of joy says nothing."""
    assert shown == around_values(Sentence(text, 0)).shown
