from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.manifest import Manifest, Walk, children, of_list, of_one, packed, reached, unpacked, with_open_ends
from langchain_ctxguard.core.message_blob import digest


def names(count: int, seed: int = 0) -> list[bytes]:
    return [hashlib.blake2b(f"{seed}:{number}".encode(), digest_size=16).digest() for number in range(count)]


def items(manifest: Manifest, nodes: dict[bytes, bytes]) -> list[bytes]:
    walk = Walk(manifest)
    while needed := walk.needs():
        walk.step({name: nodes[name] for name in needed})
    return walk.items()


@given(st.integers(0, 300), st.integers(0, 5), st.booleans())
def test_a_tree_leads_to_the_list_it_was_made_of(count: int, seed: int, is_keyed: bool) -> None:  # noqa: FBT001 - drawn
    """In its order, through its bytes, whether its last nodes are named or open."""
    given_names = names(count, seed)
    tree, nodes = of_list(given_names, digest, is_keyed=is_keyed)
    assert (tree, given_names) == (unpacked(packed(tree)), items(unpacked(packed(tree)), nodes))
    for kept in (dict(nodes), dict(list(nodes.items())[-3:])):
        left = dict(kept)
        opened = with_open_ends(tree, left)
        assert given_names == items(opened, {name: node for name, node in nodes.items() if name not in kept or name in left})
        assert opened.size == count


def test_the_same_item_many_times_makes_no_endless_node() -> None:
    """A node ends after so many entries, whatever they are."""
    same = [bytes([255] * 16)] * 5_000
    tree, nodes = of_list(same, digest)
    assert same == items(tree, nodes)
    assert max(len(children(node)) for node in nodes.values()) <= 32
    assert len(packed(tree)) < 2_000


@pytest.mark.parametrize("change", ["append", "slide", "edit"])
def test_a_changed_list_shares_all_nodes_but_a_few(change: str) -> None:
    """Grown at its end, without its beginning, or with one item replaced."""
    before = names(2_000)
    after = {"append": [*before, *names(2, 1)], "slide": before[2:], "edit": [*before[:900], *names(1, 2), *before[901:]]}[change]
    old, new = of_list(before, digest)[1], of_list(after, digest)[1]
    assert len(set(new) - set(old)) < 30
    assert after == items(of_list(after, digest)[0], new)


def test_a_manifest_stays_small() -> None:
    """A few hundred bytes for any length."""
    sizes = [len(packed(of_list(names(count), digest)[0])) for count in (10, 100, 1_000, 10_000)]
    assert max(sizes) < 700


@pytest.mark.parametrize("is_keyed", [False, True])
def test_one_value_is_no_list_of_one(is_keyed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its bytes tell it from a list that holds just it, and keyed from plain."""
    one, listed = of_one(b"k" * 16, is_keyed=is_keyed), of_list([b"k" * 16], digest, is_keyed=is_keyed)[0]
    assert (False, True) == (one.is_list, listed.is_list)
    for manifest in (one, listed):
        back = unpacked(packed(manifest))
        assert (manifest, is_keyed) == (back, back.is_keyed)
        assert [b"k" * 16] == items(back, {})
    assert packed(one) != packed(listed)


def test_everything_a_manifest_needs_is_reached() -> None:
    """Items and nodes, plain and keyed apart; a node that two lists share is read once."""
    shared = names(400)
    one, nodes = of_list(shared, digest)
    two, more = of_list([*shared, *names(5, 9)], digest)
    asked: list[bytes] = []

    def read(wanted: set[bytes], is_keyed: bool) -> dict[bytes, bytes]:  # noqa: FBT001 - called by position
        asked.extend(wanted)
        assert not is_keyed
        return {name: (nodes | more)[name] for name in wanted}

    found = reached([one, two, of_one(b"k" * 16, is_keyed=True)], read)
    assert {False: {*shared, *names(5, 9), *nodes, *more}, True: {b"k" * 16}} == found
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x01", "cut off"),
        (b"\x09\x01\x00\x01\x00", "format 9"),
        (b"\x01\x01\x01\x01\x01abc", "does not end where it says"),
        (b"\x01\x01\x01\x01\x00tail", "does not end where it says"),
        (b"\x01\x01" + b"\xff" * 10, "too large"),
        (b"\x01\x01\x00\x00", "does not end where it says"),
    ],
)
def test_what_is_no_manifest_is_refused(data: bytes, words: str) -> None:
    """In words that say why."""
    with pytest.raises(ValueError, match=words):
        unpacked(data)


def test_a_tree_that_leads_elsewhere_is_refused() -> None:
    """Fewer or more items than it says, a node that is none, a node that is missing."""
    tree, nodes = of_list(names(50), digest)
    for wrong in (tree._replace(size=49), tree._replace(levels=tree.levels[:1])):
        with pytest.raises(ValueError, match="leads to"):
            items(wrong, nodes)
    first = next(iter(Walk(tree).needs()))
    for content in (b"", b"\x00", b"\x00abc", b"\x01" + bytes(16)):
        with pytest.raises(ValueError, match="is no node"):
            items(tree, {**nodes, first: content})
    with pytest.raises(KeyError):
        Walk(tree).step({})


@given(st.lists(st.integers(0, 3), max_size=60), st.randoms(use_true_random=False))
def test_lists_with_repeats_come_back(picks: list[int], chance: random.Random) -> None:
    """Equal items, in any order."""
    given_names = [names(4)[pick] for pick in picks]
    chance.shuffle(given_names)
    tree, nodes = of_list(given_names, digest)
    assert given_names == items(tree, nodes)
