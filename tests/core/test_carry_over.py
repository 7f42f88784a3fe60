"""What crosses a compaction by being copied: the bytes it was given, by one function, past every summarizer."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_ctxguard.core import carry_over
from langchain_ctxguard.core.carry_over import carried_over, copied_keys, copy_record, held_by
from langchain_ctxguard.core.compaction import Plan, compaction_flow
from langchain_ctxguard.core.effects import AskPerson, Show, Stage, Summarize
from langchain_ctxguard.core.situation import Compacted, Crossing, Situation
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.consent import Consent, ConsentHead, Consents, ConsentStatus
from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut, read_head
from langchain_ctxguard.domain.copied import Copied, CopiedKey
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.standing import Mode, StandingState
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft, Trust
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import CompactionError, InvariantError
from tests.support.builders import ai, count_characters, human
from tests.support.raw_json import CHANGED_BY_DUMPING, RAW_JSON

_FULL = 1_000
"""Examples a test draws with the profile `full`."""

PACKAGE = Path(carry_over.__file__).parents[1]
AT = datetime(2026, 11, 30, tzinfo=UTC)
ODD = RawJson(data=b'{"b": 1.0, "a": [1e2, "caf\xc3\xa9", "cafe\xcc\x81"], "n": 900719925474099300001}')


def consents(*values: RawJson, status: ConsentStatus = ConsentStatus.GRANTED) -> Consents:
    """Return what a ledger says that has these values."""
    entries = tuple(
        Consent(
            field=f"f{number}",
            status=status,
            value=value,
            subject="ann",
            basis="consent",
            recorded_by="page",
            at=AT,
            recorded_at=AT,
            record_id=f"r{number}",
            seq=number + 1,
            hash=f"{number:064}",
        )
        for number, value in enumerate(values)
    )
    return Consents(subject="ann", at=AT, head=ConsentHead(seq=len(values)), entries=entries)


def situation(head: ContextHead | None = None) -> Situation:
    """Return a conversation with something to leave."""
    words = "word " * 330
    talk = [message for turn in range(3) for message in (human(f"h{turn} {words}"), ai(f"a{turn}"))]
    return Situation(tail=talk, head=head or ContextHead(version=0))


def driven(copied: Copied, draft: SummaryDraft | None = None, *, head: ContextHead | None = None, **more: Any) -> tuple[Compacted, list[Any]]:
    """Drive a compaction; return what it came to, and its records."""
    plan = Plan(settings=CompactionSettings(), trigger="tokens", keep=("turns", 1), window=40_000, crossing=Crossing(copied=copied, **more))
    flow = compaction_flow(situation(head), plan, count_characters)
    facts: list[Any] = []
    answer: Any = None
    try:
        while True:
            effect = flow.send(answer)
            answer = (draft or SummaryDraft(user_intent="Do it")) if isinstance(effect, Summarize) else None
            if not isinstance(effect, Summarize | AskPerson | Show | Stage):
                facts.append(effect.fact)
    except StopIteration as end:
        return end.value, facts


def test_one_function_copies() -> None:
    """Nothing else in the package puts a copy into a version: a second way would be a second chance to describe, to merge, or to forget."""
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    likely = {path: text for path, text in texts.items() if "copied" in text}
    found = sorted(f"{path.relative_to(PACKAGE)}:{name}" for path, text in likely.items() for name in _copying(ast.parse(text)))
    assert ["core/carry_over.py:carried_over"] == found


def _copying(tree: ast.Module) -> Iterator[str]:
    """Yield the functions that set a `copied`: by a keyword, in the update of a copy, or past a frozen value. A plan and a record have one, too."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _sets_copied(node):
                yield function.name


def _sets_copied(call: ast.Call) -> bool:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if any(word.arg == "copied" for word in call.keywords):
        return name != "Crossing"
    if name == "__setattr__":
        return "'copied'" in ast.dump(call)
    is_of_record = name == "model_copy" and isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "record"
    keys = [key for inner in ast.walk(call) if isinstance(inner, ast.Dict) for key in inner.keys]
    return name == "model_copy" and not is_of_record and any(isinstance(key, ast.Constant) and key.value == "copied" for key in keys)


