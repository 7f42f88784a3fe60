"""The registry of rules: what it says is in force, and who may change it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.domain.constraint import Authority, Constraint, Place, Scope
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.errors import ConfigurationError, LogConflictError, StoreError
from langchain_ctxguard.records.constraint_events import Exempted, Revoked, Superseded, encode
from langchain_ctxguard.records.constraint_streams import scope_key, scope_keys
from langchain_ctxguard.records.constraints import ConstraintReader, ConstraintRegistry

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
GLOBAL = Stream(kind="constraints", key="global")
THREAD = Scope(kind="thread", value="t-1")


class Clock:
    """A clock that stands until it is set."""

    now = NOW

    def __call__(self) -> datetime:
        return self.now


class CountingLog(MemoryLog):
    """A log that counts what it is asked."""

    def __init__(self) -> None:
        """Begin empty, with nothing asked."""
        super().__init__(clock=lambda: NOW)
        self.asked: list[str] = []

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        self.asked.append("heads")
        return super().heads(streams)

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        self.asked.append(f"read {stream.key} since {since}")
        return super().read(stream, since)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock) -> MemoryLog:
    return MemoryLog(clock=clock)


@pytest.fixture
def registry(log: MemoryLog, clock: Clock) -> ConstraintRegistry:
    return ConstraintRegistry(log, clock=clock)


def rule(reference: str = "a@1", text: str | None = None, **fields: Any) -> Constraint:
    name, _, version = reference.partition("@")
    return Constraint.model_validate({"constraint_id": name, "version": int(version or 1), "text": text or f"rule {reference}", **fields})


def in_force(registry: ConstraintReader, place: Place | None = None) -> list[str]:
    return [found.reference for found in registry.in_force(place)]


def test_an_empty_registry_has_no_rules(registry: ConstraintRegistry) -> None:
    """Nothing declared is nothing in force, with no history."""
    assert ((), (), (0,)) == (registry.in_force(), registry.history("a"), registry.heads())


def test_a_declared_rule_is_in_force_at_once_for_every_reader(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """A rule declared in one place is in the very next answer of every other, word for word."""
    other = ConstraintReader(log, clock=lambda: NOW)
    assert [] == in_force(other)
    text = "绝不删除订单。\r\n  two  blanks, a pair \U0001f600, e\u0301 "
    declared = registry.writer("system", by="ops").declare(rule(text=text), "order 4711 was lost")
    assert (declared,) == other.in_force() == registry.reader().in_force()
    assert text == other.in_force()[0].text


def test_what_nobody_said_is_filled_in(registry: ConstraintRegistry) -> None:
    """Who declared a rule and when is on record; a source that was given stays."""
    first = registry.writer("system", by="ops").declare(rule("a"), "new")
    second = registry.writer("system", by="ops").declare(rule("b", source={"type": "file", "ref": "AGENTS.md"}), "new")
    assert ("registry", "ops", NOW) == (first.source.type, first.source.ref, first.created_at)
    assert ("file", "AGENTS.md") == (second.source.type, second.source.ref)


def test_a_superseded_version_is_never_visible_again(registry: ConstraintRegistry, clock: Clock) -> None:
    """Only the new version is in force, even after it expired; the history keeps both, with their reasons."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a@1"), "first")
    writer.supersede(rule("a@2", supersedes="a@1", expires_at=NOW + timedelta(days=1)), "clearer")
    assert ["a@2"] == in_force(registry)
    clock.now += timedelta(days=2)
    assert [] == in_force(registry)
    assert [("declared", "first"), ("superseded", "clearer")] == [(change.event.type, change.event.reason) for change in registry.history("a")]


def test_a_rule_may_be_replaced_by_one_of_another_name(registry: ConstraintRegistry) -> None:
    """Both names lead to the change."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a"), "first")
    writer.supersede(rule("b", supersedes="a@1"), "renamed")
    assert ["b@1"] == in_force(registry)
    assert registry.history("b")[-1] == registry.history("a")[-1]


def test_a_revoked_rule_is_gone_and_its_number_is_not_used_again(registry: ConstraintRegistry) -> None:
    """It may be declared anew under a higher number."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a@3"), "first")
    writer.revoke("a", "no longer true")
    assert [] == in_force(registry)
    with pytest.raises(StoreError, match=r"'a@3' is no new version: 'a' is at 3\. Nothing was written; use 4 or above"):
        writer.declare(rule("a@3"), "again")
    writer.declare(rule("a@4"), "again")
    assert ["a@4"] == in_force(registry)


