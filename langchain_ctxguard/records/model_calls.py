"""Model calls on record, several to an entry, and the lists of rules that stood in them. The texts of rules rest apart and can be erased."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.model_call import ModelCall, RuleShown
from langchain_ctxguard.domain.value import canonical_json, digest_of
from langchain_ctxguard.ports import BlobStore, Log
from langchain_ctxguard.records.call_records import calls_space
from langchain_ctxguard.records.versions import HasLog

MODEL_CALLS = "model_calls"


class RuleList(NamedTuple):
    """The rules of a call, in the order they stood in."""

    rules: tuple[RuleShown, ...]
    texts: Mapping[str, str]
    """By reference."""

    @property
    def name(self) -> str:
        """What calls name it by: equal lists have one name."""
        plain = [[rule.model_dump(mode="json"), self.texts.get(rule.reference, "")] for rule in self.rules]
        return digest_of(canonical_json(plain))[:16]


class ModelCalls(NamedTuple):
    """What is on record of a place."""

    calls: tuple[ModelCall, ...]
    """Oldest first."""

    rules: Mapping[str, tuple[RuleShown, ...]]
    """By the name calls have for them."""


class ModelCallRecords:
    """Writes and reads the model calls of a store."""

    def __init__(self, store: HasLog) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self._tenant = store.tenant

    def append(self, place: ContextPlace, calls: Sequence[ModelCall], lists: Mapping[str, RuleList]) -> None:
        """Put calls on record as one entry, with the lists of rules that were not on record.

        Raises:
            StoreError: the store cannot be written.
        """
        contents = [canonical_json(dict(one.texts)).encode("utf-8", "backslashreplace") for one in lists.values()]
        addresses = self._blobs.put(calls_space(place.thread), contents) if contents else []
        shown = {
            name: {"texts": address, "rules": [rule.model_dump(mode="json", exclude_defaults=True) for rule in one.rules]}
            for (name, one), address in zip(lists.items(), addresses, strict=True)
        }
        body = {"schema_version": 1, "calls": [call.model_dump(mode="json", exclude_defaults=True) for call in calls], "rules": shown}
        self._log.append(self._stream(place), [encode_json(body)])

    def of(self, place: ContextPlace) -> ModelCalls:
        """Return what is on record of a place. An entry that cannot be read is left out: this is telemetry.

        Raises:
            StoreError: the store cannot be read.
        """
        calls: list[ModelCall] = []
        rules: dict[str, tuple[RuleShown, ...]] = {}
        for body in self._bodies(place):
            try:
                calls += [ModelCall.model_validate(call) for call in body["calls"]]
                rules |= {name: tuple(map(RuleShown.model_validate, one["rules"])) for name, one in body["rules"].items()}
            except (ValidationError, KeyError, TypeError, AttributeError):
                continue
        return ModelCalls(tuple(calls), rules)

    def texts(self, place: ContextPlace) -> dict[str, str]:
        """Return the texts of the rules that stood in the calls, by reference; what was erased is not in the answer.

        Raises:
            StoreError: the store cannot be read.
        """
        listed = [one for body in self._bodies(place) for one in body.get("rules", {}).values() if isinstance(one, dict)]
        addresses = [one["texts"] for one in listed if isinstance(one.get("texts"), str)]
        found = self._blobs.get(calls_space(place.thread), addresses) if addresses else {}
        texts: dict[str, str] = {}
        for address in addresses:
            texts |= _texts(found.get(address, b"{}"))
        return texts

    def _bodies(self, place: ContextPlace) -> list[dict[str, Any]]:
        found = (_data(entry.body) for entry in self._log.read(self._stream(place)))
        return [body for body in found if isinstance(body, dict)]

    def _stream(self, place: ContextPlace) -> Stream:
        return Stream(tenant=self._tenant, kind=MODEL_CALLS, key=place.key)


def _texts(content: bytes) -> dict[str, str]:
    data = _data(content)
    return {name: text for name, text in data.items() if isinstance(text, str)} if isinstance(data, dict) else {}


def _data(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
