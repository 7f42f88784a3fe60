"""Content and search on a LangGraph `BaseStore`."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp

from langchain_ctxguard.backends.blob_addresses import addressed, checked
from langchain_ctxguard.backends.memory import best
from langchain_ctxguard.backends.store_items import ROOT, ascii_of, items_of, place_of, text_of
from langchain_ctxguard.core.search_terms import index_terms
from langchain_ctxguard.domain.hit import Hit


class StoreBlobs:
    """A `BlobStore` on a LangGraph `BaseStore`. Two who keep the same content at once both write it: the same bytes."""

    def __init__(self, store: BaseStore, *, tenant: str = "default") -> None:
        """Keep the spaces of one tenant in `store`."""
        self._store = store
        self._tenant = tenant

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents that are not there yet; see `ports.BlobStore`."""
        filed = addressed(contents, addresses)
        self._keep(space, dict(reversed(filed)))
        return [address for address, _ in filed]

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address."""
        return checked(space, self._found(space, list(dict.fromkeys(addresses))))

    def copy_space(self, source: str, target: str) -> int:
        """Keep in `target` also what is in `source`."""
        return self._keep(target, {item.key: _content(item.value) for item in items_of(self._store, self._space(source))})

    def purge_space(self, space: str) -> int:
        """Erase all contents of a space."""
        keys = [item.key for item in items_of(self._store, self._space(space))]
        self._store.batch([_put(self._space(space), key, None) for key in keys])
        return len(keys)

    def addresses(self, space: str) -> list[str]:
        """Return the addresses of all contents of a space."""
        return sorted(item.key for item in items_of(self._store, self._space(space)))

    def drop(self, space: str, addresses: Sequence[str]) -> int:
        """Erase these contents of a space."""
        there = self._found(space, list(dict.fromkeys(addresses)))
        self._store.batch([_put(self._space(space), address, None) for address in there])
        return len(there)

    def _keep(self, space: str, contents: Mapping[str, bytes]) -> int:
        there = self._found(space, list(contents))
        absent = {address: content for address, content in contents.items() if address not in there}
        writes = [_put(self._space(space), address, {"content": base64.b64encode(content).decode("ascii")}) for address, content in absent.items()]
        self._store.batch(writes)
        return len(absent)

    def _found(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        items: list[Any] = self._store.batch([GetOp(namespace=self._space(space), key=address, refresh_ttl=False) for address in addresses])
        return {address: _content(item.value) for address, item in zip(addresses, items, strict=True) if item is not None}

    def _space(self, space: str) -> tuple[str, ...]:
        return (ROOT, "blobs", place_of(self._tenant, space))


class StoreIndex:
    """A `TextIndex` on a LangGraph `BaseStore`. A search reads the terms of every text of the space: a `BaseStore` finds no words."""

    def __init__(self, store: BaseStore, *, tenant: str = "default") -> None:
        """Keep the spaces of one tenant in `store`."""
        self._store = store
        self._tenant = tenant

    def put(self, space: str, texts: Mapping[str, str]) -> None:
        """Index texts by key."""
        where = self._space(space)
        self._store.batch([_put(where, place_of(key), {"key": ascii_of(key), "terms": dict(index_terms(text))}) for key, text in texts.items()])

    def search(self, space: str, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the keys of the texts that share most with `query`, best first."""
        texts = {text_of(item.value["key"]): item.value["terms"] for item in items_of(self._store, self._space(space))}
        return best(texts, query, limit=limit)

    def copy_space(self, source: str, target: str) -> None:
        """Index in `target` also what is indexed in `source`."""
        where = self._space(target)
        self._store.batch([_put(where, item.key, dict(item.value)) for item in items_of(self._store, self._space(source))])

    def purge(self, space: str) -> int:
        """Forget all texts of a space."""
        keys = [item.key for item in items_of(self._store, self._space(space))]
        self._store.batch([_put(self._space(space), key, None) for key in keys])
        return len(keys)

    def _space(self, space: str) -> tuple[str, ...]:
        return (ROOT, "texts", place_of(self._tenant, space))


def _content(value: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(value["content"], validate=True)
    except (KeyError, TypeError, ValueError):
        # No content has this digest but the empty one, which is never stored broken: the check of the address says that it was altered.
        return b"\x00unreadable"


def _put(namespace: tuple[str, ...], key: str, value: dict[str, Any] | None) -> PutOp:
    return PutOp(namespace=namespace, key=key, value=value, index=False, ttl=None)
