"""What became of a decision in what is told after a compaction."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.audit_choices import Telling, is_named, standing_of, thing_of
from langchain_ctxguard.domain.control import ControlField

CHOSEN = ControlField(kind="choice_confirmed", raw="let's go with PostgreSQL", value="PostgreSQL")
REJECTED = ControlField(kind="choice_rejected", raw="not MongoDB", value="MongoDB")


@pytest.mark.parametrize(
    ("choice", "text", "standing"),
    [
        (CHOSEN, "They said: let's go with PostgreSQL.", "kept"),
        (CHOSEN, "Data stands in POSTGRESQL.", "kept"),
        (CHOSEN, "PostgreSQL was rejected.", "reversed"),
        (CHOSEN, "Data stands in PostgreSQL2.", "gone"),
        (CHOSEN, "Data stands somewhere.", "gone"),
        (REJECTED, "mongodb was ruled out.", "kept"),
        (REJECTED, "Data stands in MongoDB.", "unsaid"),
        (REJECTED, "Data stands somewhere.", "gone"),
        (REJECTED, "", "gone"),
    ],
)
@pytest.mark.parametrize("more", ["", "The Straße is wet. ", "The Straße is wet. " * 40])
def test_a_decision_stands_is_unsaid_reversed_or_gone(choice: ControlField, text: str, standing: str, more: str) -> None:
    """Names are found in any case, however long the text and whatever letters stand in it."""
    assert standing == standing_of(choice, Telling(f"{more}{text}", ()))


def test_a_thing_is_named_by_its_bare_name() -> None:
    """What only points at something can be told any way."""
    assert ["PostgreSQL", "Redis"] == [thing_of(CHOSEN), thing_of(CHOSEN.model_copy(update={"value": "the Redis because it is fast"}))]
    assert [True, False, False] == [is_named(CHOSEN.model_copy(update={"value": value})) for value in ("PostgreSQL", "the first one", "这个")]
