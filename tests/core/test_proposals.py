"""What a call proposes to use is told from what it turns down, asks about, or merely mentions."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.proposals import proposed_in

NAMES = frozenset({"celery", "redis"})


def proposed(args: dict[str, Any]) -> list[str]:
    return [option.name for option in proposed_in("decide", args, NAMES, lambda _: None)]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"choice": "celery"}, ["celery"]),
        ({"options": {"backend": ["celery", "redis"]}}, ["celery", "redis"]),
        ({"comment": "celery"}, []),
        ({"note": "We use celery for the jobs."}, ["celery"]),
        ({"note": "Do not use celery. From now on use redis."}, ["redis"]),
        ({"note": "Use redis, and never use celery."}, ["redis"]),
        ({"note": "Shall we use celery?"}, []),
        ({"note": "The celery is in the kitchen."}, []),
        ({"choice": ""}, []),
        ({"choice": 5}, []),
    ],
)
def test_an_option_is_proposed_where_it_is_chosen_or_taken_up(args: dict[str, Any], expected: list[str]) -> None:
    """One that is refused hides no other in the same text."""
    assert expected == proposed(args)
