"""Search in a database: words that stand in many texts are ranked by the database, and the answer is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends import sql_index
from langchain_ctxguard.backends.store import migrate_store

WORDS = ("order late refund", "the order", "refund the order, the order", "退货单 order", "退款 late", "北京", "nothing here", "late late late order")
TEXTS = {f"{number:03}": f"{WORDS[number % len(WORDS)]} {number % 7} ORD-{number}" for number in range(120)}
QUERIES = ("order", "late order refund", "退货 order", "退", "the ORD-17", "zebra", "京", "the order the refund 退")


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_common_words_give_the_same_answer(kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read whole, or chosen by the database, or kept in memory: the same texts in the same order with the same scores."""
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path / 'ctx.db'}"
    else:
        url = request.getfixturevalue("postgres_url").replace("postgresql://", "postgresql+psycopg://", 1)
        migrate_store(url)
    with GuardStore.open(url) as store, GuardStore.open("memory://") as other:
        for opened in (store, other):
            opened.index.put("space", TEXTS)
            opened.index.put("another", {"x": "order late"})
        for query in QUERIES:
            whole = store.index.search("space", query, limit=4)
            with monkeypatch.context() as patch:
                patch.setattr(sql_index, "_READ", 0)
                chosen = store.index.search("space", query, limit=4)
            assert told(other.index.search("space", query, limit=4)) == told(whole) == told(chosen), query


def test_a_text_put_again_takes_the_place_of_the_former(tmp_path: Path) -> None:
    """Many at once, some of them new: the former words are gone, the others stay, and none is there twice."""
    with GuardStore.open(f"sqlite:///{tmp_path / 'ctx.db'}") as store:
        store.index.put("space", {f"k-{number}": "former words" for number in range(1_200)})
        store.index.put("space", {f"k-{number}": "newer words" for number in range(600, 1_800)})
        assert 600 == len(store.index.search("space", "former", limit=5_000))
        assert 1_200 == len(store.index.search("space", "newer", limit=5_000))
        assert 1_800 == len(store.index.search("space", "words", limit=5_000)) == store.index.purge("space")


def told(hits: list[Any]) -> list[tuple[str, float]]:
    """Keys and scores, the scores as far as they compare."""
    return [(hit.key, round(hit.score, 6)) for hit in hits]
