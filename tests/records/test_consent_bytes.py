"""A consent's value is its bytes: through every store and serializer, across any number of words, and killed where it is written anew."""

from __future__ import annotations

import copy
import json
import pickle
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.memory import InMemoryStore

from langchain_ctxguard import ConsentLedger, ConsentReader, GuardStore
from langchain_ctxguard.backends.agent_store import AgentStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.domain.consent import Consent, Consents
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.records import consent_events, consent_ledger, consent_streams
from langchain_ctxguard.records.consent_streams import space_of
from tests.support.consents import Clock, said
from tests.support.raw_json import CHANGED_BY_DUMPING, RAW_JSON

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
IS_FULL = settings().max_examples > 100
"""Under the profile `full` the words below come to a hundred thousand."""


@pytest.fixture(params=["memory", "sqlite", "postgres", "basestore"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuardStore]:
    """A store of each kind."""
    given: Any = "memory://"
    if request.param == "sqlite":
        given = f"sqlite:///{tmp_path / 'consents.db'}"
    elif request.param == "postgres":
        given = request.getfixturevalue("postgres_url")
        migrate_store(given)
    elif request.param == "basestore":
        given = InMemoryStore()
    with GuardStore.open(given) as opened:
        yield opened


def assert_kept(store: GuardStore, values: tuple[bytes, ...]) -> None:
    """Hold every way a value is read against the bytes that were given."""
    ledger, subject = ConsentLedger(store), "u-字"
    for number, data in enumerate(values):
        assert data == _data(ledger.grant(f"f-{number}", data, **said(subject)))
    for reader in map(ConsentReader, (store, AgentStore.of(store), store.for_reading())):
        _assert_read(reader, subject, list(values))


def _assert_read(reader: ConsentReader, subject: str, values: list[bytes]) -> None:
    read = reader.read(subject)
    history = reader.history(subject)[-len(values) :]
    assert [values] * 3 == [_shown(read, values), [_data(word) for word in history], [_data(reader.find(word.ref)) for word in history]]
    for way in (_through_json, _through_python, _through_pickle, copy.deepcopy, _through_checkpoints):
        assert values == _shown(way(read), values)


def _shown(read: Consents, values: list[bytes]) -> list[bytes | None]:
    return [_data(read.get(f"f-{number}")) for number in range(len(values))]


def _data(word: Consent | None) -> bytes | None:
    return None if word is None or word.value is None else word.value.data


def _through_json(read: Consents) -> Consents:
    return Consents.model_validate_json(read.model_dump_json())


def _through_python(read: Consents) -> Consents:
    return Consents.model_validate(read.model_dump())


def _through_pickle(read: Consents) -> Consents:
    found: Consents = pickle.loads(pickle.dumps(read))  # noqa: S301 - our own
    return found


def _through_checkpoints(read: Consents) -> Consents:
    serializer = JsonPlusSerializer()
    return Consents.model_validate(serializer.loads_typed(serializer.dumps_typed(read.model_dump(mode="json"))))


def test_bytes_are_kept_by_every_store(store: GuardStore) -> None:
    """Numbers, blanks, the order of keys, composed and decomposed letters, escapes, half surrogates: as they were received."""
    assert_kept(store, CHANGED_BY_DUMPING)


@given(st.lists(RAW_JSON, min_size=1, max_size=4).map(tuple))
def test_any_json_text_is_kept(values: tuple[bytes, ...]) -> None:
    """Whatever people send."""
    with GuardStore.open("memory://") as store:
        assert_kept(store, values)


def _as_javascript(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_as_javascript(item) for item in value]
    return {key: _as_javascript(item) for key, item in value.items()} if isinstance(value, dict) else value


WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "json": lambda data: json.dumps(json.loads(data)).encode(),
    "compact, as it is": lambda data: json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"),
    "keys sorted": lambda data: json.dumps(json.loads(data), sort_keys=True).encode(),
    "numbers as in JavaScript": lambda data: json.dumps(_as_javascript(json.loads(data))).encode(),
    "letters composed": lambda data: unicodedata.normalize("NFC", data.decode()).encode(),
    "letters decomposed": lambda data: unicodedata.normalize("NFD", data.decode()).encode(),
    "blanks stripped": bytes.strip,
}
PLACES: dict[str, Callable[[Callable[[bytes], bytes]], tuple[Any, str, Any]]] = {
    "on the way in": lambda anew: (consent_ledger, "raw", lambda value: RawJson(data=anew(value))),
    "at rest": lambda anew: (consent_ledger, "sealed", lambda value: bytes(16) + anew(value.data)),
    "on the way out": lambda anew: (consent_streams, "opened", lambda content, _: RawJson(data=anew(content[16:]))),
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_value_that_is_written_anew_is_noticed(writer: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above fails whichever way a value is parsed and written anew, and wherever on its way that happens."""
    monkeypatch.setattr(*PLACES[where](WRITERS[writer]))
    with GuardStore.open("memory://") as store, pytest.raises(AssertionError):
        assert_kept(store, CHANGED_BY_DUMPING)


@pytest.mark.parametrize("data", CHANGED_BY_DUMPING)
def test_each_value_is_one_that_somebody_changes(data: bytes) -> None:
    """None of them is there for nothing."""
    assert [name for name, anew in WRITERS.items() if anew(data) != data]


def test_the_salt_is_as_long_as_the_mutants_take_it_for() -> None:
    """Or they would be noticed for another reason."""
    assert len(consent_events.sealed(RawJson(data=b"true"))) == 16 + len(b"true")


FIELDS, THREADS = ("a", "b"), ("t-1", "t-2")
WORDS = st.tuples(
    st.sampled_from(["grant", "grant", "grant", "deny", "revoke", "expire", "erase", "later"]),
    st.sampled_from(FIELDS),
    st.sampled_from([None, *THREADS]),
    st.sampled_from([b"true", b"true", b" true\n", b"false", b"null", b"1", b'"true"', b"1.0"]) | RAW_JSON,
    st.none() | st.integers(1, 5),
)


@settings(max_examples=100 if IS_FULL else 15)
@given(st.lists(WORDS, min_size=25, max_size=25))
def test_a_gate_is_open_only_where_every_word_says_so(words: list[Word]) -> None:
    """After each of any number of words, in any order, with time passing and values erased; and open ones show the bytes that were given.

    Open means: the newest word for the thread or for all is a grant of `true` that is not over and not erased, and what was refused in the thread was
    granted in the thread since.
    """
    live(words, places=(None, *THREADS))


@pytest.mark.timeout(3_600)
def test_values_cross_a_hundred_thousand_words() -> None:
    """The same after each word of many long lives; here in small, and in full under the profile `full`."""
    draw = random.Random(11)
    values = [*CHANGED_BY_DUMPING, *[b"true"] * len(CHANGED_BY_DUMPING), b"false", b"null", b"1", b'"true"']
    kinds = ["grant"] * 6 + ["deny", "revoke", "expire", "later"]
    for _ in range(1_000 if IS_FULL else 5):
        words = [
            (draw.choice(kinds), draw.choice(FIELDS), draw.choice((None, *THREADS)), draw.choice(values), draw.choice((None, None, 1, 3)))
            for _ in range(100)
        ]
        words[draw.randrange(100)] = ("erase", "a", None, b"", None)
        live(words, places=(draw.choice((None, *THREADS)),))


Word = tuple[str, str, str | None, bytes, int | None]
"""What happens, to which field, where, with which value, and for how many minutes."""


def live(words: Sequence[Word], *, places: Sequence[str | None]) -> None:
    """Let words happen to a subject, and hold what a gate sees after each against what the words say."""
    clock = Clock(NOW)
    with GuardStore.open("memory://", clock=clock) as store:
        ledger = ConsentLedger(store, clock=clock)
        reader = ledger.reader()
        spoken: list[dict[str, Any]] = []
        for word, field, thread, data, minutes in words:
            if word == "erase":
                store.blobs.purge_space(space_of("u"))
                spoken = [{**one, "data": None} for one in spoken]
            elif word == "later":
                clock.now += timedelta(minutes=1)
            else:
                until = None if minutes is None or word != "grant" else clock.now + timedelta(minutes=minutes)
                more = {"expires_at": until} if word == "grant" else {}
                getattr(ledger, word)(field, data, thread=thread, **more, **said("u"))
                spoken.append({"word": word, "field": field, "thread": thread, "data": data, "until": until})
            for place in places:
                read = reader.read("u", thread=place)
                for name in FIELDS:
                    is_open, shown = _expected([one for one in spoken if one["field"] == name], place, clock.now)
                    assert (is_open, shown) == (read.is_true(name), None if (value := read.value(name)) is None else value.data)


def _expected(spoken: list[dict[str, Any]], thread: str | None, now: datetime) -> tuple[bool, bytes | None]:
    """Return whether a gate is open and which bytes it sees, told from the words alone."""
    heard = [one for one in spoken if one["thread"] in {None, thread}]
    if not heard:
        return False, None
    newest = heard[-1]
    if newest["thread"] is None and _holds(newest, now):
        # A grant for all: it gives back nothing that was refused in the thread.
        own = [one for one in heard if one["thread"] is not None][-1:]
        newest = own[0] if own and _refuses(own[0]) else newest
    if not _holds(newest, now):
        return False, None
    return newest["data"].strip() == b"true", newest["data"]


def _holds(one: dict[str, Any], now: datetime) -> bool:
    return one["word"] == "grant" and one["data"] is not None and (one["until"] is None or now < one["until"])


def _refuses(one: dict[str, Any]) -> bool:
    if one["word"] == "grant":
        return one["data"] is None or one["data"].strip() in {b"false", b"null"}
    return bool(one["word"] in {"deny", "revoke"})
