"""Messages, and any other value a saver stores, as content of a thread's space: written once, held against their digest when read."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langchain_ctxguard.backends.message_state import State, states_of
from langchain_ctxguard.core.message_blob import DIGEST_BYTES, address, digest, digest_at, packed, thread_space, unpacked
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.ports import BlobStore

KEY_ADDRESS = "keyed:key"
"""Where a thread's key rests, encrypted: whoever erases the space makes its digests say nothing to anybody."""


_KEY_MARK, _KEY_BYTES = b"ctxguard-key:", 32
_MSGPACK = packed("msgpack", b"")


class MessageBlobs:
    """Stores values in the space of a thread and gives them back. Safe under threads; keeps nothing in memory.

    With a serializer that encrypts, content is encrypted by it and named by a keyed digest. `JsonPlusSerializer` is known not to encrypt;
    any other is treated as if it did.
    """

    def __init__(
        self,
        blobs: BlobStore,
        *,
        serde: SerializerProtocol | None = None,
        give_back: Callable[[str, Iterable[str]], Mapping[str, bytes]] | None = None,
    ) -> None:
        """Bind a store.

        Args:
            blobs: `GuardStore.blobs`.
            serde: How values are written: the saver's, so that its encryption and its allowed types hold here too.
            give_back: Finds what a collection set aside: `Collections(store).give_back`.
        """
        self.blobs = blobs
        self._give_back = give_back
        self.serde = serde or JsonPlusSerializer()
        self.is_keyed = type(self.serde) is not JsonPlusSerializer

    def put(self, thread: str, values: Sequence[Any]) -> list[str]:
        """Store values that are not there yet, and return their addresses once they are durable."""
        key = self.key_of(thread) if self.is_keyed else b""
        pairs = [self.content_of(value, key) for value in values]
        self.put_contents(thread, dict(pairs), key)
        return [self.address_of(name) for name, _ in pairs]

    def get(self, thread: str, addresses: Sequence[str]) -> list[Any]:
        """Return the values at these addresses, in this order; each time new objects.

        Raises:
            BlobMissingError: one is gone or altered.
        """
        space, found = thread_space(thread), self._found(thread, addresses)
        key = self.key_of(thread, is_made=False) if any(where.startswith("keyed:") for where in addresses) else b""
        return self.values_of([checked(space, where, found, key) for where in addresses])

    def contents(self, thread: str, names: Iterable[bytes], *, is_keyed: bool, key: bytes | None = None) -> dict[bytes, bytes]:
        """Return contents by digest.

        Args:
            thread: Whose.
            names: Their digests.
            is_keyed: Whether these are keyed.
            key: The thread's key, if it is known.

        Raises:
            BlobMissingError: one is gone or altered.
        """
        where = {address(name, is_keyed=is_keyed): name for name in names}
        if not where:
            return {}
        space, found = thread_space(thread), self._found(thread, list(where))
        if not is_keyed:
            # Many at once: the digest is at hand, and need not be read from the address.
            wrong = [place for place, content in found.items() if digest(content) != where[place]]
            if wrong:
                raise altered(space, wrong[0])
            return {where[place]: content for place, content in found.items()}
        known = self.key_of(thread, is_made=False) if key is None else key
        return {name: checked(space, place, found, known) for place, name in where.items()}

    def put_contents(self, thread: str, contents: Mapping[bytes, bytes], key: bytes) -> None:
        """Store contents under their digests; durable when this returns.

        Args:
            thread: Whose.
            contents: By digest.
            key: The thread's key, empty where digests are not keyed.
        """
        bodies = [_seal(name, content, key) + content if self.is_keyed else content for name, content in contents.items()]
        self.blobs.put(thread_space(thread), bodies, addresses=[self.address_of(name) for name in contents])

    def content_of(self, value: Any, key: bytes) -> tuple[bytes, bytes]:
        """Return digest and content of a value."""
        if not self.is_keyed:
            content = packed(*self.serde.dumps_typed(value))
            return digest(content), content
        return digest(self._plain(value), key), packed(*self.serde.dumps_typed(value))

    def value_of(self, content: bytes) -> Any:
        """Return the value of a content that was checked."""
        return self.serde.loads_typed(unpacked(content))

    def values_of(self, contents: Sequence[bytes]) -> list[Any]:
        """Return the values of contents that were checked."""
        if self.is_keyed or not all(content.startswith(_MSGPACK) for content in contents):
            return [self.value_of(content) for content in contents]
        # An array in msgpack is its length and its items, one after the other: one call reads them all, as it would read the list itself.
        start = len(_MSGPACK)
        read = self.serde.loads_typed(("msgpack", b"\xdd" + struct.pack(">I", len(contents)) + b"".join([content[start:] for content in contents])))
        return list(read)

    def states_of(self, contents: Sequence[bytes]) -> list[State | None]:
        """Return the states of messages in contents that were checked, `None` for what only `values_of` can read."""
        if self.is_keyed or not all(content.startswith(_MSGPACK) for content in contents):
            return [None] * len(contents)
        return states_of([content[len(_MSGPACK) :] for content in contents])

    def address_of(self, name: bytes) -> str:
        """Return where content with this digest is put."""
        return address(name, is_keyed=self.is_keyed)

    def key_of(self, thread: str, *, is_made: bool = True) -> bytes:
        """Return the thread's key.

        Args:
            thread: Whose.
            is_made: Make it where there is none.

        Raises:
            BlobMissingError: there is none.
            StoreError: it is there and this serializer cannot read it.
        """
        space = thread_space(thread)
        found = self.blobs.get(space, [KEY_ADDRESS])
        if not found and not is_made:
            raise missing(space, [KEY_ADDRESS])
        if not found:
            mine = packed(*self.serde.dumps_typed(_KEY_MARK + secrets.token_bytes(_KEY_BYTES)))
            self.blobs.put(space, [mine], addresses=[KEY_ADDRESS])
            # Somebody else may have been first.
            found = self.blobs.get(space, [KEY_ADDRESS])
        try:
            key = self.value_of(found[KEY_ADDRESS])
        except Exception as error:  # noqa: BLE001 - a cipher raises what it likes where a key is wrong
            key = error
        # A cipher that does not tell a wrong key gives back anything.
        if isinstance(key, bytes) and key.startswith(_KEY_MARK) and len(key) == len(_KEY_MARK) + _KEY_BYTES:
            return key[len(_KEY_MARK) :]
        msg = f"The key of thread '{thread}' cannot be read by this serializer. Nothing was read or written; use the one the thread was written with."
        raise StoreError(msg) from (key if isinstance(key, Exception) else None)

    def _found(self, thread: str, addresses: Sequence[str]) -> dict[str, bytes]:
        space = thread_space(thread)
        found = self.blobs.get(space, addresses)
        if len(found) < len(addresses):
            gone = [where for where in dict.fromkeys(addresses) if where not in found]
            if gone and self._give_back is not None:
                found = {**found, **self._give_back(thread, gone)}
                gone = [where for where in gone if where not in found]
            if gone:
                raise missing(space, gone)
        return found

    def _plain(self, value: Any) -> bytes:
        inner = self.serde.serde if isinstance(self.serde, EncryptedSerializer) else JsonPlusSerializer()
        return packed(*inner.dumps_typed(value))


