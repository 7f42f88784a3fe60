"""What every `BlobStore` and every `TextIndex` has to keep."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import BlobStore, TextIndex
from langchain_ctxguard.testing.conformance_expect import HOSTILE_BODIES, HOSTILE_NAMES, a_name, keys_of, raised, same


def contents_are_kept_by_their_digest(blobs: BlobStore) -> None:
    """What was put is what is got, once however often it was put, in the order it was given."""
    space = a_name()
    addresses = blobs.put(space, [*HOSTILE_BODIES, HOSTILE_BODIES[0]])
    same(addresses[0], addresses[-1])
    same(dict(zip(addresses, HOSTILE_BODIES, strict=False)), blobs.get(space, addresses))
    same(addresses[:1], blobs.put(space, HOSTILE_BODIES[:1]))
    same(([], {}), (blobs.put(space, []), blobs.get(space, [])))


def what_is_not_there_is_not_in_the_answer(blobs: BlobStore) -> None:
    """A missing content is no error: whoever needs it says so."""
    space = a_name()
    (address,) = blobs.put(space, [b"here"])
    same({address: b"here"}, blobs.get(space, ["0" * 64, address, address]))
    same({}, blobs.get(a_name(), [address]))


def contents_may_have_addresses_of_their_own(blobs: BlobStore) -> None:
    """Kept under the address given, and never replaced; one that could pass for a digest is refused."""
    space = a_name()
    same(["keyed:1"], blobs.put(space, [b"cipher"], addresses=["keyed:1"]))
    blobs.put(space, [b"other"], addresses=["keyed:1"])
    same({"keyed:1": b"cipher"}, blobs.get(space, ["keyed:1"]))
    for addresses in (["0" * 64], ["keyed:é"], [], [f"keyed:{'x' * 300}"]):
        raised(StoreError, partial(blobs.put, space, [b"x"], addresses=addresses))
    text: Any = "text"
    raised(StoreError, partial(blobs.put, space, text))


def spaces_are_apart(blobs: BlobStore) -> None:
    """Any text names a space; to erase one leaves the others as they are."""
    mark = a_name()
    spaces = [f"{mark}{name}" for name in HOSTILE_NAMES]
    addresses = {space: blobs.put(space, [b"same", space.encode("utf-8", "surrogatepass")]) for space in spaces}
    same(2, blobs.purge_space(spaces[0]))
    same((0, {}), (blobs.purge_space(spaces[0]), blobs.get(spaces[0], addresses[spaces[0]])))
    same([2] * (len(spaces) - 1), [len(blobs.get(space, addresses[space])) for space in spaces[1:]])


def a_space_is_copied(blobs: BlobStore) -> None:
    """What is in the one is in the other too, and outlives it."""
    source, target = a_name(), a_name()
    addresses = blobs.put(source, [b"1", b"2"])
    blobs.put(target, [b"2", b"3"])
    same((1, 0, 0), (blobs.copy_space(source, target), blobs.copy_space(source, target), blobs.copy_space(a_name(), target)))
    same((2, 3), (blobs.purge_space(source), len(blobs.get(target, [*addresses, *blobs.put(target, [b"3"])]))))


def contents_are_dropped_by_address(blobs: BlobStore) -> None:
    """What is dropped is gone from this space and no other; what was not there is not counted; it can be put again."""
    space, other = a_name(), a_name()
    addresses = sorted(blobs.put(space, [b"1", b"2", b"3"]))
    blobs.put(other, [b"1", b"2", b"3"])
    same((addresses, []), (blobs.addresses(space), blobs.addresses(a_name())))
    same((2, 0, 0), (blobs.drop(space, [*addresses[:2], addresses[0], "0" * 64]), blobs.drop(space, addresses[:2]), blobs.drop(a_name(), addresses)))
    same((addresses[2:], 3), (blobs.addresses(space), len(blobs.get(other, addresses))))
    blobs.put(space, [b"1", b"2", b"3"])
    same((3, 0), (len(blobs.get(space, addresses)), blobs.drop(space, [])))


def words_are_found_in_any_case(index: TextIndex) -> None:
    """Whole words, folded; composed and decomposed letters are the same word; punctuation is none."""
    space = a_name()
    index.put(space, {"a": "Never DELETE an order.", "b": "caf\u00e9 in der Stra\u00dfe", "c": "ORD-1042"})
    found = {query: keys_of(index.search(space, query)) for query in ("delete", "cafe\u0301", "STRASSE", "1042", "dele", "", "?!")}
    same({"delete": ["a"], "cafe\u0301": ["b"], "STRASSE": ["b"], "1042": ["c"], "dele": [], "": [], "?!": []}, found)


def chinese_words_of_two_characters_are_found(index: TextIndex) -> None:
    """Anywhere in a sentence, and single characters too."""
    space = a_name()
    index.put(space, {"a": "绝不删除订单。", "b": "请查询物流", "c": "订 单"})
    found = {query: sorted(keys_of(index.search(space, query))) for query in ("订单", "删除", "查询物流", "物", "流", "单", "除单")}
    same({"订单": ["a"], "删除": ["a"], "查询物流": ["b"], "物": ["b"], "流": ["b"], "单": ["a", "c"], "除单": []}, found)


def the_best_come_first(index: TextIndex) -> None:
    """More of the words before fewer; a rare word before one that is everywhere; no more than were asked for."""
    space = a_name()
    index.put(space, {f"k{number}": "the order" for number in range(9)})
    index.put(space, {"rare": "the refund", "both": "order and refund"})
    same(["both", "rare"], keys_of(index.search(space, "order refund", limit=2)))
    same([], index.search(space, "order", limit=0))


def a_text_put_again_replaces_the_former(index: TextIndex) -> None:
    """Its old words are forgotten."""
    space = a_name()
    index.put(space, {"a": "old words"})
    index.put(space, {"a": "new words", "b": ""})
    same(([], ["a"], ["a"]), tuple(keys_of(index.search(space, query)) for query in ("old", "new", "words")))
    index.put(space, {})


def texts_of_a_space_are_forgotten(index: TextIndex) -> None:
    """To purge one space leaves the others; any text is a name or a key."""
    mark = a_name()
    spaces = [f"{mark}{name}" for name in HOSTILE_NAMES]
    for space in spaces:
        index.put(space, dict.fromkeys(HOSTILE_NAMES, "word \ud800 \x00 word"))
    same((len(HOSTILE_NAMES), 0), (index.purge(spaces[0]), index.purge(spaces[0])))
    same([], index.search(spaces[0], "word"))
    same(sorted(HOSTILE_NAMES), sorted(keys_of(index.search(spaces[1], "word", limit=99))))


def the_texts_of_a_space_are_copied(index: TextIndex) -> None:
    """What is found in the one is found in the other too, and outlives it; what was there before stays."""
    source, target = a_name(), a_name()
    index.put(source, {"a": "delete the order", "b": "the refund", "\ud800": "word"})
    index.put(target, {"a": "former words", "c": "the refund"})
    for _ in range(2):
        index.copy_space(source, target)
    index.copy_space(a_name(), target)
    same(3, index.purge(source))
    found = {query: sorted(keys_of(index.search(target, query))) for query in ("delete", "refund", "former", "word")}
    same({"delete": ["a"], "refund": ["b", "c"], "former": [], "word": ["\ud800"]}, found)


BLOB_CHECKS: tuple[Callable[[BlobStore], None], ...] = (
    contents_are_kept_by_their_digest,
    what_is_not_there_is_not_in_the_answer,
    contents_may_have_addresses_of_their_own,
    spaces_are_apart,
    a_space_is_copied,
    contents_are_dropped_by_address,
)
INDEX_CHECKS: tuple[Callable[[TextIndex], None], ...] = (
    words_are_found_in_any_case,
    chinese_words_of_two_characters_are_found,
    the_best_come_first,
    a_text_put_again_replaces_the_former,
    texts_of_a_space_are_forgotten,
    the_texts_of_a_space_are_copied,
)
