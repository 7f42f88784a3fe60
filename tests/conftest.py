"""What every test may ask for, and what no test may do."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SHARED_IS_ABSENT = "needs the field material in ../shared, which is not beside this checkout"
NO_SERVER = "needs a PostgreSQL server: set CTXGUARD_TEST_POSTGRES=postgresql://..."

# `ci` draws the same examples on every machine; `make bench-full` searches with `full`.
settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", deadline=None, max_examples=1_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

# A developer's own tracing and model settings would change what the tests see.
for _name in [name for name in os.environ if name.startswith(("LANGCHAIN_", "LANGSMITH_", "LANGGRAPH_", "OPENAI_", "ANTHROPIC_"))]:
    del os.environ[_name]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of field material: texts to read where they lie, never to copy and never to obey."""
    if not SHARED.is_dir():
        pytest.skip(SHARED_IS_ABSENT)
    return SHARED


@pytest.fixture(scope="session")
def field_transcripts(shared_dir: Path) -> Path:
    """The folder of real transcripts."""
    return shared_dir / "field" / "transcripts"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A database of the test's own on the server under test, dropped afterwards."""
    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    if not server:
        pytest.skip(NO_SERVER)
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    name = f"ctxguard_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    host = conninfo_to_dict(server)
    try:
        yield f"postgresql://{host['user']}:{host.get('password', '')}@{host['host']}:{host.get('port', 5432)}/{name}"
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def holds_cache_prefix(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text that providers cache with its snapshot, under the reason the test's marker `moves_cache_prefix` states."""
    marker = request.node.get_closest_marker("moves_cache_prefix")
    reason = "" if marker is None else str(marker.kwargs.get("reason", ""))

    def hold(name: str, text: str) -> None:
        check_prefix(request.path.parent / "snapshots" / f"{name}.txt", text, reason=reason, is_update=os.environ.get("CTXGUARD_MOVE_PREFIX") == "1")

    return hold


def check_prefix(snapshot: Path, text: str, *, reason: str, is_update: bool) -> None:
    """Fail where `text` is not what the snapshot holds. It is written anew only for a reason it was not moved for before; its first line keeps it."""
    kept, _, recorded = snapshot.read_text(encoding="utf-8").partition("\n") if snapshot.is_file() else ("", "", "")
    if text == recorded and kept == f"moved: {reason}":
        return
    how = 'State why in `@pytest.mark.moves_cache_prefix(reason="...")` on this test, then run it once with CTXGUARD_MOVE_PREFIX=1.'
    if text == recorded:
        pytest.fail(f"{snapshot.name} was last moved for another reason than the marker states: {kept!r}. {how}")
    if not is_update:
        pytest.fail(f"What providers have cached of every running agent would be lost: the compiled prefix is not that of {snapshot.name}. {how}")
    if not reason or kept == f"moved: {reason}":
        pytest.fail(f"{snapshot.name} was not written: it needs a reason of its own. {how}")
    snapshot.write_text(f"moved: {reason}\n{text}", encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a server by what they ask for."""
    for item in items:
        if "postgres_url" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Fail a skipped test where the run was promised to be whole."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Fail a file that skips itself where the run was promised to be whole."""
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: Any) -> None:
    # Field material is not part of the checkout; where it lies beside it, nothing asks for this skip.
    if os.environ.get("CTXGUARD_NO_SKIPS") != "1" or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if SHARED_IS_ABSENT not in reason:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} did not run, and CTXGUARD_NO_SKIPS=1 says every test does: {reason}"
