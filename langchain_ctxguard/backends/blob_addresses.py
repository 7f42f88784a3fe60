"""How content is addressed, and how what is read is held against its address."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from langchain_ctxguard.domain.value import is_list_of
from langchain_ctxguard.errors import BlobMissingError, StoreError

_LONGEST = 200


def address_of(content: bytes) -> str:
    """Return the address of content: its SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def addressed(contents: Sequence[bytes], addresses: Sequence[str] | None) -> list[tuple[str, bytes]]:
    """Return contents with their addresses.

    Raises:
        StoreError: a content is not bytes, or an address of one's own could be taken for a digest.
    """
    if not is_list_of(bytes, contents):
        msg = "Contents are a list of bytes. Nothing was kept."
        raise StoreError(msg)
    if addresses is None:
        return [(address_of(content), content) for content in contents]
    if len(addresses) != len(contents):
        msg = f"There are {len(contents)} contents and {len(addresses)} addresses. Nothing was kept; give one for each."
        raise StoreError(msg)
    for address in addresses:
        if ":" not in address or not address.isascii() or not address.isprintable() or len(address) > _LONGEST:
            msg = (
                f"'{address}' is no address of one's own, which has at most {_LONGEST} characters of plain ASCII and a colon, e.g. 'keyed:9f86d0'. "
                "Nothing was kept."
            )
            raise StoreError(msg)
    return list(zip(addresses, contents, strict=True))


def checked(space: str, found: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what was read if each content still has its address.

    Raises:
        BlobMissingError: one was altered.
    """
    for address, content in found.items():
        if ":" not in address and address_of(content) != address:
            msg = f"Content {address} of space '{space}' was altered: it no longer has that digest. Nothing was read; restore the store."
            raise BlobMissingError(msg, space=space, address=address)
    return dict(found)
