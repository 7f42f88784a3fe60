"""What PostgreSQL refuses an agent's role: consents and rules, whatever the process that has its URL tries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from langchain_ctxguard import ConsentLedger, ConsentReader, ConstraintRegistry, GuardStore
from langchain_ctxguard.backends.agent_store import ENFORCEMENT, WITHHELD
from langchain_ctxguard.backends.sql_roles import role_statements
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.errors import ConfigurationError, LogTamperedError, StoreError
from langchain_ctxguard.report.recorder import ReportRecorder
from langchain_ctxguard.testing.conformance import check_blobs, check_log
from tests.backends.guard_process import attempts
from tests.support.reported import small_thread

ROOT = Path(__file__).resolve().parents[2]


class Roles(NamedTuple):
    """One database as each role reaches it."""

    owner: str
    agent: str
    writer: str
    reader: str
    tool: str


@pytest.fixture
def roles(postgres_url: str) -> Iterator[Roles]:
    """A database whose rights are split by the statements that `ctxguard migrate --roles` prints."""
    import psycopg

    migrate_store(postgres_url)
    mark = postgres_url.rpartition("_")[2][:12]
    names = {role: f"{role} {mark}" for role in ("agent", "writer", "reader", "tool")}
    options = [part for role, name in names.items() for part in (f"--{role}-role", name)]
    printed = CliRunner().invoke(build_app(), ["migrate", "--roles", *options])
    assert 0 == printed.exit_code, printed.stderr
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        for name in names.values():
            owner.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'pw'".encode())
        # Twice: running them again changes nothing.
        owner.execute(printed.stdout.encode())
        owner.execute(printed.stdout.encode())
    where = postgres_url.rpartition("@")[2]
    yield Roles(postgres_url, *(f"postgresql://{name.replace(' ', '%20')}:pw@{where}" for name in names.values()))
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        for name in names.values():
            owner.execute(f'DROP OWNED BY "{name}"'.encode())
            owner.execute(f'DROP ROLE "{name}"'.encode())


def guard_process(consents_url: str) -> dict[str, Any]:
    """Run a guard in a process that has this URL and nothing else."""
    environment = {name: value for name, value in os.environ.items() if "POSTGRES" not in name} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).with_name("guard_process.py")), consents_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def granted(url: str) -> None:
    """Let the consent surface record a grant."""
    with GuardStore.open(url) as store:
        ConsentLedger(store, surface="settings").grant("send_mail", value=True, subject="u-1", basis="consent", recorded_by="u-1")


def test_a_guard_with_only_the_readers_url_reads_and_cannot_write(roles: Roles) -> None:
    """It sees the grant, and the server refuses every way of writing one, or anything else."""
    granted(roles.writer)
    found = guard_process(roles.reader)
    assert (True, True) == (found["is_true"], found["still_true"])
    assert dict.fromkeys(("grant", "revoke", "append", "rule", "audit"), True) == {
        name: "StoreError" in ended and "permission denied" in ended for name, ended in found["ends"].items()
    }


def test_an_agents_role_writes_its_records_and_no_authority(roles: Roles) -> None:
    """Audit entries are written; consents, rules and raw entries of their streams are refused by the server."""
    granted(roles.writer)
    found = attempts(roles.agent)
    assert "written" == found.pop("audit")
    assert dict.fromkeys(("grant", "revoke", "append", "rule"), True) == {
        name: "StoreError" in ended and "row-level security" in ended for name, ended in found.items()
    }
    with GuardStore.open(roles.reader) as store:
        assert ConsentReader(store).read("u-1").is_true("send_mail")
        assert [] == store.verify()
        assert [1, 0, 0] == store.log.heads([store.stream("consents", "u-1"), store.stream("consents", "u-2"), store.stream("constraints", "global")])


def test_a_tools_role_agrees_to_no_call_and_takes_from_no_budget(roles: Roles) -> None:
    """Approvals, budgets, standing state and usage are refused by the server, as consents are; a guard with the agent's role writes them."""
    with GuardStore.open(roles.agent) as store:
        for kind in sorted(ENFORCEMENT):
            store.log.append(store.stream(kind, "t-1"), [b"{}"])
    with GuardStore.open(roles.tool) as store:
        for kind in sorted(WITHHELD):
            with pytest.raises(StoreError, match="row-level security"):
                store.log.append(store.stream(kind, "t-1"), [b"{}"])
        store.log.append(store.stream("audit", "t-1"), [b"{}"])
        (address,) = store.blobs.put("t-1", [b"x"])
        with pytest.raises(StoreError, match="permission denied"):
            store.blobs.drop("t-1", [address])
        assert 1 == store.log.heads([store.stream("approvals", "t-1")])[0]