def test_an_exemption_ends_by_itself(registry: ConstraintRegistry, clock: Clock) -> None:
    """A rule rests until the moment named, and says by whom and why."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule(), "first")
    writer.exempt("a", "repair of order 4711", NOW + timedelta(hours=1))
    assert [] == in_force(registry)
    assert [("ops", "repair of order 4711")] == [(item.by, item.reason) for item in registry.exemptions()]
    clock.now += timedelta(hours=1)
    assert (["a@1"], ()) == (in_force(registry), registry.exemptions())


def test_an_exemption_of_one_thread_is_no_other_threads(registry: ConstraintRegistry) -> None:
    """A scope bounds it."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule(), "first")
    writer.exempt("a", "repair", NOW + timedelta(hours=1), THREAD)
    assert ([], ["a@1"]) == (in_force(registry, Place(thread="t-1")), in_force(registry, Place(thread="t-2")))


def test_a_new_version_ends_an_exemption(registry: ConstraintRegistry) -> None:
    """A security update takes effect although its predecessor was exempted: the new text was exempted by nobody."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a@1"), "first")
    writer.exempt("a", "repair", NOW + timedelta(hours=1))
    writer.supersede(rule("a@2", supersedes="a@1"), "incident")
    assert (["a@2"], ()) == (in_force(registry), registry.exemptions())


def test_an_inferred_rule_is_confirmed_with_the_writers_authority(registry: ConstraintRegistry) -> None:
    """What was heard becomes a rule of who confirms it; where it was heard stays on record."""
    heard = rule("no-email", "以后不要发邮件", authority="inferred", source={"type": "message", "ref": "m-7"}, scope=THREAD)
    confirmed = registry.writer("user", by="ann").confirm(heard, "asked and answered")
    assert (Authority.USER, "m-7", "以后不要发邮件") == (confirmed.authority, confirmed.source.ref, confirmed.text)
    assert (["no-email@1"], []) == (in_force(registry, Place(thread="t-1")), in_force(registry))
    assert "no-email@1" == registry.history("no-email")[0].event.inferred  # type: ignore[union-attr]  # a Confirmed


def test_confirming_goes_on_counting(registry: ConstraintRegistry) -> None:
    """A rule that was confirmed, revoked and confirmed again has a new number."""
    writer = registry.writer("user", by="ann")
    heard = rule("x", authority="inferred")
    writer.confirm(heard, "yes")
    writer.revoke("x", "no longer")
    assert "x@2" == writer.confirm(heard, "yes, again").reference


@pytest.mark.parametrize("authority", list(Authority)[1:])
def test_nobody_writes_above_their_own_authority(registry: ConstraintRegistry, log: MemoryLog, authority: Authority) -> None:
    """A writer can neither declare, replace, revoke nor exempt from a rule above it; nothing is written."""
    above = list(Authority)[authority.rank - 1]
    registry.writer(above, by="boss").declare(rule("a", authority=above), "first")
    writer = registry.writer(authority, by="ann")
    attempts = [
        lambda: writer.declare(rule("b", authority=above), "mine"),
        lambda: writer.supersede(rule("a@2", authority=authority, supersedes="a@1"), "mine"),
        lambda: writer.revoke("a", "mine"),
        lambda: writer.exempt("a", "mine", NOW + timedelta(hours=1)),
    ]
    for attempt in attempts:
        with pytest.raises(StoreError, match=f"'ann' has authority '{authority}' and may not .*'{above}'.*\n?.*Nothing was written"):
            attempt()
    assert ([1], ["a@1"]) == (log.heads([GLOBAL]), in_force(registry))


def test_an_id_cannot_be_taken_over_from_above(registry: ConstraintRegistry) -> None:
    """A name the system used is not the user's once it is free."""
    boss = registry.writer("system", by="boss")
    boss.declare(rule("a"), "first")
    boss.revoke("a", "done")
    with pytest.raises(StoreError, match="The id 'a' belongs to authority 'system'"):
        registry.writer("user", by="ann").declare(rule("a@2", authority="user"), "mine")