def checked(space: str, where: str, found: Mapping[str, bytes], key: bytes) -> bytes:
    """Return the content at an address if it is what was stored there.

    Raises:
        BlobMissingError: it is gone, or is not what its address says.
    """
    known, content = digest_at(where), found.get(where)
    if content is None or known is None:
        raise missing(space, [where])
    name, is_keyed = known
    if is_keyed:
        seal, content = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        is_right = hmac.compare_digest(seal, _seal(name, content, key))
    else:
        is_right = digest(content) == name
    if not is_right:
        raise altered(space, where)
    return content


def altered(space: str, where: str) -> BlobMissingError:
    """Return the error for content that is not what was stored."""
    msg = f"Content {where} of space '{space}' was altered: it is not what was stored under that address. Nothing was returned; restore the store."
    return BlobMissingError(msg, space=space, address=where)


def missing(space: str, addresses: Iterable[str]) -> BlobMissingError:
    """Return the error for content that is gone."""
    gone = list(addresses)
    some = f"{gone[0]} and {len(gone) - 1} more" if len(gone) > 1 else gone[0]
    msg = (
        f"Content {some} of space '{space}' is gone from the store. Nothing was returned, so that no history is shorter than it was; "
        "open the store this thread was written with, or restore it from a backup."
    )
    return BlobMissingError(msg, space=space, address=gone[0])


def _seal(name: bytes, content: bytes, key: bytes) -> bytes:
    # Binds content to its digest, so that no other content can be put in its place.
    return hashlib.blake2b(name + content, digest_size=DIGEST_BYTES, key=key, person=b"ctxguard.sealed").digest()
