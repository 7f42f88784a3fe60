"""`ctxguard consents` and `ctxguard explain` look into a ledger that somebody else wrote, and write nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from langchain_ctxguard import ConsentLedger, GuardStore
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.domain.citation import GateReading, action_ref
from tests.support.consents import said


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a few words of one subject, and one call that cites them."""
    place = f"sqlite:///{tmp_path / 'ctx.db'}"
    with GuardStore.open(place) as store:
        ledger = ConsentLedger(store, surface="settings page")
        ledger.grant("retain_code", b'{"days": 1.0}', **said("u-1"))
        ledger.grant("send_mail", value=True, thread="t-1", expires_at=datetime.now(UTC) + timedelta(days=1), **said("u-1"))
        ledger.revoke("retain_code", **said("u-1"))
        read = ledger.reader().read("u-1", thread="t-1")
        body = {"thread": "t-1", "tool": "mail", "reading": GateReading.of(read).model_dump(mode="json")}
        store.log.append(store.stream("calls", "t-1"), [json.dumps(body).encode()], refs=[action_ref("c-1")])
    return place


def run(*arguments: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(build_app(), arguments)


def test_the_word_that_holds_is_listed(url: str) -> None:
    """With whether it is in force, for all threads or for one; values as they were given."""
    (line,) = run("consents", "list", url, "u-1").stdout.splitlines()
    assert ["retain_code", "revoked", "-", "not in force"] == line.split("\t")[:4]
    found = json.loads(run("consents", "list", url, "u-1", "--thread", "t-1", "--json").stdout)
    assert [("retain_code", False, None), ("send_mail", True, "true")] == [
        (one["field"], one["is_in_force"], one["value"]) for one in found["consents"]
    ]
    assert 3 == found["head"]["seq"]


def test_every_word_is_in_the_history(url: str) -> None:
    """Oldest first; of one field where it is named."""
    lines = run("consents", "history", url, "u-1").stdout.splitlines()
    assert ["granted", "granted", "revoked"] == [line.split("\t")[1] for line in lines]
    assert '{"days": 1.0}' in lines[0]
    found = json.loads(run("consents", "history", url, "u-1", "--field", "retain_code", "--json").stdout)["consents"]
    assert [("granted", '{"days": 1.0}', "settings page"), ("revoked", None, "settings page")] == [
        (one["status"], one["value"], one["surface"]) for one in found
    ]


def test_an_action_is_explained(url: str) -> None:
    """As text and as JSON; exit code 0 where the chain holds, 1 where nothing is on record."""
    told = run("explain", url, "c-1")
    assert (0, True) == (told.exit_code, "<- granted at" in told.stdout)
    document = json.loads(run("explain", url, "c-1", "--json").stdout)
    assert (True, ["u-1"]) == (document["holds"], [record["pii_principal_id"] for record in document["consent_records"]])
    unknown = run("explain", url, "c-2")
    assert (1, True) == (unknown.exit_code, "Nothing about 'c-2' is on record." in unknown.stdout)


def test_nobody_said_anything(url: str) -> None:
    """In a sentence, and without an error."""
    for command in ("list", "history"):
        done = run("consents", command, url, "u-9")
        assert (0, "Nobody recorded anything for 'u-9' in this store.\n") == (done.exit_code, done.stdout)


@pytest.mark.parametrize("command", [("consents", "list"), ("consents", "history"), ("explain",)])
def test_a_store_that_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path, command: tuple[str, ...]) -> None:
    """And none is made."""
    done = run(*command, f"sqlite:///{tmp_path / 'none.db'}", "x")
    assert (2, True) == (done.exit_code, done.stderr.startswith(f"ctxguard {' '.join(command)}: There is no file"))
    assert not (tmp_path / "none.db").exists()


def test_nothing_that_is_shown_moves_the_terminal(tmp_path: Path) -> None:
    """Escape sequences and line ends in names and values are written out."""
    place = f"sqlite:///{tmp_path / 'ctx.db'}"
    with GuardStore.open(place) as store:
        ConsentLedger(store).grant("a\x1b[2Jb\n", b'\n"x"', **said("u\x1b"))
    for arguments in (("list",), ("history",)):
        shown = run("consents", *arguments, place, "u\x1b").stdout
        assert ("\x1b" not in shown, 1) == (True, shown.count("\n"))
