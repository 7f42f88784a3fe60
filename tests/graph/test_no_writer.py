"""Nothing an agent's code can reach by public names writes a consent or a rule: guard, nodes, verifier, tools and store are walked through."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel

from langchain_ctxguard import (
    CompactContext,
    ConsentLedger,
    ContextGuard,
    ContextVerifier,
    FieldStore,
    GuardStore,
    PinConstraints,
    RollbackContext,
    VerifyContext,
    guard_tools,
)
from langchain_ctxguard.backends.agent_store import WITHHELD, AgentStore
from langchain_ctxguard.errors import ConfigurationError, StoreError
from langchain_ctxguard.records.approvals import ApprovalLog
from langchain_ctxguard.records.budgets import BudgetLog
from langchain_ctxguard.records.call_records import calls_space
from langchain_ctxguard.records.consent_streams import space_of
from langchain_ctxguard.records.constraint_writer import ConstraintWriter
from langchain_ctxguard.records.constraints import ConstraintReader, ConstraintRegistry
from tests.support.consents import said

KINDS = sorted(WITHHELD)
CONFIG: Any = {"configurable": {"thread_id": "t-1"}}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store in memory, which has one connection, and one in a file, which has several."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'ctxguard.db'}"
    with GuardStore.open(url) as opened:
        ConsentLedger(opened).grant("send_mail", value=True, **said("u-1"))
        yield opened


def reachable(root: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything that public attributes lead to, with the path."""
    seen: set[int] = set()
    waiting = [("it", root)]
    while waiting:
        path, item = waiting.pop()
        if id(item) in seen or isinstance(item, str | bytes | int | float | type(None) | type) or inspect.ismodule(item):
            continue
        seen.add(id(item))
        yield path, item
        if isinstance(item, list | tuple | set | frozenset):
            waiting += [(f"{path}[]", inner) for inner in item]
        elif isinstance(item, dict):
            waiting += [(f"{path}[{name!r}]", inner) for name, inner in item.items()]
        if isinstance(item, BaseModel) or not type(item).__module__.startswith("langchain_ctxguard"):
            # Frozen values, and what the application gave.
            continue
        for name in dir(item):
            if not name.startswith("_"):
                try:
                    waiting.append((f"{path}.{name}", getattr(item, name)))
                except Exception:  # noqa: BLE001, S112 - a property that does not work here leads nowhere
                    continue


def roots(store: GuardStore) -> dict[str, Any]:
    """Return what an application hands to agents."""
    guard = ContextGuard(store=store, trigger=None)
    return {
        "guard": guard,
        "twin": guard.replacing_summarizer(),
        "store": guard.store,
        "history": guard.history(CONFIG),
        "consents": guard.consents,
        "verifier": ContextVerifier(guard),
        "compact": CompactContext(guard),
        "pin": PinConstraints(guard),
        "verify": VerifyContext(guard),
        "rollback": RollbackContext(guard),
        "hook": guard.pre_model_hook,
        "fields": FieldStore(guard.store, subject="u-1") if guard.store is not None else None,
        "gate": guard.gate,
        "tool": type(guard.tools([pay])[0]),
    }


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.mark.parametrize(
    "name", ["guard", "twin", "store", "history", "consents", "verifier", "compact", "pin", "verify", "rollback", "hook", "fields", "gate", "tool"]
)
def test_no_public_attribute_leads_to_a_writer(store: GuardStore, name: str) -> None:
    """Neither a ledger, nor a writer of rules, nor what keeps approvals and budgets, nor a log or blobs that take theirs."""
    before = store.log.heads([store.stream(kind, "u-1") for kind in KINDS])
    found = 0
    root = roots(store)[name]
    for path, item in reachable(root.ctxguard_gate if name == "tool" else root):
        found += 1
        assert not isinstance(item, ConsentLedger | ConstraintWriter | ConstraintRegistry | ApprovalLog | BudgetLog), path
        assert not isinstance(item, GuardStore) or isinstance(item, AgentStore), path
        bound = getattr(item, "__self__", None)
        assert bound is None or bound is not store.log, path
        if callable(getattr(item, "append", None)) and hasattr(item, "heads"):
            for kind in KINDS:
                with pytest.raises(StoreError, match="agent's view"):
                    item.append(store.stream(kind, "u-1"), [b"{}"])
        if callable(getattr(item, "purge_space", None)):
            for attempt in (
                lambda item=item: item.purge_space(space_of("u-1")),
                lambda item=item: item.put(space_of("u-1"), [b"x"]),
                lambda item=item: item.purge_space(calls_space("t-1")),
                lambda item=item: item.put(calls_space("t-1"), [b"x"]),
                lambda item=item: item.copy_space(space_of("u-1"), "elsewhere"),
                lambda item=item: item.copy_space("elsewhere", space_of("u-1")),
            ):
                with pytest.raises(StoreError, match="agent's view"):
                    attempt()
        if hasattr(item, "log") and hasattr(item, "blobs"):
            with pytest.raises(ConfigurationError, match="no agent writes consents"):
                ConsentLedger(item)
            with pytest.raises(ConfigurationError, match="no agent writes rules"):
                ConstraintRegistry(item.log).writer("system", by="the agent")
    assert found
    assert before == store.log.heads([store.stream(kind, "u-1") for kind in KINDS])