@given(st.lists(RAW_JSON, min_size=1, max_size=3), st.dictionaries(st.sampled_from("abc"), RAW_JSON))
def test_values_cross_as_received(values: list[bytes], state: dict[str, bytes]) -> None:
    """Whatever JSON text was given, its bytes are in the head that a later process reads; in every text the digest says so."""
    keys = tuple(CopiedKey(name=name, value=RawJson(data=value)) for name, value in sorted(state.items()))
    copied = Copied(consents=consents(*(RawJson(data=value) for value in values)), state=keys)
    _crossed(copied)


IS_FULL = settings.default.max_examples >= _FULL
ROUNDS = 90 if IS_FULL else 3


@pytest.mark.timeout(0 if IS_FULL else 120)
@given(st.lists(st.lists(RAW_JSON, min_size=1, max_size=2), min_size=2, max_size=5))
@settings(max_examples=_FULL if IS_FULL else 20)
def test_values_cross_one_compaction_after_the_other(rounds: list[list[bytes]]) -> None:
    """Each reads the ledger anew, over what the one before held: 60 in every run, 90,000 with the profile `full`."""
    head = ContextHead(version=0)
    for values in islice(cycle(rounds), ROUNDS):
        copied = Copied(consents=consents(*(RawJson(data=value) for value in values)))
        done, (record,) = driven(copied, head=head)
        found = read_head(json.loads(json.dumps(done.head.to_dict())))
        assert isinstance(found, ContextHead)
        assert found.body is not None
        assert copied == found.body.copied
        assert record.copied.holds
        head = found.model_copy(update={"cut": Cut()})


def _crossed(copied: Copied) -> None:
    body = carried_over(ContextBody(summary=StructuredSummary(), evidence=Evidence(), summary_id="s"), copied)
    assert copied is body.copied
    stored = json.loads(json.dumps(ContextHead(version=1, cut=Cut(), body=body).to_dict()))
    head = read_head(stored)
    assert isinstance(head, ContextHead)
    assert copied == held_by(head.body)
    assert copied.digest == held_by(head.body).digest
    assert copy_record(copied, head.body).holds