def test_a_rule_is_not_replaced_by_a_weaker_one(registry: ConstraintRegistry) -> None:
    """Even its owner has to revoke it: a successor of lower authority would relax it unseen."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule(), "first")
    with pytest.raises(StoreError, match=r"'a@2' \(user\) has a lower authority than 'a@1' \(system\)"):
        writer.supersede(rule("a@2", authority="user", supersedes="a@1"), "weaker")


@pytest.mark.parametrize("reason", ["", " ", "\n\u3000"])
def test_every_change_names_its_reason(registry: ConstraintRegistry, log: MemoryLog, reason: str) -> None:
    """An empty reason is refused and leaves nothing behind."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule(), "first")
    for attempt in (
        lambda: writer.declare(rule("b"), reason),
        lambda: writer.supersede(rule("a@2", supersedes="a@1"), reason),
        lambda: writer.revoke("a", reason),
        lambda: writer.exempt("a", reason, NOW + timedelta(hours=1)),
        lambda: writer.confirm(rule("c", authority="inferred"), reason),
    ):
        with pytest.raises(StoreError, match="names its reason"):
            attempt()
    assert [1] == log.heads([GLOBAL])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda writer: writer.declare(rule("a@2"), "x"), "'a@1' stands in the global scope already. Nothing was written; `supersede` it"),
        (lambda writer: writer.declare(rule("a@2", scope=THREAD), "x"), "'a@1' stands in the global scope already"),
        (lambda writer: writer.declare(rule("b", supersedes="a@1"), "x"), "use `supersede`"),
        (lambda writer: writer.declare(rule("b", expires_at=NOW), "x"), "'b@1' expired at 2026-06-01T12:00:00.* it would never hold"),
        (lambda writer: writer.supersede(rule("a@2"), "x"), "does not say which rule it supersedes"),
        (lambda writer: writer.supersede(rule("b", supersedes="z@1"), "x"), "'z@1' is not in force: no such rule was ever declared"),
        (lambda writer: writer.supersede(rule("a@3", supersedes="a@2"), "x"), "'a@2' is not in force: its newest version is 1"),
        (lambda writer: writer.supersede(rule("a@1", supersedes="a@1"), "x"), "'a@1' is no new version: 'a' is at 1"),
        (lambda writer: writer.supersede(rule("a@2", supersedes="a@1", scope=THREAD), "x"), "would hold in thread 't-1'"),
        (lambda writer: writer.revoke("z", "x"), "'z' is not in force: no such rule was ever declared"),
        (lambda writer: writer.exempt("z", "x", NOW + timedelta(1)), "'z' is not in force"),
        (lambda writer: writer.exempt("a", "x", NOW), "a moment in the future"),
        (lambda writer: writer.exempt("a", "x", datetime(2030, 1, 1)), "with its time zone"),  # noqa: DTZ001 - the fault
        (lambda writer: writer.confirm(rule("b"), "x"), "confirming makes an inferred rule one of a person's authority"),
        (lambda writer: writer.confirm(rule("a", authority="inferred"), "x"), "'a@1' stands in the global scope already"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(registry: ConstraintRegistry, log: MemoryLog, change: Any, message: str) -> None:
    """The message says what stands and what to do."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule(), "first")
    with pytest.raises(StoreError, match=message):
        change(writer)
    assert ([1], ["a@1"]) == (log.heads([GLOBAL]), in_force(registry))


def test_an_expired_rule_makes_room_for_a_new_version(registry: ConstraintRegistry, clock: Clock) -> None:
    """It need not be revoked first."""
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a@1", expires_at=NOW + timedelta(hours=1)), "for an hour")
    clock.now += timedelta(hours=2)
    writer.declare(rule("a@2"), "for good")
    assert ["a@2"] == in_force(registry)


def test_a_writer_has_a_known_authority_and_a_name(registry: ConstraintRegistry) -> None:
    """Nobody writes as nobody."""
    with pytest.raises(ConfigurationError, match="'root' is no authority; use system, organization, task, user, inferred"):
        registry.writer("root", by="ops")
    with pytest.raises(ConfigurationError, match="`by` is empty"):
        registry.writer("system", by=" ")


def test_a_reader_cannot_write(registry: ConstraintRegistry) -> None:
    """What guards and tools hold has no way to a writer."""
    assert not hasattr(registry.reader(), "writer")


class MeetingLog(MemoryLog):
    """A log whose writers all wait for each other, each having read, before any of them writes."""

    def __init__(self, writers: int) -> None:
        """Wait for this many."""
        super().__init__()
        self.meeting = threading.Barrier(writers)

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        self.meeting.wait(timeout=10)
        return super().append(stream, bodies, expected=expected, refs=refs)


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b")])
def test_of_two_writers_at_once_the_second_is_told(names: tuple[str, str]) -> None:
    """Both read the same state; one writes, the other gets a LogConflictError and has written nothing."""
    registry = ConstraintRegistry(MeetingLog(2))
    outcomes: list[object] = []

    def declare(name: str, text: str) -> None:
        try:
            outcomes.append(registry.writer("system", by=text).declare(rule(name, text), "race").text)
        except LogConflictError as error:
            outcomes.append((error.expected, error.found))

    threads = [threading.Thread(target=declare, args=(name, text)) for name, text in zip(names, ("one", "two"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    winner = next(outcome for outcome in outcomes if isinstance(outcome, str))
    assert [(0, 1)] == [outcome for outcome in outcomes if outcome != winner]
    assert [winner] == [found.text for found in registry.in_force()]


def test_a_version_replaced_meanwhile_is_a_conflict(registry: ConstraintRegistry) -> None:
    """Who replaces what was in force when they looked is told that somebody came first."""
    first, second = registry.writer("system", by="ann"), registry.writer("system", by="bob")
    first.declare(rule("a@1"), "first")
    first.supersede(rule("a@2", supersedes="a@1"), "ann's")
    with pytest.raises(LogConflictError, match="Someone appended to stream constraints 'global' first: it ends at entry 2, not 1"):
        second.supersede(rule("a@3", supersedes="a@1"), "bob's")


def test_tenants_do_not_see_each_other() -> None:
    """One log, two tenants: the same id is two rules."""
    log = MemoryLog(clock=lambda: NOW)
    red, blue = ConstraintRegistry(log, tenant="red"), ConstraintRegistry(log, tenant="blue")
    red.writer("system", by="ops").declare(rule("a", "red's"), "x")
    blue.writer("system", by="ops").declare(rule("a", "blue's"), "x")
    assert (["red's"], ["blue's"]) == ([found.text for found in red.in_force()], [found.text for found in blue.in_force()])
    assert 1 == len(red.history("a"))


def test_asking_whether_anything_moved_is_one_question() -> None:
    """Where nothing moved the log is asked for heads once and read not at all; where one stream moved, only its new entries are read."""
    log = CountingLog()
    registry = ConstraintRegistry(log, clock=lambda: NOW)
    place = Place(thread="t-1", workspace="/srv/app", tools=frozenset({"send", "read"}))
    writer = registry.writer("system", by="ops")
    writer.declare(rule("a"), "x")
    writer.declare(rule("b", scope=THREAD), "x")
    before = registry.on_record(place)
    log.asked.clear()
    assert before == registry.on_record(place)
    assert before.heads == registry.heads(place)
    assert ["heads", "heads"] == log.asked
    ConstraintRegistry(log, clock=lambda: NOW).writer("system", by="else").declare(rule("c"), "x")
    log.asked.clear()
    assert ["a@1", "b@1", "c@1"] == in_force(registry, place)
    assert ["heads", "read global since 1"] == log.asked


def test_a_change_elsewhere_moves_nothing_here(registry: ConstraintRegistry) -> None:
    """Another thread's rule changes no head of this one, so its cached prefix stays."""
    here = registry.heads(Place(thread="t-2"))
    registry.writer("system", by="ops").declare(rule("a", scope=THREAD), "x")
    assert here == registry.heads(Place(thread="t-2"))
    assert here != registry.heads(Place(thread="t-1"))


def test_a_workspace_reads_the_rules_of_every_folder_above_it(registry: ConstraintRegistry) -> None:
    """And of no folder beside it or below."""
    writer = registry.writer("system", by="ops")
    for name, path in {"root": "/", "srv": "/srv", "app": "/srv/app/", "web": "/srv/app/web", "ap": "/srv/ap", "below": "/srv/app/web/x"}.items():
        writer.declare(rule(name, scope={"kind": "workspace", "value": path}), "x")
    assert ["app@1", "root@1", "srv@1", "web@1"] == in_force(registry, Place(workspace="/srv/app/web"))


paths = st.lists(st.sampled_from(["", "srv", "app", "a b", "."]), max_size=4).map("/".join)
values = st.sampled_from(["t-1", "t:2", "x"])


@given(
    st.builds(Place, thread=st.none() | values, agent=st.none() | values, tools=st.frozensets(values, max_size=3), workspace=st.none() | paths),
    st.just(Scope())
    | st.builds(Scope, kind=st.sampled_from(["thread", "agent", "tool"]), value=values)
    | st.builds(Scope, kind=st.just("workspace"), value=paths),
)
def test_every_scope_that_covers_a_place_is_read_for_it(place: Place, scope: Scope) -> None:
    """No rule that holds somewhere is written where nobody looks."""
    if place.is_in(scope):
        assert scope_key(scope) in scope_keys(place)


def _append(log: MemoryLog, **body: Any) -> None:
    log.append(GLOBAL, [json.dumps(body).encode()])


def test_a_schema_nobody_knows_is_refused(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """Better no answer than one without the rules of a newer version."""
    _append(log, schema_version=2, type="declared")
    with pytest.raises(
        StoreError, match=r"Entry 1 of stream constraints 'global' has schema version 2; this version of the package reads 1\. .* upgrade"
    ):
        registry.in_force()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "has schema version None"),
        (b'{"schema_version": 1}', "is no event of a rule"),
        (b'{"schema_version": 1, "type": "granted"}', "is no event of a rule"),
        (
            b'{"schema_version": 1, "type": "revoked", "by": "x", "authority": "system", "reason": "x"}',
            r"is no event of a rule \(revoked.constraint_id",
        ),
    ],
)
def test_an_entry_that_is_no_event_is_refused(log: MemoryLog, registry: ConstraintRegistry, body: bytes, message: str) -> None:
    """The stream and the entry are named; no rule is guessed."""
    log.append(GLOBAL, [body])
    with pytest.raises(StoreError, match=message):
        registry.in_force()