def test_the_walk_finds_a_writer_where_there_is_one(store: GuardStore) -> None:
    """Or it would prove nothing."""

    class Careless:
        __module__ = "langchain_ctxguard.careless"

        def __init__(self) -> None:
            self.inside = [store]
            self.ledger = ConsentLedger(store)
            self.registry = ConstraintReader(store.log)

    assert any(isinstance(item, ConsentLedger) for _, item in reachable(Careless()))


def test_an_agents_view_does_everything_else(store: GuardStore) -> None:
    """Reading consents and rules, keeping versions, texts and findings: as the store itself."""
    view = ContextGuard(store=store, trigger=None).store
    assert view is not None
    stream = view.stream("audit", "t-1")
    view.log.append(stream, [b"{}"], refs=["here"])
    view.index.put("t", {"a": "one"})
    (address,) = view.blobs.put("t", [b"x"])
    assert view.log.read(stream) == view.log.find("here") == store.log.read(stream)
    assert ([1], 1, {address: b"x"}, 1, 1) == (
        view.log.heads([view.stream("consents", "u-1")]),
        len(view.log.read(view.stream("consents", "u-1"))),
        view.blobs.get("t", [address]),
        view.blobs.copy_space("t", "t-2"),
        view.blobs.purge_space("t"),
    )
    assert ([], store.is_durable, store.tenant, store.limits) == (view.verify(view.anchor()), view.is_durable, view.tenant, view.limits)
    view.close()
    assert [1] == store.log.heads([stream])


def test_a_guard_is_not_made_over_an_agents_view(store: GuardStore) -> None:
    """It could reserve and ask nothing, and would deny every call: said when it is made. Consents can be read through one."""
    view = ContextGuard(store=store, trigger=None).store
    with pytest.raises(ConfigurationError, match="takes none"):
        ContextGuard(store=view, trigger=None)
    with pytest.raises(ConfigurationError, match="takes none"):
        guard_tools([pay], {"default": "allow"}, store=view)
    reader: Any = ContextGuard(consents=view, trigger=None).consents
    assert reader.read("u-1").is_true("send_mail")


def test_a_registry_of_the_application_writes_while_a_guard_reads(store: GuardStore) -> None:
    """What the view refuses, whoever opened the store still does."""
    from langchain_ctxguard import Constraint

    guard = ContextGuard(store=store, trigger=None)
    ConstraintRegistry(store.log).writer("system", by="ops").declare(Constraint(constraint_id="r-1", text="Never."), "policy")
    assert ["r-1"] == [rule.constraint_id for rule in guard.rules()]


def test_the_guards_reader_has_connections_of_its_own(store: GuardStore) -> None:
    """In a database they write nothing, whoever gets hold of them; guards of one store share them, and they close with it."""
    guard = ContextGuard(store=store, trigger=None)
    reader: Any = guard.consents
    assert reader.read("u-1").is_true("send_mail")
    inner = reader._streams._log._log
    if store.is_durable:
        assert inner is not store.log
        with pytest.raises(StoreError, match="was opened for reading"):
            inner.append(store.stream("audit", "t-1"), [b"{}"])
    guard.close()
    assert reader.read("u-1").is_true("send_mail")
    assert store.for_reading() is store.for_reading()
    store.close()
    if store.is_durable:
        with pytest.raises(StoreError, match="was closed"):
            reader.read("u-1")
        with pytest.raises(StoreError, match="was closed"):
            store.for_reading()


def test_a_guard_closes_what_it_opened(tmp_path: Path) -> None:
    """Its store, and the connections of its reader with it."""
    guard = ContextGuard(store=f"sqlite:///{tmp_path / 'own.db'}", trigger=None)
    reader: Any = guard.consents
    assert not reader.read("u-1").entries
    guard.close()
    with pytest.raises(StoreError, match="was closed"):
        reader.read("u-1")


def test_a_file_opened_for_reading_refuses_to_be_written(tmp_path: Path) -> None:
    """The database itself, and not only the code above it."""
    with GuardStore.open(f"sqlite:///{tmp_path / 'x.db'}") as store:
        database: Any = store.for_reading()._database
        with pytest.raises(StoreError, match="readonly"), database.reading() as connection:
            connection.exec_driver_sql("INSERT INTO ctxguard_meta VALUES ('a', 'b')")


@pytest.mark.parametrize("given", ["ledger", "reader", "store", "url"])
def test_a_guard_takes_consents_in_any_form_and_keeps_a_reader(store: GuardStore, tmp_path: Path, given: str) -> None:
    """Given a ledger, it keeps what reads; given a URL, it closes what it opened."""
    url = f"sqlite:///{tmp_path / 'other.db'}"
    with GuardStore.open(url) as other:
        ledger = ConsentLedger(other)
        ledger.grant("code", value=True, **said("u-1"))
        forms: dict[str, Any] = {"ledger": ledger, "reader": ledger.reader(), "store": other, "url": url}
        guard = ContextGuard(store=store, consents=forms[given], trigger=None)
        assert guard.consents is not None
        assert not isinstance(guard.consents, ConsentLedger)
        read = guard.consents.read("u-1")
        assert (True, False) == (read.is_true("code"), read.is_true("send_mail"))
        guard.close()
        assert ledger.reader().read("u-1").is_true("code")


def test_without_a_store_there_is_no_ledger() -> None:
    """And nothing is granted: `None` says so."""
    assert ContextGuard(trigger=None).consents is None
    with pytest.raises(ConfigurationError):
        ContextGuard(trigger=None, consents=object())  # type: ignore[arg-type]  # the mistake that is tested
