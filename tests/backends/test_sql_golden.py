"""Databases that released versions left behind stay readable: one golden file for each schema, for SQLite and PostgreSQL.

When `SCHEMA_VERSION` is raised, the files of the versions before stay as they are, and new ones are written with

    python -m tests.backends.test_sql_golden FOLDER [POSTGRESQL-URL]

which leaves `store-vN.db`, and in the PostgreSQL database what `pg_dump --inserts --no-owner --no-privileges` makes `store-vN.sql` of.
"""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from langchain_ctxguard.backends.sql_schema import SCHEMA_VERSION
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.anchor import Anchor

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
VERSIONS = sorted(int(path.stem.removeprefix("store-v")) for path in GOLDEN.glob("store-v*.db"))
MOMENT = datetime(2026, 6, 1, 12, 0, 0, 123456, tzinfo=UTC)
BODIES = [
    b'{"price":1.0,"a":1e2}',
    b'{"count":9223372036854775808}',
    '{"text":"绝不删除订单。","name":"cafe\u0301"}'.encode(),
    b"a\r\nb",
    b"\xed\xa0\x80\x00",
]
KEYS = ["user-1", "C:\\orders", "线程", "nul\x00", "half\ud800"]
TEXTS = [b"Never delete an order.", "绝不删除订单。".encode()]


def write(store: GuardStore) -> None:
    """Write what every golden file holds."""
    for number, key in enumerate(KEYS):
        store.log.append(store.stream("consents", key), BODIES[: number + 1], refs=["retention", key])
    store.blobs.put("thread-1", TEXTS)
    store.blobs.put("thread-1", [b"cipher"], addresses=["keyed:1"])
    store.index.put("thread-1", {f"m{number}": text.decode() for number, text in enumerate(TEXTS)})


def ticking() -> datetime:
    """Return a moment that is later each time."""
    ticking.count += 1  # type: ignore[attr-defined]  # counted on the function itself
    return MOMENT + timedelta(seconds=ticking.count)  # type: ignore[attr-defined]


ticking.count = 0  # type: ignore[attr-defined]


def check(store: GuardStore, anchor: Anchor) -> None:
    """Assert that a store holds what `write` wrote, as it was when the anchor was taken, and takes more."""
    assert [BODIES[: number + 1] for number in range(len(KEYS))] == [
        [entry.body for entry in store.log.read(store.stream("consents", key))] for key in KEYS
    ]
    assert [] == store.verify(anchor)
    assert (15, [5] * 5) == (len(store.log.find("retention")), [len(store.log.find(KEYS[-1]))] * 5)
    addresses = store.blobs.put("thread-1", TEXTS)
    assert [*TEXTS, b"cipher"] == list(store.blobs.get("thread-1", [*addresses, "keyed:1"]).values())
    assert (["m1"], ["m0"]) == tuple([hit.key for hit in store.index.search("thread-1", query)] for query in ("订单", "order"))
    store.log.append(store.stream("consents", KEYS[0]), [b"{}"], expected=1)
    assert [] == store.verify(anchor)


def anchor_of(version: int) -> Anchor:
    return Anchor.from_json((GOLDEN / f"store-v{version}.anchor.json").read_text(encoding="utf-8"))


def test_there_is_a_golden_file_of_every_version() -> None:
    """A schema is not released without one."""
    assert list(range(1, SCHEMA_VERSION + 1)) == VERSIONS
    assert all((GOLDEN / f"store-v{version}.sql").is_file() for version in VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sqlite_file_of_every_version_is_read(version: int, tmp_path: Path) -> None:
    """Brought up to date where it is older, it holds what was written, byte for byte, and verifies."""
    url = f"sqlite:///{shutil.copy(GOLDEN / f'store-v{version}.db', tmp_path)}"
    assert (version, SCHEMA_VERSION) == migrate_store(url)
    with GuardStore.open(url) as store:
        check(store, anchor_of(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_postgresql_dump_of_every_version_is_read(version: int, postgres_url: str) -> None:
    """Restored and brought up to date, it holds what was written, byte for byte, and verifies."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute((GOLDEN / f"store-v{version}.sql").read_bytes())
    assert (version, SCHEMA_VERSION) == migrate_store(postgres_url)
    with GuardStore.open(postgres_url) as store:
        check(store, anchor_of(version))


if __name__ == "__main__":
    folder, urls = Path(sys.argv[1]).resolve(), sys.argv[2:]
    for target in [f"sqlite:///{folder}/store-v{SCHEMA_VERSION}.db", *urls]:
        ticking.count = 0  # type: ignore[attr-defined]
        migrate_store(target)
        with GuardStore.open(target, clock=ticking) as made:
            write(made)
            (folder / f"store-v{SCHEMA_VERSION}.anchor.json").write_text(made.anchor().to_json() + "\n", encoding="utf-8")