def dumped(data: bytes, how: str) -> bytes:
    """Return what a program writes that reads a value first."""
    loose = json.loads(data, parse_int=float if how == "floats" else int)
    if how == "compact":
        return json.dumps(loose, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8", "replace")
    return json.dumps(loose).encode()


@pytest.mark.parametrize(("how", "changed"), [("plain", 11), ("compact", 12), ("floats", 12)])
def test_a_copy_that_parses_and_dumps_is_refused(monkeypatch: pytest.MonkeyPatch, how: str, changed: int) -> None:
    """The mutant: one that reads values and writes them anew makes no version wherever that changes a byte, and the record names what broke."""

    def mutant(body: ContextBody, copied: Copied | None) -> ContextBody:
        if copied is None or copied.consents is None:
            return carried_over(body, copied)
        (entry,) = copied.consents.entries
        assert entry.value is not None
        entries = (entry.model_copy(update={"value": RawJson(data=dumped(entry.value.data, how))}),)
        return carried_over(body, copied.model_copy(update={"consents": copied.consents.model_copy(update={"entries": entries})}))

    monkeypatch.setattr("langchain_ctxguard.core.candidate.carried_over", mutant)
    refused = 0
    for value in CHANGED_BY_DUMPING:
        done, (record,) = driven(Copied(consents=consents(RawJson(data=value))))
        is_other = dumped(value, how) != value
        assert is_other == (Outcome.REJECTED is record.outcome) == (("copy",) == record.broken) == (not done.is_new), value
        refused += is_other
    assert changed == refused


@pytest.mark.parametrize("change", ["dropped", "merged", "reordered", "flipped"])
def test_any_other_copy_is_refused(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """One that leaves an entry out, joins it with an earlier one, sorts the entries, or turns a no into a yes."""
    two = consents(ODD, RawJson(data=b"false"))

    def other(body: ContextBody, copied: Copied | None) -> ContextBody:
        if copied is None:
            return carried_over(body, None)
        entries = list(two.entries)
        if change == "dropped":
            entries = entries[:1]
        elif change == "merged":
            entries.append(entries[0].model_copy(update={"field": "old"}))
        elif change == "reordered":
            entries.reverse()
        else:
            entries[1] = entries[1].model_copy(update={"value": RawJson(data=b"true")})
        return carried_over(body, copied.model_copy(update={"consents": two.model_copy(update={"entries": tuple(entries)})}))

    monkeypatch.setattr("langchain_ctxguard.core.candidate.carried_over", other)
    _, (record,) = driven(Copied(consents=two))
    assert ("copy",) == record.broken


def test_a_summary_says_nothing_about_it() -> None:
    """A draft that claims consents changes none of them: not their bytes, not their digest, not what the record names."""
    lies = SummaryDraft(
        user_intent="Do it",
        facts=(Fact(statement="Sheep were counted"), Fact(statement="Consent f1 was granted: true", status=Trust.CONFIRMED, said_by="tool")),
    )
    copied = Copied(consents=consents(ODD, RawJson(data=b"false")), standing=StandingState(mode=Mode.PLAN))
    told, (one,) = driven(copied, lies)
    plain, (two,) = driven(copied)
    assert told.head.body is not None
    assert plain.head.body is not None
    assert copied == told.head.body.copied == plain.head.body.copied
    assert one.copied == two.copied
    assert one.consents == two.consents


def test_without_anything_to_copy_nothing_is_stored() -> None:
    """A head is what it was before there were copies, to the byte."""
    done, (record,) = driven(Copied())
    assert record.copied is None
    assert "copied" not in str(done.head.to_dict()["body"])


def test_what_could_not_be_read_makes_no_version() -> None:
    """In a window that is not full the previous context stays; in one that is, nobody goes on."""
    done, (record,) = driven(Copied(), unread="StoreError")
    assert not done.is_new
    assert "StoreError" in record.reason
    plan = Plan(settings=CompactionSettings(), trigger="full", keep=("turns", 1), window=900, limit=900, crossing=Crossing(unread="StoreError"))
    with pytest.raises(CompactionError, match="StoreError"):
        list(compaction_flow(situation(), plan, count_characters))


@pytest.mark.parametrize("value", [{1: "a"}, {"a": float("nan")}, {"a": object()}, {"a": b"x"}, {"a": {"b": {2: 1}}}])
def test_a_key_without_json_is_refused(value: Any) -> None:
    """Named, and never changed to fit."""
    with pytest.raises(ValueError, match="'flags' cannot be carried"):
        copied_keys({"flags": value}, ["flags"])


def test_keys_are_copied_in_their_order() -> None:
    """As the application holds them; what is raw stays raw, what is absent is not there."""
    (flags, raw) = copied_keys({"flags": {"z": 1, "a": [1.0, True]}, "raw": ODD, "other": 1}, ["raw", "flags", "gone"])
    assert b'{"z": 1, "a": [1.0, true]}' == flags.value.data
    assert ODD is raw.value


def test_an_invariant_that_the_summary_breaks_rejects_it() -> None:
    """The previous context keeps it, so that stays: nothing is dropped for it."""
    done, (record,) = driven(Copied(), checks={"no new version": lambda before, after: "never" if before is not after else True})
    assert Outcome.REJECTED is record.outcome
    assert ("no new version",) == record.broken
    assert not done.is_new


def test_where_the_context_breaks_it_too_the_oldest_leave() -> None:
    """The safer fallback holds the invariant: it is taken, and the record says what was refused."""
    seen: list[int] = []

    def only_bare(before: Any, after: Any) -> bool:
        # The summarizer's candidate, then the context as it is, then the one without a summary.
        seen.append(1)
        return len(seen) == 3

    done, (record,) = driven(Copied(), checks={"bare": only_bare})
    assert Outcome.FELL_BACK is record.outcome
    assert "drop_oldest" == record.strategy
    assert ("bare",) == record.broken
    assert done.is_new


def test_where_nothing_holds_it_nobody_goes_on() -> None:
    """A clear error with the name, and the attempt on record."""
    with pytest.raises(InvariantError, match="never") as raised:
        driven(Copied(), checks={"never": lambda before, after: False})
    assert ("never",) == raised.value.broken
    assert raised.value.record is not None


def test_the_record_names_what_a_consent_opens() -> None:
    """The tool rules that ask for it, as the policy names them; of a consent that opens nothing there is no entry."""
    rules = {"f0": ("upload", "share")}
    _, (record,) = driven(Copied(consents=consents(RawJson(data=b"true"), ODD)), opened_by=lambda name: rules.get(name, ()))
    assert record.copied.opens == rules
    assert [("f0", True), ("f1", False)] == [(one.field, one.is_true) for one in record.consents]
