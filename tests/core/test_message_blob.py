"""How a message rests in a blob store: packed and read back, and known by its address."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.message_blob import DIGEST_BYTES, address, digest, digest_at, packed, thread_space, unpacked


@pytest.mark.parametrize(("kind", "data"), [("msgpack", b"abc"), ("json", b"{}"), ("null", b""), ("x", b"\x00" * 300)])
def test_what_is_packed_is_read_back(kind: str, data: bytes) -> None:
    """Kind and bytes, without any bytes as well."""
    assert (kind, data) == unpacked(packed(kind, data))


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x00abc", b"\x07", b"\x07msgpac"])
def test_what_nobody_packed_is_refused(content: bytes) -> None:
    """Nothing, no kind, or a kind that is cut short."""
    with pytest.raises(ValueError, match="packed"):
        unpacked(content)


@pytest.mark.parametrize("is_keyed", [False, True])
def test_an_address_says_which_digest_it_stands_for(*, is_keyed: bool) -> None:
    """And whether only somebody with a key could have made it."""
    name = digest(b"said", b"key" if is_keyed else b"")
    assert (name, is_keyed) == digest_at(address(name, is_keyed=is_keyed))


@pytest.mark.parametrize(
    "where", ["", "ctx:", "ctx:00ff", "keyed:" + "00" * (DIGEST_BYTES + 1), "other:" + "00" * DIGEST_BYTES, "00" * DIGEST_BYTES, "ctx:" + "zz" * 16]
)
def test_what_is_no_address_of_content_stands_for_none(where: str) -> None:
    """Too short, too long, of another kind, or no digits."""
    assert digest_at(where) is None


def test_a_digest_tells_contents_and_keys_apart() -> None:
    """A guess of encrypted text cannot be confirmed without the key."""
    assert 4 == len({digest(b"a"), digest(b"b"), digest(b"a", b"key"), digest(b"a", b"other")})


def test_each_thread_has_a_space_of_its_own() -> None:
    """Whatever characters its name is made of."""
    names = ["t-1", "t-2", 't"1', '["thread","t-1"]', ""]
    assert len(names) == len({thread_space(name) for name in names})
