"""Model calls on a log: read back as they were written, from every kind of store."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.model_call import ModelCall, RuleShown
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.records.model_calls import MODEL_CALLS, ModelCallRecords, RuleList
from tests.support.reports import at

PLACE = ContextPlace(thread="t")
LIST = RuleList(
    (RuleShown(reference="a@1", authority="system", severity="low", kind="shown", sentence="guidance, not enforced"),), {"a@1": "Be 简短."}
)
CALL = ModelCall(
    at=at(0), version=3, rules=LIST.name, tokens=9, common=7, hit=6, miss=3, first_changed_offset=0, drift_reason=DriftReason.COMPACTION,
    prefix="f" * 32, seconds=1.5, cost=Decimal("0.0019"),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_calls_are_read_as_they_were_written(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every field of a call, the rules it names, and their texts."""
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'ctx.db'}"}.get(kind) or request.getfixturevalue("postgres_url")
    if kind == "postgresql":
        migrate_store(url)
    with GuardStore.open(url) as store:
        records = ModelCallRecords(store)
        records.append(PLACE, [CALL, ModelCall(at=at(1))], {LIST.name: LIST})
        records.append(PLACE, [CALL], {})
        found = records.of(PLACE)
        assert (CALL, ModelCall(at=at(1)), CALL) == found.calls
        assert {LIST.name: LIST.rules} == found.rules
        assert {"a@1": "Be 简短."} == records.texts(PLACE)
        assert [] == store.verify()


def test_an_entry_of_a_later_version_is_left_out() -> None:
    """Telemetry that cannot be read stops nothing: the rest is told."""
    with GuardStore.open("memory://") as store:
        records = ModelCallRecords(store)
        records.append(PLACE, [CALL], {LIST.name: LIST})
        stream = store.stream(MODEL_CALLS, PLACE.key)
        store.log.append(
            stream, [b'{"calls": [{"at": "soon"}], "rules": {}}', b'{"calls": 3}', b"[1]", b'{"rules": {"x": 1}, "calls": []}', b"no json"]
        )
        assert (CALL,) == records.of(PLACE).calls
        assert {"a@1": "Be 简短."} == records.texts(PLACE)


def test_the_share_of_the_cache() -> None:
    """Known where the provider says what it read."""
    assert (None, 0.0, 0.75) == (ModelCall(at=at(0)).share, ModelCall(at=at(0), hit=0, miss=0).share, ModelCall(at=at(0), hit=3, miss=1).share)


def test_lists_that_say_the_same_have_one_name() -> None:
    """And others have another: by order, by text."""
    other = RuleList(LIST.rules, {"a@1": "Be long."})
    assert LIST.name == RuleList(tuple(LIST.rules), dict(LIST.texts)).name != other.name