def test_the_writers_role_records_consents_and_rules(roles: Roles) -> None:
    """Those of the surface where people consent, and of whoever changes rules."""
    granted(roles.writer)
    with GuardStore.open(roles.writer) as store:
        ConsentLedger(store).revoke("send_mail", subject="u-1", basis="asked to", recorded_by="u-1")
        ConstraintRegistry(store.log).writer("system", by="ops").declare(Constraint(constraint_id="r-1", text="Never."), "policy")
    with GuardStore.open(roles.reader) as store:
        assert not ConsentReader(store).read("u-1").is_true("send_mail")
        assert ["r-1"] == [rule.constraint_id for rule in ConstraintRegistry(store.log).in_force()]


def test_a_stream_under_a_false_name_is_no_way_around(roles: Roles) -> None:
    """The agent's role cannot make a stream that is found by the address of consents and shown as something else."""
    import psycopg

    with GuardStore.open(roles.agent) as store:
        address = store.stream("consents", "u-9").address
    forged = f"INSERT INTO ctxguard_streams (address, tenant, kind, key) VALUES ('\\x{address}', 'default', 'audit', 'u-9')"  # noqa: S608 - a digest
    with psycopg.connect(roles.agent) as agent, pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        agent.execute(forged.encode())
    # Where an owner does it, whoever reads or writes the stream is told.
    with psycopg.connect(roles.owner, autocommit=True) as owner:
        owner.execute(forged.encode())
    with GuardStore.open(roles.writer) as store:
        ledger = ConsentLedger(store)
        with pytest.raises(LogTamperedError, match="its names are not those of its address"):
            ledger.reader().read("u-9")
        with pytest.raises(LogTamperedError):
            ledger.revoke("send_mail", subject="u-9", basis="asked to", recorded_by="u-9")


def test_an_agents_role_cannot_stand_in_the_way_of_a_consent(roles: Roles) -> None:
    """Lines of the index that point into a stream of consents are refused: one would keep the next entry from being written."""
    import psycopg

    granted(roles.writer)
    line = "INSERT INTO ctxguard_refs SELECT '\\x00', '\\x00', id, 2 FROM ctxguard_streams WHERE kind = 'consents'"
    with psycopg.connect(roles.agent) as agent, pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        agent.execute(line.encode())
    another = "INSERT INTO ctxguard_meta VALUES ('schema_version_2', '9')"
    with psycopg.connect(roles.agent) as agent, pytest.raises(psycopg.errors.InsufficientPrivilege):
        agent.execute(another.encode())


def test_an_agents_role_keeps_the_contract_of_log_and_blobs(roles: Roles) -> None:
    """Whatever the names of its streams are made of, but for half a surrogate pair: of that the server can make no digest."""
    with GuardStore.open(roles.agent) as store:
        assert ["streams_are_told_apart_by_their_whole_name"] == list(check_log(store.log).failed)
        check_blobs(store.blobs).raise_for_failures()
        for key in ('"', "\\", "\\u005c", "a/b", "\x7f", "\x01\n\t\r\b\f", "'", "\x00", "a\x00\\u0000\\", '\n\\"\\\\', "é\u2028🙂"):
            store.log.append(store.stream("audit", key), [b"{}"])


def test_every_role_is_one_of_its_own() -> None:
    """One role for two of them would split nothing."""
    with pytest.raises(ConfigurationError, match="a name of its own each"):
        role_statements(agent="a", writer="a", reader="b")
    with pytest.raises(ConfigurationError, match="a name of its own each"):
        role_statements(agent="", writer="a", reader="b")
    with pytest.raises(ConfigurationError, match="a name of its own each"):
        role_statements(agent="a", writer="b", reader="c", tool="c")


def test_a_report_is_read_by_the_readers_role_and_its_model_calls_are_written_by_the_agents(roles: Roles) -> None:
    """Whoever looks at a thread needs no right to write, and the recorder of a guard none but the guard's."""
    with GuardStore.open(roles.owner) as store:
        small_thread(store)
    with GuardStore.open(roles.agent) as store, ReportRecorder(store) as recorder:
        recorder.record(PrefixReport(prefix_fingerprint="0" * 32, serializer_version=1, tokens=77).model_copy(update={"thread": "order-1042"}))
    done = CliRunner().invoke(build_app(), ["report", "order-1042", "--store", roles.reader])
    assert 0 == done.exit_code, done.stderr
    assert "Approved by eve (finance) through console" in done.stdout
    assert "granted" in done.stdout
    assert "| 23 | 77 |" in done.stdout
