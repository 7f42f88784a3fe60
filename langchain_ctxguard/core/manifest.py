"""A list as a tree of digests: what a checkpoint holds in place of the list itself. Pure; who stores the nodes is `graph/manifests.py`.

The tree is cut where the content says so. A list that grew at its end, or lost its beginning, shares all nodes but a few with what it was, so a
turn stores what is new and a handful of digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from langchain_ctxguard.core.message_blob import DIGEST_BYTES

_FORMAT = 1
_ONE, _LIST, _IS_KEYED = 0, 1, 2
# Numbers are written seven bits at a time, the last of them without the mark that more follow.
_BITS, _LOW, _MORE, _LARGEST_SHIFT = 7, 127, 128, 56
_NODE = b"\x00"
# One digest in three ends a node of two or more, so a node has four entries on average, and two digests lie open on each level.
_ENDS = 85
_SHORTEST, _LONGEST = 2, 32


class Manifest(NamedTuple):
    """Names a value by digests: one value, or the items of a list."""

    levels: tuple[tuple[bytes, ...], ...]
    """The open ends of the tree, items first: what is not yet part of a node."""

    size: int
    """How many items the list has."""

    is_list: bool = True
    is_keyed: bool = False


def of_one(name: bytes, *, is_keyed: bool = False) -> Manifest:
    """Return the manifest of a single value."""
    return Manifest(levels=((name,),), size=1, is_list=False, is_keyed=is_keyed)


def of_list(names: Sequence[bytes], named: Callable[[bytes], bytes], *, is_keyed: bool = False) -> tuple[Manifest, dict[bytes, bytes]]:
    """Return the manifest of a list and the nodes it needs, by digest.

    Args:
        names: Digests of the items.
        named: Digest of a node's content.
        is_keyed: Whether these digests are keyed.
    """
    levels: list[tuple[bytes, ...]] = []
    nodes: dict[bytes, bytes] = {}
    level = list(names)
    while True:
        ended: list[bytes] = []
        start = 0
        for end, name in enumerate(level, 1):
            if (name[0] < _ENDS and end - start >= _SHORTEST) or end - start == _LONGEST:
                content = _NODE + b"".join(level[start:end])
                ended.append(named(content))
                nodes[ended[-1]] = content
                start = end
        levels.append(tuple(level[start:]))
        if not ended:
            return Manifest(levels=tuple(levels), size=len(names), is_keyed=is_keyed), nodes
        level = ended


def is_node(content: bytes) -> bool:
    """Say whether content is a node; that of a value never is."""
    return content[:1] == _NODE


def with_open_ends(manifest: Manifest, nodes: dict[bytes, bytes]) -> Manifest:
    """Return the same list with the last of its `nodes` not named but opened, and take those that are named by nobody any more out of `nodes`.

    A checkpoint that brings nothing new but a node or two need not wait until they are stored: they can stand in it until there are more.
    """
    levels = [list(names) for names in manifest.levels]
    for height in range(len(levels) - 1, 0, -1):
        while levels[height] and levels[height][-1] in nodes:
            levels[height - 1] = [*children(nodes.pop(levels[height].pop())), *levels[height - 1]]
    while len(levels) > 1 and not levels[-1]:
        levels.pop()
    return manifest._replace(levels=tuple(map(tuple, levels)))


def children(content: bytes) -> list[bytes]:
    """Return the digests a node holds.

    Raises:
        ValueError: it is no node.
    """
    if not is_node(content) or len(content) % DIGEST_BYTES != 1 or len(content) == 1:
        msg = "is no node"
        raise ValueError(msg)
    return [content[start : start + DIGEST_BYTES] for start in range(1, len(content), DIGEST_BYTES)]


class Walk:
    """Follows a manifest down to its items, a level at a time: ask for the nodes it `needs`, hand them to `step`, until it needs none."""

    def __init__(self, manifest: Manifest) -> None:
        """Begin at the open ends."""
        self.manifest = manifest
        self.nodes: list[bytes] = []
        """The digests of the nodes it came through."""

        self._names = [(height, name) for height, names in reversed(list(enumerate(manifest.levels))) for name in names]
        self._height = len(manifest.levels) - 1

    def needs(self) -> set[bytes]:
        """Return the digests of the nodes to be read next."""
        return {name for height, name in self._names if height} if self._height else set()

    def step(self, contents: Mapping[bytes, bytes]) -> None:
        """Put in place of each node what it holds.

        Raises:
            KeyError: a node is missing.
            ValueError: what is there is no node.
        """
        known = {name: children(contents[name]) for name in self.needs()}
        self.nodes += known
        self._names = [(height - 1, child) if height else (0, name) for height, name in self._names for child in (known[name] if height else (name,))]
        self._height -= 1

    def items(self) -> list[bytes]:
        """Return the digests of the items.

        Raises:
            ValueError: they are not as many as the manifest says.
        """
        names = [name for _, name in self._names]
        if self._height > 0 or len(names) != self.manifest.size:
            msg = f"names {self.manifest.size} items and leads to {len(names)}"
            raise ValueError(msg)
        return names


def packed(manifest: Manifest) -> bytes:
    """Return a manifest as bytes."""
    flags = (_LIST if manifest.is_list else _ONE) | (_IS_KEYED if manifest.is_keyed else 0)
    parts = [bytes([_FORMAT, flags]), _number(manifest.size), _number(len(manifest.levels))]
    for names in manifest.levels:
        parts += [_number(len(names)), *names]
    return b"".join(parts)


def unpacked(data: bytes) -> Manifest:
    """Return the manifest in `data`.

    Raises:
        ValueError: it is none, or was written by a later version of this package.
    """
    try:
        if data[0] != _FORMAT:
            msg = f"has format {data[0]}, and this version of the package reads {_FORMAT}; upgrade langchain-ctxguard"
            raise ValueError(msg)
        size, at = _read(data, 2)
        height, at = _read(data, at)
        levels = []
        for _ in range(height):
            open_names, at = _read(data, at)
            levels.append(tuple(data[at + DIGEST_BYTES * index : at + DIGEST_BYTES * (index + 1)] for index in range(open_names)))
            at += DIGEST_BYTES * open_names
    except IndexError as error:
        msg = "is cut off"
        raise ValueError(msg) from error
    if at != len(data) or not levels:
        msg = "does not end where it says"
        raise ValueError(msg)
    return Manifest(levels=tuple(levels), size=size, is_list=bool(data[1] & _LIST), is_keyed=bool(data[1] & _IS_KEYED))


def reached(manifests: Iterable[Manifest], read: Callable[[set[bytes], bool], Mapping[bytes, bytes]]) -> dict[bool, set[bytes]]:
    """Return the digests of all items and nodes that manifests lead to, plain and keyed apart.

    Args:
        manifests: Where to begin.
        read: Contents of nodes by digest; the second argument says whether they are keyed.
    """
    found: dict[bool, set[bytes]] = {False: set(), True: set()}
    for is_keyed in (False, True):
        frontier = {(height, name) for one in manifests if one.is_keyed is is_keyed for height, names in enumerate(one.levels) for name in names}
        seen: set[tuple[int, bytes]] = set()
        while frontier:
            seen |= frontier
            nodes = {name for height, name in frontier if height}
            contents = read(nodes, is_keyed) if nodes else {}
            below = {(height - 1, child) for height, name in frontier if height for child in children(contents[name])}
            frontier = below - seen
        found[is_keyed] = {name for _, name in seen}
    return found


def _number(value: int) -> bytes:
    out = bytearray()
    while value > _LOW:
        out.append(value & _LOW | _MORE)
        value >>= _BITS
    out.append(value)
    return bytes(out)


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & _LOW) << shift
        shift += _BITS
        if byte < _MORE:
            return value, at
        if shift > _LARGEST_SHIFT:
            msg = "holds a number that is too large"
            raise ValueError(msg)