def test_an_altered_entry_is_found_before_a_rule_is_read(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """A log whose chain does not hold gives no rules and no history."""
    registry.writer("system", by="ops").declare(rule(), "first")
    entries = log._entries[GLOBAL]
    entries[0] = entries[0].model_copy(update={"body": entries[0].body.replace(b"rule a@1", b"rule b@1")})
    log._refs = {ref: [entries[0]] for ref in log._refs}
    fresh = ConstraintReader(log)
    for ask in (fresh.in_force, lambda: fresh.history("a")):
        with pytest.raises(StoreError, match="Entry 1 of stream constraints 'global' no longer matches its chain"):
            ask()


def test_entries_that_are_gone_are_noticed(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """A log that became shorter hides a rule: no answer is given."""
    registry.writer("system", by="ops").declare(rule(), "first")
    assert ["a@1"] == in_force(registry)
    log._entries[GLOBAL].clear()
    with pytest.raises(StoreError, match="ended at entry 1 before and ends at 0 now: entries are gone"):
        registry.in_force()


def test_events_written_past_a_writer_relax_nothing_above_them(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """An event that claims less authority than the rule it is about is not heard, whoever appended it."""
    registry.writer("system", by="ops").declare(rule(), "first")
    forged = {"by": "eve", "authority": Authority.USER, "reason": "x"}
    log.append(
        GLOBAL,
        [
            encode(Revoked(**forged, constraint_id="a", version=1)),
            encode(Exempted(**forged, constraint_id="a", version=1, until=NOW + timedelta(days=1))),
            encode(Superseded(**forged, constraint=rule("a@2", authority="user", supersedes="a@1"))),
            encode(Superseded(**forged, constraint=rule("b@1", supersedes="a@1"))),
        ],
    )
    assert (["a@1"], ()) == (in_force(registry), registry.exemptions())


def test_the_record_is_a_plain_json_event(log: MemoryLog, registry: ConstraintRegistry) -> None:
    """Any program can read who did what, by what authority and why."""
    registry.writer("system", by="ops").declare(rule(text="不得删除"), "order 4711")
    body = json.loads(log.read(GLOBAL)[0].body)
    assert {"schema_version": 1, "type": "declared", "by": "ops", "authority": "system", "reason": "order 4711"} == {
        key: value for key, value in body.items() if key != "constraint"
    }
    assert "不得删除" == body["constraint"]["text"]


def test_readers_in_many_threads_agree(registry: ConstraintRegistry) -> None:
    """While one writes, no reader ever sees entries go missing or rules come back."""
    writer, faults = registry.writer("system", by="ops"), []
    is_over = threading.Event()

    def watch() -> None:
        seen = 0
        try:
            while not is_over.is_set():
                found = len(registry.in_force())
                assert seen <= found
                seen = found
        except Exception as error:  # noqa: BLE001 - told to the main thread
            faults.append(error)

    threads = [threading.Thread(target=watch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(60):
        writer.declare(rule(f"r{number}"), "x")
    is_over.set()
    for thread in threads:
        thread.join(20)
    assert ([], 60) == (faults, len(registry.in_force()))


def test_a_new_reader_reads_a_long_stream_whole() -> None:
    """A registry opened later finds every rule."""
    log = MemoryLog(clock=lambda: NOW)
    source = ConstraintRegistry(log, clock=lambda: NOW)
    writer = source.writer("system", by="ops")
    for number in range(300):
        writer.declare(rule(f"r{number}"), "x")
    assert 300 == len(ConstraintReader(log, clock=lambda: NOW).in_force())
