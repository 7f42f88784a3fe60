"""How a message rests in a blob store: its space, its bytes, its address. What writes and reads it is `backends/message_blobs.py`."""

from __future__ import annotations

import hashlib

from langchain_ctxguard.domain.value import canonical_json

DIGEST_BYTES = 16
_PLAIN = "ctx:"
_KEYED = "keyed:"


def thread_space(thread: str) -> str:
    """Return the space of a thread's messages: one for all its namespaces, so that sub-agents and subgraphs share what they share.

    >>> thread_space("t-1")
    '["thread","t-1"]'
    """
    return canonical_json(["thread", thread])


def packed(kind: str, data: bytes) -> bytes:
    """Return what a serializer made of a value, as one content: the kind it names and its bytes.

    >>> len(packed("msgpack", b"abc")), unpacked(packed("msgpack", b"abc"))
    (11, ('msgpack', b'abc'))
    """
    name = kind.encode()
    return bytes([len(name)]) + name + data


def unpacked(content: bytes) -> tuple[str, bytes]:
    """Return kind and bytes of a content.

    Raises:
        ValueError: it is none.
    """
    if not content or not content[0] or len(content) <= content[0]:
        msg = "is no packed content"
        raise ValueError(msg)
    size = content[0] + 1
    return content[1:size].decode(), content[size:]


def digest(content: bytes, key: bytes = b"") -> bytes:
    """Return the 16 bytes content is known by; with a key, by nobody who lacks it: an unkeyed digest confirms a guess of encrypted text."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES, key=key, person=b"ctxguard.content").digest()


def address(name: bytes, *, is_keyed: bool = False) -> str:
    """Return where content with this digest rests in its space.

    >>> address(bytes(16))
    'ctx:00000000000000000000000000000000'
    """
    return (_KEYED if is_keyed else _PLAIN) + name.hex()


def digest_at(where: str) -> tuple[bytes, bool] | None:
    """Return the digest an address stands for and whether it is keyed, `None` where it is no address of content.

    >>> digest_at("ctx:00ff"), digest_at("keyed:" + "00" * 16) == (bytes(16), True)
    (None, True)
    """
    prefix, _, rest = where.partition(":")
    try:
        name = bytes.fromhex(rest)
    except ValueError:
        return None
    return (name, prefix == "keyed") if len(name) == DIGEST_BYTES and f"{prefix}:" in {_PLAIN, _KEYED} else None
